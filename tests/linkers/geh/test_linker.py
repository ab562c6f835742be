"""GEH: its parts, and what users rely on: order, rotation, scale and sides do not matter; odd input does not crash."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_papers import N_SEEDS, N_SHARED, small_papers
from veclink.data.collection import Collection
from veclink.data.pairs import score
from veclink.errors import InputError
from veclink.geometry.clouds import Cloud, prepare
from veclink.linkers.anchors import anchors_from_pairs, anchors_from_vectors
from veclink.linkers.geh.linker import Growing, Growth, geh
from veclink.linkers.geh.views import Proposal, Round, Settings, draw_views
from veclink.linkers.linking import link
from veclink.linkers.options import GehOptions
from veclink.linkers.stages import NOBODY, Watch
from veclink.progress import Progress

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


def test_it_grows_from_the_seeds_and_most_links_are_right() -> None:
    a, b, truth = small_papers()
    found = _grow(a, b, _seeds(), max_iterations=15)
    once = _grow(a, b, _seeds(), bootstrap=False)
    assert score(found.pairs, truth).f1 > score(once.pairs, truth).f1 + 0.05
    assert score(found.pairs, truth).precision > 0.8
    assert len(once.history) == 1


@pytest.mark.parametrize(
    "switch",
    [
        {},
        {"encoding": "raw"},
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


def test_other_random_states_draw_other_views() -> None:
    a, b, _ = small_papers()
    one, other = (_grow(a, b, _seeds(), random_state=state) for state in (0, 1))
    assert one.votes.tolist() != other.votes.tolist()


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


def test_duplicates_and_ties_do_not_crash() -> None:
    a, b, _ = small_papers()
    doubled_a, doubled_b = np.concatenate([a, a[:80]]), np.concatenate([b, b[:80], b[:80]])
    found = _grow(doubled_a, doubled_b, _seeds())
    assert len(np.unique(found.pairs[:, 0])) == len(found.pairs) > N_SEEDS


def test_clouds_of_one_repeated_vector_do_not_crash() -> None:
    same = np.ones((6, 4), np.float32)
    found = _grow(same, same, np.array([[0, 0], [1, 1]]))
    assert _set(found.pairs) >= {(0, 0), (1, 1)} and np.isfinite(found.confidence).all()


def test_three_rows_and_one_seed_are_enough() -> None:
    a, b, _ = small_papers()
    assert (0, 0) in _set(_grow(a[:3], b[:3], np.array([[0, 0]])).pairs)


def test_progress_tells_every_iteration() -> None:
    a, b, _ = small_papers()
    told: list[Progress] = []
    found = _grow(a, b, _seeds(), watch=Watch(told.append))
    assert [each.step for each in told] == [1, 2, 3] and {each.of for each in told} == {3}
    assert [each.links for each in told] == [each.links for each in found.history]
    assert told[-1].links == len(found.pairs)


def test_it_stops_when_the_share_of_points_of_both_sides_is_steady() -> None:
    a, b, _ = small_papers()
    found = _grow(a, b, _seeds(), views="single", max_iterations=100)
    coverage = [each.coverage for each in found.history]
    moves = np.abs(np.diff(coverage))
    assert 11 <= len(found.history) < 100
    assert np.all(moves[-10:] < 0.01)
    # No earlier iteration after the burn-in had ten steady moves behind it.
    assert not any(np.all(moves[i - 10 : i] < 0.01) for i in range(10, len(moves)))
    # Both sides count, so that the share can be up to 2.
    assert max(coverage) > 1


def _watched(**options: Any) -> tuple[Growing, list[tuple[int, Proposal]]]:
    a, b, _ = small_papers()
    cloud_a, cloud_b = _cloud(a), _cloud(b)
    settings = Settings(GehOptions(**({"k": 10, "max_iterations": 4} | options)))
    growing = Growing(cloud_a, cloud_b, anchors_from_pairs(cloud_a, cloud_b, _seeds()), settings)
    views: list[tuple[int, Proposal]] = []
    rounds = growing.path.round

    def noted(*given: Any) -> Round:
        now = rounds(*given)
        proposals = list(now.proposals)
        views.extend((now.times, each) for each in proposals)
        return replace(now, proposals=iter(proposals))

    vars(growing.path)["round"] = noted
    rng = np.random.default_rng(0)
    while not growing.finished:
        growing.advance(rng)
    return growing, views


@pytest.mark.parametrize("own_votes", [True, False])
def test_without_own_votes_a_view_has_none_on_what_it_holds(own_votes: bool) -> None:
    growing, views = _watched(own_votes=own_votes)
    votes: Counter[tuple[int, int]] = Counter()
    holding: Counter[tuple[int, int]] = Counter()
    for times, view in views:
        held = _set(view.held)
        for pair in _set(view.pairs):
            votes[pair] += times * (own_votes or pair not in held)
        for pair in held:
            holding[pair] += times
    found = growing.result()
    assert sum(holding.values()) > 100
    for pair, counted, chances in zip(found.pairs.tolist(), found.votes, found.chances, strict=True):
        assert counted == votes[tuple(pair)]
        assert chances == found.views - (0 if own_votes else holding[tuple(pair)])


def test_views_drawn_from_all_links_need_not_hold_the_seeds() -> None:
    vectors = small_papers()[0][:60]
    rng = np.random.default_rng(0)
    for options in (GehOptions(), GehOptions(view_choice="random")):
        with_seeds = draw_views((vectors, vectors), 15, (4, 30), options, rng)
        without = draw_views((vectors, vectors), 15, (4, 30), replace(options, seeds_in_views=False), rng)
        assert all(len(set(view.tolist())) == 30 for view in (*with_seeds, *without))
        assert all(set(range(15)) <= set(view.tolist()) for view in with_seeds)
        assert not any(set(range(15)) <= set(view.tolist()) for view in without)


def test_centred_links_as_a_centred_cloud_does() -> None:
    a, b, _ = small_papers()
    options = {**SHORT, "method": "geh", "seeds": _seeds(), "device": "cpu"}
    centred = [prepare(Collection.from_array(side)).dense() for side in (a, b)]
    assert _set(link(a, b, centred=True, **options).pairs) == _set(link(*centred, **options).pairs)
    assert _set(link(a, b, **options).pairs) != _set(link(*centred, **options).pairs)


@pytest.mark.parametrize(
    "options",
    [
        {"encoding": "kernal"},
        {"view_choice": "x"},
        {"schedule": ""},
        {"views": "two"},
        {"share": 0},
        {"k": 0},
        {"own_votes": 1},
    ],
)
def test_wrong_options_are_named(options: dict[str, Any]) -> None:
    a, b, _ = small_papers()
    with pytest.raises(InputError, match=next(iter(options))):
        _grow(a, b, _seeds(), **options)
