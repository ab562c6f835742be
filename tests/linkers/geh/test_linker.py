"""GEH: its parts, and what users rely on: order, rotation, scale and sides do not matter; odd input does not crash."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_papers import N_SEEDS, N_SHARED, small_papers
from veclink.data.collection import Collection
from veclink.data.pairs import score
from veclink.geometry.clouds import Cloud, prepare
from veclink.linkers.anchors import anchors_from_pairs, anchors_from_vectors
from veclink.linkers.checkpoint import NOBODY, Watch
from veclink.linkers.geh.linker import Growth, geh
from veclink.linkers.options import GehOptions

SHORT: dict[str, Any] = {"k": 10, "max_iterations": 3}
FEW = settings(max_examples=4)


def _cloud(vectors: np.ndarray) -> Cloud:
    return prepare(Collection.from_array(vectors), centre=False)


def _grow(
    a: np.ndarray,
    b: np.ndarray,
    seeds: np.ndarray,
    *,
    random_state: int = 0,
    memory: str | None = None,
    watch: Watch = NOBODY,
    **options: Any,
) -> Growth:
    cloud_a, cloud_b = _cloud(a), _cloud(b)
    anchors = anchors_from_pairs(cloud_a, cloud_b, seeds)
    chosen = GehOptions(**(SHORT | options))
    return geh(cloud_a, cloud_b, anchors, chosen, random_state=random_state, memory=memory, watch=watch)


def _seeds(seed: int = 0) -> np.ndarray:
    truth = small_papers()[2]
    return truth[np.random.default_rng(seed).choice(N_SHARED, N_SEEDS, replace=False)]


def _set(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in pairs}


def _agreement(one: set[tuple[int, int]], other: set[tuple[int, int]]) -> float:
    return len(one & other) / len(one | other)


@pytest.mark.parametrize(
    "switch",
    [
        {},
        {"encoding": "raw"},
        {"encoding": lambda distances, width: distances / width},
        {"view_side": "b"},
        {"view_choice": "random"},
        {"own_votes": False},
        {"seeds_in_views": False},
        {"schedule": "frozen"},
        {"views": "single"},
        {"bootstrap": False},
    ],
)
def test_every_variant_keeps_the_seeds_is_one_to_one_and_repeats(switch: dict[str, Any]) -> None:
    a, b, _ = small_papers()
    found, again = (_grow(a, b, _seeds(), random_state=3, **switch) for _ in range(2))
    assert np.array_equal(found.pairs[:N_SEEDS], _seeds()) and found.n_seeds == N_SEEDS
    assert len(np.unique(found.pairs[:, 0])) == len(np.unique(found.pairs[:, 1])) == len(found.pairs)
    assert np.array_equal(found.pairs, again.pairs) and np.array_equal(found.confidence, again.confidence)
    assert np.array_equal(found.score, again.score, equal_nan=True)
    assert found.views == sum(each.views for each in found.history)
    assert np.all(found.votes <= found.views) and np.all(np.diff(found.confidence[N_SEEDS:]) <= 0)


@FEW
@given(st.integers(0, 10_000))
def test_permuting_rows_and_seeds_permutes_links(seed: int) -> None:
    a, b, _ = small_papers()
    rng = np.random.default_rng(seed)
    to_a, to_b = rng.permutation(len(a)), rng.permutation(len(b))
    seeds = _seeds(seed)
    moved = np.stack([np.argsort(to_a)[seeds[:, 0]], np.argsort(to_b)[seeds[:, 1]]], axis=1)[rng.permutation(N_SEEDS)]
    here = _grow(a, b, seeds, random_state=seed).pairs
    there = _grow(a[to_a], b[to_b], moved, random_state=seed).pairs
    # Views are drawn from the links in the order of their evidence: only rounding can tell the two runs apart.
    assert _agreement(_set(here), _set(np.stack([to_a[there[:, 0]], to_b[there[:, 1]]], axis=1))) >= 0.95


@FEW
@given(st.integers(0, 10_000), st.floats(1e-3, 1e3))
def test_rotating_and_rescaling_a_cloud_changes_nothing(seed: int, factor: float) -> None:
    a, b, _ = small_papers()
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(a.shape[1],) * 2))[0]
    seeds = _seeds(seed)
    turned = (a @ rotation * factor).astype(np.float32)
    here, there = (_set(_grow(x, b, seeds, random_state=seed).pairs) for x in (a, turned))
    assert _agreement(here, there) >= 0.95


@FEW
@given(st.integers(0, 10_000))
def test_swapping_the_clouds_swaps_the_columns(seed: int) -> None:
    a, b, _ = small_papers()
    seeds = _seeds(seed)
    here = _grow(a, b, seeds, random_state=seed).pairs
    there = _grow(b, a, seeds[:, ::-1], random_state=seed).pairs
    assert _agreement(_set(here), _set(there[:, ::-1])) >= 0.95


def test_out_of_domain_anchors_link_without_being_links() -> None:
    a, b, truth = small_papers()
    outside, inside = np.arange(30), np.arange(30, 200)
    cloud_a, cloud_b = _cloud(a[inside]), _cloud(b[inside])
    anchors = anchors_from_vectors(cloud_a, cloud_b, a[outside], b[outside])
    found = geh(cloud_a, cloud_b, anchors, GehOptions(k=10, max_iterations=8))
    assert found.n_seeds == 0 and len(found.pairs) > 30
    assert score(found.pairs, truth[30:] - 30).precision > 0.7


def test_memory_limits_change_how_it_is_computed_but_not_the_links() -> None:
    a, b, _ = small_papers()
    assert _agreement(_set(_grow(a, b, _seeds()).pairs), _set(_grow(a, b, _seeds(), memory="600KB").pairs)) >= 0.95


def test_clouds_of_one_repeated_vector_do_not_crash() -> None:
    same = np.ones((6, 4), np.float32)
    found = _grow(same, same, np.array([[0, 0], [1, 1]]))
    assert _set(found.pairs) >= {(0, 0), (1, 1)} and np.isfinite(found.confidence).all()
