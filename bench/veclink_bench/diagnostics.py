"""What two embedding spaces have in common, and what the evidence of links is worth: pure functions of arrays.

Rows are vectors of any length; distances are cosine distances `1 − cos`. Row i of two spaces is the same object.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.errors import InputError
from veclink.geometry.signatures import unit_rows

FEWEST = 30  # pairs in a bin: a correlation of fewer says nothing
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Consistency:
    """Correlation of the distances of pairs in two spaces, by their distance in the first.

    Bin i holds the `pairs[i]` pairs between edges[i] and edges[i + 1]; `within` is Pearson's correlation over its own
    pairs, `up_to` over all pairs nearer than its upper edge; NaN where there are fewer than 30. `scale` is the slope
    through zero, κ, of the second distance on the first over the bin's pairs.
    """

    edges: np.ndarray
    pairs: np.ndarray
    within: np.ndarray
    up_to: np.ndarray
    scale: np.ndarray


def distance_consistency(
    left: np.ndarray,
    right: np.ndarray,
    *,
    bins: int = 20,
    rows: int = 4000,
    random_state: int = 0,
    quantiles: bool = False,
) -> Consistency:
    """The consistency of two spaces over all pairs of at most `rows` objects, in bins of equal width (or count)."""
    if len(left) != len(right) or len(left) < 3:
        raise InputError(f"There are {len(left):,} and {len(right):,} vectors; give the same 3 or more objects.")
    rng = np.random.default_rng(random_state)
    chosen = np.arange(len(left)) if len(left) <= rows else np.sort(rng.choice(len(left), rows, replace=False))
    upper = np.triu_indices(len(chosen), 1)
    near, far = (_distances(side[chosen])[upper] for side in (left, right))
    edges = (
        np.quantile(near, np.linspace(0, 1, bins + 1)) if quantiles else np.linspace(near.min(), near.max(), bins + 1)
    )
    place = np.clip(np.searchsorted(edges, near, side="right") - 1, 0, bins - 1)
    sums = _sums(place, near.astype(np.float64), far.astype(np.float64), bins)
    scale = sums[:, 4] / np.maximum(sums[:, 2], 1e-12)
    return Consistency(
        edges,
        sums[:, 5].astype(np.int64),
        _pearson(sums),
        _pearson(np.cumsum(sums, axis=0)),
        np.where(sums[:, 5] >= FEWEST, scale, np.nan),
    )


def neighbour_jaccard(
    left: np.ndarray, right: np.ndarray, ks: np.ndarray, *, queries: int = 100, random_state: int = 0
) -> np.ndarray:
    """Mean Jaccard index |N₁ ∩ N₂| / |N₁ ∪ N₂| of the k nearest neighbours of some rows in two spaces, for each k."""
    most = int(np.max(ks))
    if len(left) != len(right) or not 0 < most < len(left):
        raise InputError(
            f"{most} neighbours of {len(left):,} and {len(right):,} rows; give the same, and more, objects."
        )
    rows = np.random.default_rng(random_state).choice(len(left), min(queries, len(left)), replace=False)
    first, second = (nearest_rows(side, rows, most) for side in (left, right))
    found = np.empty((len(rows), len(ks)))
    for column, k in enumerate(np.asarray(ks).tolist()):
        both = np.array([len(np.intersect1d(x, y)) for x, y in zip(first[:, :k], second[:, :k], strict=True)])
        found[:, column] = both / (2 * k - both)
    return found.mean(axis=0)


def nearest_rows(rows: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """The k nearest other rows, by cosine, of some rows (their positions in `queries`), the nearest first."""
    unit = unit_rows(np.array(rows, np.float32))
    found = np.empty((len(queries), k), np.int64)
    for start in range(0, len(queries), BLOCK):
        here = queries[start : start + BLOCK]
        cosine = unit[here] @ unit.T
        cosine[np.arange(len(here)), here] = -np.inf
        part = np.argpartition(-cosine, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(cosine, part, 1), axis=1, kind="stable")
        found[start : start + BLOCK] = np.take_along_axis(part, order, 1)
    return found


def by_anchor_distance(
    points: np.ndarray, anchors: np.ndarray, right: np.ndarray, confidence: np.ndarray, bins: int = 30
) -> dict[str, list[float]]:
    """Links by the distance of their row (on one side) to the nearest anchor, in bins with as many links each.

    Mean distance, share that is right (`precision`), mean confidence and number of links of each bin.
    """
    columns = {"distance": np.empty(0), "precision": right, "confidence": confidence, "links": np.empty(0)}
    if not len(points):
        return {name: [] for name in columns}
    unit = unit_rows(np.array(anchors, np.float32))
    columns["distance"] = 1 - (unit_rows(np.array(points, np.float32)) @ unit.T).max(axis=1)
    parts = np.array_split(np.argsort(columns["distance"], kind="stable"), min(bins, len(points)))
    means = {name: [float(column[part].mean()) for part in parts] for name, column in columns.items() if len(column)}
    return means | {"links": [len(part) for part in parts]}


def _distances(rows: np.ndarray) -> np.ndarray:
    unit = unit_rows(np.array(rows, np.float32))
    return np.maximum(1 - unit @ unit.T, 0)


def _sums(place: np.ndarray, x: np.ndarray, y: np.ndarray, bins: int) -> np.ndarray:
    """Σx, Σy, Σx², Σy², Σxy and the count of each bin, (bins, 6)."""
    parts = (x, y, x * x, y * y, x * y, np.ones_like(x))
    return np.stack([np.bincount(place, part, minlength=bins) for part in parts], axis=1)


def _pearson(sums: np.ndarray) -> np.ndarray:
    x, y, xx, yy, xy, count = sums.T
    n = np.maximum(count, 1)
    spread = np.sqrt(np.maximum((xx - x * x / n) * (yy - y * y / n), 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((count >= FEWEST) & (spread > 0), (xy - x * y / n) / spread, np.nan)
