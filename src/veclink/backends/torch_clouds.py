"""The field on a GPU: the clouds stay on the device as float32, and everything asked of all their rows runs there.

The functions are those of `locality` and `CloudPair`, tile by tile in torch; what comes back is numpy, and small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from veclink.backends.cloud_pair import CloudPair, Projections
from veclink.data.collection import Collection, numbers, scale_is_large, scale_of
from veclink.errors import SHOWN
from veclink.geometry.clouds import NO_DIRECTION, Cloud
from veclink.geometry.magnitudes import LONG, SHORT
from veclink.geometry.neighbourhoods import DENSITY_NEAREST, NEAREST, NEAREST_LINKS
from veclink.geometry.signatures import RIDGE, SMALLEST_NORM
from veclink.matching import Matches
from veclink.matching.torch_backend import match, torch_device

SENT = 1 << 17  # rows at a time
LARGEST = 1 << 28  # numbers in one tile


class TorchCloudPair(CloudPair):
    """Two clouds of unit rows on a torch device."""

    def __init__(self, a: torch.Tensor, b: torch.Tensor, *, ridge: float = RIDGE, k: int = 10, device: str) -> None:
        super().__init__(Resident(a), Resident(b), ridge=ridge, k=k, device=device)
        self.points = {"a": a, "b": b}

    def signature(self, side: str, axes: np.ndarray, rows: np.ndarray | None = None) -> Any:
        """Rows of one cloud, all or some, seen along the axes, of unit length: a tensor."""
        points = self.points[side]
        chosen = points if rows is None else points[self._place(rows)]
        return unit(chosen @ self._place(axes))

    def matched(self, left: Any, right: Any, depth: int = 1) -> Matches:
        """Exact CSLS rankings, on the device."""
        return match(left, right, k=self.k, depth=depth, certain=1 if self.large else None, device=self.device)

    def cosines(self, axes: Projections, rows_a: np.ndarray, rows_b: np.ndarray) -> np.ndarray:
        """The cosine along the axes of each pair of rows."""
        of_a, of_b = self.signature("a", axes[0]), self.signature("b", axes[1])
        left, right = self._place(rows_a), self._place(rows_b)
        step = max(1, LARGEST // axes[0].shape[1])
        parts = [
            (of_a[left[start : start + step]] * of_b[right[start : start + step]]).sum(dim=1)
            for start in range(0, len(left), step)
        ]
        return _numpy(torch.cat(parts)) if parts else np.empty(0, np.float32)

    def unique(self, keys: np.ndarray) -> np.ndarray:
        """The distinct keys, ascending."""
        return _numpy(torch.unique(self._place(keys)))

    def ordered(self, rows: np.ndarray, score: np.ndarray) -> np.ndarray:
        """Positions sorted by row, then by falling score."""
        by_score = self._place(score).sort(stable=True, descending=True).indices
        return _numpy(by_score[self._place(rows)[by_score].sort(stable=True).indices])

    def local_agreement(
        self, pool: np.ndarray, rows_a: np.ndarray, rows_b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `locality.local_agreement`."""
        nearest = min(NEAREST, max(len(pool) - 2, 1))
        pool_a, pool_b, all_a, all_b = map(self._place, (pool[:, 0], pool[:, 1], rows_a, rows_b))
        linked_a, linked_b = self.points["a"][pool_a], self.points["b"][pool_b]
        step = max(1, LARGEST // 4 // len(pool))
        parts = []
        for start in range(0, len(all_a), step):
            of_a, of_b = all_a[start : start + step], all_b[start : start + step]
            near_a, near_b = self.points["a"][of_a] @ linked_a.T, self.points["b"][of_b] @ linked_b.T
            own = (pool_a == of_a[:, None]) | (pool_b == of_b[:, None])
            near_a[own], near_b[own] = -2.0, -2.0
            both = torch.cat([near.topk(nearest, dim=1).indices for near in (near_a, near_b)], dim=1)
            x, y = near_a.gather(1, both), near_b.gather(1, both)
            ordered = both.sort(dim=1).values
            overlap = (ordered[:, 1:] == ordered[:, :-1]).sum(dim=1) / nearest
            parts.append(torch.stack([_correlation(x, y, (x > -1.5) & (y > -1.5)), overlap]))
        found = _numpy(torch.cat(parts, dim=1)) if parts else np.empty((2, 0), np.float32)
        return found[0], found[1]

    def own_density(self, side: str, rng: np.random.Generator) -> np.ndarray:
        """See `locality.own_density`."""
        points = self.points[side]
        sample = np.sort(rng.permutation(len(points))[: self.density_sample])
        k, others, position = min(DENSITY_NEAREST, len(sample) - 1), points[self._place(sample)], self._place(sample)
        step, parts = LARGEST // len(sample), []
        for start in range(0, len(points), step):
            near = points[start : start + step] @ others.T
            inside = ((position >= start) & (position < start + step)).nonzero()[:, 0]
            near[position[inside] - start, inside] = -2.0
            parts.append(near.topk(k, dim=1).values.mean(dim=1))
        density = torch.cat(parts)
        return _numpy((density - density.mean()) / density.std(correction=0).clamp(min=1e-9))

    def nearest_links(self, pairs: np.ndarray, pool: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `locality.nearest_links`."""
        count = min(NEAREST_LINKS, max(len(pool) - 1, 0))
        if not count or not len(pairs):
            return np.empty((len(pairs), count), np.int64), np.empty((len(pairs), count), np.float32)
        pool_a, pool_b, all_a, all_b = map(self._place, (pool[:, 0], pool[:, 1], pairs[:, 0], pairs[:, 1]))
        linked = torch.cat([self.points["a"][pool_a], self.points["b"][pool_b]], dim=1).T / 2
        step, rows, similarity = max(1, LARGEST // 4 // len(pool)), [], []
        for start in range(0, len(pairs), step):
            of_a, of_b = all_a[start : start + step], all_b[start : start + step]
            near = torch.cat([self.points["a"][of_a], self.points["b"][of_b]], dim=1) @ linked
            near[(pool_a == of_a[:, None]) | (pool_b == of_b[:, None])] = -2.0
            value, index = near.topk(count, dim=1)
            rows.append(index)
            similarity.append(value)
        return _numpy(torch.cat(rows)), _numpy(torch.cat(similarity))

    def _place(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.points["a"].device)


class Resident:
    """A tensor on a device as rows that numpy can have."""

    def __init__(self, points: torch.Tensor) -> None:
        self.points = points
        self.shape = tuple(points.shape)

    def block(self, start: int, stop: int) -> np.ndarray:
        """Rows start…stop−1."""
        return _numpy(self.points[start:stop])

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at these positions."""
        return _numpy(self.points[torch.from_numpy(np.ascontiguousarray(rows)).to(self.points.device)])


def inspect(collection: Collection, device: str) -> tuple[np.ndarray, list[int], int, np.ndarray]:
    """What `cloud.prepare` has to know: zero rows, the first broken rows, how many there are, the unit vectors' sum."""
    place = torch_device(device)
    zero: list[np.ndarray] = []
    broken: list[int] = []
    n_broken = 0
    total = torch.zeros(collection.dimension, dtype=torch.float64, device=place)
    for start in range(0, len(collection), SENT):
        rows = _sent(collection, slice(start, start + SENT), place)
        length = _length(rows)
        bad = ~torch.isfinite(length)
        if bad.any():
            found = _numpy(bad.nonzero()[:, 0])
            n_broken += len(found)
            broken += (found[: SHOWN - len(broken)] + start).tolist()
        zero.append(_numpy((length == 0).nonzero()[:, 0]) + start)
        total += (rows / torch.where(length > 0, length, torch.inf)[:, None]).sum(dim=0, dtype=torch.float64)
    return np.concatenate(zero), broken, n_broken, _numpy(total)


def resident(cloud: Cloud, device: str) -> torch.Tensor:
    """All rows of a cloud on the device, float32, unit length, centred where the cloud is."""
    place = torch_device(device)
    out = torch.empty(cloud.shape, device=place)
    mean = None if cloud.mean is None else torch.from_numpy(cloud.mean).to(place)
    for start in range(0, len(cloud), SENT):
        stop = min(start + SENT, len(cloud))
        where = slice(start, stop) if cloud.whole else cloud.rows[start:stop]
        rows = _sent(cloud.collection, where, place)
        rows /= _length(rows)[:, None]
        if mean is not None:
            rows -= mean
            length = _length(rows)
            rows /= torch.where(length > NO_DIRECTION, length, torch.inf)[:, None]
        out[start:stop] = rows
    return out


def fits(a: tuple[int, int], b: tuple[int, int], device: str) -> bool:
    """Whether both clouds, their signatures, and what matching them takes, fit on the device."""
    place = torch_device(device)
    if place.type != "cuda":
        return True
    seen = (a[0] + b[0]) * min(a[1], b[1])  # in float32, in float16, and padded for the kernel
    return (
        4 * (a[0] * a[1] + b[0] * b[1]) + 8 * seen + 2500 * (a[0] + b[0]) + 16 * LARGEST
        < torch.cuda.mem_get_info(place)[0]
    )


def _sent(collection: Collection, where: slice | np.ndarray, place: torch.device) -> torch.Tensor:
    """As `collection.numbers`, in float32 and on the device: sent as they are, as that is half or a quarter of it.

    Rows whose numbers are very large or very small are scaled: only their direction is wanted.
    """
    if scale_is_large(collection):
        source, scale = numbers(collection, where), None
    else:
        source = np.array(collection.vectors[where], order="C", subok=False)
        scale = scale_of(collection, where)
    if source.dtype == np.float64:  # scaled first, so that large numbers stay in the range of float32
        peak = np.abs(source).max(axis=1, keepdims=True)
        source = (source / np.where(peak > 0, peak, 1.0)).astype(np.float32)
    sent = torch.from_numpy(source).to(place).float()
    return _in_range(sent if scale is None else sent.mul_(torch.from_numpy(scale).to(place)))


def _in_range(rows: torch.Tensor) -> torch.Tensor:
    """Rows, in place divided by their largest number where that is far from 1, as `magnitudes.in_range`."""
    peak = rows.abs().amax(dim=1)
    outside = torch.isfinite(peak) & (peak > 0) & ((peak < SHORT) | (peak > LONG))
    return rows.div_(torch.where(outside, peak, 1.0)[:, None]) if outside.any() else rows


def _length(rows: torch.Tensor) -> torch.Tensor:
    peak = rows.abs().amax(dim=1)
    safe = torch.where(peak > 0, peak, 1.0)
    return torch.linalg.vector_norm(rows / safe[:, None], dim=1) * safe


def unit(x: torch.Tensor) -> torch.Tensor:
    """The rows of `x` scaled to unit length, in place; rows of zeros stay as they are."""
    return x.div_(torch.linalg.vector_norm(x, dim=1, keepdim=True).clamp(min=SMALLEST_NORM))


def _correlation(x: torch.Tensor, y: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    count = there.sum(dim=1, keepdim=True).clamp(min=1)
    x, y = (torch.where(there, z - torch.where(there, z, 0).sum(dim=1, keepdim=True) / count, 0) for z in (x, y))
    return (x * y).sum(dim=1) / ((x * x).sum(dim=1) * (y * y).sum(dim=1) + 1e-9).sqrt()


def _numpy(x: torch.Tensor) -> np.ndarray:
    return x.cpu().numpy()
