"""CSLS rankings with torch, on CUDA or the CPU: the same lists and proofs as `cpu`, all of them on the device.

The lists come from a Triton kernel where there is one for the device, else from the plain code of `lists`. Of few rows
on CUDA all cosines are held at once: lists and proofs take dozens of steps, each of which waits for the one before, and
a GPU multiplies thousands of rows in float64 in less time than one of these steps takes.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import torch

from veclink.errors import InputError
from veclink.geometry.arrays import Array, floats
from veclink.geometry.rows import ArrayRows, RowSource, checked, tiles
from veclink.matching import lists
from veclink.matching.certify import Find, Wanted, proven, scans
from veclink.matching.cpu import DEFAULT_MEMORY, TILE_COLUMNS, TILE_ROWS, tile_shape
from veclink.matching.lists import Nearest
from veclink.matching.rankings import Matches, Ranks, brute_force

CUDA_TILE_ROWS, CUDA_TILE_COLUMNS = 16384, 32768
LENGTHENED = 8  # numbers that a row is lengthened by: tensor cores take multiples of this
USEFUL = 1 << 33  # bytes to work in: more make nothing quicker
MOST_COSINES, COSINE_COST = 1 << 30, 24  # held at once by `brute_force`, and bytes of each with what is made of it
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
    find: Find | None = None if for_triton(rows, columns) is None else likely_pairs
    again = scans(rows, columns, tile=device_tile(rows, columns, room), memory=room, find=find)
    return proven(near, exact, again, ranks)


def device_tile(rows: DeviceRows, columns: DeviceRows, memory: int) -> tuple[int, int]:
    """Rows and columns of a tile on a device."""
    largest = (TILE_ROWS, TILE_COLUMNS) if rows.device.type == "cpu" else (CUDA_TILE_ROWS, CUDA_TILE_COLUMNS)
    return tile_shape(rows.shape, columns.shape, memory, *largest)


def listed(
    rows: DeviceRows, columns: DeviceRows, ranks: Ranks, memory: int
) -> tuple[tuple[Nearest, Nearest], tuple[torch.Tensor, torch.Tensor]]:
    """Lists of the nearest for both sides, max(k, depth) or more in each, and the exact cosines of what they list."""
    held, tile = for_triton(rows, columns), device_tile(rows, columns, memory)
    if held is None:
        near = lists.nearest(rows, columns, ranks.list_width, tile)
    else:
        from veclink.matching import triton_kernel, triton_search

        near = triton_kernel.nearest(*held, ranks.list_width)
    least = max(ranks.k, ranks.depth)
    near[0].complete(rows, columns, least, tile)
    near[1].complete(columns, rows, least, tile)
    if held is not None:
        inner_products, (left, right) = triton_search.inner_products, held
        return near, (inner_products(left, right, near[0].index), inner_products(right, left, near[1].index))
    of_rows = lists.inner_products(rows, columns, near[0].index, memory)
    return near, (of_rows, lists.inner_products(columns, rows, near[1].index, memory))


def likely_pairs(rows: DeviceRows, others: DeviceRows, wanted: Wanted) -> tuple[torch.Tensor, torch.Tensor]:
    """Pairs that may reach what is wanted: places among the wanted rows (p,), and others (p,); by the Triton kernel.

    The penalty stands beside the others as further numbers, so that the kernel's product is cos − penalty/2; two of
    them hold what one rounds off.
    """
    from veclink.matching import triton_kernel

    assert others.whole is not None
    asked, columns, half = rows.take(wanted.rows).half(), others.whole.half(), floats(wanted.penalty) / 2
    coarse = half.half()
    beside_columns = columns.new_zeros((len(columns), LENGTHENED))
    beside_columns[:, 0], beside_columns[:, 1] = -coarse, -(half - coarse.float()).half()
    beside_asked = asked.new_zeros((len(asked), LENGTHENED))
    beside_asked[:, :2] = 1
    asked, columns = torch.cat([asked, beside_asked], dim=1), torch.cat([columns, beside_columns], dim=1)
    return triton_kernel.pairs_above(asked, columns, wanted.reached() / 2)


def for_triton(rows: DeviceRows, columns: DeviceRows) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The rows of both sides, where the Triton kernels can run on them; else None."""
    if rows.device.type not in WITH_TRITON:
        return None
    if rows.whole is None or columns.whole is None or importlib.util.find_spec("triton") is None:
        return None
    from veclink.matching import triton_kernel

    return (rows.whole, columns.whole) if triton_kernel.fits(len(rows), len(columns)) else None


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
