"""Growing softly: every row is an anchor, placed at the mean of its likely partners, from the first round on.

A pool of single links cannot grow where the few links that a round may take are mostly wrong. Here no link is taken. A
row's image on the other side is the mean of all its likely partners, each by how likely it is: of a row that could be
anywhere it lies near the mean of the cloud and is short, so that it hardly counts; of one that is placed within a
neighbourhood it points there, which is right long before the partner is. The images are anchors of the next signatures,
which place the rows better. Likelihoods sharpen slowly, from a whole region to single partners.

A row must not confirm itself: rows are cut into folds, and those of one fold are placed by the images of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.geometry.arrays import Sides, both
from veclink.geometry.signatures import span_projections, unit_rows
from veclink.linkers.span.constants import SOFT_PAIRS
from veclink.linkers.span.nearness import csls_of_all, mutual_pairs
from veclink.progress import RoundListener
from veclink.threads import multiply


@dataclass(frozen=True)
class SoftSchedule:
    """How slowly likelihoods sharpen, and what the signatures are made of.

    Chosen on scifact, reddit and films (24 kinds of split, one run each): with 300 anchors 16 right of 132 on films
    from 15 seeds, with 600 1,139 of 1,227; a ridge of 0.3, 1 and 2 at 150 rows gave 75, 61 and 54 right ones; 1 to 4 at
    3,000 rows of scifact 689 to 691, at 1,200 of reddit 249, 195 and 129. That it grows with the anchors fits these,
    and was not tried otherwise. 20 rounds were too few for 4 seeds on reddit.
    """

    rounds: int = 30
    folds: int = 3
    anchors: int = 600  # of a signature, at most
    ridge: float = 1 / 300  # of a signature, for each anchor
    sharpness: tuple[float, float] = (5.0, 60.0)  # β, from where to where it rises

    def at(self, step: int) -> float:
        """β in one round."""
        low, high = self.sharpness
        done = step / max(self.rounds - 1, 1)
        return low * (high / low) ** done


SOFT_SCHEDULE = SoftSchedule()


def grow_softly(
    few: np.ndarray,
    many: np.ndarray,
    given: np.ndarray,
    rng: np.random.Generator,
    schedule: SoftSchedule = SOFT_SCHEDULE,
    listener: RoundListener | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Mutual neighbours of two clouds that were brought together from a few given pairs, the best first.

    Parameters
    ----------
    few, many : ndarrays of shape (n1, d1) and (n2, d2)
        Unit rows of the smaller cloud and of the larger one.
    given : ndarray of shape (m, 2)
        Pairs of their rows.
    rng : numpy.random.Generator
        Draws the folds, and of many rows those that are anchors.
    schedule : SoftSchedule
        How slowly.
    listener : callable, optional
        Hears of every round.

    Returns
    -------
    pairs : ndarray of shape (p, 2)
    score : ndarray of shape (p,)
        Their csls.
    """
    asked, given_asked = _asked(few, many, given, rng)
    rows = few[asked]
    pairs = np.column_stack([given_asked, given[:, 1]])
    placed, partners = pairs.T
    known = rows[placed], many[partners]
    signatures = _signatures((rows, many), known, schedule.ridge)
    csls = csls_of_all(signatures)
    for step in range(schedule.rounds):
        images = _images(csls, many, schedule.at(step), pairs)
        _place((rows, many), images, placed, schedule, rng, csls)
        if listener is not None:
            listener(step + 1, len(rows), 0.0)
    found, score = mutual_pairs(csls)
    found[:, 0] = asked[found[:, 0]]
    return found, score


def _asked(few: np.ndarray, many: np.ndarray, given: np.ndarray, rng: np.random.Generator) -> Sides:
    """Rows of the smaller cloud that are placed: the given ones and as many others as there is room for.

    Returns them, and where the given ones are among them.
    """
    most = max(SOFT_PAIRS // len(many), len(given))
    every = np.arange(len(few))
    known = given[:, 0]
    if len(few) <= most:
        return every, known
    others = np.setdiff1d(every, known)
    drawn = rng.choice(others, most - len(given), replace=False)
    asked = np.union1d(known, drawn)
    return asked, np.searchsorted(asked, known)


def _place(
    sides: Sides,
    images: np.ndarray,
    given: np.ndarray,
    schedule: SoftSchedule,
    rng: np.random.Generator,
    csls: np.ndarray,
) -> None:
    """Place the rows of the first side anew, those of a fold by the images of the others: writes their csls."""
    rows, many = sides
    folds = rng.integers(schedule.folds, size=len(rows))
    for fold in range(schedule.folds):
        placed = np.flatnonzero(folds == fold)
        if not len(placed):
            continue
        outside = folds != fold
        anchors = _drawn(images, outside, given, schedule.anchors, rng)
        weighted = _weighted(rows, images, anchors)
        both_sides = rows[placed], many
        of_placed = _signatures(both_sides, weighted, schedule.ridge)
        part = len(placed) / len(rows)
        csls[placed] = csls_of_all(of_placed, part)


def _images(csls: np.ndarray, many: np.ndarray, sharpness: float, given: np.ndarray) -> np.ndarray:
    """The mean of each row's likely partners (n, d): shorter, the less is known of where it is.

    A partner is as likely as the geometric mean of what the row's own best and the partner's best say.
    """
    likely = _softmax(csls, sharpness, axis=1)
    likely *= _softmax(csls, sharpness, axis=0)
    np.sqrt(likely, out=likely)
    images = multiply(likely, many)
    length = np.sqrt(_squares(images))
    images /= np.maximum(length, 1.0)[:, None]
    rows, partners = given.T
    images[rows] = many[partners]
    return images


def _softmax(csls: np.ndarray, sharpness: float, axis: int) -> np.ndarray:
    """How likely each pair is among those of its row (axis 1) or of its column (axis 0)."""
    below_best = csls - csls.max(axis=axis, keepdims=True)
    likely = np.exp(np.float32(sharpness) * below_best)
    likely /= likely.sum(axis=axis, keepdims=True)
    return likely


def _squares(rows: np.ndarray) -> np.ndarray:
    """Squared lengths of rows (n,)."""
    return np.einsum("ij,ij->i", rows, rows)


def _drawn(
    images: np.ndarray, outside: np.ndarray, given: np.ndarray, most: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows that the rows of a fold are placed by: of those outside it, the given ones and others by their length."""
    is_given = np.zeros(len(images), bool)
    is_given[given] = True
    others = np.flatnonzero(outside & ~is_given)
    if len(others) > most:
        weight = _squares(images[others]).astype(np.float64) + 1e-12
        chance = weight / weight.sum()
        others = rng.choice(others, most, replace=False, p=chance)
    return np.concatenate([given, others])


def _weighted(rows: np.ndarray, images: np.ndarray, anchors: np.ndarray) -> Sides:
    """The anchors on both sides: a row counts by the length of its image."""
    right = images[anchors]
    length = np.sqrt(_squares(right))
    return length[:, None] * rows[anchors], right


def _signatures(sides: Sides, anchors: Sides, ridge: float) -> Sides:
    """Span signatures of rows of both sides; the ridge is for each anchor: many weigh more against it than few."""
    ridge *= len(anchors[0])
    along = both(multiply, sides, span_projections(anchors, ridge))
    return both(unit_rows, along)
