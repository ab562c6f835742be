"""Beginnings of a search: guesses of the cross-covariance of two clouds' leading principal directions.

From broad profiles (how dense the cloud is around a row at every scale, how generic the row is), from short ones (its
nearest neighbours alone), or drawn at random. Noise on a guess makes many of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from veclink.geometry.profiles import Reading, broad_profiles, in_one_basis, read, short_profiles
from veclink.geometry.sides import Sides, both, rows_of
from veclink.geometry.signatures import singular
from veclink.linkers.span.annealing import first_joint
from veclink.linkers.span.constants import (
    ALONE,
    HINT_EXPONENT,
    MIXED,
    NOISE,
    RANDOM_DIRECTIONS,
    SEARCH_HOPS,
    SEARCH_RIDGE,
)
from veclink.linkers.span.samples import Sampled, some_rows

Means = tuple[np.ndarray | None, np.ndarray | None]
Readings = tuple[Reading, Reading]


@dataclass(frozen=True, eq=False)
class Beginning:
    """A first cross-covariance (r, r), and a hint (n1, n2) for its first rounds."""

    joint: np.ndarray
    hint: np.ndarray | None = None


def beginnings(clouds: Sides, means: Means, sampled: Sampled, rng: np.random.Generator) -> Iterator[Beginning]:
    """Guesses from broad profiles, at random, and from short profiles, which stay for the first rounds."""
    readings = _readings(clouds, rng)
    broad = profile_exponent(_broad(clouds, readings, means), sampled)
    short = profile_exponent(_short(clouds, readings), sampled)
    from_broad = first_joint(sampled.rows, np.float32(ALONE) * broad)
    from_short = first_joint(sampled.rows, np.float32(ALONE) * short)
    width = len(from_broad)
    while True:
        for noise in NOISE:
            yield Beginning(_noisy(from_broad, noise, rng))
            yield Beginning(_random_turn(width, rng))
            yield Beginning(_noisy(from_short, noise, rng), short)
            yield Beginning(_noisy(from_broad, noise, rng))


def broad_profiles_of(clouds: Sides, means: Means, rng: np.random.Generator) -> Sides:
    """Broad profiles of the rows of both clouds, (n, 16), which compare.

    means: what was subtracted from the rows of either side, where it is known.
    """
    return _broad(clouds, _readings(clouds, rng), means)


def profile_exponent(profiles: Sides, sampled: Sampled) -> np.ndarray:
    """What profiles add to the exponents of a plan, (n1, n2), at most 0."""
    of_a, of_b = rows_of(profiles, sampled.chosen)
    alike = of_a @ of_b.T
    return np.float32(HINT_EXPONENT) * (alike - np.float32(1.0))


def _readings(clouds: Sides, rng: np.random.Generator) -> Readings:
    """What the rows of both clouds see of equally many rows of their own."""
    fewer = min(both(len, clouds))

    def of_some(cloud: np.ndarray) -> Reading:
        return read(cloud, some_rows(cloud, fewer, rng))

    return both(of_some, clouds)


def _broad(clouds: Sides, readings: Readings, means: Means) -> Sides:
    """Broad profiles, with the nearness to the mean where both means are known."""
    if means[0] is None or means[1] is None:
        means = None, None
    profile = partial(broad_profiles, hops=SEARCH_HOPS)
    profiles = both(profile, clouds, readings, means)
    return in_one_basis(*profiles, SEARCH_RIDGE)


def _short(clouds: Sides, readings: Readings) -> Sides:
    profile = partial(short_profiles, hops=SEARCH_HOPS)
    profiles = both(profile, readings, both(len, clouds))
    return in_one_basis(*profiles, SEARCH_RIDGE)


def _noisy(joint: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """A guess with noise, less of it on the directions of small variance."""
    place = np.arange(len(joint))
    order = place[:, None] + place
    damped = 1.0 / (1.0 + order / 4.0)
    random = rng.normal(size=joint.shape) * damped
    _, values, _ = singular(joint)
    noisy = joint / values[0] + noise * random
    return noisy.astype(np.float32)


def _random_turn(width: int, rng: np.random.Generator) -> np.ndarray:
    """Leading directions that keep their order roughly, with random signs: neighbouring ones are mixed most."""
    count = min(RANDOM_DIRECTIONS, width)
    place = np.arange(count)
    apart = np.abs(place[:, None] - place)
    drawn = rng.normal(size=(count, count)) * MIXED
    damped = drawn / (1.0 + apart / 3.0)
    mixing = np.triu(damped, 1)
    half = (mixing - mixing.T) / 2.0
    one = np.eye(count)
    turn = np.linalg.solve(one - half, one + half)  # Cayley's form
    signs = rng.choice([-1.0, 1.0], count)
    joint = np.zeros((width, width), np.float32)
    joint[:count, :count] = turn * signs
    return joint
