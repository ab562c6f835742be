"""Profiles: what a point looks like to its own cloud, comparable across two embedding spaces without any anchor.

A point's similarities to its own cloud, sorted, say how dense the cloud is around it at every scale; the same for its
neighbours, and for theirs, tells it from other points of the same density.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.geometry.clouds import uncentred
from veclink.geometry.nearest import EXCLUDED, largest
from veclink.geometry.sides import Sides
from veclink.geometry.signatures import unit_rows
from veclink.threads import share

# Ranks that similarities are read at, neighbours that a hop averages, and the weight of a hop: from the first trials of
# linking without seeds (scifact and nfcorpus, three pairs of encoders, 15 to 50 % shared).
RANKS = 64
NEIGHBOURS = 15
HOP_WEIGHT = 0.7
# Leading principal components that are kept. Origin not recorded.
COMPONENTS = 16
BLOCK = 256  # rows at a time
# Of how generic a row is, against 64 numbers of a profile; 4 to 16 do as well (reddit, scifact, papers, films).
GENERIC_WEIGHT = 8.0


def paired_profiles(a: np.ndarray, b: np.ndarray, *, hops: int, ridge: float) -> Sides:
    """Profiles of the rows of two clouds of unit vectors, (n, 16) float32 of unit length, in one basis."""
    return in_one_basis(profiles(a, hops), profiles(b, hops), ridge)


def in_one_basis(left: np.ndarray, right: np.ndarray, ridge: float) -> Sides:
    """What was read of the rows of two clouds, (n, f), as rows (n, 16) float32 of unit length that compare.

    The 16 leading principal components of both clouds' numbers together, each divided by the root of its variance plus
    `ridge` times the mean variance: most of the numbers say the same thing, and would drown the rest.
    """
    both = np.concatenate([left, right]).astype(np.float64)
    values, axes = np.linalg.eigh(both.T @ both / len(both))
    values, axes = np.maximum(values, 0.0), axes[:, -COMPONENTS:]
    spread = np.maximum(values[-COMPONENTS:] + ridge * values.mean(), 1e-12)  # 0 where all rows are alike
    basis = (axes / np.sqrt(spread)).astype(np.float32)
    return unit_rows(left @ basis), unit_rows(right @ basis)


def profiles(points: np.ndarray, hops: int) -> np.ndarray:
    """Profiles (n, 64·(hops + 1)) float32 of the rows of a cloud of unit vectors.

    The first 64 numbers are a row's similarities to its cloud, sorted and read at log-spaced ranks; each hop adds the
    mean profile of its 15 nearest neighbours, of their neighbours, and so on, with weight 0.7 to the power of the hop.
    Every number is standardised over the cloud, so that the models' own scales of similarity do not matter.
    """
    reading = read(points)
    return over_hops(_standard(reading.similarities), reading.nearest, hops)


@dataclass(frozen=True, eq=False)
class Reading:
    """What the rows of a cloud see of it.

    Attributes
    ----------
    similarities : ndarray of shape (n, 64)
        To the rows referred to, itself left out, at log-spaced ranks, the largest first.
    ranks : ndarray of shape (64,)
        Which ranks these are; 1 is the nearest.
    nearest : ndarray of shape (n, 15)
        The nearest of the rows referred to.
    """

    similarities: np.ndarray
    ranks: np.ndarray
    nearest: np.ndarray


def read(points: np.ndarray, references: np.ndarray | None = None) -> Reading:
    """Each row's similarities to the rows at these positions of its cloud (None: to all), and its nearest of them.

    Two clouds of unequal sizes compare when both refer to equally many rows: a rank then means the same in both.
    """
    n = len(points)
    chosen = np.arange(n) if references is None else references
    place = np.full(n, -1)
    place[chosen] = np.arange(len(chosen))
    ranks = np.geomspace(1, len(chosen) - 1, RANKS).astype(np.int64)
    similarities = np.empty((n, RANKS), np.float32)
    nearest = np.empty((n, min(NEIGHBOURS, len(chosen) - 1)), np.int64)
    others = points[chosen].T

    def read(start: int, stop: int) -> None:
        cosine = points[start:stop] @ others
        itself = place[start:stop]
        there = np.flatnonzero(itself >= 0)
        cosine[there, itself[there]] = EXCLUDED  # last in the order, even among duplicates
        nearest[start:stop] = chosen[largest(cosine, nearest.shape[1])]
        cosine.sort(axis=1)
        similarities[start:stop] = cosine[:, -ranks]

    share(read, n, step=BLOCK)
    return Reading(similarities, ranks, nearest)


def over_hops(own: np.ndarray, nearest: np.ndarray, hops: int) -> np.ndarray:
    """Numbers of each row beside the means over its neighbours, over theirs, and so on, with falling weight."""
    parts = [own]
    for _ in range(hops):
        parts.append(_standard(parts[-1][nearest].mean(axis=1)))
    return np.hstack([HOP_WEIGHT**hop * part for hop, part in enumerate(parts)]).astype(np.float32)


def broad_profiles(points: np.ndarray, reading: Reading, mean: np.ndarray | None, hops: int) -> np.ndarray:
    """Profiles at all ranks and, where the mean of the cloud is known, how near to it a row was before centring.

    How generic a row is says as much as all its similarities together, which is why it weighs as much.
    """
    shape = over_hops(_standard(reading.similarities), reading.nearest, hops)
    if mean is None:
        return shape
    generic = _standard(nearness_to_mean(points, mean)[:, None])
    return np.hstack([shape, GENERIC_WEIGHT * over_hops(generic, reading.nearest, hops)])


def nearness_to_mean(points: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """How near rows were to their cloud's mean before it was subtracted and they were made unit length again."""
    return uncentred(points, mean) @ mean / max(float(np.linalg.norm(mean)), 1e-12)


def _standard(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)
