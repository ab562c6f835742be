"""The search from many beginnings: it finds a turn that no hint is given for, and its sum tells right from wrong."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from span_papers import all_papers
from veclink.data.collection import Collection
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import unit_rows
from veclink.linkers.span import search
from veclink.linkers.span.annealing import Schedule, anneal, turned
from veclink.linkers.span.constants import SEARCHED_PAIRS
from veclink.linkers.span.directions import agreement
from veclink.linkers.span.samples import Sampled, sample
from veclink.linkers.span.search import annealed, annealed_from, searched
from veclink.matching import match

SHORT = Schedule(30, (6, 32), (1.0, 3.0))


@cache
def _clouds() -> tuple[np.ndarray, np.ndarray]:
    papers = all_papers()
    return prepare(Collection.from_array(papers.a)).dense(), prepare(Collection.from_array(papers.b)).dense()


@cache
def _paired() -> Sampled:
    """The shared rows of both clouds, partners in the same place."""
    a, b = _clouds()
    truth = all_papers().truth
    return sample((a[truth[:, 0]], b[truth[:, 1]]), SEARCHED_PAIRS, np.random.default_rng(0))


def _turned_away(points: np.ndarray) -> np.ndarray:
    square = np.random.default_rng(0).normal(size=(points.shape[1],) * 2)
    return points @ np.linalg.qr(square)[0].astype(np.float32)


def _share_right(a: np.ndarray, b: np.ndarray, projections: tuple[np.ndarray, np.ndarray]) -> float:
    """Of the rows, how many are mutual neighbours of the row in the same place."""
    pairs, _ = match(unit_rows(a @ projections[0]), unit_rows(b @ projections[1])).mutual()
    return float((pairs[:, 0] == pairs[:, 1]).sum() / len(a))


def test_a_right_turn_agrees_more_than_a_wrong_one() -> None:
    p, q = _paired().rows
    right = anneal((p, q), p.T @ q / len(p), SHORT)
    flipped = (p.T @ q / len(p)) * np.where(np.arange(p.shape[1]) % 2, -1, 1).astype(np.float32)
    wrong = anneal((p, q), flipped, SHORT)
    of_p, of_q = turned((p, q), right, 32, SHORT.power)
    assert np.mean((of_p @ of_q.T).argmax(axis=1) == np.arange(len(p))) > 0.5
    assert agreement(right) > 1.05 * agreement(wrong)


def test_many_beginnings_find_the_turn_of_a_cloud_against_itself() -> None:
    points = _clouds()[0][:400]
    away = _turned_away(points)
    found = searched((points, away), (None, None), np.random.default_rng(0))
    assert _share_right(points, away, found) > 0.95


def test_beginnings_that_run_side_by_side_end_as_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    points = _clouds()[0][:150]
    monkeypatch.setattr(search, "BEGINNINGS", 8)
    both = points, _turned_away(points)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(search, "thread_count", lambda threads=threads: threads)
        found.append(searched(both, (None, None), np.random.default_rng(0)))
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


def test_a_schedule_run_in_two_parts_is_nearly_the_whole() -> None:
    p, q = _paired().rows
    whole = anneal((p, q), p.T @ q / len(p), SHORT)
    half = anneal((p, q), p.T @ q / len(p), SHORT, rounds=range(15))
    rest = anneal((p, q), half, SHORT, rounds=range(15, 30))
    assert agreement(half) < 0.8 * agreement(whole)
    assert np.isclose(agreement(rest), agreement(whole), rtol=0.02)


def test_four_pairs_align_what_four_wrong_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SEEDED", [each for each in search.SEEDED if not each[1]])  # without the profiles
    a, b = _clouds()
    truth = all_papers().truth
    both = a[truth[:, 0]], b[truth[:, 1]]
    right = []
    for partners in (np.arange(4), np.arange(4) + 300):
        given = both[0][:4], both[1][partners]
        found = annealed_from(given, both, (None, None), 0.3, np.random.default_rng(0))
        right.append(_share_right(*both, found))
    assert right[0] > 0.5 > right[1]


def test_one_slow_run_aligns_a_cloud_with_a_part_of_itself_that_another_model_sees() -> None:
    a, b = _clouds()
    truth = all_papers().truth
    both = a[truth[:, 0]], b[truth[:, 1]]
    found = annealed(both, (None, None), np.random.default_rng(0))
    assert _share_right(*both, found) > 0.5


def test_a_sample_keeps_all_of_a_small_cloud_and_more_of_the_other() -> None:
    a, b = _clouds()
    sampled = sample((a[:100], b), 50_000, np.random.default_rng(0))
    assert len(sampled.rows[0]) == 100 and len(sampled.rows[1]) == 500
    assert np.isclose((sampled.rows[1] ** 2).mean(), 1.0, atol=1e-3)


def test_directions_and_sharpness_rise_and_the_hint_is_let_go() -> None:
    schedule = Schedule(11, (4, 60), (1.0, 4.0), let_go=0.5)
    counts, sharpness, hinted = zip(*(schedule.at(step) for step in range(11)), strict=True)
    assert counts[0] == 4 and counts[-1] == 60 and list(counts) == sorted(counts)
    assert sharpness[0] == 1.0 and np.isclose(sharpness[-1], 4.0) and np.isclose(sharpness[5], 2.0)
    assert hinted[0] == 1.0 and hinted[5] == 0.0 and min(hinted) == 0.0
    assert Schedule(11, (4, 60), (1.0, 4.0), let_go=0.5, held=3.0).at(1)[2] == 3.0 * hinted[1]
    assert schedule.width(0, 60) == 16 and schedule.width(11, 60) == 60
