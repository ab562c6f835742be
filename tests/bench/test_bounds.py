"""What the vectors allow: links from a pool that is the truth."""

from __future__ import annotations

from functools import cache

import numpy as np

from small_papers import N_ALONE, N_SHARED, small_papers
from veclink import Links, link
from veclink.linkers.span import linker
from veclink_bench.real_cases import Problem
from veclink_bench.studies.bounds import best_f1, grown_to, table, true_pairs


@cache
def papers() -> Problem:
    """A hundred and fifty papers that both sides hold, and fifty that one of them has."""
    a, b, _ = small_papers()
    objects = np.arange(N_SHARED + N_ALONE)
    alone_b = np.where(objects < N_SHARED, objects, objects + 1000)
    return Problem(a, b, objects, alone_b)


@cache
def from_truth() -> Links:
    """Their links without a seed, from the true pool."""
    problem = papers()
    with grown_to(true_pairs(problem)):
        return link(problem.a, problem.b, device="cpu", group_copies=False)


def test_the_stages_after_growing_start_from_the_truth_and_are_put_back() -> None:
    stages = linker.STAGES
    links = from_truth()
    assert linker.STAGES is stages
    assert "truth" in links.summary.reasons[0]
    assert best_f1(papers(), links.considered or links) > 0.95


def test_the_best_threshold_is_no_worse_than_the_linkers() -> None:
    links = from_truth()
    hits = int((links.pairs[:, 0] == links.pairs[:, 1]).sum())
    own = 2 * hits / (len(links) + N_SHARED)
    assert best_f1(papers(), links.considered or links) >= own


def test_the_table_holds_the_cases_that_were_linked_from_seeds_too() -> None:
    bounds = [{"case": name, "kind": "few", "label": name, "f1": 0.8, "best": 0.9} for name in ("one", "two")]
    linked = [{"case": "one", "true": {"f1": 0.7}}]
    assert table(bounds, linked).splitlines()[2:] == ["| few, one | 1 | 70.0 | 80.0 | 90.0 |"]
    assert table(bounds, linked, of=("kind",)).splitlines()[2:] == ["| few | 1 | 70.0 | 80.0 | 90.0 |"]
