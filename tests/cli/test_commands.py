"""The commands as a shell user meets them: short help, examples that run, and words for what goes wrong."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import veclink
from cli.test_app import files, link, run
from report.test_report import unpacked
from veclink.cli.app import GROUPS, MOVED, app
from veclink.cli.shared import print_json
from veclink.data.links import Links

__all__ = ["files"]  # a fixture


@pytest.mark.parametrize("name", [name for runs in GROUPS.values() for name in runs])
def test_the_example_of_each_command_is_understood(name: str) -> None:
    command: Any = typer.main.get_command(app)
    program, called, *arguments = shlex.split(command.commands[name].epilog.removeprefix("Example: "))
    assert (program, called) == ("veclink", name)
    assert command.commands[name].make_context(called, arguments).params


def test_help_has_a_short_form_and_tells_each_command_in_full() -> None:
    code, out, _ = run("-h")
    assert code == 0
    assert sum(map(len, GROUPS.values())) == 13
    for group, runs in GROUPS.items():
        for name, run_ in runs.items():
            assert out.index(f"\n{group}:") < out.index(f"\n  {name} ") and run_.__doc__.splitlines()[0] in out
    assert "Example: veclink link" in run("link", "-h")[1]


def test_a_report_is_made_of_saved_links(files: Path, tmp_path: Path) -> None:
    links, page = tmp_path / "links.parquet", tmp_path / "page.html"
    link(files, links, "-q")
    titles = tmp_path / "titles.csv"
    titles.write_text("title\n" + "".join(f"Paper number {row}\n" for row in range(120)))
    collections = (files / "a.npy", files / "b.npy")
    code, out, _ = run("report", links, *collections, "-o", page, "--payload-a", titles, "--truth", files / "truth.csv")
    assert code == 0 and str(page) in out.replace("\n", "")
    text = page.read_text()
    assert "in truth" in text and "Paper number 7" in unpacked(text)["texts"]
    titles.write_text("id,title\n7,Twice\n" + "".join(f"{row},Paper\n" for row in range(1, 120)))
    code, _, told = run("report", links, *collections, "-o", page, "--payload-a", titles)
    assert code == 0 and told.startswith("veclink: Warning: ") and f"{titles} does not give every" in told
    bare = tmp_path / "bare.html"
    told = json.loads(run("report", links, "-o", bare, "--json")[1])
    assert told == {"report": str(bare), "links": len(Links.load(links)), "verdict": "linkable"}


def test_bare_files_are_evaluated_and_merged_by_titles_in_tables(files: Path, tmp_path: Path) -> None:
    links, merged = tmp_path / "links.parquet", tmp_path / "merged.parquet"
    order = {int(line["b"]): int(line["a"]) for line in csv.DictReader((files / "truth.csv").open())}
    for side, row_of in (("a", dict(enumerate(range(120)))), ("b", order)):
        lines = [f"Paper number {row_of[row]}\n" for row in range(120)]
        (tmp_path / f"{side}.csv").write_text("title\n" + "".join(lines))
    collections = (files / "a.npy", files / "b.npy")
    payload = ("--payload-a", tmp_path / "a.csv", "--payload-b", tmp_path / "b.csv")
    told = link(files, links, *payload)[1]
    code, out, _ = run("eval", links, *collections, "--by", "title", *payload, "--json")
    assert code == 0 and json.loads(out)["agree"] == json.loads(out)["compared"] > 100
    merging = shlex.split(told.splitlines()[-1].partition("store:")[2])
    code, _, _ = run(*(merged if word == "merged.parquet" else word for word in [*merging[1:], "--yes"]))
    table = veclink.open_collection(merged).payload.to_pydict()
    assert code == 0 and sorted(set(table["title"])) == sorted(f"Paper number {row}" for row in range(120))
    code, _, told = run("eval", links, "--truth", files / "truth.csv", *payload)
    assert code == 2 and "are for --by" in told


def test_a_file_is_not_linked_with_itself(files: Path, tmp_path: Path) -> None:
    other = tmp_path / "other-name.npy"
    other.symlink_to(files / "a.npy")
    for second in (files / "a.npy", other):
        code, _, told = run("link", files / "a.npy", second, "-o", tmp_path / "links.csv")
        assert code == 2 and "the same collection" in told
    assert not (tmp_path / "links.csv").exists()


def test_three_collections_become_one_list_of_objects(files: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    a = np.load(files / "a.npy")
    turn = np.linalg.qr(rng.standard_normal((a.shape[1],) * 2))[0]
    third = tmp_path / "c.npy"
    np.save(third, a @ turn.astype(np.float32))
    pairs = tmp_path / "same-row.csv"
    pairs.write_text("a,b\n" + "".join(f"{row},{row}\n" for row in range(15)))
    output = tmp_path / "objects.csv"
    given = ("many", files / "a.npy", files / "b.npy", third, "-o", output)
    code, out, _ = run(*given, "--seeds", f"1,2={files / 'seeds.csv'}", "--seeds", f"1,3={pairs}")
    assert code == 0 and "objects in two or more of 3 collections" in out
    objects = list(csv.DictReader(output.open()))
    assert list(objects[0]) == ["a", "b", "c", "probability"]
    both = [each for each in objects if each["a"] and each["c"]]
    assert len(both) > 100 and sum(each["a"] == each["c"] for each in both) > 0.95 * len(both)
    told = json.loads(run(*given, "--seeds", f"1,2={files / 'seeds.csv'}", "--seeds", f"1,3={pairs}", "--json")[1])
    assert {each["verdict_in_words"] for each in told["pairwise"].values()} == {"linkable"}
    code, _, told = run(*given, "--seeds", "one,two=pairs.csv")
    assert code == 2 and "whose pairs these are" in told.replace("\n", " ")


@pytest.mark.parametrize("name", MOVED)
def test_a_command_that_moved_names_the_new_one(name: str) -> None:
    code, out, err = run(name, "a.npy", "b.npy")
    assert (code, out) == (2, "") and err.count("\n") == 1 and MOVED[name] in err


def test_what_is_printed_as_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"error": float("inf"), "ways": [{"ndcg": float("nan")}, (1.5, None)]})
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
        "error": None,
        "ways": [{"ndcg": None}, [1.5, None]],
    }
