"""What each collection is like on its own, and whether the two share a space already."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.cloud import Cloud
from veclink.collection import Collection, numbers

SAMPLE = 2000
NEAREST = 10
IDENTICAL = 1 - 1e-5
TWIN = 0.999  # cosine from which two rows count as nearly the same
SAME = 0.7  # on a scale from unrelated (0) to one space (1): two models were at 0.02 at most, one model at 0.96 or more


@dataclass(frozen=True)
class Side:
    """One collection.

    norms: least, median and largest length of the vectors (of a sample, zero vectors left out). zero: zero vectors.
    duplicates: rows that repeat an earlier one exactly. twins: share of the rows with another at a cosine above 0.999.
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
        return {
            "vectors": f"{self.rows:,}",
            "dimensions": f"{self.dimension:,} ({self.kind})",
            "length: least, median, largest": f"{low:.3g}, {middle:.3g}, {high:.3g}",
            "zero vectors": f"{self.zero:,}",
            "exact duplicates": f"{self.duplicates:,}",
            "near-twins": f"{100 * self.twins:.1f} %",
            "dimensions really used": f"{self.effective_dimension:.0f}",
            "mean cosine": f"{self.mean_cosine:.2f}",
            "hubness, largest hub": f"{self.hubness:.1f}, {self.largest_hub:,}",
        }


@dataclass(frozen=True)
class SameSpace:
    """Whether vectors of both compare as they are.

    score: how near the nearest vector of B is to one of A, between what unrelated vectors (0) and the other rows of B
    (1) are; None where the dimensions differ. identical: share of the sampled rows of A that are in the sample of B.
    """

    same: bool
    score: float | None
    identical: float


def look_at(cloud: Cloud, rng: np.random.Generator) -> Side:
    """What one collection is like; similarities are measured on a sample."""
    collection = cloud.collection
    rows = _sample(len(cloud), rng)
    points = cloud.take(rows)
    near = points @ points.T
    np.fill_diagonal(near, -2.0)
    k = min(NEAREST, len(rows) - 1)
    nearest = np.argpartition(-near, k - 1, axis=1)[:, :k]
    listed = np.bincount(nearest.ravel(), minlength=len(rows)).astype(float)
    spread = np.linalg.eigvalsh((points.T @ points).astype(np.float64) / len(points))
    lengths = np.linalg.norm(numbers(collection, cloud.rows[rows]).astype(np.float64), axis=1)
    return Side(
        name=collection.name,
        rows=len(collection),
        dimension=collection.dimension,
        kind=str(collection.vectors.dtype),
        norms=(float(lengths.min()), float(np.median(lengths)), float(lengths.max())),
        zero=len(collection) - len(cloud),
        duplicates=_duplicates(collection),
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
    np.fill_diagonal(own, -2.0)
    # What unrelated directions of that spread reach by chance: the coordinates of one side, dealt out anew.
    chance = of_a[:, rng.permutation(of_a.shape[1])] @ of_b.T
    nearest, within, low = (float(np.median(each.max(axis=1))) for each in (of_a @ of_b.T, own, chance))
    score = (nearest - low) / max(within - low, 1e-6)
    # Not centred: the two means differ where the objects do, and the same vector has to stay the same.
    as_given = Cloud(a.collection, a.rows).take(rows_a) @ Cloud(b.collection, b.rows).take(rows_b).T
    return SameSpace(score >= SAME, float(score), float((as_given.max(axis=1) > IDENTICAL).mean()))


def _sample(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.arange(n) if n <= SAMPLE else np.sort(rng.choice(n, SAMPLE, replace=False))


def _duplicates(collection: Collection) -> int:
    seen: set[int] = set()
    repeated = 0
    for row in collection.vectors:
        key = hash(np.ascontiguousarray(row).tobytes())
        repeated += key in seen
        seen.add(key)
    return repeated
