"""GEH's global path: every view is hashed against all rows of both clouds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from veclink.data.pairs import pair_keys
from veclink.geometry import signatures
from veclink.geometry.arrays import Array, asarray, is_numpy, namespace, order_of
from veclink.geometry.clouds import Cloud
from veclink.geometry.rows import tiles
from veclink.linkers.anchors import Anchors
from veclink.linkers.checkpoint import State
from veclink.linkers.geh.constants import WIDTH_SAMPLE
from veclink.linkers.geh.sampling import draw_views, plan
from veclink.linkers.options import GehOptions
from veclink.matching import match

if TYPE_CHECKING:
    from veclink.linkers.geh.together import Together

BLOCK = 8192  # rows of a cloud at a time


@dataclass(frozen=True, eq=False)
class Proposal:
    """What one view proposes.

    Attributes
    ----------
    pairs : ndarray of shape (p, 2)
        Rows of A and of B.
    score : ndarray of shape (p,)
        Their csls.
    held : ndarray of shape (h, 2)
        The links beyond the seeds that the view holds as anchors.
    times : int
        How many equal views it stands for.
    """

    pairs: np.ndarray
    score: np.ndarray
    held: np.ndarray
    times: int = 1

    def without_own(self, n_b: int) -> Proposal:
        """The same without the pairs that the view holds as anchors itself."""
        proposed = pair_keys(self.pairs, n_b)
        others = ~np.isin(proposed, pair_keys(self.held, n_b))
        return replace(
            self,
            pairs=self.pairs[others],
            score=self.score[others],
        )


Proposals = Iterator[Proposal]


@dataclass(frozen=True, eq=False)
class Round:
    """The views of one iteration.

    Attributes
    ----------
    views : int
        How many vote.
    anchors : int
        Anchors in each of them.
    proposals : iterator of Proposal
        One for each view; made when asked for.
    """

    views: int
    anchors: int
    proposals: Proposals


@dataclass(frozen=True)
class Settings:
    """The options of GEH, the bytes that may be allocated, and the device."""

    options: GehOptions
    budget: int | None = None
    device: str = "cpu"

    def mutual(
        self,
        hash_a: Array,
        hash_b: Array,
        held: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mutual nearest neighbours of two sets of signatures; held: bytes that are in use already."""
        room = None if self.budget is None else max(self.budget - held, 1)
        found = match(
            hash_a,
            hash_b,
            k=self.options.k,
            memory=room,
            device=self.device,
        )
        return found.mutual()


class GlobalPath:
    """Views of the links, each matched over all rows."""

    def __init__(
        self,
        a: Cloud,
        b: Cloud,
        anchors: Anchors,
        settings: Settings,
    ) -> None:
        self.a = a
        self.b = b
        self.settings = settings
        self.seed_a, self.seed_b, self.a_first = in_own_order(anchors)
        self.sample_a = _spaced_rows(a, self.seed_a)
        self.sample_b = _spaced_rows(b, self.seed_b)
        self.n_views = 0
        self.together = self._on_device()

    def round(self, pool: np.ndarray, rng: np.random.Generator) -> Round:
        """The views of an iteration that begins with this pool (m, 2) of links beyond the seeds."""
        n_seeds = len(self.seed_a)
        count, size = plan(
            n_seeds + len(pool),
            n_seeds,
            self.settings.options,
        )
        rows_a, rows_b = pool.T
        left = np.concatenate([self.seed_a, self.a.take(rows_a)])
        right = np.concatenate([self.seed_b, self.b.take(rows_b)])
        sides = (left, right) if self.a_first else (right, left)
        views = draw_views(
            sides,
            n_seeds,
            (count, size),
            self.settings.options,
            rng,
            budget=self.settings.budget,
            distances=signatures.distances if self.together is None else self.together.distances,
        )
        self.n_views += count
        held = [links_of_view(view, pool, n_seeds) for view in views]
        proposals = self._proposals(left, right, views, held, count)
        return Round(count, size, proposals)

    def chances(self, pairs: np.ndarray) -> np.ndarray:
        """The views that could propose each pair: all of them."""
        return np.full(len(pairs), self.n_views)

    def state(self) -> State:
        """What has to be kept to go on later."""
        return {"n_views": np.array(self.n_views)}

    def restore(self, state: State) -> None:
        """Go on from what was kept."""
        self.n_views = int(state["n_views"])

    def _proposals(
        self,
        left: np.ndarray,
        right: np.ndarray,
        views: list[np.ndarray],
        held: list[np.ndarray],
        count: int,
    ) -> Proposals:
        # Where all views are the same one, it is matched once and votes for all.
        times = count // len(views)
        if self.together is None:
            found = self._one_by_one(left, right, views)
        else:
            found = self.together.mutual((left, right), views)
        for (pairs, score), links in zip(found, held, strict=True):
            yield Proposal(pairs, score, links, times)

    def _one_by_one(
        self,
        left: np.ndarray,
        right: np.ndarray,
        views: list[np.ndarray],
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """What each view proposes."""
        budget = self.settings.budget
        encoding = self.settings.options.encoding
        from_a = _AnchorDistances(self.a, left, budget)
        from_b = _AnchorDistances(self.b, right, budget)
        for view in views:
            hash_a = signature(from_a.columns(view), self.sample_a, encoding)
            hash_b = signature(from_b.columns(view), self.sample_b, encoding)
            in_use = from_a.nbytes + from_b.nbytes + hash_a.nbytes + hash_b.nbytes
            yield self.settings.mutual(hash_a, hash_b, in_use)

    def _on_device(self) -> Together | None:
        """What matches several views at once: on a torch device, where no bytes are counted and clouds are small."""
        settings = self.settings
        if settings.device == "cpu" or settings.budget is not None:
            return None
        from veclink.linkers.geh.together import Together

        if not Together.can_hold(len(self.a), len(self.b)):
            return None
        return Together(
            clouds=(self.a, self.b),
            samples=(self.sample_a, self.sample_b),
            options=settings.options,
            device=settings.device,
        )


def links_of_view(view: np.ndarray, pool: np.ndarray, n_seeds: int) -> np.ndarray:
    """The links (h, 2) beyond the seeds that a view of positions among seeds, then links of the pool, holds."""
    beyond = view[view >= n_seeds]
    return pool[beyond - n_seeds]


def signature(
    r: Array,
    sample: Array,
    encoding: str,
) -> Array:
    """Rows of unit length from distances to anchors; the rows of the sample set the width of the kernel."""
    if not is_numpy(r):
        return _signature_on_device(r, sample, encoding)
    if encoding == "raw":
        return signatures.raw(r)
    width = signatures.kernel_width(r[sample])
    return signatures.kernel_hash(r, width)


def _signature_on_device(r: Array, sample: Array, encoding: str) -> Array:
    """As `signature`, of tensors."""
    h = r
    if encoding != "raw":
        gaps = namespace(r).pdist(r[sample].double())
        gaps = gaps[gaps > 0]
        width = float(gaps.median()) if len(gaps) else 1.0
        h = namespace(r).exp(r * (-1.0 / width))
    squares = (h * h).sum(axis=1)[:, None]
    return h / squares.sqrt().clip(signatures.SMALLEST_NORM)


def spaced(r: Array) -> Array:
    """Rows evenly spaced in the order of their mean distance to the anchors, of the distances (n, s)."""
    order = order_of(r.mean(axis=1))
    count = min(WIDTH_SAMPLE, len(order))
    spots = np.linspace(0, len(order) - 1, count)
    return order[asarray(spots.astype(np.int64), order)]


def _spaced_rows(cloud: Cloud, seeds: np.ndarray) -> np.ndarray:
    measured = _AnchorDistances(cloud, seeds, None)
    every = np.arange(len(seeds))
    return spaced(measured.columns(every))


def in_own_order(anchors: Anchors) -> tuple[np.ndarray, np.ndarray, bool]:
    """The seeds' vectors on both sides, ordered by their distance to all seeds, and whether A's are more spread out."""
    far_a = _mean_distances(anchors.left)
    far_b = _mean_distances(anchors.right)
    order = np.argsort(far_a + far_b, kind="stable")
    a_first = bool(far_a.mean() >= far_b.mean())
    return anchors.left[order], anchors.right[order], a_first


def _mean_distances(vectors: np.ndarray) -> np.ndarray:
    apart = signatures.distances(vectors, vectors)
    return apart.mean(axis=1, dtype=np.float64)


class _AnchorDistances:
    """Distances of a cloud's rows to all anchors of an iteration, in one product where memory allows, else by view."""

    def __init__(
        self,
        cloud: Cloud,
        anchors: np.ndarray,
        budget: int | None,
    ) -> None:
        self._cloud = cloud
        self._anchors = anchors
        n = cloud.shape[0]
        self.nbytes = 4 * n * len(anchors)
        self._whole: np.ndarray | None = None
        if budget is None or self.nbytes <= budget // 8:
            self._whole = self._measure(anchors)
        else:
            self.nbytes = 0

    def columns(self, view: np.ndarray) -> np.ndarray:
        """Distances to the anchors of one view, (n, s)."""
        if self._whole is not None:
            return self._whole[:, view]
        return self._measure(self._anchors[view])

    def _measure(self, anchors: np.ndarray) -> np.ndarray:
        n = self._cloud.shape[0]
        r = np.empty((n, len(anchors)), np.float32)
        for start, stop in tiles(n, BLOCK):
            block = self._cloud.block(start, stop)
            r[start:stop] = signatures.distances(block, anchors)
        return r
