"""What one collection is like, and whether two of them share a space already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veclink.data.collection import Collection, numbers
from veclink.data.words import say
from veclink.errors import InputError
from veclink.geometry.clouds import Cloud, lengths
from veclink.geometry.nearest import EXCLUDED, components, copy_groups, largest
from veclink.geometry.signatures import singular

BLOCK, SAMPLE = 1 << 13, 2000  # rows that are read at a time; of a larger side, rows that are compared


@dataclass(frozen=True)
class Inspection:
    """One collection; docs/stores.md says how the signs of two models were chosen.

    Similarities (`twins` and what follows it) are those of 2,000 centred rows where there are more.
    """

    name: str
    count: int
    dimension: int
    dtype: str
    ids: list[Any]  # the first of them
    norms: dict[str, float]  # zero vectors left out
    unit_length: bool
    zero: int
    not_finite: int
    duplicates: int  # rows that repeat an earlier one bit for bit
    centring: float  # length of the mean of the unit vectors: 0 for a centred cloud, near 1 for a narrow cone
    two_models: bool  # whether the rows fall into two groups that hardly know each other
    groups: list[int]  # the sizes of these
    reasons: list[str]
    copies: list[list[Any]]  # ids or rows of the same object, as `link` groups them; the largest group first
    twins: float = 0.0  # share of rows with another at a cosine above 0.999
    effective_dimension: float = 0.0  # (Σλ)²/Σλ² of the covariance: the number of directions that are really used
    hubness: float = 0.0  # skew of how often a row is among the 10 nearest of others
    orphans: float = 0.0  # share of the rows that are in no such list
    largest_hub: int = 0  # in how many lists the most frequent row is

    def told(self) -> dict[str, str]:
        """What is known, in words."""
        sampled = f" (of {SAMPLE:,} drawn)" if self.count - self.zero > SAMPLE else ""
        return {
            "vectors": f"{self.count:,}",
            "dimensions": f"{self.dimension:,} ({self.dtype})",
            "length: least, median, largest": ", ".join(f"{norm:.3g}" for norm in self.norms.values()),
            "zero vectors": f"{self.zero:,}",
            "exact duplicates": f"{self.duplicates:,}",
            "near-twins": f"{100 * self.twins:.1f} %{sampled}",
            "dimensions really used": f"{self.effective_dimension:.0f}",
            "mean cosine": f"{self.centring**2:.2f}",
            "hubness, largest hub": f"{self.hubness:.1f}, {self.largest_hub:,}{sampled}",
        }


@dataclass(frozen=True)
class SameSpace:
    """Whether vectors of both compare as they are."""

    same: bool
    score: float | None  # the nearest vector of B, from unrelated (0) to like the other rows of B (1); None: no such
    identical: float  # share of the `looked_up` rows of A that are in B as they are, looked up in all of B
    looked_up: int = 0

    def told(self) -> str:
        """The same in a sentence."""
        return say("compared_spaces", **vars(self))


def inspect_collection(collection: Collection, *, random_state: int = 0, copies: bool = True) -> Inspection:
    """Look at all rows once or twice, and at a sample of them more closely. copies: whether to look for those too."""
    n, rng = len(collection), np.random.default_rng(random_state)
    if not n:
        raise InputError(f"{collection.name} is empty; there is nothing to look at.")
    norms = np.concatenate([lengths(numbers(collection, slice(at, at + BLOCK))) for at in range(0, n, BLOCK)])
    usable = np.flatnonzero(np.isfinite(norms) & (norms > 0))
    kept = norms[usable]
    rows, total = Cloud(collection, usable), np.zeros(collection.dimension)
    for at in range(0, len(usable), BLOCK):
        total += rows.block(at, min(at + BLOCK, len(usable))).sum(axis=0, dtype=np.float64)
    mean = total / max(len(usable), 1)
    cloud = Cloud(collection, usable, mean.astype(np.float32))
    chosen = np.sort(rng.permutation(usable)[:5000])
    two, groups, reason = _two_models(Cloud(collection, chosen).block(0, len(chosen)))
    quantiles = np.quantile(kept, [0, 0.5, 1]) if len(kept) else np.full(3, np.nan)
    blocks = (collection.vectors[at : at + BLOCK] for at in range(0, n, BLOCK))
    digests = np.fromiter((hash(row.tobytes()) for block in blocks for row in block), np.int64, n)
    return Inspection(
        name=collection.name,
        count=n,
        dimension=collection.dimension,
        dtype=str(collection.vectors.dtype),
        ids=[] if collection.ids is None else collection.ids[:5].tolist(),
        norms=dict(zip(("least", "median", "most"), map(float, quantiles), strict=True)),
        unit_length=bool(len(kept) and np.abs(kept - 1).max() < 5e-3),
        zero=int((norms == 0).sum()),
        not_finite=int((~np.isfinite(norms)).sum()),
        duplicates=n - len(np.unique(digests)),
        centring=float(np.linalg.norm(mean)),
        two_models=two,
        groups=groups,
        reasons=[reason],
        copies=_copies_in(cloud) if copies and len(usable) else [],
        **_similarities(cloud.take(_sample(len(cloud), rng))) if len(usable) > 1 else {},
    )


def _similarities(points: np.ndarray) -> dict[str, Any]:
    near = points @ points.T
    np.fill_diagonal(near, EXCLUDED)
    listed = np.bincount(largest(near, min(10, len(points) - 1)).ravel(), minlength=len(points)).astype(float)
    spread = np.linalg.eigvalsh((points.T @ points).astype(np.float64) / len(points))
    return {
        "twins": float((near.max(axis=1) > 0.999).mean()),
        "effective_dimension": float(spread.sum() ** 2 / np.maximum((spread**2).sum(), 1e-12)),
        "hubness": float(((listed - listed.mean()) ** 3).mean() / max(float(listed.std()), 1e-9) ** 3),
        "orphans": float((listed == 0).mean()),
        "largest_hub": int(listed.max()),
    }


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
    as_given, whole = Cloud(a.collection, a.rows).take(rows_a), Cloud(b.collection, b.rows)
    found = np.zeros(len(as_given), bool)
    for at in range(0, len(whole), BLOCK):
        found |= (as_given @ whole.block(at, min(at + BLOCK, len(whole))).T).max(axis=1) > 1 - 1e-5
    # two models were at 0.02 at most, one model at 0.96 or more
    return SameSpace(score >= 0.7, float(score), float(found.mean()), len(rows_a))


def _sample(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.sort(rng.permutation(n)[:SAMPLE])


def _copies_in(cloud: Cloud) -> list[list[Any]]:
    """The groups of copies among the rows of a cloud: the ids of each, or the rows, the largest group first."""
    groups = copy_groups(cloud)
    order, _ = groups.members()
    _, start, size = np.unique(groups.first[order], return_index=True, return_counts=True)
    ids = cloud.collection.ids
    names = cloud.rows if ids is None else ids[cloud.rows]
    repeated = np.flatnonzero(size > 1)
    largest_first = repeated[np.argsort(-size[repeated], kind="stable")]
    return [names[order[start[each] : start[each] + size[each]]].tolist() for each in largest_first]


def _two_models(unit: np.ndarray) -> tuple[bool, list[int], str]:
    """Whether the sample falls into two groups without a neighbour in common, and without a direction in common.

    Vectors of two models never are each other's nearest. Nor are two far topics of one model, at times; but those still
    vary along the same directions. So: the two largest parts of the graph of mutual neighbours, and the overlap of
    their leading k principal directions, |U₁ᵀU₂|²/k, against k/d, which is what unrelated spaces have.
    """
    n, k = len(unit), 10
    if n < 200:
        return False, [n], say("one_or_two_models", rows=n)
    near = []
    for start in range(0, n, 1000):
        similar = unit[start : start + 1000] @ unit.T
        similar[np.arange(len(similar)), np.arange(start, start + len(similar))] = -np.inf
        near.append(largest(similar, k))
    rows, others = np.repeat(np.arange(n), k), np.concatenate(near).ravel()
    both = np.isin(rows * n + others, others * n + rows)
    parts = components(n, rows[both], others[both])
    names, counts = np.unique(parts, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:2]
    if len(order) < 2 or counts[order[1]] < max(30, n // 50):
        return False, [n], say("one_or_two_models", rows=n, groups=[n])
    groups = [unit[parts == names[each]] for each in order]
    k = min(20, *(len(group) // 3 for group in groups))
    first, other = (singular(group - group.mean(axis=0))[2][:k] for group in groups)
    overlap = float(((first @ other.T) ** 2).sum() / k) / (k / unit.shape[1])
    # two models overlap 0.9 to 1.2 times as much as chance, far topics of one mostly 1.7 (docs/stores.md)
    sizes, two = [len(group) for group in groups], overlap < 1.5
    return two, sizes if two else [n], say("one_or_two_models", rows=n, groups=sizes, overlap=overlap, two=two)
