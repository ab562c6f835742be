"""Annealing: what a schedule says, and that a right turn is found and agrees."""

from __future__ import annotations

from functools import cache

import numpy as np

from span_papers import all_papers, whole_cloud_pair
from veclink.linkers.span.annealing import Schedule, anneal, turned, unseen_agreement
from veclink.linkers.span.beginnings import random_turns
from veclink.linkers.span.directions import agreement
from veclink.linkers.span.samples import Sampled, sample, wide_rows
from veclink.linkers.span.search_constants import (
    SEARCHED_PAIRS,
    TRIED,
)

SHORT = Schedule(30, (6, 32), (1.0, 3.0))


@cache
def _clouds() -> tuple[np.ndarray, np.ndarray]:
    """The shared rows of both clouds, partners in the same place."""
    clouds = whole_cloud_pair()
    truth = all_papers().truth
    return clouds.a.array[truth[:, 0]], clouds.b.array[truth[:, 1]]


@cache
def _paired() -> Sampled:
    return sample(_clouds(), SEARCHED_PAIRS, np.random.default_rng(0))


def test_a_right_turn_agrees_more_than_a_wrong_one() -> None:
    p, q = _paired().rows
    right = anneal((p, q), p.T @ q / len(p), SHORT)
    flipped = (p.T @ q / len(p)) * np.where(np.arange(p.shape[1]) % 2, -1, 1).astype(np.float32)
    wrong = anneal((p, q), flipped, SHORT)
    of_p, of_q = turned((p, q), right, 32, SHORT.power)
    assert np.mean((of_p @ of_q.T).argmax(axis=1) == np.arange(len(p))) > 0.5
    assert agreement(right) > 1.05 * agreement(wrong)


def test_a_schedule_run_in_two_parts_is_nearly_the_whole() -> None:
    p, q = _paired().rows
    whole = anneal((p, q), p.T @ q / len(p), SHORT)
    half = anneal((p, q), p.T @ q / len(p), SHORT, rounds=range(15))
    rest = anneal((p, q), half, SHORT, rounds=range(15, 30))
    assert agreement(half) < 0.8 * agreement(whole)
    assert np.isclose(agreement(rest), agreement(whole), rtol=0.02)


def test_directions_and_sharpness_rise_and_the_hint_is_let_go() -> None:
    schedule = Schedule(11, (4, 60), (1.0, 4.0))
    counts, sharpness, hinted = zip(*(schedule.at(step) for step in range(11)), strict=True)
    assert counts[0] == 4 and counts[-1] == 60 and list(counts) == sorted(counts)
    assert sharpness[0] == 1.0 and np.isclose(sharpness[-1], 4.0) and np.isclose(sharpness[5], 2.0)
    assert hinted[0] == 1.0 and hinted[5] == 0.5 and hinted[-1] == 0.0
    assert Schedule(11, (4, 60), (1.0, 4.0), held=3.0).at(1)[2] == 3.0 * hinted[1]
    assert schedule.width(0, 60) == 16 and schedule.width(11, 60) == 60


def test_several_guesses_side_by_side_end_as_one_after_another() -> None:
    p, q = _paired().rows
    rows = p[:200], q[:200]
    guesses = random_turns(3, p.shape[1], np.random.default_rng(0))
    together = anneal(rows, guesses, SHORT)
    for guess, found in zip(guesses, together, strict=True):
        assert np.allclose(anneal(rows, guess, SHORT), found, atol=1e-3)


def test_a_row_of_twice_the_mass_counts_as_two_rows() -> None:
    p, q = (each[:150] for each in _paired().rows)
    first = p.T @ q / len(p)
    twice = np.r_[np.arange(150), np.arange(50)]
    masses = np.where(np.arange(150) < 50, 2, 1).astype(np.float32) / 200
    weighed = anneal((p, q), first, SHORT, masses=(masses, masses))
    assert np.allclose(weighed, anneal((p[twice], q[twice]), first, SHORT), atol=1e-3)
    assert not np.allclose(weighed, anneal((p, q), first, SHORT), atol=1e-2)


def _nearest_is_right(rows: tuple[np.ndarray, np.ndarray], joint: np.ndarray) -> float:
    of_p, of_q = turned(rows, joint, 16, SHORT.power)
    return float(np.mean((of_p @ of_q.T).argmax(axis=1) == np.arange(len(of_p))))


def test_only_the_right_turn_agrees_along_directions_that_it_did_not_look_at() -> None:
    """Along those that they looked at, wrong turns agree nearly as much: the right one on a fifth more."""
    tried = Schedule(*TRIED)
    a, b = _clouds()
    both = a[:400], b[:400]
    sampled = sample(both, SEARCHED_PAIRS, np.random.default_rng(0))
    p, q = sampled.rows
    wide = wide_rows(both, sampled)
    right = anneal((p, q), p.T @ q / len(p), tried)
    ends = anneal((p, q), random_turns(24, p.shape[1], np.random.default_rng(0)), tried)
    wrong = [end for end in ends if _nearest_is_right((p, q), end) < 0.1]
    assert len(wrong) > 15
    most_of_wrong = max(unseen_agreement((p, q), wide, end, tried) for end in wrong)
    assert unseen_agreement((p, q), wide, right, tried) > 1.4 * most_of_wrong


def test_what_was_looked_at_is_no_part_of_the_unseen_agreement() -> None:
    tried = Schedule(*TRIED)
    p, q = _paired().rows
    wide = wide_rows(_clouds(), _paired())
    width = tried.width(tried.rounds, p.shape[1])
    right = anneal((p, q), p.T @ q / len(p), tried)
    of_all = unseen_agreement((p, q), wide, right, tried)
    blank = tuple(np.where(np.arange(each.shape[1]) < width, np.float32(0), each) for each in wide)
    assert of_all > 0
    assert unseen_agreement((p, q), (blank[0], blank[1]), right, tried) == of_all
    rest_is_blank = tuple(np.where(np.arange(each.shape[1]) < width, each, np.float32(0)) for each in wide)
    assert unseen_agreement((p, q), (rest_is_blank[0], rest_is_blank[1]), right, tried) == 0


def test_where_all_directions_are_looked_at_none_is_unseen() -> None:
    tried = Schedule(*TRIED)
    a, b = _clouds()
    both = a[:100, :16], b[:100, :16]
    sampled = sample(both, SEARCHED_PAIRS, np.random.default_rng(0))
    p, q = sampled.rows
    end = anneal((p, q), p.T @ q / len(p), tried)
    assert unseen_agreement((p, q), wide_rows(both, sampled), end, tried) == 0
