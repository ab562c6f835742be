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
from veclink.data.collection import Collection, scale_is_large, scale_of
from veclink.geometry.arrays import DEVICE_NUMBERS, tiles, to_numpy
from veclink.geometry.clouds import NO_DIRECTION, Cloud
from veclink.geometry.signatures import MAX_AXES, unit_rows
from veclink.matching.torch_backend import SENT, DeviceRows, free_memory, torch_device
from veclink.threads import share


class TorchCloudPair(CloudPair):
    """Two clouds of unit rows on a torch device, or sent there when asked."""

    pairs_at_once = 1 << 20

    @cached_property
    def place(self) -> torch.device:
        """The device."""
        return torch_device(self.device)

    def signature(self, side: str, projection: np.ndarray, rows: np.ndarray | None = None) -> Any:
        """Rows of one cloud, all or some, under a projection (d, m), of unit length: a tensor."""
        cloud, along = self.cloud[side], torch.as_tensor(projection, device=self.place)
        if rows is not None:
            return unit_rows(cloud.take(rows) @ along)
        return unit_rows(torch.cat([cloud.block(*block) @ along for block in tiles(cloud.shape[0], SENT)]))

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
        return to_numpy(torch.unique(torch.tensor(keys, device=self.place)))

    def ordered(self, rows: np.ndarray, score: np.ndarray) -> np.ndarray:
        """Positions sorted by row, then by falling score."""
        by_score = torch.tensor(score, device=self.place).sort(stable=True, descending=True).indices
        return to_numpy(by_score[torch.tensor(rows, device=self.place)[by_score].sort(stable=True).indices])


def unit_vectors(collection: Collection, where: slice | np.ndarray, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit vectors of some rows of a collection, on the device, and lengths: 0 of zero rows, which stay zero.

    Rows are sent as they are, as that is half or a quarter of float32, and brought into its range there: only their
    direction is wanted.
    """
    place = torch_device(device)
    rows = torch.from_numpy(_gathered(collection.vectors, where, place)).to(place)
    rows = rows.double() if rows.dtype == torch.float64 or scale_is_large(collection) else rows.float()
    scale = scale_of(collection, where)
    if scale is not None:
        rows *= torch.from_numpy(scale).to(place)
    peak = rows.abs().amax(dim=1, keepdim=True)
    far = (peak > 2.0**60) | ((peak > 0) & (peak < 2.0**-60))  # ordinary rows are left as they are, to the last bit
    rows = (rows / torch.where(far, peak, 1.0)).float()
    length = _length(rows)
    return rows.div_(torch.where(length > 0, length, torch.inf)), length[:, 0]


def _length(rows: torch.Tensor) -> torch.Tensor:
    peak = rows.abs().amax(dim=1, keepdim=True)
    safe = torch.where(peak > 0, peak, 1.0)
    return torch.linalg.vector_norm(rows / safe, dim=1, keepdim=True) * safe


def _gathered(vectors: np.ndarray, where: slice | np.ndarray, place: torch.device) -> np.ndarray:
    """Rows as an array that can be sent: a copy, made by several threads, for CUDA where it reads it quickest."""
    native = vectors.dtype.newbyteorder("=")  # torch knows no other order of bytes
    source, rows = (vectors[where], None) if isinstance(where, slice) else (vectors, where)
    shape = len(source if rows is None else rows), vectors.shape[1]
    dtype = torch.from_numpy(np.empty(0, native)).dtype
    out = torch.empty(shape, dtype=dtype, pin_memory=place.type == "cuda").numpy()

    def copy(start: int, stop: int) -> None:
        out[start:stop] = source[start:stop] if rows is None else source[rows[start:stop]]

    share(copy, len(out), step=1 << 13)
    return out


class SentCloud:
    """The rows of a cloud as float32 tensors, sent and made on the device when asked."""

    def __init__(self, cloud: Cloud, device: torch.device) -> None:
        self.cloud, self.shape, self.device = cloud, cloud.shape, device
        self._mean = None if cloud.mean is None else torch.from_numpy(cloud.mean).to(device)

    def block(self, start: int, stop: int) -> torch.Tensor:
        """Rows start…stop−1, unit length, centred where the cloud is."""
        return self._prepared(slice(start, stop) if self.cloud.whole else self.cloud.rows[start:stop])

    def take(self, rows: np.ndarray) -> torch.Tensor:
        """The rows at these positions."""
        return self._prepared(self.cloud.rows[rows])

    def _prepared(self, where: slice | np.ndarray) -> torch.Tensor:
        rows, _ = unit_vectors(self.cloud.collection, where, str(self.device))
        if self._mean is not None:
            rows -= self._mean
            length = _length(rows)
            rows /= torch.where(length > NO_DIRECTION, length, torch.inf)
        return rows


def held_on(cloud: Cloud, device: torch.device, number_bytes: int) -> DeviceRows:
    """The rows of a cloud, held on the device in float32 (4 bytes) or float16 (2), or (0) sent there when asked."""
    dtype = torch.float16 if number_bytes == 2 else torch.float32
    return DeviceRows(SentCloud(cloud, device), device, np.inf if number_bytes else 0, dtype)


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
    sides = (held_on(cloud, place, number_bytes) for cloud in (a, b))
    return TorchCloudPair(*sides, device=device, memory=memory, k=k, ridge=ridge)


def bytes_held(a: tuple[int, int], b: tuple[int, int], room: int | None) -> int | None:
    """As how many bytes each number of two clouds of these shapes can be held (`held_on`) in so much room.

    None where not even their signatures fit.
    """
    if room is None:
        return 4
    (n_a, d_a), (n_b, d_b) = a, b
    # Signatures in float32, in float16, and padded for the kernel; and what matching takes for each row besides:
    # survivors, lists, and sorting them.
    besides = (n_a + n_b) * (8 * min(d_a, d_b, MAX_AXES) + 2500) + 16 * DEVICE_NUMBERS
    fitting = (each for each in (4, 2, 0) if each * (n_a * d_a + n_b * d_b) + besides < room)
    return next(fitting, None)
