"""CloudPair on a Ray cluster: each cloud lies in the object store, and what is asked of all its rows runs in tasks.

A task gets one block of rows of either side. What it does is a function of these blocks alone, so that a lost one can
be run again anywhere, and it computes what `matching` and `CloudPair` compute on one machine: rankings are exact here
as there, and nothing else depends on where it ran (other kinds of processor may round the last bit differently, and
GPUs do).
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import ceil, sqrt
from typing import Any, TypeVar

import numpy as np

from veclink import __version__, matching
from veclink.backends import PROJECTED_AT_ONCE, CloudPair, ProjectedRows, Projections
from veclink.errors import InputError, VeclinkError, needed
from veclink.geometry.arrays import Array, ArrayRows, Rows, asarray, tiles, to_numpy
from veclink.geometry.signatures import unit_rows
from veclink.matching import Found, Matches, cpu
from veclink.matching.rankings import Nearest, Ranks, Wanted, proven, scan

BLOCK = PROJECTED_AT_ONCE  # rows: a block of the store has one or more times as many, and so whole tiles of a search
PER_WORKER = 4  # tasks of a pass, and those under way at once: one that is late holds up little
MEMORY = cpu.DEFAULT_MEMORY // 4  # for what a task gathers beside the rows themselves

Tag = TypeVar("Tag")
Call = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass
class Cluster:
    """The machines of a Ray cluster as so many workers."""

    ray: Any
    workers: int
    device: str = "cpu"  # of tasks that multiply; where it is not "cpu", those ask for one GPU each
    _remote: dict[Callable[..., Any], Any] = field(default_factory=dict)

    def submit(self, work: Callable[..., Any], *arguments: Any, on_device: bool = False) -> Any:
        """A reference to what work(*arguments) returns; references among the arguments stand for their values."""
        if work not in self._remote:
            self._remote[work] = self.ray.remote(work)
        gpus = 1 if on_device and self.device != "cpu" else 0
        # it starts again where its worker or machine went away
        return self._remote[work].options(num_cpus=1, num_gpus=gpus, max_retries=10).remote(*arguments)

    def results(self, calls: Iterable[tuple[Tag, Call]]) -> Iterator[tuple[Tag, Any]]:
        """The tag and the result of each call (work, arguments), in the order in which they end.

        Calls are taken from the iterable as others end, so that neither tasks nor results pile up.
        """
        waiting: dict[Any, Tag] = {}
        coming = iter(calls)
        try:
            while True:
                while len(waiting) < PER_WORKER * self.workers:
                    following = next(coming, None)
                    if following is None:
                        break
                    tag, (work, arguments) = following
                    waiting[self.submit(work, *arguments, on_device=True)] = tag
                if not waiting:
                    return
                done, _ = self.ray.wait(list(waiting), num_returns=1)
                for reference in done:
                    yield waiting.pop(reference), self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            if "failed to import on the worker" not in str(error):
                raise  # an error of the work itself, which is also of its own kind
            raise VeclinkError(
                f"A node of the Ray cluster cannot import veclink {__version__}; install that version on every node."
            ) from error
        except self.ray.exceptions.RayError as error:
            reason = str(error).strip().partition("\n")[0].rstrip(".")
            raise VeclinkError(f"The Ray cluster could not finish a task: {reason}.") from error
        finally:
            for reference in waiting:
                self.ray.cancel(reference)


@contextmanager
def connected(address: str, device: str = "auto") -> Iterator[Cluster]:
    """The cluster at an address ("host:port", or "auto" for the one this machine is part of), for as long as wanted.

    device: "auto" computes on the cluster's GPUs where it has any; "cpu" and "cuda" say which. A cluster gives each
    task one of its GPUs, so a number says nothing here.
    """
    ray = needed("ray", "Linking on a cluster", "veclink[ray]")
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, address)
    else:
        current = ray.get_runtime_context().gcs_address
        if address not in ("auto", current):
            raise InputError(
                f"This process is connected to the Ray cluster at {current!r} already, so {address!r} cannot be used; "
                "call ray.shutdown() first, or give 'auto'."
            )
    try:
        there = ray.cluster_resources()
        cpus, gpus = int(there.get("CPU", 0)), int(there.get("GPU", 0))
        if device.startswith("cuda") and not gpus:
            raise InputError(f"The device {device!r} was given, and the Ray cluster has 0 GPUs; use 'auto' or 'cpu'.")
        if not cpus:
            raise InputError("The Ray cluster has 0 CPUs for tasks; add a node with some.")
        yield Cluster(ray, cpus) if device == "cpu" or not gpus else Cluster(ray, gpus, "cuda")
    finally:
        if ours:
            ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    """Connect, or refuse an address at which nothing answers: Ray itself would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address != "auto" and not (host and port.isdigit()):
        raise InputError(f"The cluster {address!r} is neither 'auto' nor an address such as '10.0.0.1:6379'.")
    try:
        if address != "auto":
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=address, log_to_driver=False, logging_level="error", configure_logging=False)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        raise InputError(
            f"There is no Ray cluster to connect to at {address!r}; start one with 'ray start --head', or give the "
            "address that this printed."
        ) from error


@dataclass(frozen=True)
class Stored:
    """The rows of one side in the object store."""

    blocks: list[Any]  # references to `size` rows each; the last may have fewer
    size: int
    shape: tuple[int, int]

    def placed(self) -> list[tuple[int, Any]]:
        """Each block with its first row."""
        return [(place * self.size, block) for place, block in enumerate(self.blocks)]


class RayCloudPair(CloudPair):
    """Two clouds of unit rows in the object store of a cluster; single rows are read here, where they come from."""

    def __init__(self, a: np.ndarray | Rows, b: np.ndarray | Rows, cluster: Cluster, **settings: Any) -> None:
        super().__init__(a, b, **settings)
        self.cluster = cluster
        self.stored = {"a": self._put(self.a), "b": self._put(self.b)}

    def _put(self, cloud: Rows) -> Stored:
        parts = ceil(sqrt(PER_WORKER * self.cluster.workers))
        size = BLOCK * min(ceil(ceil(cloud.shape[0] / BLOCK) / parts), max(1, 65_536 // BLOCK))  # a worker holds two
        blocks = [self.cluster.ray.put(cloud.block(*rows)) for rows in tiles(cloud.shape[0], size)]
        return Stored(blocks, size, cloud.shape)

    def projected(self, side: str, projection: np.ndarray) -> Stored:
        """All rows of one cloud under a projection (d, m), of unit length, in the store."""
        cloud, given = self.stored[side], (self.cluster.device, self.cluster.ray.put(projection))
        blocks = [self.cluster.submit(projected, *given, block, on_device=True) for block in cloud.blocks]
        return Stored(blocks, cloud.size, (cloud.shape[0], projection.shape[1]))

    def matches(self, projections: Projections, depth: int = 1, unfinished: Any = None) -> Matches:
        """All rows of both clouds matched under the projections; a cluster repeats what it loses and keeps nothing."""
        left, right = self.projected("a", projections[0]), self.projected("b", projections[1])
        return match(left, right, self.cluster, Ranks(self.k, depth, 1 if self.large else None))

    def _best_partners(
        self, of: int, among: int, projections: Projections, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        queries = self.cluster.ray.put(self.signature("ab"[of], projections[of], rows))
        given = self.cluster.device, self.k, queries, self.cluster.ray.put(projections[among])
        others = self.stored["ab"[among]].placed()
        calls = ((start, (searched, (*given, start, block))) for start, block in others)
        parts = sorted(self.cluster.results(calls), key=lambda part: part[0])
        best, index, largest = zip(*(found for _, found in parts), strict=True)
        values = np.stack(best)
        first = values.argmax(axis=0), np.arange(values.shape[1])
        nearest = np.sort(np.concatenate(largest, axis=1), axis=1)[:, -self.k :]
        return np.stack(index)[first], values[first] - nearest.mean(axis=1)


def match(left: Stored, right: Stored, cluster: Cluster, ranks: Ranks) -> Matches:
    """What `matching.match` returns for rows of unit length that lie in the object store.

    Tasks list the nearest of one block in another; the lists are merged and proven here, and rows that they do not
    prove are searched again in tasks.
    """
    sizes, error = (left.shape[0], right.shape[0]), 0.0
    near = [
        Nearest.none(n, min(ranks.list_width, others), np.empty(0))
        for n, others in zip(sizes, sizes[::-1], strict=True)
    ]
    calls = (
        ((i, j), (listed, (cluster.device, ranks, (i, j), one, other)))
        for (i, one), (j, other) in product(left.placed(), right.placed())
    )
    for starts, (found, off) in cluster.results(calls):
        error = max(error, off)
        for kept, start, lists in zip(near, starts, found, strict=True):
            here = slice(start, start + len(lists.floor))
            _keep_best((kept.cosine[here], kept.index[here]), (lists.cosine, lists.index))
            np.maximum(kept.floor[here], lists.floor, out=kept.floor[here])
    for kept, others in zip(near, sizes[::-1], strict=True):
        if others > kept.cosine.shape[1]:  # what fell off the end of a list is no larger than what is last in it
            np.maximum(kept.floor, kept.cosine[:, -1], out=kept.floor)
    again = partial(_scan, left, right, cluster), partial(_scan, right, left, cluster)
    return proven((near[0], near[1]), error, again, ranks)


def _keep_best(kept: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> None:
    """Keep, in place, the entries of each row with the largest first numbers, best first, ties by the second number.

    So they are the same ones in whatever order they are found.
    """
    joined = [np.concatenate([old, new], axis=1) for old, new in zip(kept, found, strict=True)]
    best = np.lexsort((joined[1], -joined[0]), axis=1)[:, : kept[0].shape[1]]
    for old, both in zip(kept, joined, strict=True):
        old[:] = np.take_along_axis(both, best, axis=1)


def _scan(left: Stored, right: Stored, cluster: Cluster, wanted: Wanted) -> tuple[np.ndarray, np.ndarray]:
    """`rankings.scan` for rows of left."""
    chosen, width = wanted.rows, wanted.width
    value, index = np.full((len(chosen), width), -np.inf), np.full((len(chosen), width), -1, np.int64)

    def calls() -> Iterator[tuple[slice, Call]]:
        for (i, one), (j, other) in product(left.placed(), right.placed()):
            here = slice(*np.searchsorted(chosen, [i, i + left.size]).tolist())
            if here.start < here.stop:
                penalty = wanted.penalty[j : j + right.size]
                part = wanted._replace(rows=chosen[here] - i, penalty=penalty, least=wanted.least[here])
                yield here, (scanned, (cluster.device, j, part, one, other))

    for here, found in cluster.results(calls()):
        _keep_best((value[here], index[here]), found)
    return value, index


# What a worker does. Blocks are copied where compiled loops read them: those of the store are read-only.


def projected(device: str, projection: np.ndarray, block: np.ndarray) -> np.ndarray:
    """The rows of a block (n, d) under a projection (d, m), of unit length."""
    return to_numpy(_projected(device, projection, block))


def _projected(device: str, projection: np.ndarray, block: np.ndarray) -> Array:
    if device == "cpu":
        return ProjectedRows(ArrayRows(block), projection).block(0, len(block))
    import torch

    (rows,) = _rows(device, block)
    return unit_rows(rows.whole @ torch.tensor(projection, device=rows.device))


def listed(
    device: str, ranks: Ranks, starts: tuple[int, int], left: np.ndarray, right: np.ndarray
) -> tuple[list[Nearest], float]:
    """The nearest of each row of one block among those of the other, both ways, as `cpu.listed` makes them.

    starts: the first row of each block on its side; indices count from the first row of the side.
    """
    if device == "cpu":
        backend: Any = cpu
    else:
        from veclink.matching import torch_backend as backend
    near, error = backend.listed(*_rows(device, left, right), ranks, MEMORY)
    found = []
    for lists, start in zip(near, reversed(starts), strict=True):
        index = to_numpy(lists.index).astype(np.int64)
        index = np.where(index < 0, -1, index + start)
        found.append(Nearest(to_numpy(lists.cosine), index, to_numpy(lists.floor)))
    return found, error


def scanned(
    device: str, start: int, wanted: Wanted, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """`rankings.scan` of rows of one block among those of the other, which begins at row `start` of its side."""
    rows, others = _rows(device, left, right)
    like = rows.block(0, 1)
    chosen, penalty, least = (asarray(each, like) for each in (wanted.rows, wanted.penalty, wanted.least))
    wanted = wanted._replace(rows=chosen, penalty=penalty, least=least)
    value, index = map(to_numpy, scan(rows, others, (cpu.TILE_ROWS, cpu.TILE_COLUMNS), MEMORY, wanted))
    return value, np.where(index < 0, -1, index + start)


def searched(device: str, k: int, queries: np.ndarray, projection: np.ndarray, start: int, block: np.ndarray) -> Found:
    """`matching.searched` among the rows of one block, which begins at row `start` of its side."""
    best, index, largest = matching.searched(queries, _projected(device, projection, block), k=k, device=device)
    return best, index + start, largest


def _rows(device: str, *blocks: np.ndarray) -> list[Any]:
    if device == "cpu":
        return [ArrayRows(block.copy()) for block in blocks]
    from veclink.matching.torch_backend import DeviceRows, torch_device

    return [DeviceRows(block, torch_device(device), np.inf) for block in blocks]
