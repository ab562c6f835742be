"""The paper's protocol: split one corpus into two that overlap, draw seeds, link, and compare with the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.data.pairs import Scores, score
from veclink.errors import InputError, named
from veclink.geometry.nearest import spherical_kmeans
from veclink.geometry.signatures import unit_rows
from veclink.linkers.geh.views import furthest_points
from veclink.linkers.linking import link

SEED_CHOICES = ("uniform", "nearest", "fps", "kmeans")
KMEANS_ROUNDS = 25


@dataclass(frozen=True, eq=False)
class Split:
    """A corpus split in two.

    rows_a, rows_b: the corpus rows on either side, shuffled.
    truth: (|Ω|, 2) positions in those of the objects that are on both.
    """

    rows_a: np.ndarray
    rows_b: np.ndarray
    truth: np.ndarray


@dataclass(frozen=True)
class Trials:
    """The scores of several trials, one for each random state, and what the links' own summaries said."""

    scores: tuple[Scores, ...]
    verdicts: tuple[str, ...]
    iterations: tuple[int, ...]
    seconds: tuple[float | None, ...]

    def mean(self) -> Scores:
        """Mean over the trials."""
        return Scores(*np.mean([list(asdict(s).values()) for s in self.scores], axis=0).tolist())

    def std(self) -> Scores:
        """Standard deviation over the trials (of the sample, 0 for a single one)."""
        values = np.array([list(asdict(s).values()) for s in self.scores])
        return Scores(*(values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(3)).tolist())


def split(n: int, overlap: float, rng: np.random.Generator, *, unshared: np.ndarray | None = None) -> Split:
    """Split a corpus of `n` objects: |Ω| = α·n go to both sides (`overlap` is α), the rest evenly to one of them.

    unshared: (n,) marks objects that must not be on both sides.
    """
    n_shared = round(overlap * n)
    if not 0 <= overlap <= 1 or n_shared < 1:
        raise InputError(
            f"An overlap of {overlap} of {n:,} rows is {n_shared:,} shared objects; give more than 0, at most 1."
        )
    order = rng.permutation(n)
    if unshared is not None:
        free = int((~unshared).sum())
        if n_shared > free:
            raise InputError(f"An overlap of {n_shared:,} objects was asked for, and {free:,} of {n:,} may be shared.")
        shared = order[~unshared[order]][:n_shared]
        rest = rng.permutation(n)  # anew, so that with another overlap nearly all are on the side where they were
        rest = rest[~np.isin(rest, shared)]
    else:
        shared, rest = order[:n_shared], order[n_shared:]
    half = len(rest) // 2
    rows_a = rng.permutation(np.concatenate([shared, rest[:half]]))
    rows_b = rng.permutation(np.concatenate([shared, rest[half:]]))
    place_a, place_b = np.empty(n, np.int64), np.empty(n, np.int64)
    place_a[rows_a], place_b[rows_b] = np.arange(len(rows_a)), np.arange(len(rows_b))
    return Split(rows_a, rows_b, np.stack([place_a[shared], place_b[shared]], axis=1))


def draw_seeds(
    truth: np.ndarray, count: int, rng: np.random.Generator, *, how: str = "uniform", vectors: np.ndarray | None = None
) -> np.ndarray:
    """`count` of the true pairs, as seeds.

    how: "uniform"; "nearest", a random one and those nearest to it; "fps", furthest-point sampling from a random one;
    "kmeans", those nearest to `count` k-means centroids. All but the first need `vectors`: the true pairs' on one side.
    """
    if how not in SEED_CHOICES:
        raise InputError(f"The way to draw seeds is {how!r}; it is one of {named(SEED_CHOICES)}.")
    if not 0 < count <= len(truth):
        raise InputError(f"{count:,} seeds were asked for of {len(truth):,} true pairs; ask for 1 to {len(truth):,}.")
    if how == "uniform":
        return truth[rng.choice(len(truth), count, replace=False)]
    if vectors is None or len(vectors) != len(truth):
        raise InputError(
            f"Seeds by {how!r} need the vectors of the {len(truth):,} true pairs on one side; give one for each."
        )
    points = unit_rows(np.array(vectors, np.float32))
    if how == "kmeans":
        return truth[_nearest_to_centroids(points, count, rng)]
    first = int(rng.integers(len(truth)))
    if how == "fps":
        return truth[furthest_points(points, np.array([first]), count)[0]]
    return truth[np.argsort(-(points @ points[first]), kind="stable")[:count]]


def draw_anchors(
    left: np.ndarray, right: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Out-of-domain anchors: `count` rows of another corpus, embedded by both models."""
    if len(left) != len(right) or not 0 < count <= len(left):
        raise InputError(
            f"{count:,} anchors were asked for of {len(left):,} and {len(right):,} vectors; row i must be one object."
        )
    rows = rng.choice(len(left), count, replace=False)
    return np.asarray(left)[rows], np.asarray(right)[rows]


def trials(
    left: np.ndarray,
    right: np.ndarray,
    *,
    overlap: float = 0.3,
    n_seeds: int = 15,
    random_states: Iterable[int] = range(5),
    how: str = "uniform",
    outside: tuple[np.ndarray, np.ndarray] | None = None,
    linker: Callable[..., Links] = link,
    **options: Any,
) -> Trials:
    """Scores of a linker on a corpus embedded by two models (row i of both is one object).

    Every trial redraws everything from its random state. With `outside`, another corpus embedded by the same models,
    the start is `n_seeds` anchors of it instead of seeds. `linker` is called as `linker(a, b, seeds=… or anchors=…,
    random_state=…, **options)`.
    """
    results = []
    for random_state in random_states:
        rng = np.random.default_rng(random_state)
        cut = split(len(left), overlap, rng)
        a, b = left[cut.rows_a], right[cut.rows_b]
        start: dict[str, Any] = (
            {"seeds": draw_seeds(cut.truth, n_seeds, rng, how=how, vectors=a[cut.truth[:, 0]])}
            if outside is None
            else {"anchors": draw_anchors(*outside, n_seeds, rng)}
        )
        links = linker(a, b, random_state=random_state, **start, **options)
        results.append((score(links.pairs, cut.truth), links.summary))
    return Trials(
        scores=tuple(scores for scores, _ in results),
        verdicts=tuple(summary.verdict for _, summary in results),
        iterations=tuple(summary.iterations for _, summary in results),
        seconds=tuple(summary.seconds for _, summary in results),
    )


def _nearest_to_centroids(points: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of `count` distinct unit vectors, each the nearest free one to a centroid of spherical k-means."""
    centroids = spherical_kmeans(points, count, KMEANS_ROUNDS, rng)
    chosen: list[int] = []
    for similarity in (points @ centroids.T).T:
        similarity[chosen] = -np.inf
        chosen.append(int(np.argmax(similarity)))
    return np.array(chosen)
