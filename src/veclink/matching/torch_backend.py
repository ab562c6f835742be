"""CSLS rankings with torch, on CUDA or the CPU: the same lists and proofs as `cpu`, all of them on the device.

The lists come from a Triton kernel where there is one for the device, else from the plain code of `rankings`. Of few
rows on CUDA all cosines are held at once: lists and proofs take dozens of steps, each of which waits for the one
before, and a GPU multiplies thousands of rows in float64 in less time than one of these steps takes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from veclink.errors import InputError
from veclink.geometry.arrays import Array, ArrayRows, RowSource, checked, floats, tiles
from veclink.matching import rankings
from veclink.matching.cpu import DEFAULT_MEMORY, TILE_COLUMNS, TILE_ROWS, tile_shape
from veclink.matching.rankings import Find, Found, Likely, Lists, Matches, Ranks, Wanted, brute_force, proven, scan
from veclink.threads import computing

CUDA_TILE_ROWS, CUDA_TILE_COLUMNS = 16384, 32768
LENGTHENED = 8  # numbers that a row is lengthened by: tensor cores take multiples of this
USEFUL = 1 << 33  # bytes to work in: more make nothing quicker
MOST_COSINES, COSINE_COST = 1 << 30, 24  # held at once by `brute_force`, and bytes of each with what is made of it
SEARCHED_AT_ONCE = 1 << 28  # cosines of the quick search
SENT = 1 << 16  # rows at a time
WITH_TRITON = ("cuda",)  # kinds of devices; tests add the CPU, for its interpreter


class DeviceRows:
    """The rows of one side as float32 tensors on `device`: whole where they fit, else sent block by block.

    Parameters
    ----------
    source : ndarray or tensor of shape (n, d), or Rows
        A tensor is taken as it is.
    device : torch.device
    budget : int
        Bytes. Rows are held on the device whole if they, and their copy in float16 on CUDA, fit.
    """

    def __init__(self, source: RowSource | torch.Tensor, device: torch.device, budget: int = 0) -> None:
        self.shape: tuple[int, int] = (int(source.shape[0]), int(source.shape[1]))
        self.device = device
        self.whole: torch.Tensor | None = None
        if isinstance(source, torch.Tensor):
            self.whole = checked(source.to(device, torch.float32), 0, "One side")
            return
        on_cpu = device.type == "cpu"
        fits = self.shape[0] * self.shape[1] * (4 if on_cpu else 6) <= budget
        self._rows = ArrayRows(source, budget if on_cpu else 0)
        if on_cpu and self._rows.array is not None:
            self.whole = checked(_tensor(self._rows.array), 0, "One side")
        elif fits and isinstance(source, np.ndarray):
            # sent as they are: half the bytes where they are float16
            self.whole = checked(_tensor(source).to(device).float(), 0, "One side")
        elif fits:
            self.whole = torch.cat([self.block(start, stop) for start, stop in tiles(len(self), SENT)])

    def __len__(self) -> int:
        return self.shape[0]

    def block(self, start: int, stop: int) -> torch.Tensor:
        """Rows start…stop−1."""
        if self.whole is not None:
            return self.whole[start:stop]
        return checked(_tensor(self._rows.block(start, stop)).to(self.device), start, "One side")

    def take(self, rows: Array) -> torch.Tensor:
        """The rows at these positions."""
        if self.whole is not None:
            return self.whole[torch.as_tensor(rows, device=self.device)]
        return _tensor(self._rows.take(torch.as_tensor(rows).cpu().numpy())).to(self.device)


def _tensor(rows: np.ndarray) -> torch.Tensor:
    # torch warns of read-only arrays, which a cloud hands out; nothing here writes to them.
    return torch.from_numpy(np.ascontiguousarray(rows) if rows.flags.writeable else rows.copy())


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
        if len(rows) * len(columns) <= min(MOST_COSINES, budget // 2 // COSINE_COST):
            return brute_force(rows.whole, columns.whole, ranks)
    room = min(budget // 4, USEFUL)
    near, exact = listed(rows, columns, ranks, room)
    find: Find = likely_pairs
    if for_triton(rows, columns) is None:
        find = rankings.in_tiles(device_tile(rows, columns, room), room)
    again = partial(scan, rows, columns, find, room), partial(scan, columns, rows, find, room)
    return proven(near, exact, again, ranks)


def device_tile(rows: DeviceRows, columns: DeviceRows, memory: int) -> tuple[int, int]:
    """Rows and columns of a tile on a device."""
    largest = (TILE_ROWS, TILE_COLUMNS) if rows.device.type == "cpu" else (CUDA_TILE_ROWS, CUDA_TILE_COLUMNS)
    return tile_shape(rows.shape, columns.shape, memory, *largest)


def listed(
    rows: DeviceRows, columns: DeviceRows, ranks: Ranks, memory: int
) -> tuple[Lists, tuple[torch.Tensor, torch.Tensor]]:
    """Lists of the nearest for both sides, max(k, depth) or more in each, and the exact cosines of what they list."""
    held, tile = for_triton(rows, columns), device_tile(rows, columns, memory)
    least = max(ranks.k, ranks.depth)
    if held is None:
        near = rankings.nearest(rows, columns, ranks.list_width, tile)
    else:
        from veclink.matching import triton_kernels as kernels

        near = kernels.nearest(*held, ranks.list_width)
    near[0].complete(rows, columns, least, tile)
    near[1].complete(columns, rows, least, tile)
    if held is not None:
        left, right = held
        exact = kernels.inner_products(left, right, near[0].index), kernels.inner_products(right, left, near[1].index)
        return near, exact
    of_rows = rankings.inner_products(rows, columns, near[0].index, memory)
    return near, (of_rows, rankings.inner_products(columns, rows, near[1].index, memory))


def likely_pairs(rows: Any, others: Any, wanted: Wanted) -> Iterator[Likely]:
    """Pairs that may reach what is wanted, by the Triton kernel.

    The penalty stands beside the others as further numbers, so that the kernel's product is cos − penalty/2; two of
    them hold what one rounds off.
    """
    from veclink.matching.triton_kernels import pairs_above

    own, half = rows.take(wanted.rows), floats(wanted.penalty) / 2
    coarse = half.half()
    beside_columns = torch.zeros((len(half), LENGTHENED), dtype=torch.float16, device=half.device)
    beside_columns[:, 0], beside_columns[:, 1] = -coarse, -(half - coarse.float()).half()
    beside_asked = beside_columns.new_zeros((len(own), LENGTHENED))
    beside_asked[:, :2] = 1
    asked, columns = (
        torch.cat([own.half(), beside_asked], dim=1),
        torch.cat([others.whole.half(), beside_columns], dim=1),
    )
    yield 0, 0, own, others.whole, *pairs_above(asked, columns, wanted.reached() / 2)


@computing()
def searched(queries: Any, others: Any, k: int, device: str, memory: int | None = None) -> Found:
    """As `matching.searched`, on a torch device."""
    place = torch_device(device)
    room = free_memory(place) if memory is None else min(memory, free_memory(place))
    asked, there = (DeviceRows(side, place, room // 4) for side in (queries, others))
    held = for_triton(asked, there)
    if held is not None:
        from veclink.matching import triton_kernels

        return triton_kernels.searched(*held, k)
    cosines = SEARCHED_AT_ONCE if memory is None else min(SEARCHED_AT_ONCE, room // 16)
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
