"""Sentences drawn from merging, clustering and the strategies: each holds for some results and not for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from veclink_bench.claims import CLAIMS, FIGURES
from veclink_bench.experiments.merging import OVERLAPS

Cells = list[dict[str, Any]]
PAIRS = [["scifact", "minilm", "mpnet"], ["scifact", "mpnet", "e5"]]


def only(table: str, cells: Cells) -> Callable[[str], Cells]:
    """The cells of one table, as a claim asks for them."""
    return lambda name: cells if name == table else []


def merged(lead: Callable[[float], float], ridge: Callable[[list[str]], float]) -> Cells:
    """Merging by span's links, `lead` points above GEH's at each overlap; ridge: its gain over LA2M on a pair."""
    cells = []
    for pair in PAIRS:
        for overlap in OVERLAPS:
            for by, ndcg in (("span", 50 + lead(overlap)), ("geh tuned", 50.0), ("true links", 60.0)):
                gains = {"la2m": 0.0, "blend": 3.0, "ridge": ridge(pair), "procrustes": ridge(pair)}
                maps = {kind: {"recall": 80.0, "ndcg": ndcg + gain} for kind, gain in gains.items()}
                cells.append({"pair": pair, "overlap": overlap, "links_by": by, "state": 0, "maps": maps})
    return cells


def test_geh_ahead_above_the_smallest_overlap_is_told() -> None:
    claim = CLAIMS["geh-is-ahead-where-least-is-shared-only"]
    behind = merged(lambda overlap: -1.0 if overlap == OVERLAPS[0] else 2.0, lambda _: 0.0)
    assert claim(only("merging", behind))
    assert FIGURES["merging-geh-ahead"](only("merging", behind)) == len(PAIRS)
    assert not claim(only("merging", merged(lambda overlap: -1.0 if overlap == 0.3 else 2.0, lambda _: 0.0)))


def test_a_map_that_suits_another_pair_is_told() -> None:
    claim = CLAIMS["ridge-and-procrustes-only-suit-siblings"]
    assert claim(only("merging", merged(lambda _: 1.0, lambda pair: 1.0 if pair == PAIRS[0] else -1.0)))
    assert not claim(only("merging", merged(lambda _: 1.0, lambda _: 1.0)))


@pytest.mark.parametrize(("v", "holds"), [(59.5, True), (58.5, False)])
def test_clusters_a_point_below_the_models_alone_are_told(v: float, holds: bool) -> None:
    alone = [{"pair": ["reddit", model], "links_by": "one model", "v": 60.0} for model in ("minilm", "mpnet")]
    linked = {"pair": ["reddit", "minilm", "mpnet"], "links_by": "span", "overlap": 0.3, "seeds": 20, "v": v}
    assert CLAIMS["clusters-within-a-point"](only("clustering", [*alone, linked])) is holds


@pytest.mark.parametrize(("wide", "holds"), [(61.0, True), (59.0, False)])
def test_wide_links_that_make_worse_clusters_are_told(wide: float, holds: bool) -> None:
    cell = {"pair": PAIRS[0], "links_by": "span", "overlap": 0.2, "seeds": 20, "v": 60.0, "oar": 90.0}
    cells = [cell | {"wide": {"v": wide, "oar": 95.0}}, cell | {"overlap": 0.1, "wide": {"v": 0.0, "oar": 0.0}}]
    assert CLAIMS["wide-links-make-better-clusters"](only("clustering", cells)) is holds


def test_a_combination_of_geh_above_its_best_settings_is_told() -> None:
    cells = [
        {"overlap": overlap, "method": method, "f1": f1}
        for overlap, gap in ((0.15, 20), (0.3, 10))
        for method, f1 in (("geh fps raw", 60), ("geh tuned", 65), ("span", 65 + gap))
    ]
    claims = [CLAIMS[name] for name in ("tuned-geh-is-the-best-geh", "lead-grows-as-less-is-shared")]
    assert all(claim(only("strategies", cells)) for claim in claims)
    cells[3]["f1"], cells[-1]["f1"] = 66, 90
    assert not any(claim(only("strategies", cells)) for claim in claims)
