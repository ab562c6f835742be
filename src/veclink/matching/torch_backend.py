"""CSLS rankings with torch, on CUDA or the CPU: the same lists and proofs as `cpu`, all of them on the device.

The lists come from a Triton kernel where there is one for the device, else from torch's own products and top-k.
"""

from __future__ import annotations

import importlib.util

import torch

from veclink.errors import InputError
from veclink.geometry.rows import RowSource
from veclink.matching.certify import list_width
from veclink.matching.cpu import DEFAULT_MEMORY, tile_shape
from veclink.matching.rankings import Matches
from veclink.matching.torch_certify import Nearest, rank
from veclink.matching.torch_rows import DeviceRows, product


def match(
    left: RowSource | torch.Tensor,
    right: RowSource | torch.Tensor,
    *,
    k: int = 10,
    depth: int = 1,
    certain: int | None = None,
    memory: int | None = None,
    device: str = "cpu",
    fused: bool | None = None,
) -> Matches:
    """Matches of `left` (n1, s) and `right` (n2, s), rows of unit length, computed on a torch device.

    Tensors are taken as they are, wherever they lie.
    memory: bytes to use on the device, by default half of what is free there (on the CPU, as the CPU matcher).
    fused: whether the Triton kernel makes the lists; by default where it can.
    """
    place = torch_device(device)
    budget = free_memory(place) // 2 if memory is None else memory
    rows, columns = (DeviceRows(side, place, budget // 4) for side in (left, right))
    largest = (1024, 2048) if place.type == "cpu" else (16384, 32768)
    tile = tile_shape(rows.shape, columns.shape, budget // 4, *largest)
    near_rows, near_columns = complete(rows, columns, list_width(k, depth), max(k, depth), tile, fused)
    return rank(
        rows, columns, near_rows, near_columns, k=k, depth=depth, certain=certain, tile=tile, memory=budget // 4
    )


def complete(
    rows: DeviceRows,
    columns: DeviceRows,
    width: int,
    least: int,
    tile: tuple[int, int],
    fused: bool | None = None,
) -> tuple[Nearest, Nearest]:
    """Lists of the nearest for both sides, `width` long and with `least` partners or more in each."""
    lists = _fused(rows, columns, width, fused)
    if lists is None:
        lists = nearest(rows, columns, width, tile)
    lists[0].complete(rows, columns, least, tile)
    lists[1].complete(columns, rows, least, tile)
    return lists


def nearest(rows: DeviceRows, columns: DeviceRows, width: int, tile: tuple[int, int]) -> tuple[Nearest, Nearest]:
    """The `width` nearest columns of each row and rows of each column, by the cosines of one pass."""
    by_row, by_column = Nearest.none(len(rows), width, rows.device), Nearest.none(len(columns), width, rows.device)
    for top in range(0, len(rows), tile[0]):
        block = rows.operand(top, min(top + tile[0], len(rows)))
        for first in range(0, len(columns), tile[1]):
            cosine = product(block, columns.operand(first, min(first + tile[1], len(columns))))
            by_row.take_in(cosine, top, first)
            by_column.take_in(cosine.T, first, top)
    return by_row, by_column


def _fused(rows: DeviceRows, columns: DeviceRows, width: int, wanted: bool | None) -> tuple[Nearest, Nearest] | None:
    """Lists by the Triton kernel, or None where it cannot run or the rows do not fit on the device."""
    if wanted is False or (wanted is None and rows.device.type != "cuda"):
        return None
    left, right = rows.halves(), columns.halves()
    if left is None or right is None or importlib.util.find_spec("triton") is None:
        return None
    from veclink.matching import triton_kernel

    return triton_kernel.nearest(left, right, width) if triton_kernel.fits(*map(len, (rows, columns))) else None


def torch_device(name: str) -> torch.device:
    """The torch device of this name, which is there."""
    try:
        device = torch.device(name.removeprefix("torch:"))
    except RuntimeError:
        raise InputError(f'Device {name!r} is not known; use "cpu", "cuda" or another name that torch knows.') from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f'Device {name!r} is not available here: torch finds no CUDA device; use device="cpu".')
    return device


def free_memory(device: torch.device) -> int:
    """Bytes that are free on the device; on the CPU, a modest sum."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 2 * DEFAULT_MEMORY
