"""Aligning two clouds from almost any beginning: soft partners for all rows at once, few directions first, then more.

The leading principal directions of two clouds of the same kind of data span nearly the same space, whatever the models;
what is unknown is how the one is turned against the other. A guess of that turn (a cross-covariance of the two) gives
every row soft partners, the partners give a better cross-covariance, and so on: `M ← Pᵀ T(M) Q`, where T is the
doubly stochastic plan of `exp(β⟨P u, Q v⟩)` along the leading directions of M. With few directions and a low β the plan
is nearly uniform and follows what the clouds have in common at large; both rise from round to round, and what began as
a turn of three or four directions ends as a map of sixty. A wrong beginning ends in a wrong map, but how much of the
two clouds the map makes agree, the sum of M's singular values, tells them apart without a label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.geometry.signatures import singular, unit_rows
from veclink.linkers.span.constants import ANNEALED_POWER, HINT_LET_GO, NARROWEST, PLAN_SCALINGS, WIDER
from veclink.threads import multiply

FLOOR = np.float32(1e-30)  # of a sum of weights: rows that nothing is like stay finite


@dataclass(frozen=True)
class Schedule:
    """Rounds, and from where to where the number of directions and β rise in them (both as a geometric series).

    scalings: how often rows and columns of a plan are scaled in turn. power: of a direction's singular value, which is
    its weight. held: the weight of a hint at first. let_go: the share of the rounds over which it falls to nothing.
    """

    rounds: int
    directions: tuple[int, int]
    sharpness: tuple[float, float]
    scalings: int = PLAN_SCALINGS
    power: float = ANNEALED_POWER
    let_go: float = HINT_LET_GO
    held: float = 1.0

    def at(self, step: int) -> tuple[int, float, float]:
        """Directions, β and the weight of the hint in one round."""
        done = min(step / max(self.rounds - 1, 1), 1.0)
        count = round(_between(self.directions, done))
        return count, _between(self.sharpness, done), self.held * max(0.0, 1.0 - done / self.let_go)

    def width(self, step: int, most: int) -> int:
        """Principal directions that are looked at in one round."""
        return min(most, max(NARROWEST, round(WIDER * self.at(step)[0])))


def anneal(
    p: np.ndarray,
    q: np.ndarray,
    joint: np.ndarray,
    schedule: Schedule,
    hint: np.ndarray | None = None,
    rounds: range | None = None,
) -> np.ndarray:
    """The cross-covariance (d, d) that two clouds of whitened rows (n1, d) and (n2, d) agree on, from a first guess.

    hint: (n1, n2), added to the exponents of the plan in the first rounds.
    rounds: which of the schedule to run; all of them where not given.
    """
    columns = np.ones(len(q), np.float32)
    most = p.shape[1]
    for step in range(schedule.rounds) if rounds is None else rounds:
        count, sharpness, hinted = schedule.at(step)
        width = schedule.width(step, most)
        block = joint[:width, :width]
        of_p, of_q = turned(p[:, :width], q[:, :width], block, count, schedule.power)
        scale = np.float32(sharpness * np.sqrt(count))
        exponent = multiply(scale * of_p, of_q.T)
        exponent -= scale
        if hint is not None and hinted > 0:
            exponent += np.float32(hinted) * hint
        plan = np.exp(exponent, out=exponent)
        wider = schedule.width(step + 1, most)
        found, columns = _averaged(p[:, :wider], q[:, :wider], plan, columns, schedule.scalings)
        joint = np.zeros((most, most), np.float32)
        joint[:wider, :wider] = found
    return joint


def turned(p: np.ndarray, q: np.ndarray, joint: np.ndarray, count: int, power: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows of both clouds along the leading directions of a cross-covariance, of unit length."""
    axes_p, axes_q = leading(joint, count, power)
    return unit_rows(p @ axes_p), unit_rows(q @ axes_q)


def leading(joint: np.ndarray, count: int, power: float) -> tuple[np.ndarray, np.ndarray]:
    """The leading singular vectors (d, count) of both sides, each weighted by its singular value to the power."""
    left, value, right = singular(joint)
    weight = (value[:count] / max(value[0], 1e-12)) ** np.float32(power)
    return left[:, :count] * weight, right[:count].T * weight


def agreement(joint: np.ndarray) -> float:
    """How much of two clouds a map makes agree: the sum of the singular values of its cross-covariance."""
    return float(singular(joint)[1].sum())


def first_joint(p: np.ndarray, q: np.ndarray, hint: np.ndarray) -> np.ndarray:
    """The cross-covariance of rows with their soft partners by a hint alone."""
    return _averaged(p, q, np.exp(hint), np.ones(len(q), np.float32), PLAN_SCALINGS)[0]


def _averaged(
    p: np.ndarray, q: np.ndarray, plan: np.ndarray, columns: np.ndarray, scalings: int
) -> tuple[np.ndarray, np.ndarray]:
    """`Pᵀ T Q` with T the plan scaled so that its rows and columns have the same sums; the scales of the columns."""
    for _ in range(scalings):
        rows = 1.0 / np.maximum((plan @ columns) * np.float32(len(p)), FLOOR)
        columns = 1.0 / np.maximum((rows @ plan) * np.float32(len(q)), FLOOR)
    partners = multiply(plan, columns[:, None] * q)
    return p.T @ (rows[:, None] * partners), columns


def _between(ends: tuple[float, float], share: float) -> float:
    return ends[0] * (ends[1] / ends[0]) ** share
