"""Linking from a column: equal titles are a start that may be wrong, it is always said, and the vectors decide."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
from typer.testing import CliRunner

from span_papers import linked_cut, some_papers
from veclink.cli.app import app
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import score
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
    assert "“Paper 30: A Study” and “paper 30 – a study.”" in links.summary.reasons[-1]
    assert not set(map(tuple, wrong.tolist())) & set(map(tuple, links.pairs.tolist()))
    assert score(links.pairs, some_papers().truth).f1 > score(linked_cut().pairs, some_papers().truth).f1 - 0.03


def test_a_seed_of_a_column_is_as_probable_as_it_looks() -> None:
    given = linked().evidence["given"]
    assert RIGHT - 3 <= given.sum() <= RIGHT and np.all(linked().probability[given] < 1)


def test_auto_without_such_a_column_starts_from_nothing_and_says_so() -> None:
    papers = some_papers()
    links = link(papers.a, papers.b, seeds_by="auto", device="cpu")
    assert links.pairs.tolist() == link(papers.a, papers.b, device="cpu").pairs.tolist()
    assert links.summary.why[-1].code == "no_column" and links.summary.agreement is None


def _run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout
