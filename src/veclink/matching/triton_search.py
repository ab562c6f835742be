"""The quick search of `search`, and exact products of listed pairs, on CUDA: no cosine is ever written to memory.

The search takes two products.

1. The largest cosine of each of the others in each group of the rows asked, from which its density follows.
2. For each row asked the best of 2·cos − density over a run of tiles, and the largest cosine of each tile.
"""

# The arguments of a kernel are pointers and compile-time constants, and triton is untyped.
# mypy: disable-error-code="no-untyped-def, import-untyped"

from __future__ import annotations

import torch
import triton
import triton.language as tl

from veclink.geometry.arrays import to_numpy
from veclink.geometry.rows import tiles
from veclink.matching.search import Found
from veclink.matching.triton_kernel import Tuning, padded, tile_product, tuning_for

GROUPED = Tuning(rows=128, columns=128, step=64, warps=8, stages=3)  # of the first product, which holds two tiles
LARGEST = 1 << 28  # cosines, one for each tile and row asked, that are held at once
STEP = 128  # numbers of a row at a time, of listed products


def searched(queries: torch.Tensor, others: torch.Tensor, k: int) -> Found:
    """As `search.searched`, of queries (q, s) and others (n, s) on the same device."""
    tuning = tuning_for(queries.device)
    asked = padded(queries, max(tuning.rows, GROUPED.rows), tuning.step)
    rows = padded(others, tuning.columns * tuning.tiles, tuning.step)
    groups = min(k, len(queries))
    # the mean over groups of consecutive queries of the largest cosine in each
    maxima = torch.empty((groups, len(rows)), dtype=torch.float32, device=rows.device)
    with torch.cuda.device_of(rows):
        _group_maxima[(len(rows) // GROUPED.columns, groups)](
            *GROUPED.described(asked, rows), maxima, len(queries) // groups, len(rows),
            **GROUPED.options(rows.shape[1]),
        )  # fmt: skip
    density = maxima.mean(dim=0)
    density[len(others) :] = float("inf")  # what is padding is no partner
    n_tiles = -(-len(others) // tuning.columns)
    at_once = max(1, LARGEST // n_tiles // tuning.rows) * tuning.rows
    parts = []
    for first, last in tiles(len(asked), at_once):
        best, index, largest = _best(asked[first:last], rows, density, tuning)
        nearest = largest[:, :n_tiles].topk(min(k, n_tiles), dim=1).values.flip(1)
        parts.append((best, index, nearest))
    best, index, nearest = (to_numpy(torch.cat(each)[: len(queries)]) for each in zip(*parts, strict=True))
    return best, index, nearest


def _best(
    asked: torch.Tensor, rows: torch.Tensor, density: torch.Tensor, tuning: Tuning
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The best value of each row asked and where, (q,) each, and its largest cosine in each tile: (q, tiles)."""
    tiles = len(rows) // tuning.columns
    runs = tiles // tuning.tiles
    value = torch.empty((len(asked), runs), dtype=torch.float32, device=rows.device)
    index = torch.empty((len(asked), runs), dtype=torch.int32, device=rows.device)
    largest = torch.empty((len(asked), tiles), dtype=torch.float32, device=rows.device)
    with torch.cuda.device_of(rows):
        _best_of_tiles[(len(asked) // tuning.rows, runs)](
            *tuning.described(asked, rows), density, (value, index, largest),
            TILES=tuning.tiles, **tuning.options(rows.shape[1]),
        )  # fmt: skip
    best = value.max(dim=1)
    return best.values, index.gather(1, best.indices[:, None])[:, 0].long(), largest


@triton.jit
def _group_maxima(  # noqa: PLR0913
    asked, rows, maxima, size, n,
    D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """maxima[group, column]: the largest cosine of the column with the rows of a group."""
    first = tl.program_id(0) * COLUMNS
    group = tl.program_id(1)
    best = tl.full((ROWS, COLUMNS), -3.0, tl.float32)
    for top in range(0, size, ROWS):
        cosine = tile_product(asked, rows, group * size + top, first, D, ROWS, COLUMNS, STEP)
        in_group = (top + tl.arange(0, ROWS)) < size
        best = tl.where(in_group[:, None], tl.maximum(best, cosine), best)
    tl.store(maxima + group.to(tl.int64) * n + first + tl.arange(0, COLUMNS), tl.max(best, axis=0))


@triton.jit
def _best_of_tiles(  # noqa: PLR0913
    asked, rows, density, found,
    D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """The best of TILES tiles beside each other for a block of rows asked, and the largest cosine in each of them."""
    best, index, largest = found
    run = tl.program_id(1)
    runs = tl.num_programs(1)
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    value = tl.full((ROWS,), float("-inf"), tl.float32)
    place = tl.zeros((ROWS,), tl.int32)
    for tile in tl.range(0, TILES):
        first = (run * TILES + tile) * COLUMNS
        cosine = tile_product(asked, rows, tl.program_id(0) * ROWS, first, D, ROWS, COLUMNS, STEP)
        tl.store(largest + row * (runs * TILES) + run * TILES + tile, tl.max(cosine, axis=1))
        worth = 2 * cosine - tl.load(density + first + tl.arange(0, COLUMNS))[None, :]
        here, at = tl.max(worth, axis=1, return_indices=True)
        place = tl.where(here > value, first + at, place)
        value = tl.maximum(here, value)
    tl.store(best + row * runs + run, value)
    tl.store(index + row * runs + run, place)


def inner_products(rows: torch.Tensor, others: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """⟨rows[i], others[index[i, j]]⟩, (n1, width), summed in float64, given in float32; −inf where index is −1.

    rows (n1, d) and others (n2, d) float32 are read where they lie, and not gathered first; index (n1, width) int32.
    """
    rows, others, index = rows.contiguous(), others.contiguous(), index.contiguous()
    n, width = index.shape
    exact = torch.empty((n, width), dtype=torch.float32, device=rows.device)
    if n:
        with torch.cuda.device_of(rows):
            _listed_products[(n,)](
                rows, others, index, exact, width,
                D=rows.shape[1], WIDTH=triton.next_power_of_2(width), STEP=STEP,
            )  # fmt: skip
    return exact


@triton.jit
def _listed_products(
    rows, others, index, exact, width,
    D: tl.constexpr, WIDTH: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """The products of one row with all that it lists."""
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, WIDTH)
    listed = tl.load(index + row * width + place, mask=place < width, other=-1).to(tl.int64)
    total = tl.zeros((WIDTH,), dtype=tl.float64)
    for start in range(0, D, STEP):
        at = start + tl.arange(0, STEP)
        own = tl.load(rows + row * D + at, mask=at < D, other=0.0)
        there = (listed >= 0)[:, None] & (at < D)[None, :]
        theirs = tl.load(others + listed[:, None] * D + at[None, :], mask=there, other=0.0)
        total += tl.sum(own.to(tl.float64)[None, :] * theirs.to(tl.float64), axis=1)
    value = tl.where(listed >= 0, total, float("-inf")).to(tl.float32)
    tl.store(exact + row * width + place, value, mask=place < width)
