"""What makes a link doubtful: the same parts of the evidence that lowered its probability, in words."""

from __future__ import annotations

import numpy as np
import pytest

import span_papers
from veclink.confidence.explanations import against, in_words, model_changes, typical


def test_what_speaks_against_a_link_is_what_lowers_its_odds() -> None:
    links = span_papers.linked()
    doubtful = np.flatnonzero((links.probability < 0.8) & ~links.evidence["given"])
    surest = np.flatnonzero(~links.evidence["given"])[:20]
    assert len(doubtful) > 5
    assert all(against(links, int(i)) for i in doubtful)
    for i in doubtful:
        changes = [change for _, change in against(links, int(i), most=9)]
        assert changes == sorted(changes) and changes[-1] < 0
    weight = [np.median([sum(change for _, change in against(links, int(i), most=9)) for i in some])
              for some in (doubtful, surest)]  # fmt: skip
    assert weight[0] < 2 * weight[1] <= 0


def test_a_close_rival_is_named_with_its_side() -> None:
    links = span_papers.linked()
    model = links.trace["model"]
    steep = [float(name == "narrow_margin") for name in model["features"]]
    known = {**links.trace, "model": {**model, "weights": steep, "centre": [9.0] * len(steep)}}
    only = links.some(slice(None), links.summary, trace=known)
    i = int(
        np.flatnonzero(~links.evidence["given"] & (links.evidence["rival_a"] >= 0) & (links.evidence["rival_b"] >= 0))[
            0
        ]
    )
    nearer = "a" if links.evidence["rival_a_score"][i] > links.evidence["rival_b_score"][i] else "b"
    said = in_words(only, i, "the rival in a", "the rival in b")
    assert said.startswith(f"“the rival in {nearer}” in {nearer.upper()} scores only ")


def test_what_single_maps_change_is_told_once_in_the_words_of_the_score() -> None:
    model = {
        "features": ["score", "score_map2", "score_map3", "margin_map1"],
        "weights": [1.0, 2.0, -0.5, 4.0],
        "centre": [0.5, 0.5, 0.5, 0.0],
        "scale": [0.1, 0.1, 0.1, 0.1],
    }
    values = {"score": 0.4, "score_map2": 0.3, "score_map3": 0.6, "margin_map1": -0.1}
    assert model_changes(model, values) == pytest.approx({"score": -1 - 4 - 0.5, "narrow_margin": -4.0})


@pytest.mark.parametrize("known", ["given", "no model"])
def test_nothing_is_said_of_given_pairs_or_where_nothing_is_known(known: str) -> None:
    links = span_papers.linked()
    given = int(np.flatnonzero(links.evidence["given"])[0])
    least = len(links) - 1
    unknown = links.some(slice(None), links.summary, trace={})
    assert (in_words(links, given) if known == "given" else in_words(unknown, least)) == ""


def test_some_links_of_each_kind_are_shown_and_the_one_pair_that_came_closest() -> None:
    links = span_papers.linked()
    shown = typical(links, sure=3, doubtful=2)
    assert [kind for kind, _ in shown] == ["sure"] * 3 + ["doubtful"] * 2 + ["left out"]
    assert shown[4][1] < len(links) == shown[5][1]
