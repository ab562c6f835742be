"""Which links come up, and in which order."""

from __future__ import annotations

import numpy as np

from reviewed_papers import Reviewed
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.review.bands import banded


def some_links(probability: list[float], given: list[bool] | None = None) -> Links:
    n = len(probability)
    evidence = {} if given is None else {"given": np.array(given)}
    pairs = np.column_stack([np.arange(n), np.arange(n)])
    return Links(pairs, np.array(probability), Summary("span", n, n, n), evidence)


def test_the_uncertain_come_first_then_the_sure_then_the_given() -> None:
    links = some_links([1.0, 1.0, 0.98, 0.95, 0.8, 0.5, 0.2, 0.05], [True, False, *6 * [False]])
    bands = banded(links)
    in_turn = links.probability[bands.queues["doubtful"]].tolist()
    assert in_turn[0] == 0.5 and set(in_turn[1:3]) == {0.8, 0.2} and set(in_turn[3:5]) == {0.95, 0.05}
    last = bands.queues["doubtful"][-1]
    assert bool(links.evidence["given"][last]) and bands.labels[bands.of[last]] == "given"


def test_a_probability_of_one_and_of_nought_have_a_band() -> None:
    bands = banded(some_links([1.0, 0.0]))
    assert [bands.labels[band] for band in bands.of] == ["0.97 – 1", "0 – 0.1"]


def test_both_orders_hold_every_link_once(papers: Reviewed) -> None:
    bands = banded(papers.links)
    for queue in bands.queues.values():
        assert sorted(queue.tolist()) == list(range(len(papers.links)))


def test_within_a_band_the_order_is_random_not_by_probability(papers: Reviewed) -> None:
    bands = banded(papers.links)
    sure = bands.queues["doubtful"][np.isin(bands.of[bands.queues["doubtful"]], [bands.labels.index("0.97 – 1")])]
    ranks = np.argsort(np.argsort(papers.links.probability[sure], kind="stable"), kind="stable")
    assert abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) < 0.3


def test_links_without_any_are_banded_too() -> None:
    assert len(banded(some_links([])).of) == 0
