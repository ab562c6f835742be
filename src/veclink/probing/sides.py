"""What each collection is like on its own, and whether the two share a space already."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.data.collection import numbers
from veclink.geometry.clouds import Cloud
from veclink.geometry.magnitudes import lengths
from veclink.geometry.nearest import EXCLUDED, largest
from veclink.geometry.signatures import unit_rows
from veclink.probing.inspecting import count_duplicates

SAMPLE = 2000  # rows of a larger side that are looked at
NEAREST = 10  # neighbours of each
BLOCK = 1 << 14  # rows that they are looked for in at a time
WAYS = 8  # directions that are compared before whole vectors are
MOST_COMPARED = 1000  # rows that lie alike along all of these: only copies of one another do
IDENTICAL = 1 - 1e-5  # cosine of rows that are equal, but for rounding
TWIN = 0.999  # cosine from which two rows count as nearly the same
SAME = 0.7  # on a scale from unrelated (0) to one space (1): two models were at 0.02 at most, one model at 0.96 or more


@dataclass(frozen=True)
class Side:
    """One collection.

    norms: least, median and largest length of the vectors (of a sample, zero vectors left out). zero: zero vectors.
    duplicates: rows that repeat an earlier one exactly. What follows is of 2,000 rows where there are more: twins, the
    share of them with another among them at a cosine above 0.999;
    effective_dimension: (Σλ)²/Σλ² of the covariance, the number of directions that are really used. mean_cosine: of two
    random rows; near 1 in a narrow cone. hubness: skew of how often a row is among the 10 nearest of others. orphans:
    share of the rows that are in no such list; largest_hub: in how many lists the most frequent row is.
    """

    name: str
    rows: int
    dimension: int
    kind: str
    norms: tuple[float, float, float]
    zero: int
    duplicates: int
    twins: float
    effective_dimension: float
    mean_cosine: float
    hubness: float
    orphans: float
    largest_hub: int

    def told(self) -> dict[str, str]:
        """What is known, in words."""
        low, middle, high = self.norms
        sampled = f" (of {SAMPLE:,} drawn)" if self.rows - self.zero > SAMPLE else ""
        return {
            "vectors": f"{self.rows:,}",
            "dimensions": f"{self.dimension:,} ({self.kind})",
            "length: least, median, largest": f"{low:.3g}, {middle:.3g}, {high:.3g}",
            "zero vectors": f"{self.zero:,}",
            "exact duplicates": f"{self.duplicates:,}",
            "near-twins": f"{100 * self.twins:.1f} %{sampled}",
            "dimensions really used": f"{self.effective_dimension:.0f}",
            "mean cosine": f"{self.mean_cosine:.2f}",
            "hubness, largest hub": f"{self.hubness:.1f}, {self.largest_hub:,}{sampled}",
        }


@dataclass(frozen=True)
class SameSpace:
    """Whether vectors of both compare as they are.

    score: how near the nearest vector of B is to one of A, between what unrelated vectors (0) and the other rows of B
    (1) are; None where the dimensions differ. identical: share of the rows of A that are in B as they are: of all of A
    where it has at most 2,000 rows, else of the `looked_up` rows that were drawn; they are looked up in all of B.
    """

    same: bool
    score: float | None
    identical: float
    looked_up: int = 0

    def told(self, rows_a: int) -> str:
        """The same in a sentence. rows_a: how many rows A has."""
        if self.score is None:
            return "They have different dimensions, so they are in different spaces."
        of = "A's vectors" if self.looked_up >= rows_a else f"{self.looked_up:,} vectors drawn from A"
        return (
            f"On a scale from unrelated (0) to one space (1) they are at {self.score:.2f}; "
            f"{100 * self.identical:.1f} % of {of} are in B as they are."
        )


def look_at(cloud: Cloud, rng: np.random.Generator) -> Side:
    """What one collection is like; similarities are measured on a sample."""
    collection = cloud.collection
    rows = _sample(len(cloud), rng)
    points = cloud.take(rows)
    near = points @ points.T
    np.fill_diagonal(near, EXCLUDED)
    k = min(NEAREST, len(rows) - 1)
    nearest = largest(near, k)
    listed = np.bincount(nearest.ravel(), minlength=len(rows)).astype(float)
    spread = np.linalg.eigvalsh((points.T @ points).astype(np.float64) / len(points))
    length = lengths(numbers(collection, cloud.rows[rows]))
    return Side(
        name=collection.name,
        rows=len(collection),
        dimension=collection.dimension,
        kind=str(collection.vectors.dtype),
        norms=(float(length.min()), float(np.median(length)), float(length.max())),
        zero=len(collection) - len(cloud),
        duplicates=count_duplicates(collection),
        twins=float((near.max(axis=1) > TWIN).mean()),
        effective_dimension=float(spread.sum() ** 2 / np.maximum((spread**2).sum(), 1e-12)),
        mean_cosine=0.0 if cloud.mean is None else float(cloud.mean @ cloud.mean),
        hubness=float(((listed - listed.mean()) ** 3).mean() / max(float(listed.std()), 1e-9) ** 3),
        orphans=float((listed == 0).mean()),
        largest_hub=int(listed.max()),
    )


def compare_spaces(a: Cloud, b: Cloud, rng: np.random.Generator) -> SameSpace:
    """Whether two collections are in one space: the nearest of the other is then as near as the nearest of its own."""
    if a.shape[1] != b.shape[1]:
        return SameSpace(False, None, 0.0)
    rows_a, rows_b = _sample(len(a), rng), _sample(len(b), rng)
    of_a, of_b = a.take(rows_a), b.take(rows_b)
    own = of_b @ of_b.T
    np.fill_diagonal(own, EXCLUDED)
    # What unrelated directions of that spread reach by chance: the coordinates of one side, dealt out again.
    chance = of_a[:, rng.permutation(of_a.shape[1])] @ of_b.T
    nearest, within, low = (float(np.median(each.max(axis=1))) for each in (of_a @ of_b.T, own, chance))
    score = (nearest - low) / max(within - low, 1e-6)
    # Not centred: the two means differ where the objects do, and the same vector has to stay the same.
    as_given = Cloud(a.collection, a.rows).take(rows_a)
    identical = share_found(as_given, Cloud(b.collection, b.rows), rng)
    return SameSpace(score >= SAME, float(score), identical, len(rows_a))


def share_found(points: np.ndarray, cloud: Cloud, rng: np.random.Generator) -> float:
    """The share of unit vectors (n, d) that are rows of a cloud, up to rounding.

    Vectors that are the same have the same shadow along any direction, so few rows are left to be compared in full.
    """
    ways = unit_rows(rng.standard_normal((WAYS, points.shape[1])).astype(np.float32)).T
    shadows = np.concatenate([cloud.block(at, at + BLOCK) @ ways for at in range(0, len(cloud), BLOCK)])
    order = np.argsort(shadows[:, 0], kind="stable")
    shadows = shadows[order]
    reach = float(np.sqrt(2 * (1 - IDENTICAL)))  # how far apart two vectors of that cosine are
    own = points @ ways
    first = np.searchsorted(shadows[:, 0], own[:, 0] - reach)
    last = np.searchsorted(shadows[:, 0], own[:, 0] + reach)
    found = 0
    for point, shadow, low, high in zip(points, own, first, last, strict=True):
        near = low + np.flatnonzero((np.abs(shadows[low:high] - shadow) <= reach).all(axis=1))
        found += bool(len(near)) and bool((cloud.take(order[near[:MOST_COMPARED]]) @ point > IDENTICAL).any())
    return found / len(points)


def _sample(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.arange(n) if n <= SAMPLE else np.sort(rng.choice(n, SAMPLE, replace=False))
