"""Copies: rows of one cloud that stand for the same object, exactly or nearly alike.

A copy is a rival that is as right as the partner itself: it takes the lead away from the links of its object, and from
the decoys' rate that of everyone's. So copies are grouped before linking, and one row of each group is linked.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np

from veclink.data.pairs import lookup
from veclink.geometry.clouds import LEAST_ROWS, Cloud
from veclink.geometry.nearest import EXCLUDED
from veclink.threads import share

COPY_GAP = 0.16
"""Rows are copies when 1 − cosine is at most this part of what 80 % of the rows have to their nearest row.

Chosen on scifact, reddit and movies (minilm, mpnet, e5, granite): copies turned by up to 0.12 of the typical gap are
all found, and of rows that are not copies 1 in 1,000 is as near (scifact, mpnet).
"""
TYPICAL_QUANTILE = 0.8  # of the gaps to the nearest row: the typical one that COPY_GAP is a part of

VALLEY = 1.5
"""Of the limit: how far beyond it rows are counted that are no copies."""
VALLEY_FACTOR = 5
"""Near copies are a bump in the distribution of gaps: at least this many times as many rows as there are beyond the
limit, up to VALLEY times as far. In few dimensions gaps have no valley, and near neighbours are no copies."""

SAME = 1e-5
"""1 − cosine of rows that are equal, but for rounding."""

MOST_COMPARED = 20_000
"""Rows of a cloud up to which each is compared with all others; of more, only equal ones are found."""

BLOCK = 256  # rows that are compared with all others at a time

HASHED = 4096
"""Rows that are hashed at a time."""

WORD = 8
"""Bytes of a row that a hash takes in as one number."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Which rows of a cloud stand for the same object.

    Attributes
    ----------
    first : (n,) int64
        Of each row, the first row of its group: itself, where it has no copies or is the first.
    """

    first: np.ndarray

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
        start = np.searchsorted(sorted_first, self.first, side="left")
        end = np.searchsorted(sorted_first, self.first, side="right")
        return order, np.column_stack([start, end])


def copy_groups(cloud: Cloud) -> Groups:
    """The groups of copies among the rows of a cloud."""
    rows = np.arange(len(cloud))
    if len(cloud) > MOST_COMPARED:
        first = _equal_rows(cloud)
    else:
        gaps = _nearest_gaps(cloud)
        first = _joined(cloud, gaps, _limit(gaps))
    groups = Groups(first)
    return groups if len(groups.chosen) >= LEAST_ROWS else Groups(rows)


def without_copies(cloud: Cloud, groups: Groups) -> Cloud:
    """The cloud of one row for each group; its mean stays that of all."""
    if not groups.copies:
        return cloud
    return Cloud(cloud.collection, cloud.rows[groups.chosen], cloud.mean)


def _limit(gaps: np.ndarray) -> float:
    """The gap up to which rows are copies."""
    near = max(COPY_GAP * float(np.quantile(gaps, TYPICAL_QUANTILE)), SAME)
    below = np.count_nonzero(gaps <= near)
    beyond = np.count_nonzero(gaps <= VALLEY * near) - below
    return near if below > VALLEY_FACTOR * beyond else SAME


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

    share(look, n, step=BLOCK)
    return 1 - nearest


def _joined(cloud: Cloud, gaps: np.ndarray, limit: float) -> np.ndarray:
    """The first row of each row's group, (n,): rows within the limit of each other are joined, and those of those."""
    n = len(cloud)
    points = cloud.block(0, n)
    first = np.arange(n)
    has_copies = np.flatnonzero(gaps <= limit)
    for start in range(0, len(has_copies), BLOCK):
        rows = has_copies[start : start + BLOCK]
        near = points[rows] @ points[has_copies].T >= 1 - limit
        for place, other in zip(*np.nonzero(near), strict=True):
            _join(first, int(rows[place]), int(has_copies[other]))
    for row in has_copies:
        first[row] = _root(first, int(row))
    return first


def _join(first: np.ndarray, one: int, other: int) -> None:
    root, other_root = _root(first, one), _root(first, other)
    first[max(root, other_root)] = min(root, other_root)


def _root(first: np.ndarray, row: int) -> int:
    while first[row] != row:
        first[row] = first[first[row]]
        row = int(first[row])
    return row


def _equal_rows(cloud: Cloud) -> np.ndarray:
    """The first row that each row is equal to, to the last bit of what the collection holds: (n,)."""
    first = np.arange(len(cloud))
    seen: dict[bytes, int] = {}
    for row in _sharing_a_value(_hashes(cloud)):
        source = cloud.collection.vectors[cloud.rows[row]]
        first[row] = seen.setdefault(source.tobytes(), row)
    return first


def _hashes(cloud: Cloud) -> np.ndarray:
    """A number for each row, (n,) uint64: the same for equal rows, nearly always another for others."""
    vectors = cloud.collection.vectors
    n_bytes = vectors.shape[1] * vectors.itemsize
    n_words = -(-n_bytes // WORD)
    factors = np.random.default_rng(0).integers(1, 2**63, n_words).astype(np.uint64)
    hashes = np.empty(len(cloud), np.uint64)

    def look(start: int, stop: int) -> None:
        padded = np.zeros((stop - start, n_words * WORD), np.uint8)
        source = np.ascontiguousarray(vectors[cloud.rows[start:stop]])
        padded[:, :n_bytes] = source.view(np.uint8).reshape(len(source), -1)
        hashes[start:stop] = padded.view(np.uint64) @ factors

    share(look, len(cloud), step=HASHED)
    return hashes


def _sharing_a_value(values: np.ndarray) -> np.ndarray:
    """Positions, ascending, of the values (n,) that occur more than once."""
    ordered = np.sort(values)
    shared = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    return np.flatnonzero(lookup(shared, values) >= 0)
