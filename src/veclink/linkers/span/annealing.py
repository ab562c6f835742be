"""Aligning two clouds from almost any beginning: soft partners for all rows at once, few directions first, then more.

The leading principal directions of two clouds of the same kind of data span nearly the same space, whatever the models;
what is unknown is how the one is turned against the other. A guess of that turn (a cross-covariance of the two) gives
every row soft partners, the partners give a better cross-covariance, and so on: `M ← Pᵀ T(M) Q`, where T is the plan of
`exp(β⟨P u, Q v⟩)` along the leading directions of M, scaled so that its rows and columns sum to what each stands for.
With few directions and a low β the plan is nearly uniform and follows what the clouds have in common at large; both
rise from round to round, and what began as a turn of three or four directions ends as a map of sixty. A wrong beginning
ends in a wrong map, but how much of the two clouds the map makes agree, the sum of M's singular values, tells them
apart without a label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.geometry.arrays import Sides, both
from veclink.linkers.span.constants import ALIGNMENT_POWER
from veclink.linkers.span.directions import leading
from veclink.threads import multiply

FLOOR = np.float32(1e-30)  # of a sum of weights: rows that nothing is like stay finite


@dataclass(frozen=True)
class Schedule:
    """Rounds, and from where to where the number of directions and β rise in them (both as a geometric series)."""

    rounds: int
    directions: tuple[int, int]
    sharpness: tuple[float, float]

    def at(self, step: int) -> tuple[int, float]:
        """Directions and β in one round."""
        done = min(step / max(self.rounds - 1, 1), 1.0)
        count = round(_between(self.directions, done))
        sharpness = _between(self.sharpness, done)
        return count, sharpness

    def width(self, step: int, most: int) -> int:
        """Principal directions that are looked at in one round: half as many again as are used, and at least 16.

        Without a limit the noise of the many drowns the few (scifact, 500 in 5,000).
        """
        count, _ = self.at(step)
        return min(most, max(16, round(1.5 * count)))


def anneal(
    rows: Sides,
    joint: np.ndarray,
    schedule: Schedule,
    rounds: range | None = None,
    masses: Sides | None = None,
    known: np.ndarray | None = None,
) -> np.ndarray:
    """The cross-covariance (d, d) that two clouds of whitened rows (n1, d) and (n2, d) agree on, from a first guess.

    joint: (d, d), or several of them (b, d, d), which are run side by side.
    rounds: which of the schedule to run; all of them where not given.
    masses: (n1,) and (n2,), how much each row stands for, 1 in all; equal where not given.
    known: (d, d), what is known of the cross-covariance, added to what each round finds.
    """
    p, q = rows
    most = p.shape[1]
    several = joint.shape[:-2]
    if masses is None:
        masses = both(_equal_masses, rows)
    if rounds is None:
        rounds = range(schedule.rounds)
    columns = np.ones((*several, len(q)), np.float32)
    plan = np.empty((*several, len(p), len(q)), np.float32)  # one for all rounds: memory that is new costs more
    for step in rounds:
        _fill_plan(plan, rows, joint, schedule, step)
        width = schedule.width(step + 1, most)
        seen = _first_columns(rows, width)
        found, columns = _averaged(seen, masses, plan, columns)
        joint = np.zeros((*several, most, most), np.float32)
        joint[..., :width, :width] = found
        if known is not None:
            joint[..., :width, :width] += known[:width, :width]
    return joint


def unseen_agreement(rows: Sides, wide: Sides, joint: np.ndarray, schedule: Schedule) -> float:
    """How much a cross-covariance (d, d) makes two clouds agree along directions that it was not made of.

    A wrong turn fits what it looks at nearly as well as the right one does; the rest it mostly fits worse.

    rows: (n1, d) and (n2, d), whitened; wide: the same along more directions. schedule: what it is the end of.
    """
    step = schedule.rounds
    plan = np.empty((len(rows[0]), len(rows[1])), np.float32)
    _fill_plan(plan, rows, joint, schedule, step)
    columns = np.ones(len(rows[1]), np.float32)
    masses = both(_equal_masses, rows)
    first_unseen = schedule.width(step, joint.shape[-1])
    unseen = wide[0][:, first_unseen:], wide[1][:, first_unseen:]
    found, _ = _averaged(unseen, masses, plan, columns)
    return float(np.linalg.norm(found))


def turned(rows: Sides, joint: np.ndarray, count: int) -> Sides:
    """Rows of both clouds along the leading directions of a cross-covariance, of unit length."""
    shared = leading(joint, count, ALIGNMENT_POWER)
    return both(_unit_along, rows, shared)


def _fill_plan(plan: np.ndarray, rows: Sides, joint: np.ndarray, schedule: Schedule, step: int) -> None:
    """`exp(β⟨P u, Q v⟩)` of all rows (…, n1, n2) in one round, at most 1, before its rows and columns are scaled."""
    count, sharpness = schedule.at(step)
    width = schedule.width(step, joint.shape[-1])
    block = joint[..., :width, :width]
    seen = _first_columns(rows, width)
    of_p, of_q = turned(seen, block, count)
    scale = np.float32(sharpness * np.sqrt(count))
    _product(scale * of_p, of_q.swapaxes(-1, -2), plan)
    plan -= scale
    np.exp(plan, out=plan)


def _averaged(sides: Sides, masses: Sides, plan: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`Pᵀ T Q` with T the plan scaled so that its rows and columns sum to their masses; the scales of the columns."""
    p, q = sides
    of_p, of_q = masses
    for _ in range(3):  # chosen on reddit minilm–e5 and scifact
        along_rows = (plan @ columns[..., None])[..., 0]
        rows = of_p / np.maximum(along_rows, FLOOR)
        along_columns = (rows[..., None, :] @ plan)[..., 0, :]
        columns = of_q / np.maximum(along_columns, FLOOR)
    partners = _product(plan, columns[..., None] * q)
    return p.T @ (rows[..., None] * partners), columns


def _product(left: np.ndarray, right: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """left · right; of one plan on several threads, of several plans on the one that has them."""
    if left.ndim == 2:
        return multiply(left, right, out)
    return np.matmul(left, right, out=out)


def _unit_along(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Rows (n, d) along directions (…, d, r), of unit length."""
    along = rows @ directions
    squares = np.einsum("...j,...j->...", along, along)
    along /= np.maximum(np.sqrt(squares), 1e-12)[..., None]
    return along


def _first_columns(rows: Sides, width: int) -> Sides:
    p, q = rows
    return p[:, :width], q[:, :width]


def _equal_masses(rows: np.ndarray) -> np.ndarray:
    n = len(rows)
    return np.full(n, 1.0 / n, np.float32)


def _between(ends: tuple[float, float], share: float) -> float:
    low, high = ends
    return low * (high / low) ** share
