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
from veclink.geometry.nearest import largest_values
from veclink.geometry.signatures import span_projections, unit_rows
from veclink.linkers.span.alignment import rising
from veclink.linkers.span.constants import NEIGHBOURS, SOFT_PAIRS
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


SOFT_SCHEDULE = SoftSchedule()


def grow_softly(
    few: np.ndarray,
    many: np.ndarray,
    given: np.ndarray,
    rng: np.random.Generator,
    schedule: SoftSchedule = SOFT_SCHEDULE,
    listener: RoundListener | None = None,
) -> np.ndarray:
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
    ndarray of shape (p, 2)
    """
    asked, given_asked = _asked(few, many, given, rng)
    rows = few[asked]
    pairs = np.column_stack([given_asked, given[:, 1]])
    placed, partners = pairs.T
    csls = _csls((rows, many), (rows[placed], many[partners]), schedule.ridge)
    for step in range(schedule.rounds):
        images = _images(csls, many, rising(schedule.sharpness, step, schedule.rounds), pairs)
        _place((rows, many), images, placed, schedule, rng, csls)
        if listener is not None:
            listener(step + 1, len(rows), 0.0)
    best = csls.argmax(axis=1)
    mutual = np.flatnonzero(csls.argmax(axis=0)[best] == np.arange(len(csls)))
    order = np.argsort(-csls[mutual, best[mutual]], kind="stable")
    return np.column_stack([asked[mutual], best[mutual]])[order]


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
        # Of the rows outside the fold the given ones and others by the length of their images, which they count by.
        others = np.setdiff1d(np.flatnonzero(folds != fold), given)
        if len(others) > schedule.anchors:
            weight = _squares(images[others]).astype(np.float64) + 1e-12
            others = rng.choice(others, schedule.anchors, replace=False, p=weight / weight.sum())
        anchors = np.concatenate([given, others])
        right = images[anchors]
        left = np.sqrt(_squares(right))[:, None] * rows[anchors]
        csls[placed] = _csls((rows[placed], many), (left, right), schedule.ridge, len(placed) / len(rows))


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


def _csls(sides: Sides, anchors: Sides, ridge: float, part: float = 1.0) -> np.ndarray:
    """csls of all pairs of rows of both sides (n1, n2), by their span signatures.

    The ridge is for each anchor: many weigh more against it than few. part: share of the rows of the first side that
    are here; the density of the second side's rows is taken over as many fewer neighbours.
    """
    left, right = both(unit_rows, both(multiply, sides, span_projections(anchors, ridge * len(anchors[0]))))
    cosine = multiply(left, right.T)
    own = largest_values(cosine, NEIGHBOURS).mean(axis=1)
    other = largest_values(cosine.T, max(1, round(NEIGHBOURS * part))).mean(axis=1)
    cosine *= 2
    cosine -= own[:, None]
    cosine -= other
    return cosine
