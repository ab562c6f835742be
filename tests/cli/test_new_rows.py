"""match, cut and link --continue as a person meets them, the walk of the page on new rows, and processes that die."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from grown_papers import first_links, grown_papers
from veclink import Linker, Links
from veclink.cli.app import app

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "new-rows.md"
CODE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FEWER = ("--links 200", "--links 100")  # than the page asks for: of so few rows, fewer pairs are judged


def command(*arguments: object) -> tuple[int, str]:
    """The exit code of a command and all that it prints."""
    told = CliRunner().invoke(app, list(map(str, arguments)))
    return told.exit_code, told.output


def save(path: Path, vectors: np.ndarray, first: int = 0) -> None:
    """A .npy file with ids beside it."""
    np.save(path, vectors)
    names = "".join(f"{path.name[0]}{first + row}\n" for row in range(len(vectors)))
    path.with_suffix(".ids.txt").write_text(names)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page begins with: A and B, seeds, and rows that come later; the same with ids, and a query."""
    folder = tmp_path_factory.mktemp("walk")
    grown = grown_papers()
    np.save(folder / "a.npy", grown.a)
    np.save(folder / "b.npy", grown.b[:280])
    np.save(folder / "monday.npy", grown.new[:25])
    np.save(folder / "tuesday.npy", grown.new[25:45])
    np.save(folder / "wednesday.npy", grown.new[45:])
    np.save(folder / "new_b.npy", grown.b[280:])
    np.save(folder / "a_now.npy", np.concatenate([grown.a, grown.new[:45]]))
    np.save(folder / "a_all.npy", np.concatenate([grown.a, grown.new]))
    np.save(folder / "b_now.npy", grown.b)
    known = grown.seeds[grown.seeds[:, 1] < 280]
    (folder / "seeds.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in known.tolist()))
    (folder / "known.csv").write_text("a,b\n" + "".join(f"a{a},b{b}\n" for a, b in known.tolist()))
    for name, vectors, first in (("a", grown.a, 0), ("b", grown.b, 0), ("new_a", grown.new, len(grown.a))):
        ids = [f"{name[-1]}{first + row}" for row in range(len(vectors))]
        pq.write_table(pa.table({"id": ids, "vector": list(vectors)}), folder / f"{name}.parquet")
    np.save(folder / "query_b.npy", grown.b[grown.partner.max()])  # an object that is new in A
    return folder


@pytest.fixture(scope="module")
def walked(files: Path) -> dict[str, str]:
    """All commands and all Python of the page, run in their order; what each command said, and all Python printed."""
    said: dict[str, str] = {}
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(files)
        for language, block in CODE.findall(PAGE.read_text(encoding="utf-8")):
            if language == "python":
                with redirect_stdout(printed):
                    exec(compile(block, str(PAGE), "exec"), {})
            for line in re.findall(r"^veclink (.+)", block, re.MULTILINE) if not language else ():
                code, told = command(*line.replace(*FEWER).split())
                assert code == 0, f"veclink {line}: {told}"
                said[line] = told
    return {**said, "python": printed.getvalue()}


def test_the_walk_of_the_page_links_what_came_each_night(files: Path, walked: dict[str, str]) -> None:
    grown = grown_papers()
    assert len(walked) == 8 + 1
    first, second = Links.load(files / "monday.csv"), Links.load(files / "tuesday.csv")
    right = np.concatenate([grown.right(first), grown.partner[25 + second.pairs[:, 0]] == second.pairs[:, 1]])
    possible = np.count_nonzero((grown.partner[:45] >= 0) & (grown.partner[:45] < 280))
    assert right.sum() >= possible - 3 and right.mean() >= 0.9
    of_b = Links.load(files / "new_b.csv")
    assert (of_b.summary.n_a, of_b.summary.n_b) == (285, 20) and len(of_b)
    assert Linker.load(files / "papers.linker").sizes == (300, 300)  # of the last link, which began anew
    now = Links.load(files / "links_now.parquet")
    new = now.pairs[:, 0] >= 240
    assert (grown.partner[now.pairs[new, 0] - 240] == now.pairs[new, 1]).mean() >= 0.9


def test_the_walk_makes_one_store_that_grows_and_is_searched(files: Path, walked: dict[str, str]) -> None:
    grown = grown_papers()
    rows = pq.read_table(files / "merged.parquet").to_pylist()
    partner = {row["id_a"]: row["id_b"] for row in rows if row["id_a"] is not None}
    assert {f"a{row}" for row in range(300)} == set(partner), "all of A, and what was appended"
    joined = [(partner[f"a{240 + row}"], f"b{b}") for row, b in enumerate(grown.partner.tolist()) if b >= 0]
    right = [found == true for found, true in joined]
    assert np.mean(right) >= 0.65 and all(found in (true, None) for found, true in joined)
    assert walked["python"].startswith(f"['b{grown.partner.max()}' ")


def test_the_walk_cuts_both_ways(files: Path, walked: dict[str, str]) -> None:
    links = Links.load(files / "links.parquet")
    sure, more, best = (Links.load(files / name) for name in ("sure.csv", "more.parquet", "best.csv"))
    assert len(sure) < len(links) < len(more) and len(best) == 100
    assert len(sure) == len(links.at(precision=0.99)) and (more.probability >= 0.3).all()
    told = command("cut", files / "links.parquet", "--precision", 0.5, "-o", files / "half.csv")[1]
    assert told.startswith("This keeps ") and "--probability" in told.splitlines()[0], "more than before is told first"


def content(folder: Path) -> dict[str, Any]:
    """All files below a folder that are not what a killed run left for the next one to clear away."""
    left = (path for path in sorted(folder.rglob("*")) if not path.name.startswith(".veclink-"))
    files = [path for path in left if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_match_refuses_to_write_over_what_its_linker_needs(tmp_path: Path) -> None:
    grown = grown_papers()
    a, b, linker = tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "linker"
    for path, vectors in ((a, grown.a), (b, grown.b)):
        pq.write_table(pa.table({"vector": list(vectors)}), path)
    np.save(tmp_path / "new.npy", grown.new)
    Linker.fit(f"file://{a}", b, links=first_links()).save(linker)
    before = content(tmp_path)
    for output in (a, b, linker / "links.parquet", linker / "new.csv", linker / ".." / "linker" / "new.csv"):
        for more in ([], ["--update"]):
            given = ["match", str(tmp_path / "new.npy"), "--linker", str(linker), "-o", str(output), *more]
            told = CliRunner().invoke(app, given)
            said = "is in the way of" if "linker" in output.parts else "is one of the inputs"
            assert told.exit_code == 1 and said in told.stderr
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    "given",
    [
        "-o E/x.csv --save-linker E",
        "-o x.csv --save-linker x.csv",
        "-o E/links.parquet --save-linker E",
        "-o x.csv --report E/page.html --save-linker E",
        "-o x.csv --checkpoint x.csv",
        "-o x.csv --checkpoint x.csv/steps",
        "-o x.csv --save-linker E --checkpoint E",
    ],
)
def test_link_refuses_outputs_in_one_anothers_way_before_it_reads_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "E").mkdir()
    told = CliRunner().invoke(app, ["link", "missing_a.npy", "missing_b.npy", *given.split()])
    assert told.exit_code == 1 and "choose another" in told.stderr and "missing" not in told.stderr
    assert list(tmp_path.rglob("*")) == [tmp_path / "E"]
