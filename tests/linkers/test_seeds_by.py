"""Linking from a column: equal titles are a start that may be wrong, it is always said, and the vectors decide."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from span_papers import linked_cut, more_papers, some_papers
from veclink.cli.app import app
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import score
from veclink.errors import InputError
from veclink.linkers.linking import link

RIGHT, WRONG = 30, 10


@cache
def titled() -> tuple[Collection, Collection, np.ndarray]:
    """The cut of the sample with titles: 30 shared papers have equal ones, and so have 10 pairs that are not the same.

    The titles of all other rows are their own. Returned with them: the wrong pairs.
    """
    papers = some_papers()
    titles_a = [f"A, {row}" for row in range(len(papers.a))]
    titles_b = [f"B, {row}" for row in range(len(papers.b))]
    wrong = np.column_stack([papers.truth[-WRONG:, 0], np.roll(papers.truth[-WRONG:, 1], 1)])
    for number, (row_a, row_b) in enumerate([*papers.truth[:RIGHT], *wrong]):
        titles_a[row_a] = f"Paper {number}: A Study"
        titles_b[row_b] = f"paper {number} – a study."
    a = Collection(papers.a, payload=pa.table({"title": titles_a}), name="a")
    b = Collection(papers.b, payload=pa.table({"name": titles_b}), name="b")
    return a, b, wrong


@cache
def linked() -> Links:
    a, b, _ = titled()
    return link(a, b, seeds_by="auto", device="cpu")


def test_wrong_titles_among_the_seeds_are_named_and_are_no_links() -> None:
    _, _, wrong = titled()
    links = linked()
    named = set(links.summary.wrong_seeds)
    assert named <= set(map(tuple, wrong.tolist())) and len(named) >= WRONG - 1
    assert not set(map(tuple, wrong.tolist())) & set(map(tuple, links.pairs.tolist()))
    assert score(links.pairs, some_papers().truth).f1 > score(linked_cut().pairs, some_papers().truth).f1 - 0.03


def test_a_seed_of_a_column_is_as_probable_as_it_looks() -> None:
    given = linked().evidence["given"]
    assert RIGHT - 3 <= given.sum() <= RIGHT and np.all(linked().probability[given] < 1)


def test_it_is_said_which_column_was_used_and_kept_with_the_links(tmp_path: Path) -> None:
    links = linked()
    said = links.summary.reasons[-1]
    assert "40 of the 40 pairs of rows with equal values of 'title' and 'name' were the start" in said
    assert links.trace["seeds_by"] == {"columns": ["title", "name"], "matches": 40, "used": 40}
    agreement = links.summary.agreement
    assert agreement.seeds == links.evidence["given"].sum() and agreement.agree == 0, "all that agree were seeds"
    links.save(tmp_path / "links.parquet")
    assert Links.load(tmp_path / "links.parquet").trace["seeds_by"] == links.trace["seeds_by"]


def test_auto_without_such_a_column_starts_from_nothing_and_says_so() -> None:
    papers = some_papers()
    links = link(papers.a, papers.b, seeds_by="auto", device="cpu")
    assert links.pairs.tolist() == link(papers.a, papers.b, device="cpu").pairs.tolist()
    assert "linking started from nothing" in links.summary.reasons[-1] and links.summary.agreement is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"seeds": [(0, 0)]}, "starts from one of them"),
        ({"method": "geh"}, "use method 'span'"),
        ({"seeds_by": "sku"}, "A has no column 'sku'"),
    ],
)
def test_what_cannot_be_combined_is_refused(more: dict, said: str) -> None:
    a, b, _ = titled()
    with pytest.raises(InputError, match=said):
        link(a, b, **{"seeds_by": "title=name", **more})


def test_the_command_says_how_many_titles_agree_and_eval_scores_against_them(tmp_path: Path) -> None:
    papers = more_papers()  # of fewer, all whose titles agree are seeds
    titles = [f"Own {row}" for row in range(len(papers.b))]
    for number, (_, row_b) in enumerate(papers.truth):
        titles[row_b] = f"Paper {number}"
    of_a = {int(row_a): f"paper: {number}" for number, (row_a, _) in enumerate(papers.truth)}
    for name, vectors, column in (
        ("a", papers.a, [of_a.get(row) for row in range(len(papers.a))]),
        ("b", papers.b, titles),
    ):
        table = pa.table(
            {"id": [f"{name}{row}" for row in range(len(vectors))], "vector": list(vectors), "title": column}
        )
        pq.write_table(table, tmp_path / f"{name}.parquet")
    sides = tmp_path / "a.parquet", tmp_path / "b.parquet"
    out = _run("link", *sides, "--seeds-by", "title", "-o", tmp_path / "links.csv", "--json", "--quiet")
    told = json.loads(out)["agreement"]
    assert told["seeds"] > 150 and told["agree"] <= told["compared"] <= len(papers.truth)
    assert told["agree"] > 0.9 * told["compared"], "most of the links that were no seeds are right"
    scored = json.loads(_run("eval", tmp_path / "links.csv", *sides, "--by", "title", "--json"))
    assert scored["matches"] == len(papers.truth) and scored["linked"] == scored["agree"]
    assert scored["precision"] > 0.9 and scored["recall"] > 0.9
    text = " ".join(_run("eval", tmp_path / "links.csv", *sides, "--by", "title").split())
    assert f"{scored['linked']} of the {len(papers.truth)} pairs of rows with equal titles are linked" in text


def test_eval_asks_for_one_truth_and_for_the_collections(tmp_path: Path) -> None:
    links = tmp_path / "links.csv"
    links.write_text("a,b\n0,0\n")
    for more in ((), ("--truth", links, "--by", "title"), ("--by", "title"), ("a.npy", "b.npy", "--truth", links)):
        result = CliRunner().invoke(app, ["eval", str(links), *map(str, more)])
        assert result.exit_code == 2 and result.stdout == ""


def _run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout
