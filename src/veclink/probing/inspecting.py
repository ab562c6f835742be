"""What is in a collection: its size, norms, duplicates and centring, and whether two models seem to be mixed in it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from veclink.data.collection import Collection, numbers
from veclink.errors import InputError
from veclink.geometry.clouds import Cloud
from veclink.geometry.components import components
from veclink.geometry.copies import copy_groups
from veclink.geometry.magnitudes import lengths
from veclink.geometry.nearest import largest
from veclink.geometry.signatures import singular

SAMPLE = 5_000
"""Rows that the questions of geometry are asked of; norms and duplicates are counted over all."""
_BLOCK = 8_192
LEAST, SMALLEST = 200, 30
"""Rows that are enough to ask about two models, and rows that the smaller group has at least."""
NEIGHBOURS, DIRECTIONS = 10, 20
UNRELATED = 1.5
"""Two models overlap 0.9 to 1.2 times as much as chance does, far topics of one mostly 1.7 times (docs/stores.md)."""


@dataclass(frozen=True)
class Inspection:
    """What was found; see docs/stores.md for how the signs of two models were chosen.

    centring:   |mean of the unit vectors|, 0 for a centred cloud, near 1 for a narrow cone.
    two_models: whether the rows fall into two groups that hardly know each other; `groups` has their sizes.
    copies:     groups of rows that stand for the same object, exactly or nearly alike, as `link` groups them: their
                ids, or their rows where there are none, the largest group first.
    """

    name: str
    count: int
    dimension: int
    dtype: str
    ids: list[Any]
    norms: dict[str, float]
    unit_length: bool
    zero: int
    not_finite: int
    duplicates: int
    centring: float
    two_models: bool
    groups: list[int]
    reasons: list[str]
    copies: list[list[Any]]


def inspect_collection(collection: Collection, *, random_state: int = 0) -> Inspection:
    """Look at all rows once, and at a sample of them more closely."""
    if not len(collection):
        raise InputError(f"{collection.name} is empty; there is nothing to look at.")
    norms = np.empty(len(collection))
    for start in range(0, len(collection), _BLOCK):
        block = numbers(collection, slice(start, start + _BLOCK))
        norms[start : start + len(block)] = lengths(block)
    finite = np.isfinite(norms)
    usable = np.flatnonzero(finite & (norms > 0))
    chosen = np.sort(np.random.default_rng(random_state).permutation(usable)[:SAMPLE])
    unit = Cloud(collection, chosen).block(0, len(chosen))
    two, groups, reasons = _two_models(unit)
    kept = norms[finite]
    ids = collection.ids[:5].tolist() if collection.ids is not None else []
    quantiles = np.quantile(kept, [0, 0.5, 1]) if len(kept) else np.full(3, np.nan)
    return Inspection(
        name=collection.name,
        count=len(collection),
        dimension=collection.dimension,
        dtype=str(collection.vectors.dtype),
        ids=ids,
        norms=dict(zip(("least", "median", "most"), map(float, quantiles), strict=True)),
        unit_length=bool(len(kept) and np.abs(kept - 1).max() < 5e-3),
        zero=int((norms == 0).sum()),
        not_finite=int((~finite).sum()),
        duplicates=count_duplicates(collection),
        centring=float(np.linalg.norm(unit.mean(axis=0, dtype=np.float64))) if len(unit) else 0.0,
        two_models=two,
        groups=groups,
        reasons=reasons,
        copies=copies_in(collection, usable),
    )


def copies_in(collection: Collection, usable: np.ndarray) -> list[list[Any]]:
    """The groups of copies among these rows (n,): the ids of each, or the rows, the largest group first."""
    if not len(usable):
        return []
    rows = Cloud(collection, usable)
    total = np.zeros(collection.dimension)
    for low in range(0, len(usable), _BLOCK):
        total += rows.block(low, min(low + _BLOCK, len(usable))).sum(axis=0, dtype=np.float64)
    mean = (total / len(usable)).astype(np.float32)
    groups = copy_groups(Cloud(collection, usable, mean))
    order, _ = groups.members()
    _, start, size = np.unique(groups.first[order], return_index=True, return_counts=True)
    names = usable if collection.ids is None else collection.ids[usable]
    repeated = np.flatnonzero(size > 1)
    largest_first = repeated[np.argsort(-size[repeated], kind="stable")]
    return [names[order[start[each] : start[each] + size[each]]].tolist() for each in largest_first]


def count_duplicates(collection: Collection) -> int:
    """Rows that repeat an earlier one bit for bit."""
    digests = np.empty(len(collection), "V16")
    for start in range(0, len(collection), _BLOCK):
        block = np.ascontiguousarray(collection.vectors[start : start + _BLOCK])
        digests[start : start + len(block)] = np.frombuffer(b"".join(map(_digest, block)), "V16")
    return len(collection) - len(np.unique(digests))


def _digest(row: np.ndarray) -> bytes:
    return hashlib.blake2b(row.tobytes(), digest_size=16).digest()


def _two_models(unit: np.ndarray) -> tuple[bool, list[int], list[str]]:
    """Whether the sample falls into two groups without a neighbour in common, and without a direction in common.

    Vectors of two models never are each other's nearest. Nor are two far topics of one model, at times; but those still
    vary along the same directions. So: the two largest parts of the graph of mutual neighbours, and the overlap of
    their leading k principal directions, |U₁ᵀU₂|²/k, against k/d, which is what unrelated spaces have.
    """
    if len(unit) < LEAST:
        return False, [len(unit)], [f"{len(unit):,} usable rows are too few to tell one model from two."]
    parts = components(len(unit), *_mutual_neighbours(unit).T)
    names, counts = np.unique(parts, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:2]
    second = int(counts[order[1]]) if len(order) > 1 else 0
    if second < max(SMALLEST, len(unit) // 50):
        return False, [len(unit)], ["The vectors form one group: neighbours lead from each to every other."]
    groups = [unit[parts == names[each]] for each in order]
    k = min(DIRECTIONS, *(len(group) // 3 for group in groups))
    first, other = (singular(group - group.mean(axis=0))[2][:k] for group in groups)
    overlap = float(((first @ other.T) ** 2).sum() / k) / (k / unit.shape[1])
    sizes = [len(group) for group in groups]
    told = (
        f"Groups of {sizes[0]:,} and {sizes[1]:,} of {len(unit):,} sampled vectors have no neighbours in common, and "
        f"their main directions overlap {overlap:.1f} times as much as those of unrelated spaces"
    )
    if overlap < UNRELATED:
        return True, sizes, [f"{told}: they seem to be of two different models."]
    return False, [len(unit)], [f"{told}: far topics of one model."]


def _mutual_neighbours(unit: np.ndarray) -> np.ndarray:
    """Pairs (m, 2) of rows that are among each other's nearest."""
    n, k = len(unit), min(NEIGHBOURS, len(unit) - 1)
    near = np.empty((n, k), np.int64)
    for start in range(0, n, 1000):
        similar = unit[start : start + 1000] @ unit.T
        similar[np.arange(len(similar)), np.arange(start, start + len(similar))] = -np.inf
        near[start : start + len(similar)] = largest(similar, k)
    rows = np.repeat(np.arange(n), k)
    there, back = rows * n + near.ravel(), near.ravel() * n + rows
    both = np.isin(there, back)
    return np.column_stack([rows[both], near.ravel()[both]])
