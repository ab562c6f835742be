"""Searching for how one cloud is turned against another: many beginnings, a few rounds each, the best carried through.

A beginning is a guess of the cross-covariance of the two clouds' leading principal directions: from broad profiles (how
dense the cloud is around a row at every scale, how generic the row is), from short ones (its nearest neighbours alone),
or drawn at random. Noise on a guess makes many of it. Which beginning is good differs by data and by luck; that one is,
shows in how much of the two clouds it makes agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from veclink.geometry.profiles import Reading, broad_profiles, in_one_basis, read, short_profiles
from veclink.geometry.signatures import singular, span_projection, unit_rows
from veclink.linkers.span.annealing import Schedule, agreement, anneal, first_joint, leading
from veclink.linkers.span.constants import (
    ALONE,
    ANNEALED,
    ANNEALED_PAIRS,
    ANNEALED_POWER,
    BEGINNINGS,
    CARRIED,
    CARRIED_HALFWAY,
    CARRIED_THROUGH,
    HALFWAY,
    HELD,
    HINT_EXPONENT,
    MIXED,
    NARROWEST,
    NOISE,
    RANDOM_DIRECTIONS,
    SEARCH_HOPS,
    SEARCH_RIDGE,
    SEARCHED_PAIRS,
    SEEDED,
    SHARED_DIRECTIONS,
    TRIED,
)
from veclink.threads import thread_count

RoundListener = Callable[[int, int, float], None]
Sides = tuple[np.ndarray, np.ndarray]
Means = tuple[np.ndarray | None, np.ndarray | None]
Beginning = tuple[np.ndarray, np.ndarray | None]  # a first cross-covariance, and a hint for its first rounds


@dataclass(frozen=True, eq=False)
class Sampled:
    """Rows of two clouds to search on: whitened, and in how they were whitened.

    Attributes
    ----------
    rows : ndarrays of shape (n1, r) and (n2, r)
        Whitened principal coordinates.
    whitening : ndarrays of shape (d1, r) and (d2, r)
        From unit rows to those.
    chosen : ndarrays
        Positions of the rows among those that were sampled.
    """

    rows: Sides
    whitening: Sides
    chosen: Sides


def searched(clouds: Sides, means: Means, rng: np.random.Generator, listener: RoundListener | None = None) -> Sides:
    """Projections (d1, r) and (d2, r) on which two clouds of unit rows look alike, from many beginnings.

    Of all beginnings the best are carried on, of those the best to the end: early on the sum says little, and halfway
    it tells most wrong ones.

    means: what was subtracted from the rows of either side, where it is known.
    """
    sampled = sample(clouds, SEARCHED_PAIRS, rng)
    p, q = sampled.rows
    beginnings = list(islice(_beginnings(clouds, means, sampled, rng), BEGINNINGS))

    def tried(begun: Beginning) -> np.ndarray:
        return anneal(p, q, begun[0], Schedule(*TRIED), begun[1])

    carried = Schedule(*CARRIED)
    halfway = partial(anneal, p, q, schedule=carried, rounds=range(HALFWAY))
    to_the_end = partial(anneal, p, q, schedule=carried, rounds=range(HALFWAY, carried.rounds))
    found = _in_parallel(tried, beginnings, len(p), listener)
    found = _best(found, CARRIED_HALFWAY, NARROWEST)
    found = _in_parallel(halfway, found, len(p), listener)
    found = _best(found, CARRIED_THROUGH)
    found = _in_parallel(to_the_end, found, len(p), listener)
    return _projections(sampled, max(found, key=agreement))


def annealed(clouds: Sides, means: Means, rng: np.random.Generator) -> Sides:
    """Projections on which two clouds look alike, from their broad profiles, which are let go over all rounds.

    Slow runs on as many rows as there is time for: what a hint that is nearly good enough needs is more rows. How much
    the profiles should weigh differs by data; the sum tells.
    """
    hints = in_one_basis(*_broad(clouds, _readings(clouds, rng), means), SEARCH_RIDGE)
    sampled = sample(clouds, ANNEALED_PAIRS, rng)
    p, q = sampled.rows
    hint = _exponent(hints, sampled)

    def run(held: float) -> np.ndarray:
        schedule = Schedule(*ANNEALED, let_go=1.0, held=held)
        return anneal(p, q, first_joint(p, q, np.float32(held) * hint), schedule, hint)

    return _projections(sampled, max(_in_parallel(run, HELD, len(p)), key=agreement))


def annealed_from(given: Sides, clouds: Sides, means: Means, ridge: float, rng: np.random.Generator) -> Sides:
    """Projections on which two clouds look alike, from given pairs too few to place a row, with and without profiles.

    Which of the two helps differs by data; the sum tells which ended right.

    given: vectors (m, d1) and (m, d2) of the pairs.
    """
    sampled = sample(clouds, SEARCHED_PAIRS, rng)
    p, q = sampled.rows
    by_profiles = _exponent(in_one_basis(*_broad(clouds, _readings(clouds, rng), means), SEARCH_RIDGE), sampled)
    of_a = unit_rows(clouds[0][sampled.chosen[0]] @ span_projection(given[0], ridge))
    of_b = unit_rows(clouds[1][sampled.chosen[1]] @ span_projection(given[1], ridge))
    by_given = of_a @ of_b.T - np.float32(1.0)
    schedule = Schedule(*ANNEALED, let_go=1.0)

    def run(weights: tuple[float, float]) -> np.ndarray:
        hint = np.float32(weights[0]) * by_given + np.float32(weights[1]) * by_profiles
        return anneal(p, q, first_joint(p, q, hint), schedule, hint)

    return _projections(sampled, max(_in_parallel(run, SEEDED, len(p)), key=agreement))


def sample(clouds: Sides, pairs: int, rng: np.random.Generator) -> Sampled:
    """Rows of both clouds, at most so many pairs of them: all of a small cloud, more of the other then."""
    n_a, n_b = len(clouds[0]), len(clouds[1])
    fewer = min(n_a, n_b, int(np.sqrt(pairs)))
    most = pairs // fewer
    chosen = _some(n_a, most, rng), _some(n_b, most, rng)
    whitening = _whitening(clouds[0]), _whitening(clouds[1])
    width = min(whitening[0].shape[1], whitening[1].shape[1])
    whitening = whitening[0][:, :width], whitening[1][:, :width]
    p = clouds[0][chosen[0]] @ whitening[0]
    q = clouds[1][chosen[1]] @ whitening[1]
    return Sampled((_of_mean_square_1(p), _of_mean_square_1(q)), whitening, chosen)


def _beginnings(clouds: Sides, means: Means, sampled: Sampled, rng: np.random.Generator) -> Iterator[Beginning]:
    """Guesses from broad profiles, at random, and from short profiles, which stay for the first rounds."""
    p, q = sampled.rows
    broad, short = (_exponent(hints, sampled) for hints in _hints(clouds, means, rng))
    from_broad = first_joint(p, q, np.float32(ALONE) * broad)
    from_short = first_joint(p, q, np.float32(ALONE) * short)
    while True:
        for noise in NOISE:
            yield _noisy(from_broad, noise, rng), None
            yield _random_turn(p.shape[1], rng), None
            yield _noisy(from_short, noise, rng), short
            yield _noisy(from_broad, noise, rng), None


def _hints(clouds: Sides, means: Means, rng: np.random.Generator) -> tuple[Sides, Sides]:
    """Broad and short profiles of the rows of both clouds."""
    readings = _readings(clouds, rng)
    short_a = short_profiles(readings[0], len(clouds[0]), SEARCH_HOPS)
    short_b = short_profiles(readings[1], len(clouds[1]), SEARCH_HOPS)
    broad = in_one_basis(*_broad(clouds, readings, means), SEARCH_RIDGE)
    return broad, in_one_basis(short_a, short_b, SEARCH_RIDGE)


def _readings(clouds: Sides, rng: np.random.Generator) -> tuple[Reading, Reading]:
    """What the rows of both clouds see of equally many rows of their own."""
    fewer = min(len(clouds[0]), len(clouds[1]))
    of_a = read(clouds[0], _some(len(clouds[0]), fewer, rng))
    of_b = read(clouds[1], _some(len(clouds[1]), fewer, rng))
    return of_a, of_b


def _broad(clouds: Sides, readings: tuple[Reading, Reading], means: Means) -> Sides:
    """Broad profiles of both clouds, with the nearness to the mean where both means are known."""
    mean_a, mean_b = means if means[0] is not None and means[1] is not None else (None, None)
    of_a = broad_profiles(clouds[0], readings[0], mean_a, SEARCH_HOPS)
    of_b = broad_profiles(clouds[1], readings[1], mean_b, SEARCH_HOPS)
    return of_a, of_b


def _exponent(hints: Sides, sampled: Sampled) -> np.ndarray:
    """What hints add to the exponents of a plan, (n1, n2), at most 0."""
    alike = hints[0][sampled.chosen[0]] @ hints[1][sampled.chosen[1]].T
    return np.float32(HINT_EXPONENT) * (alike - np.float32(1.0))


def _noisy(joint: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """A guess with noise, less of it on the directions of small variance."""
    place = np.arange(len(joint))
    damped = 1.0 / (1.0 + (place[:, None] + place) / 4.0)
    random = rng.normal(size=joint.shape) * damped
    return (joint / singular(joint)[1][0] + noise * random).astype(np.float32)


def _random_turn(width: int, rng: np.random.Generator) -> np.ndarray:
    """Leading directions that keep their order roughly, with random signs: neighbouring ones are mixed most."""
    count = min(RANDOM_DIRECTIONS, width)
    place = np.arange(count)
    mixing = np.triu(rng.normal(size=(count, count)) * MIXED / (1.0 + np.abs(place[:, None] - place) / 3.0), 1)
    half, one = (mixing - mixing.T) / 2.0, np.eye(count)
    joint = np.zeros((width, width), np.float32)
    joint[:count, :count] = np.linalg.solve(one - half, one + half) * rng.choice([-1.0, 1.0], count)  # Cayley's form
    return joint


def _in_parallel(
    run: Callable[[Any], np.ndarray], of: Iterable[Any], n_rows: int, listener: RoundListener | None = None
) -> list[np.ndarray]:
    """Cross-covariances of independent runs, on all processors, in the order of what they are made of."""
    found = []
    with ThreadPoolExecutor(thread_count()) as threads:
        for step, joint in enumerate(threads.map(run, of)):
            found.append(joint)
            if listener is not None:
                listener(step + 1, n_rows, 0.0)
    return found


def _best(joints: list[np.ndarray], count: int, width: int | None = None) -> list[np.ndarray]:
    """Those that make most of the two clouds agree, as seen along the first `width` directions."""
    order = sorted(joints, key=lambda joint: -agreement(joint[:width, :width]))
    return order[:count]


def _projections(sampled: Sampled, joint: np.ndarray) -> Sides:
    left, right = leading(joint, SHARED_DIRECTIONS, ANNEALED_POWER)
    return sampled.whitening[0] @ left, sampled.whitening[1] @ right


def _some(n: int, most: int, rng: np.random.Generator) -> np.ndarray:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _whitening(points: np.ndarray) -> np.ndarray:
    """The leading principal directions (d, 60), each divided by the root of its variance plus the mean variance."""
    values, directions = np.linalg.eigh(points.T.astype(np.float64) @ points / len(points))
    values, directions = np.maximum(values[::-1], 0.0), directions[:, ::-1]
    scaled = directions / np.sqrt(values + values.mean())
    return scaled[:, :SHARED_DIRECTIONS].astype(np.float32)


def _of_mean_square_1(rows: np.ndarray) -> np.ndarray:
    return rows / np.sqrt((rows**2).mean())
