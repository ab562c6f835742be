"""Bare vectors whose ids and titles are in CSV files: link, merge, what comes the next day, and lines out of order."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from grown_papers import grown_papers
from span_papers import some_papers
from veclink import Linker, Links
from veclink.cli.app import app

OF_B = 280  # rows of B on the first day


def save(folder: Path, name: str, vectors: np.ndarray, objects: list[str]) -> None:
    """Vectors, and a line with id and title for each; A calls titles `title`, B `name`."""
    side = "b" if "b" in name else "a"
    np.save(folder / f"{name}.npy", vectors)
    lines = [(f"{side}-{each}", f"The paper {each}") for each in objects]
    with (folder / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "title" if side == "a" else "name"), *lines])


def run(folder: Path, line: str, code: int = 0) -> str:
    """What a command says, in the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        told = CliRunner().invoke(app, line.split())
    assert told.exit_code == code, f"{line}: {told.output} {told.exception!r}"
    return " ".join(told.output.replace("│", " ").split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A and B, new rows of both, A with its new rows; linked and merged on the first day."""
    place = tmp_path_factory.mktemp("bare")
    grown, papers = grown_papers(), some_papers()
    partner = dict(papers.truth.tolist())
    called = {vector.tobytes(): str(partner.get(row, f"x{row}")) for row, vector in enumerate(papers.a)}
    of_b = [str(row) for row in range(len(grown.b))]
    of_a, new_a = ([called[vector.tobytes()] for vector in some] for some in (grown.a, grown.new))
    save(place, "a", grown.a, of_a)
    save(place, "b", grown.b[:OF_B], of_b[:OF_B])
    save(place, "new_a", grown.new, new_a)
    save(place, "new_b", grown.b[OF_B:], of_b[OF_B:])
    save(place, "a_now", np.concatenate([grown.a, grown.new]), [*of_a, *new_a])
    known = [(of_a[a], of_b[b]) for a, b in grown.seeds.tolist() if b < OF_B]
    (place / "seeds.csv").write_text("a,b\n" + "".join(f"a-{a},b-{b}\n" for a, b in known))
    sides = "a.npy b.npy --payload-a a.csv --payload-b b.csv"
    run(place, f"link {sides} --seeds seeds.csv -o links.parquet --save-linker linker")
    run(place, f"merge {sides} --links links.parquet --map procrustes -o merged.parquet --yes")
    return place


def test_the_next_day_new_rows_of_both_sides_come_by_npy_and_csv(folder: Path) -> None:
    head, *lines = (folder / "new_a.csv").read_text().splitlines()
    (folder / "turned.csv").write_text("\n".join([head, *lines[::-1]]) + "\n")
    said = run(folder, "merge new_a.npy --append --payload-a turned.csv --linker linker -o merged.parquet")
    assert "not in the order of the vectors" in said
    run(folder, "match new_a.npy --payload-a new_a.csv --linker linker -o new_a_links.csv --update")
    said = run(folder, "merge new_a.npy --append --payload-a new_a.csv --linker linker -o merged.parquet --yes")
    assert "38 new, 22 joined" in said and "not in the order" not in said
    given = "match new_b.npy --side b --payload-b new_b.csv --linker linker -o new_b_links.csv --update"
    said = run(folder, f"{given} --against a_now.npy", code=1)
    assert "--payload-a FILE beside --against" in said and "put it back" not in said
    said = run(folder, f"{given} --payload-a a_now.csv", code=2)
    assert "--payload-b is their file" in said and "needs --against" in said
    run(folder, f"{given} --against a_now.npy --payload-a a_now.csv")
    links = Links.load(folder / "new_b_links.csv")
    named = [(str(each.a)[:2], str(each.b)[:2]) for each in links]
    assert set(named) == {("a-", "b-")}
    held = Linker.load(folder / "linker")
    assert held.sources[0].endswith("a_now.npy") and held.ids_from[0].endswith("a_now.csv"), "known the next time"
    given = "merge new_b.npy --append --side b --linker linker -o merged.parquet"
    assert "--payload-b FILE with a column `id`" in run(folder, given, code=1)
    assert "--payload-b is their file" in run(folder, f"{given} --payload-a new_b.csv", code=2)
    run(folder, f"{given} --payload-b new_b.csv --yes")
    rows = pq.read_table(folder / "merged.parquet").to_pylist()
    assert {row["id_b"] for row in rows} > {f"b-{row}" for row in range(OF_B, len(grown_papers().b))}
    assert {row["name"] for row in rows} >= {f"The paper {row}" for row in range(len(grown_papers().b))}


@pytest.mark.parametrize(("lines", "said"), [(OF_B, "in 0 of "), (OF_B // 2, "lead to another row")])
def test_a_payload_in_another_order_is_told_of_in_every_headline_and_before_a_merge(
    folder: Path, tmp_path: Path, lines: int, said: str
) -> None:
    """So many lines of B's titles are one row too early."""
    for side in "ab":
        head, *titles = (line.split(",")[1] for line in (folder / f"{side}.csv").read_text().splitlines())
        if side == "b":
            titles[:lines] = np.roll(titles[:lines], -1).tolist()
        (tmp_path / f"{side}.csv").write_text("\n".join([head, *titles]) + "\n")
    grown = grown_papers()
    known = "".join(f"{a},{b}\n" for a, b in grown.seeds.tolist() if b < OF_B)
    (tmp_path / "known.csv").write_text(f"a,b\n{known}")
    sides = f"a.npy b.npy --payload-a {tmp_path}/a.csv --payload-b {tmp_path}/b.csv"
    links = f"-o {tmp_path}/links.parquet --report {tmp_path}/page.html"
    told = run(folder, f"link {sides} --seeds {tmp_path}/known.csv {links}")
    assert "linkable by the vectors, but the payload does not fit them." in told and said in told
    assert "make one store" not in told
    page = (tmp_path / "page.html").read_text()
    assert "The payload does not fit the vectors: check its order first.</h1>" in page and "You can trust" not in page
    given = f"{sides} --links {tmp_path}/links.parquet"
    told = run(folder, f"merge {given} --map procrustes -o {tmp_path}/merged.parquet --yes")
    assert told.index(said) < told.index("Written to")
    told = run(folder, f"merge {given} -o {tmp_path}/known_rows.csv --dedupe --json")
    assert said in json.loads(told[told.index("{") :])["payload_warning"]
    again = f"cut {tmp_path}/links.parquet --links 100 -o {tmp_path}/cut.csv"
    assert said in run(folder, again)
    for line in (f"{again} -q", f"link {sides} --seeds {tmp_path}/known.csv -o {tmp_path}/links.csv -q"):
        told = run(folder, line)
        assert told.startswith("veclink: Warning: ") and said in told, "-q is what scripts use"
    told = run(folder, f"{again} --json")
    assert "payload does not fit" in json.loads(told[told.index("{") :])["verdict_in_words"]
