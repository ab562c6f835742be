"""Objects across three collections: what agrees is kept, what contradicts itself is settled by probability."""

from __future__ import annotations

import numpy as np

from span_papers import some_papers
from veclink import Links, link_many
from veclink.data.summary import Summary
from veclink.uses.many import reconcile


def links(*pairs: tuple[int, int, float], below: tuple[tuple[int, int, float], ...] = ()) -> Links:
    """Links of two collections of ten rows; `below` were judged but fell below the cut."""
    table = np.array((*pairs, *below), float).reshape(-1, 3)
    return Links(table[:, :2].astype(int), table[:, 2], Summary("span", n_a=10, n_b=10, n_links=len(pairs)))


def test_three_links_that_agree_are_one_object() -> None:
    found = reconcile({(0, 1): links((1, 2, 0.9)), (1, 2): links((2, 3, 0.8)), (0, 2): links((1, 3, 0.7))}, 3)
    assert found.objects.tolist() == [[1, 2, 3]]
    assert found.probability[0] > 0.8


def test_a_missing_link_follows_from_the_other_two() -> None:
    found = reconcile({(0, 1): links((1, 2, 0.95)), (1, 2): links((2, 3, 0.95)), (0, 2): links()}, 3)
    assert found.pairs(0, 2).tolist() == [[1, 3]]


def test_a_cycle_that_disagrees_is_settled_by_probability() -> None:
    """0:1 = 1:2 = 2:3 is surer than 0:1 = 2:4."""
    torn = links((1, 4, 0.6), below=((1, 3, 0.35),))
    found = reconcile({(0, 1): links((1, 2, 0.95)), (1, 2): links((2, 3, 0.9)), (0, 2): torn}, 3)
    assert found.objects.tolist() == [[1, 2, 3]]


def test_a_link_that_a_third_collection_contradicts_is_dropped() -> None:
    """0:1 is surely 1:2, and nothing says that 1:2 is 2:4; then 0:1 is hardly 2:4. Without a third word it stands."""
    doubtful = links((1, 4, 0.7), (8, 8, 0.7))
    found = reconcile({(0, 1): links((1, 2, 0.98)), (1, 2): links((6, 6, 0.9)), (0, 2): doubtful}, 3)
    assert sorted(found.pairs(0, 2).tolist()) == [[8, 8]]
    given = links((1, 4, 1.0), (8, 8, 0.7))
    kept = reconcile({(0, 1): links((1, 2, 0.98)), (1, 2): links((6, 6, 0.9)), (0, 2): given}, 3)
    assert [1, 4] in kept.pairs(0, 2).tolist()


def test_no_object_holds_two_rows_of_one_collection() -> None:
    rng = np.random.default_rng(0)
    pairwise = {
        ends: links(*((row, int(other), float(rng.random())) for row, other in enumerate(rng.permutation(10))))
        for ends in ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
    }
    found = reconcile(pairwise, 4)
    assert len(found) > 3
    for column in found.objects.T:
        rows = column[column >= 0].tolist()
        assert len(rows) == len(set(rows))
    assert ((found.objects >= 0).sum(axis=1) >= 2).all()


def test_a_weak_link_that_a_third_collection_confirms_is_taken() -> None:
    weak = links((9, 9, 0.9), below=((1, 3, 0.3),))
    found = reconcile({(0, 1): links((1, 2, 0.7)), (1, 2): links((2, 3, 0.7)), (0, 2): weak}, 3)
    assert [1, 2, 3] in found.objects.tolist()
    alone = reconcile({(0, 1): links((5, 5, 0.9)), (1, 2): links((5, 5, 0.9)), (0, 2): weak}, 3)
    assert sorted(alone.pairs(0, 2).tolist()) == [[5, 5], [9, 9]]


def test_three_views_of_real_papers_are_linked_from_seeds() -> None:
    """A, B, and A again in another order: every object is known."""
    papers = some_papers()
    order = np.random.default_rng(1).permutation(len(papers.a))
    again = papers.a[order]
    place = np.argsort(order)
    to_again = np.column_stack([papers.truth[:, 1], place[papers.truth[:, 0]]])
    seeds = {(0, 1): papers.seeds, (2, 1): to_again[:15, ::-1], (0, 2): [(row, int(place[row])) for row in range(15)]}
    steps: list[str] = []
    found = link_many(
        [papers.a, papers.b, again], seeds=seeds, device="cpu", progress=lambda now: steps.append(now.stage)
    )
    right = {tuple(pair) for pair in to_again.tolist()}
    told = {tuple(pair) for pair in found.pairs(1, 2).tolist()}
    assert len(right & told) / len(told) > 0.9 and len(right & told) / len(right) > 0.9
    assert sorted(found.pairwise) == [(0, 1), (0, 2), (1, 2)]
    assert "linking 1 and 2" in steps
