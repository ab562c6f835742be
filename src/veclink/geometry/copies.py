"""Copies: rows of one cloud that stand for the same object, exactly or nearly alike.

A copy is a rival that is as right as the partner itself: it takes the lead away from the links of its object, and from
the decoys' rate that of everyone's. So copies are grouped before linking, and one row of each group is linked.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np

from veclink.geometry.arrays import tiles
from veclink.geometry.clouds import LEAST_ROWS, Cloud
from veclink.geometry.nearest import EXCLUDED, components
from veclink.threads import ROWS_AT_ONCE, share

COPY_GAP = 0.16
"""Rows are copies when 1 − cosine is at most this part of what 80 % of the rows have to their nearest row.

Chosen on scifact, reddit and movies (minilm, mpnet, e5, granite): copies turned by up to 0.12 of the typical gap are
all found, and of rows that are not copies 1 in 1,000 is as near (scifact, mpnet).
"""

VALLEY = (1.5, 5)
"""Near copies are a bump in the distribution of gaps: at least so many times (5) as many rows as there are beyond the
limit, up to so many times (1.5) as far. In few dimensions gaps have no valley, and near neighbours are no copies."""

SAME = 1e-5
"""1 − cosine of rows that are equal, but for rounding."""

MOST_COMPARED = 20_000
"""Rows of a cloud up to which each is compared with all others; of more, only equal ones are found."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Which rows of a cloud stand for the same object."""

    first: np.ndarray  # (n,) of each row, the first row of its group: itself, where it has no copies or is the first

    @property
    def chosen(self) -> np.ndarray:
        """The rows that stand for their groups, ascending: (g,)."""
        return np.flatnonzero(self.first == np.arange(len(self.first)))

    @property
    def copies(self) -> int:
        """How many rows are left out."""
        return len(self.first) - len(self.chosen)

    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows sorted by group, (n,), and where each row's group starts and ends in that: (n, 2)."""
        order = np.argsort(self.first, kind="stable")
        sorted_first = self.first[order]
        ends = [np.searchsorted(sorted_first, self.first, side=side) for side in ("left", "right")]
        return order, np.column_stack(ends)


def copy_groups(cloud: Cloud) -> Groups:
    """The groups of copies among the rows of a cloud."""
    if len(cloud) > MOST_COMPARED:
        groups = Groups(_equal_rows(cloud))
    else:
        gaps = _nearest_gaps(cloud)
        groups = Groups(_joined(cloud, gaps, _limit(gaps)))
    return groups if len(groups.chosen) >= LEAST_ROWS else Groups(np.arange(len(cloud)))


def without_copies(cloud: Cloud, groups: Groups) -> Cloud:
    """The cloud of one row for each group; its mean stays that of all."""
    if not groups.copies:
        return cloud
    return Cloud(cloud.collection, cloud.rows[groups.chosen], cloud.mean)


def _limit(gaps: np.ndarray) -> float:
    """The gap up to which rows are copies."""
    near = max(COPY_GAP * float(np.quantile(gaps, 0.8)), SAME)
    below = np.count_nonzero(gaps <= near)
    as_far, times = VALLEY
    beyond = np.count_nonzero(gaps <= as_far * near) - below
    return near if below > times * beyond else SAME


def _nearest_gaps(cloud: Cloud) -> np.ndarray:
    """1 − cosine of each row to its nearest other row, (n,) float32."""
    n = len(cloud)
    points = cloud.block(0, n)
    nearest = np.full(n, EXCLUDED, np.float32)
    one_at_a_time = Lock()

    def look(start: int, stop: int) -> None:
        # Every pair once: of rows before these, the cosines are known from their own blocks.
        cosine = points[start:stop] @ points[start:].T
        own = np.arange(len(cosine))
        cosine[own, own] = EXCLUDED
        of_rows, of_columns = cosine.max(axis=1), cosine.max(axis=0)
        with one_at_a_time:
            np.maximum(nearest[start:stop], of_rows, out=nearest[start:stop])
            np.maximum(nearest[start:], of_columns, out=nearest[start:])

    share(look, n)
    return 1 - nearest


def _joined(cloud: Cloud, gaps: np.ndarray, limit: float) -> np.ndarray:
    """The first row of each row's group, (n,): rows within the limit of each other are joined, and those of those."""
    n = len(cloud)
    points = cloud.block(0, n)
    every = first = np.arange(n)
    has_copies = np.flatnonzero(gaps <= limit)
    for start, stop in tiles(len(has_copies), ROWS_AT_ONCE):
        row, other = np.nonzero(points[has_copies[start:stop]] @ points[has_copies].T >= 1 - limit)
        first = components(n, np.r_[every, has_copies[start + row]], np.r_[first, has_copies[other]])
    return first


def _equal_rows(cloud: Cloud) -> np.ndarray:
    """The first row that each row is equal to, to the last bit of what the collection holds: (n,)."""
    _, group, counts = np.unique(_hashes(cloud), return_inverse=True, return_counts=True)
    first = np.arange(len(cloud))
    seen: dict[bytes, int] = {}
    for row in np.flatnonzero(counts[group] > 1).tolist():
        first[row] = seen.setdefault(cloud.collection.vectors[cloud.rows[row]].tobytes(), row)
    return first


def _hashes(cloud: Cloud) -> np.ndarray:
    """A number for each row, (n,) uint64: the same for equal rows, nearly always another for others."""
    vectors = cloud.collection.vectors
    factors = np.random.default_rng(0).integers(1, 2**63, vectors.shape[1]).astype(np.uint64)
    hashes = np.empty(len(cloud), np.uint64)

    def look(start: int, stop: int) -> None:
        rows = np.ascontiguousarray(vectors[cloud.rows[start:stop]])
        hashes[start:stop] = rows.view(f"u{rows.itemsize}").astype(np.uint64) @ factors

    share(look, len(cloud), step=4096)
    return hashes
