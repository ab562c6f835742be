"""CSLS rankings with torch, on CUDA or the CPU: the same lists and proofs as `cpu`, all of them on the device.

The lists come from a Triton kernel where there is one for the device, else from the plain code of `rankings`. Of few
rows on CUDA all cosines are held at once: lists and proofs take dozens of steps, each of which waits for the one
before, and a GPU multiplies thousands of rows in float64 in less time than one of these steps takes.
"""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import Any

import numpy as np
import torch

from veclink.errors import InputError
from veclink.geometry.arrays import (
    DEVICE_NUMBERS,
    Array,
    ArrayRows,
    RowSource,
    checked,
    is_numpy,
    tiles,
    to_numpy,
)
from veclink.matching import rankings
from veclink.matching.cpu import DEFAULT_MEMORY, tile_shape
from veclink.matching.rankings import Found, Lists, Matches, Ranks, brute_force, exactly, proven, scan
from veclink.threads import computing

SENT = 1 << 16  # rows at a time
WITH_TRITON = ("cuda",)  # kinds of devices; tests add the CPU, for its interpreter


class DeviceRows:
    """The rows of one side as float32 tensors on `device`: held there where they fit, else sent block by block.

    Parameters
    ----------
    source : ndarray or tensor of shape (n, d), or Rows of either
        A tensor is taken as it is.
    device : torch.device
    budget : int
        Bytes. Rows are held on the device (`whole`) if they, and their copy in float16, fit.
    dtype : torch.dtype
        What they are held in.
    """

    def __init__(
        self, source: RowSource | torch.Tensor, device: torch.device, budget: float = 0, dtype: Any = torch.float32
    ) -> None:
        self.shape: tuple[int, int] = (int(source.shape[0]), int(source.shape[1]))
        self.device = device
        self.whole: torch.Tensor | None = None
        if isinstance(source, torch.Tensor):
            self.whole = checked(source.to(device, torch.float32), 0, "One side")
            return
        self._source = ArrayRows(source) if isinstance(source, np.ndarray) else source
        if 6 * self.shape[0] * self.shape[1] <= budget:
            whole = torch.empty(self.shape, dtype=dtype, device=device)
            for start, stop in tiles(len(self), SENT):
                whole[start:stop] = self.block(start, stop)
            self.whole = whole

    def __len__(self) -> int:
        return self.shape[0]

    def block(self, start: int, stop: int) -> torch.Tensor:
        """Rows start…stop−1."""
        if self.whole is not None:
            return self.whole[start:stop].float()
        return checked(self._sent(self._source.block(start, stop)), start, "One side")

    def take(self, rows: Array) -> torch.Tensor:
        """The rows at these positions."""
        if self.whole is not None:
            return self.whole[torch.as_tensor(rows, device=self.device)].float()
        return self._sent(self._source.take(to_numpy(rows)))

    def _sent(self, rows: Array) -> torch.Tensor:
        return torch.tensor(rows, device=self.device) if is_numpy(rows) else rows


def match(
    left: RowSource | torch.Tensor,
    right: RowSource | torch.Tensor,
    ranks: Ranks,
    *,
    memory: int | None = None,
    device: str = "cpu",
) -> Matches:
    """Matches of `left` (n1, s) and `right` (n2, s), rows of unit length, computed on a torch device.

    Tensors are taken as they are, wherever they lie.
    memory: bytes to use on the device, by default half of what is free there (on the CPU, as the CPU matcher).
    """
    place = torch_device(device)
    budget = free_memory(place) // 2 if memory is None else memory
    rows, columns = (DeviceRows(side, place, budget // 4) for side in (left, right))
    if place.type == "cuda" and rows.whole is not None and columns.whole is not None:
        if len(rows) * len(columns) <= min(1 << 30, budget // 48):  # bytes of each cosine with what is made of it
            return brute_force(rows.whole, columns.whole, ranks)
    room = min(budget // 4, 1 << 33)  # more makes nothing quicker
    near, error = listed(rows, columns, ranks, room)
    tile, likely = device_tile(rows, columns, room), rankings.likely_pairs
    if for_triton(rows, columns) is not None:
        from veclink.matching import triton_kernels

        tile, likely = (max(len(rows), len(columns)),) * 2, triton_kernels.likely_pairs
    again = partial(scan, rows, columns, tile, room, likely=likely)
    return proven(near, error, (again, partial(scan, columns, rows, tile, room, likely=likely)), ranks)


def device_tile(rows: DeviceRows, columns: DeviceRows, memory: int) -> tuple[int, int]:
    """Rows and columns of a tile on a device."""
    return tile_shape(rows.shape, columns.shape, memory, 16384, 32768)


def listed(rows: DeviceRows, columns: DeviceRows, ranks: Ranks, memory: int) -> tuple[Lists, float]:
    """Lists of the nearest for both sides, max(k, depth) or more in each, as `cpu.listed` makes them."""
    held, tile, width = for_triton(rows, columns), device_tile(rows, columns, memory), ranks.list_width
    if held is None:
        near = rankings.nearest(rows, columns, width, tile)
        of_rows = rankings.inner_products(rows, columns, near[0].index, memory)
        return exactly(near, (of_rows, rankings.inner_products(columns, rows, near[1].index, memory)))
    from veclink.matching import triton_kernels as kernels

    left, right = held
    near = kernels.nearest(left, right, width)
    for lists, own, others in ((near[0], rows, columns), (near[1], columns, rows)):
        (short,) = torch.where((lists.index >= 0).sum(dim=1) < min(max(ranks.k, ranks.depth), len(others)))
        if len(short):
            again, _ = rankings.nearest(DeviceRows(own.take(short), own.device), others, width, tile)
            lists.cosine[short], lists.index[short], lists.floor[short] = again.cosine, again.index, again.floor
    of_rows = kernels.inner_products(left, right, near[0].index)
    return exactly(near, (of_rows, kernels.inner_products(right, left, near[1].index)))


@computing()
def searched(queries: Any, others: Any, k: int, device: str, memory: int | None = None) -> Found:
    """As `matching.searched`, on a torch device."""
    place = torch_device(device)
    room = min(free_memory(place), memory or free_memory(place))
    asked, there = (DeviceRows(side, place, room // 4) for side in (queries, others))
    held = for_triton(asked, there)
    if held is not None:
        from veclink.matching import triton_kernels

        return triton_kernels.searched(*held, k)
    cosines = min(DEVICE_NUMBERS, room // 16)
    return rankings.searched(asked.block(0, len(asked)), there, k, max(8, cosines // len(asked) // 8 * 8))


def for_triton(rows: DeviceRows, columns: DeviceRows) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The rows of both sides, where the Triton kernels can run on them; else None."""
    if rows.device.type not in WITH_TRITON:
        return None
    if rows.whole is None or columns.whole is None or importlib.util.find_spec("triton") is None:
        return None
    from veclink.matching.triton_kernels import fits

    return (rows.whole, columns.whole) if fits(len(rows), len(columns)) else None


def torch_device(name: str) -> torch.device:
    """The torch device of this name, which is there."""
    try:
        device = torch.device(name.removeprefix("torch:"))
    except RuntimeError:
        raise InputError(f'Device {name!r} is not known; use "cpu", "cuda" or another name that torch knows.') from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f'Device {name!r} is not available here: torch finds no CUDA device; use device="cpu".')
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        there = torch.cuda.device_count()
        raise InputError(f"Device {name!r} is not available here: torch counts {there} CUDA devices, from cuda:0.")
    return device


def free_memory(device: torch.device) -> int:
    """Bytes that are free on the device, with those that torch keeps for later; on the CPU, a modest sum."""
    if device.type != "cuda":
        return 2 * DEFAULT_MEMORY
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept
