"""CloudPair: the two clouds that links are looked for on, and every question that is asked of all their rows.

It is here on the CPU, in `torch_clouds` on a GPU, in `ray_clouds` on a Ray cluster; which device is meant is said here.
Small clouds answer in full. Of large ones only a sample of the smaller cloud's rows (`QuerySample`) is asked for
partners while a pool grows: `propose` searches the whole other cloud for them, `confirmed` searches the way back for
the few pairs that several views agree on. The cost of growing is then linear in the number of rows.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from veclink.errors import InputError, named
from veclink.files.memory import LEAST, available, parse_memory
from veclink.geometry.arrays import ArrayRows, Rows, RowSource, namespace, tiles, to_numpy
from veclink.geometry.clouds import LARGE, Cloud, Look
from veclink.geometry.nearest import DENSITY_SAMPLE, own_density
from veclink.geometry.signatures import RIDGE, span_projection, unit_rows
from veclink.matching import Matches, best_partners, match
from veclink.threads import multiply

if TYPE_CHECKING:
    from veclink.backends.ray_clouds import Cluster

Projections = tuple[np.ndarray, np.ndarray]

ALL_ASKED = LARGE  # rows of the smaller cloud up to which all of them are asked for partners in every view
ASKED = 2048  # of a larger one, once the map is found; before that, more: only the clearest few of them are right then
ASKED_FIRST, SHARE_ASKED_FIRST = 32_768, 0.06
BACKDROP = 512  # rows that stand for the whole larger cloud when a density is taken on the way back
DENSE = 512_000_000  # bytes of signatures that are held at once; more are made block by block, again each time
PROJECTED_AT_ONCE = 4096  # rows in one product: always the same, so that no row's numbers depend on who asks
DEVICES: tuple[str, ...] = ("auto", "cpu", "cuda")
NUMBERED = re.compile(r"cuda:\d+")


@dataclass(frozen=True, eq=False)
class QuerySample:
    """The rows of the smaller cloud that are asked for partners."""

    extent: int  # how many rows are asked: a pool of one-to-one links can hold no more
    rows: np.ndarray | None = None  # (extent,) which rows of the smaller cloud; None where all of them are asked
    backdrop: np.ndarray | None = None  # (m,) rows that stand for the larger cloud in a density on the way back


class CloudPair:
    """Two clouds of unit rows, with the neighbours k and the ridge λ of their signatures, on the CPU.

    means: what was subtracted from the rows of either side; None where nothing was, or it is not known.
    centred_on: makes the same pair with two other means subtracted; None where that cannot be done.
    """

    means: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
    centred_on: Callable[[np.ndarray, np.ndarray], CloudPair] | None = None
    pairs_at_once = 1 << 12  # whose cosines are taken: what is gathered for them is the largest thing there

    def __init__(
        self,
        a: np.ndarray | Rows,
        b: np.ndarray | Rows,
        *,
        ridge: float = RIDGE,
        k: int = 10,
        device: str = "cpu",
        memory: int | None = None,
    ) -> None:
        self.a: Rows = ArrayRows(a) if isinstance(a, np.ndarray) else a
        self.b: Rows = ArrayRows(b) if isinstance(b, np.ndarray) else b
        self.cloud = {"a": self.a, "b": self.b}
        self.n_a, self.n_b = int(a.shape[0]), int(b.shape[0])
        self.dimension = int(min(a.shape[1], b.shape[1]))
        self.ridge, self.k, self.device, self.memory = ridge, k, device, memory
        self.extent_of_all = min(self.n_a, self.n_b)  # rows of the smaller cloud
        self.large = self.extent_of_all > ALL_ASKED

    def in_full(self) -> Self:
        """The same clouds, which answer in full however large they are."""
        full = copy(self)
        full.large = False
        return full

    def sample_queries(self, rng: np.random.Generator, *, first: bool = False, most: int | None = None) -> QuerySample:
        """Choose the rows of the smaller cloud to ask for partners: all of small clouds, some of large ones.

        rng: not drawn from where all rows are asked.
        first: the map is not found yet, so ask more rows, since only the clearest few answers are right then.
        most: rows to ask instead of the usual number.
        """
        smaller, larger = self.extent_of_all, max(self.n_a, self.n_b)
        if not self.large:
            return QuerySample(smaller)
        wanted = most or ASKED
        if first:
            wanted = max(ASKED, min(ASKED_FIRST, int(SHARE_ASKED_FIRST * smaller)))
        extent = min(wanted, smaller)
        rows = rng.choice(smaller, extent, replace=False)
        return QuerySample(extent, rows, rng.choice(larger, min(BACKDROP, larger), replace=False))

    def vectors(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The vectors of pairs of rows (m, 2), side by side."""
        return to_numpy(self.a.take(pairs[:, 0])), to_numpy(self.b.take(pairs[:, 1]))

    def span_projections(self, left: np.ndarray, right: np.ndarray) -> Projections:
        """The projections of the span signatures of a view's paired anchor vectors (m, d_a) and (m, d_b)."""
        return span_projection(left, self.ridge), span_projection(right, self.ridge)

    def signature(self, side: str, projection: np.ndarray, rows: np.ndarray | None = None) -> RowSource:
        """Rows of one cloud, all or some, under a projection (d, m), of unit length."""
        cloud = self.cloud[side]
        if rows is not None:
            return multiply(cloud.take(rows), projection, after=unit_rows)
        projected = ProjectedRows(cloud, projection)
        held = DENSE if self.memory is None else self.memory // 4
        n, dimension = projected.shape
        return projected.block(0, n) if 4 * n * dimension <= held else projected

    def matched(self, left: RowSource, right: RowSource, depth: int = 1, unfinished: Any = None) -> Matches:
        """`matching.match` with the settings of this pair; of large clouds, the best partner alone is proven."""
        asked: dict[str, Any] = {"k": self.k, "depth": depth, "certain": 1 if self.large else None}
        return match(left, right, memory=self._room(), device=self.device, unfinished=unfinished, **asked)

    def matches(self, projections: Projections, depth: int = 1, unfinished: Any = None) -> Matches:
        """All rows of both clouds matched under the projections; a pass on the CPU can be resumed."""
        left, right = self.signature("a", projections[0]), self.signature("b", projections[1])
        return self.matched(left, right, depth, unfinished)

    def _room(self) -> int | None:
        """Bytes that matching may take."""
        return None if self.memory is None else max(self.memory // 2, 1)  # the signatures may have the other half

    def propose(self, projections: Projections, sample: QuerySample | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Mutual nearest neighbours under the projections: rows of A and of B (p, 2), and their csls (p,).

        Where a sample is asked: each row asked with its best partner, and of those with the same one the best.
        """
        if sample is None or sample.rows is None:
            return self.matches(projections).mutual()
        few, many = self._few_and_many()
        partner, score = self._best_partners(few, many, projections, sample.rows)
        order = np.lexsort((-score, partner))
        first = order[np.r_[True, np.diff(partner[order]) > 0]]
        pairs = np.empty((len(first), 2), np.int64)
        pairs[:, few] = sample.rows[first]
        pairs[:, many] = partner[first]
        return pairs, score[first]

    def confirmed(
        self, projections: Projections, pairs: np.ndarray, sample: QuerySample, shuffle: np.random.Generator
    ) -> np.ndarray:
        """Which of the proposed pairs (p, 2) hold on the way back: no row, asked or not, is a better partner.

        shuffle: puts the queries in random order, since densities are taken over groups of consecutive ones.
        """
        if sample.rows is None or not len(pairs):
            return np.ones(len(pairs), bool)
        assert sample.backdrop is not None
        few, many = self._few_and_many()
        back = np.concatenate([pairs[:, many], sample.backdrop])
        mixed = shuffle.permutation(len(back))
        partner = np.empty(len(back), np.int64)
        partner[mixed], _ = self._best_partners(many, few, projections, back[mixed])
        return partner[: len(pairs)] == pairs[:, few]

    def _few_and_many(self) -> tuple[int, int]:
        """Column of the smaller cloud and of the larger one, in pairs of rows."""
        return (0, 1) if self.n_a <= self.n_b else (1, 0)

    def _best_partners(
        self, of: int, among: int, projections: Projections, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        queries = self.signature("ab"[of], projections[of], rows)
        others = self.signature("ab"[among], projections[among])
        return best_partners(queries, others, k=self.k, device=self.device, memory=self.memory)

    def cosines(self, projections: Projections, rows_a: np.ndarray, rows_b: np.ndarray) -> np.ndarray:
        """The cosine of each pair of rows under the projections, (c,) float32."""
        out = np.empty(len(rows_a), np.float32)
        of_a = self.as_rows(self.signature("a", projections[0]))
        of_b = self.as_rows(self.signature("b", projections[1]))
        for start, stop in tiles(len(out), self.pairs_at_once):
            left, right = of_a.take(rows_a[start:stop]), of_b.take(rows_b[start:stop])
            out[start:stop] = to_numpy(namespace(left).einsum("ij,ij->i", left, right))
        return out

    def as_rows(self, signature: RowSource) -> Rows:
        """Signatures in the form that gives single ones."""
        return ArrayRows(signature)

    def unique(self, keys: np.ndarray) -> np.ndarray:
        """The distinct keys, ascending."""
        ordered = np.sort(keys)  # numpy's own way hashes them first, which takes ten times as long for millions
        is_first = np.ones(len(ordered), bool)
        is_first[1:] = ordered[1:] != ordered[:-1]
        return ordered[is_first]

    def ordered(self, rows: np.ndarray, score: np.ndarray) -> np.ndarray:
        """Positions sorted by row, then by falling score."""
        return np.lexsort((-score, rows))

    def all_rows(self, side: str) -> np.ndarray:
        """All rows of one cloud."""
        cloud = self.cloud[side]
        return to_numpy(cloud.block(0, cloud.shape[0]))

    def sample(self, side: str, most: int, rng: np.random.Generator) -> np.ndarray:
        """At most so many random rows of one cloud, in their order."""
        cloud = self.cloud[side]
        n = cloud.shape[0]
        return to_numpy(cloud.block(0, n) if n <= most else cloud.take(np.sort(rng.choice(n, most, replace=False))))

    def own_density(self, side: str, rng: np.random.Generator) -> np.ndarray:
        """See `nearest.own_density`."""
        return own_density(self.cloud[side], rng, DENSITY_SAMPLE // 2 if self.large else DENSITY_SAMPLE)


class ProjectedRows:
    """The rows of a cloud under a projection (d, m), of unit length, made when they are read."""

    def __init__(self, cloud: Rows, projection: np.ndarray) -> None:
        self.cloud = cloud
        self.projection = projection
        self.shape = (int(cloud.shape[0]), int(projection.shape[1]))

    def block(self, start: int, stop: int) -> np.ndarray:
        """Rows start…stop−1, (stop − start, m)."""
        rows = np.empty((stop - start, self.shape[1]), np.float32)
        for low, high in tiles(stop, PROJECTED_AT_ONCE, start):
            multiply(self.cloud.block(low, high), self.projection, rows[low - start : high - start], unit_rows)
        return rows

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at these positions, (len(rows), m)."""
        return multiply(self.cloud.take(rows), self.projection, after=unit_rows)


def placed_clouds(
    a: Cloud,
    b: Cloud,
    device: str,
    memory: int | str | None,
    *,
    k: int,
    ridge: float,
    cluster: Cluster | None = None,
) -> CloudPair:
    """Two clouds where they fit: on a cluster, on a GPU, in memory, or read when asked.

    k, ridge: neighbours, and the λ of their signatures. memory: bytes that may be allocated beside the vectors.
    """
    budget = None if memory is None else parse_memory(memory, least=LEAST)
    settings: dict[str, Any] = {"ridge": ridge, "k": k}
    clouds: CloudPair | None = None
    if cluster is not None:
        from veclink.backends.ray_clouds import RayCloudPair

        clouds = RayCloudPair(a, b, cluster, memory=budget, **settings)
    elif device != "cpu":
        from veclink.backends.torch_clouds import resident_clouds

        clouds = resident_clouds(a, b, device, budget, **settings)
    if clouds is None:
        held = 4 * (a.shape[0] * a.shape[1] + b.shape[0] * b.shape[1])
        sides: tuple[Any, Any] = a, b
        if held <= (available() if budget is None else budget) // 2:
            sides, budget = (a.dense(), b.dense()), None if budget is None else budget - held
        clouds = CloudPair(*sides, memory=budget, device=device, **settings)
    clouds.means = a.mean, b.mean
    if a.mean is not None and b.mean is not None:
        clouds.centred_on = lambda mean_a, mean_b: placed_clouds(
            a.centred_on(mean_a), b.centred_on(mean_b), device, memory, k=k, ridge=ridge, cluster=cluster
        )
    return clouds


def machines_at(address: str | None, device: str) -> AbstractContextManager[Cluster | None]:
    """The cluster at an address, or none."""
    if address is None:
        return nullcontext()
    from veclink.backends.ray_clouds import connected

    return connected(address, device)


def chosen_device(device: str) -> str:
    """The device meant by `device`: "auto" is "cuda" where torch and an NVIDIA GPU are there, else "cpu"."""
    check_device(device)
    if device != "auto":
        return device
    if not _has_driver() or importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def check_device(device: str) -> None:
    """Refuse a device of an unknown name."""
    if device not in DEVICES and not NUMBERED.fullmatch(device):
        raise InputError(f"The device {device!r} is unknown; it is one of {named(DEVICES)}, or one GPU as in 'cuda:1'.")


def look_on(device: str) -> Look | None:
    """How a pass over a collection is made on a device; None for numpy's."""
    if device == "cpu":
        return None
    from veclink.backends.torch_clouds import unit_vectors

    return partial(unit_vectors, device=device)


def _has_driver() -> bool:
    """Whether there is an NVIDIA driver. Asking torch costs seconds and hundreds of megabytes where there is none."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
