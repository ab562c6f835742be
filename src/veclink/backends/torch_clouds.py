"""CloudPair on a GPU: everything asked of all rows runs there, and what comes back is numpy, and small.

The clouds stay on the device as float32; where there is less room as float16, and where there is less still in host
memory, from where rows are sent when asked. Their signatures are float32 in any case, all rows of one at once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch

from veclink.backends import CloudPair
from veclink.data.collection import Collection, numbers, scale_is_large, scale_of
from veclink.geometry.arrays import tiles, to_numpy
from veclink.geometry.canonical import MAX_AXES
from veclink.geometry.clouds import LONG, NO_DIRECTION, SHORT, Cloud
from veclink.geometry.signatures import unit_rows
from veclink.matching.torch_backend import DeviceRows, free_memory, torch_device
from veclink.threads import share

SENT = 1 << 17  # rows at a time
COPIED = 1 << 13  # of them by one thread at a time
LARGEST = 1 << 28  # numbers in one tile
FLOAT32, FLOAT16, NOTHING = 4, 2, 0  # bytes of a number that is held on the device
WORKSPACE = 2500  # bytes for each row that matching takes besides signatures: survivors, lists, and sorting them


class TorchCloudPair(CloudPair):
    """Two clouds of unit rows on a torch device, or sent there when asked."""

    pairs_at_once = 1 << 20

    @cached_property
    def place(self) -> torch.device:
        """The device."""
        return torch_device(self.device)

    def signature(self, side: str, projection: np.ndarray, rows: np.ndarray | None = None) -> Any:
        """Rows of one cloud, all or some, under a projection (d, m), of unit length: a tensor."""
        cloud, along = self.cloud(side), self._place(projection)
        if rows is not None:
            return unit_rows(cloud.take(rows) @ along)
        signature = torch.empty((cloud.shape[0], along.shape[1]), device=self.place)
        for start, stop in tiles(len(signature), SENT):
            torch.mm(cloud.block(start, stop), along, out=signature[start:stop])
        return unit_rows(signature)

    def _room(self) -> int | None:
        """Bytes of the device: what is left of those that this pair may take."""
        if self.memory is None or self.place.type != "cuda":
            return self.memory
        return max(self.memory - torch.cuda.memory_allocated(self.place), 1)

    def as_rows(self, signature: Any) -> DeviceRows:
        """Signatures in the form that gives single ones."""
        return DeviceRows(signature, self.place)

    def unique(self, keys: np.ndarray) -> np.ndarray:
        """The distinct keys, ascending."""
        return to_numpy(torch.unique(self._place(keys)))

    def ordered(self, rows: np.ndarray, score: np.ndarray) -> np.ndarray:
        """Positions sorted by row, then by falling score."""
        by_score = self._place(score).sort(stable=True, descending=True).indices
        return to_numpy(by_score[self._place(rows)[by_score].sort(stable=True).indices])

    def _place(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.place)


def unit_vectors(collection: Collection, where: slice | np.ndarray, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit vectors of some rows of a collection, on the device, and their lengths; zero rows stay zero."""
    rows = _sent(collection, where, torch_device(device))
    length = _length(rows)
    return rows.div_(torch.where(length > 0, length, torch.inf)[:, None]), length


class DeviceCloud:
    """The rows of a cloud, float32 on the device when asked: unit length, centred where the cloud is.

    number_bytes: they are held on the device in float32 (4 bytes) or float16 (2), or (0) sent there when asked.
    """

    def __init__(self, cloud: Cloud, device: str, number_bytes: int = FLOAT32) -> None:
        self.cloud = cloud
        self.shape = cloud.shape
        self.device = torch_device(device)
        self._mean = None if cloud.mean is None else torch.from_numpy(cloud.mean).to(self.device)
        self.held: torch.Tensor | None = None
        if number_bytes != NOTHING:
            dtype = torch.float16 if number_bytes == FLOAT16 else torch.float32
            held = torch.empty(cloud.shape, dtype=dtype, device=self.device)
            for start, stop in tiles(len(cloud), SENT):
                held[start:stop] = self.block(start, stop)
            self.held = held

    def block(self, start: int, stop: int) -> torch.Tensor:
        """Rows start…stop−1."""
        if self.held is not None:
            return self.held[start:stop].float()
        return self._prepared(slice(start, stop) if self.cloud.whole else self.cloud.rows[start:stop])

    def take(self, rows: np.ndarray) -> torch.Tensor:
        """The rows at these positions."""
        if self.held is not None:
            return self.held[torch.as_tensor(rows, device=self.device)].float()
        return self._prepared(self.cloud.rows[rows])

    def _prepared(self, where: slice | np.ndarray) -> torch.Tensor:
        rows, _ = unit_vectors(self.cloud.collection, where, str(self.device))
        if self._mean is not None:
            rows -= self._mean
            length = _length(rows)
            rows /= torch.where(length > NO_DIRECTION, length, torch.inf)[:, None]
        return rows


def resident_clouds(
    a: Cloud, b: Cloud, device: str, memory: int | None, *, k: int, ridge: float
) -> TorchCloudPair | None:
    """The clouds on a GPU, in as few bytes as it takes; None where they would not fit, or take more than `memory`."""
    place, room = torch_device(device), None  # only a GPU bounds what can be held
    if place.type == "cuda":
        room = free_memory(place)
        room = room if memory is None else min(room, memory - torch.cuda.memory_allocated(place))
    number_bytes = bytes_held(a.shape, b.shape, room)
    if number_bytes is None:
        return None
    sides = (DeviceCloud(cloud, device, number_bytes) for cloud in (a, b))
    return TorchCloudPair(*sides, device=device, memory=memory, k=k, ridge=ridge)


def bytes_held(a: tuple[int, int], b: tuple[int, int], room: int | None) -> int | None:
    """As how many bytes each number of two clouds of these shapes can be held (`DeviceCloud`) in so much room.

    None where not even their signatures fit.
    """
    if room is None:
        return FLOAT32
    (n_a, d_a), (n_b, d_b) = a, b
    rows = n_a + n_b
    signatures = 8 * rows * min(d_a, d_b, MAX_AXES)  # in float32, in float16, and padded for the kernel
    besides = signatures + WORKSPACE * rows + 16 * LARGEST
    numbers = n_a * d_a + n_b * d_b
    for number_bytes in (FLOAT32, FLOAT16, NOTHING):
        if number_bytes * numbers + besides < room:
            return number_bytes
    return None


def _sent(collection: Collection, where: slice | np.ndarray, place: torch.device) -> torch.Tensor:
    """As `collection.numbers`, in float32 and on the device: sent as they are, as that is half or a quarter of it.

    Rows whose numbers are very large or very small are scaled: only their direction is wanted.
    """
    if scale_is_large(collection):
        source, scale = numbers(collection, where), None
    else:
        source = _gathered(collection.vectors, where, place)
        scale = scale_of(collection, where)
    if source.dtype == np.float64:  # scaled first, so that large numbers stay in the range of float32
        peak = np.abs(source).max(axis=1, keepdims=True)
        source = (source / np.where(peak > 0, peak, 1.0)).astype(np.float32)
    sent = torch.from_numpy(source).to(place).float()
    return _in_range(sent if scale is None else sent.mul_(torch.from_numpy(scale).to(place)))


def _gathered(vectors: np.ndarray, where: slice | np.ndarray, place: torch.device) -> np.ndarray:
    """Rows as an array that can be sent: a copy, made by several threads, for CUDA where it reads it quickest."""
    rows = range(*where.indices(len(vectors))) if isinstance(where, slice) else where
    native = vectors.dtype.newbyteorder("=")  # torch knows no other order of bytes
    dtype = torch.from_numpy(np.empty(0, native)).dtype
    out = torch.empty((len(rows), vectors.shape[1]), dtype=dtype, pin_memory=place.type == "cuda").numpy()

    def copy(start: int, stop: int) -> None:
        part = slice(rows[start], rows[stop - 1] + 1) if isinstance(where, slice) else where[start:stop]
        out[start:stop] = vectors[part]

    share(copy, len(out), step=COPIED)
    return out


def _in_range(rows: torch.Tensor) -> torch.Tensor:
    """Rows, in place divided by their largest number where that is far from 1, as `clouds.in_range`."""
    peak = rows.abs().amax(dim=1)
    outside = torch.isfinite(peak) & (peak > 0) & ((peak < SHORT) | (peak > LONG))
    return rows.div_(torch.where(outside, peak, 1.0)[:, None]) if outside.any() else rows


def _length(rows: torch.Tensor) -> torch.Tensor:
    peak = rows.abs().amax(dim=1)
    safe = torch.where(peak > 0, peak, 1.0)
    return torch.linalg.vector_norm(rows / safe[:, None], dim=1) * safe
