"""Beginnings of a search: guesses of the cross-covariance of two clouds' leading principal directions.

By broad profiles (how dense the cloud is around a row at every scale, how generic the row is), or drawn at random.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from veclink.geometry.arrays import Sides, both, rows_of
from veclink.geometry.neighbourhoods import Reading, broad_profiles, in_one_basis, read
from veclink.linkers.span.samples import Sampled, some_rows
from veclink.linkers.span.search_constants import (
    HINT_EXPONENT,
    MIXED,
    RANDOM_DIRECTIONS,
    SEARCH_HOPS,
    SEARCH_RIDGE,
)

Means = tuple[np.ndarray | None, np.ndarray | None]


def broad_profiles_of(clouds: Sides, means: Means, rng: np.random.Generator) -> Sides:
    """Broad profiles of the rows of both clouds, (n, 16), which compare.

    means: what was subtracted from the rows of either side, where it is known.
    """
    if means[0] is None or means[1] is None:
        means = None, None
    fewer = min(both(len, clouds))

    def of_some(cloud: np.ndarray) -> Reading:
        return read(cloud, some_rows(cloud, fewer, rng))  # equally many on both sides

    profile = partial(broad_profiles, hops=SEARCH_HOPS)
    profiles = both(profile, clouds, both(of_some, clouds), means)
    return in_one_basis(*profiles, SEARCH_RIDGE)


def profile_exponent(profiles: Sides, sampled: Sampled) -> np.ndarray:
    """What profiles add to the exponents of a plan, (n1, n2), at most 0."""
    of_a, of_b = rows_of(profiles, sampled.chosen)
    alike = of_a @ of_b.T
    return np.float32(HINT_EXPONENT) * (alike - np.float32(1.0))


def random_turns(count: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Guesses (count, width, width): leading directions keep their order roughly, neighbouring ones are mixed most."""
    directions = min(RANDOM_DIRECTIONS, width)
    square = directions, directions
    place = np.arange(directions)
    apart = np.abs(place[:, None] - place)
    drawn = rng.normal(size=(count, *square)) * MIXED
    mixing = np.triu(drawn / (1.0 + apart / 3.0), 1)
    half = (mixing - mixing.swapaxes(1, 2)) / 2.0
    one = np.eye(directions)
    turns = np.linalg.solve(one - half, one + half)  # Cayley's form
    signs = rng.choice([-1.0, 1.0], (count, 1, directions))
    joints = np.zeros((count, width, width), np.float32)
    joints[:, :directions, :directions] = turns * signs
    return joints
