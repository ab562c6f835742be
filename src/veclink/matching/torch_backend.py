"""CSLS rankings with torch, on CUDA or the CPU: the same lists and proofs as `cpu`, all of them on the device.

The lists come from a Triton kernel where there is one for the device, else from the plain code of `lists`. Of few rows
on CUDA all cosines are held at once (`torch_dense`); many are shared out over several devices (`torch_shards`).
"""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import Any

import numpy as np
import torch

from veclink.errors import InputError
from veclink.geometry.arrays import floats
from veclink.geometry.rows import RowSource
from veclink.matching import torch_dense
from veclink.matching.certify import Ranks, Wanted, rank
from veclink.matching.cpu import DEFAULT_MEMORY, TILE_COLUMNS, TILE_ROWS, tile_shape
from veclink.matching.lists import Nearest, inner_products, nearest
from veclink.matching.rankings import Matches
from veclink.matching.torch_rows import DeviceRows

CUDA_TILE_ROWS, CUDA_TILE_COLUMNS = 16384, 32768
LENGTHENED = 8  # numbers that a row is lengthened by: tensor cores take multiples of this
DIVISIBLE = (np.ndarray, torch.Tensor)  # sources whose parts are slices
USEFUL = 1 << 33  # bytes to work in: more make nothing quicker


def match(
    left: RowSource | torch.Tensor,
    right: RowSource | torch.Tensor,
    ranks: Ranks,
    *,
    memory: int | None = None,
    device: str = "cpu",
    fused: bool | None = None,
) -> Matches:
    """Matches of `left` (n1, s) and `right` (n2, s), rows of unit length, computed on a torch device.

    Tensors are taken as they are, wherever they lie.
    device: a name such as "cuda", or several, "cuda:0,cuda:1". Those after the first take part where there are too
    many rows for `torch_dense`, and both sides are arrays or tensors.
    memory: bytes to use on each device, by default half of what is free there (on the CPU, as the CPU matcher).
    fused: whether the Triton kernel makes the lists; by default where it can, and where there are too many for
    `torch_dense`.
    """
    places = torch_devices(device)
    place = places[0]
    budget = free_memory(place) // 2 if memory is None else memory
    is_default = fused is None and place.type == "cuda"
    are_few = is_default and torch_dense.fits(left.shape[0], right.shape[0], budget // 2)
    if len(places) > 1 and not are_few and isinstance(left, DIVISIBLE) and isinstance(right, DIVISIBLE):
        from veclink.matching import torch_shards

        return torch_shards.match(left, right, ranks, places, memory=memory, fused=fused)
    rows, columns = (DeviceRows(side, place, budget // 4) for side in (left, right))
    held = both_held(rows, columns)
    if held is not None and are_few:
        return torch_dense.match(*held, ranks)
    room = min(budget // 4, USEFUL)
    tile = device_tile(rows, columns, room)
    near = complete(rows, columns, ranks, tile, fused)
    exact = partial(exact_products, memory=room, fused=fused)
    find = None if for_triton(rows, columns, fused) is None else likely_pairs
    return rank((rows, columns), near, ranks, exact, tile=tile, memory=room, find=find)


def device_tile(rows: DeviceRows, columns: DeviceRows, memory: int) -> tuple[int, int]:
    """Rows and columns of a tile on a device."""
    largest = (TILE_ROWS, TILE_COLUMNS) if rows.device.type == "cpu" else (CUDA_TILE_ROWS, CUDA_TILE_COLUMNS)
    return tile_shape(rows.shape, columns.shape, memory, *largest)


def complete(
    rows: DeviceRows, columns: DeviceRows, ranks: Ranks, tile: tuple[int, int], fused: bool | None = None
) -> tuple[Nearest, Nearest]:
    """Lists of the nearest for both sides, with max(k, depth) partners or more in each."""
    lists = _fused(rows, columns, ranks.list_width, fused)
    if lists is None:
        lists = nearest(rows, columns, ranks.list_width, tile)
    least = max(ranks.k, ranks.depth)
    lists[0].complete(rows, columns, least, tile)
    lists[1].complete(columns, rows, least, tile)
    return lists


def _fused(rows: DeviceRows, columns: DeviceRows, width: int, wanted: bool | None) -> tuple[Nearest, Nearest] | None:
    """Lists by the Triton kernel, or None where it cannot run or the rows do not fit on the device."""
    held = for_triton(rows, columns, wanted)
    if held is None:
        return None
    from veclink.matching import triton_kernel

    return triton_kernel.nearest(*held, width)


def exact_products(
    rows: DeviceRows, others: DeviceRows, index: torch.Tensor, memory: int, fused: bool | None = None
) -> torch.Tensor:
    """`lists.inner_products`, by a Triton kernel where that can run."""
    held = for_triton(rows, others, fused)
    if held is None:
        return inner_products(rows, others, index, memory)
    from veclink.matching import triton_products

    return triton_products.inner_products(*held, index)


def likely_pairs(rows: Any, others: Any, wanted: Wanted) -> tuple[torch.Tensor, torch.Tensor]:
    """Pairs that may reach what is wanted: places among the wanted rows (p,), and others (p,); by the Triton kernel.

    The penalty stands beside the others as further numbers, so that the kernel's product is cos − penalty/2.

    Parameters
    ----------
    rows, others : DeviceRows
        Held on the device.
    """
    from veclink.matching import triton_kernel

    asked, columns = with_penalty(rows.take(wanted.rows).half(), others.halves(), floats(wanted.penalty))
    return triton_kernel.pairs_above(asked, columns, wanted.reached() / 2)


def with_penalty(asked: torch.Tensor, rows: torch.Tensor, penalty: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both sides lengthened so that their product is cos − penalty/2; two numbers hold what one rounds off."""
    coarse = (penalty / 2).to(rows.dtype)
    fine = (penalty / 2 - coarse.float()).to(rows.dtype)
    beside_rows = rows.new_zeros((len(rows), LENGTHENED))
    beside_rows[:, 0], beside_rows[:, 1] = -coarse, -fine
    beside_asked = asked.new_zeros((len(asked), LENGTHENED))
    beside_asked[:, :2] = 1
    return torch.cat([asked, beside_asked], dim=1), torch.cat([rows, beside_rows], dim=1)


def both_held(rows: DeviceRows, columns: DeviceRows) -> tuple[torch.Tensor, torch.Tensor] | None:
    """All rows of both sides, where both are held on the device."""
    if rows.whole is None or columns.whole is None:
        return None
    return rows.whole, columns.whole


def for_triton(
    rows: DeviceRows, columns: DeviceRows, wanted: bool | None = None
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The rows of both sides, where the Triton kernels are wanted, by default on CUDA, and can run; else None."""
    if wanted is False or (wanted is None and rows.device.type != "cuda"):
        return None
    held = both_held(rows, columns)
    if held is None or importlib.util.find_spec("triton") is None:
        return None
    from veclink.matching import triton_kernel

    return held if triton_kernel.fits(len(rows), len(columns)) else None


def torch_devices(names: str) -> list[torch.device]:
    """The torch devices of these names, separated by commas, which are there."""
    return [_torch_device(name) for name in names.split(",")]


def torch_device(names: str) -> torch.device:
    """The torch device of this name, or the first of several names: where all runs that is not shared out."""
    return torch_devices(names)[0]


def _torch_device(name: str) -> torch.device:
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
