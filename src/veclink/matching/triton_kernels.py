"""Matching on CUDA in Triton, without ever writing the cosines to memory.

Lists of near neighbours:

1. Floors. Each row's cosines with a random sample of the other side, as maxima over tiles: the m-th largest maximum is
   reached by at least m of the sample, so about m·n/sample partners in all lie above it.
2. One pass over all tiles. A cosine above its row's or its column's floor survives: it is packed with its place into
   one 64-bit number and appended to the room of its block of rows. A row of a million partners has about a hundred
   survivors: the rest of the product never leaves the registers. Nearly every tile has a survivor, but hardly any
   thread of it: on NVIDIA the appending is written in PTX, where a thread without one skips it. In Triton's own words
   all threads take part, which halves the speed; that is what the interpreter runs.
3. Survivors are sorted into the lists of both sides. `rankings` computes them again in float32 and proves what follows
   from them; its `nearest` is the same in plain array code.

The quick search takes two products: the largest cosine of each of the others in each group of the rows asked, from
which its density follows; and for each row asked the best of 2·cos − density over a run of tiles, and the largest
cosine of each tile.
"""

# The arguments of a kernel are pointers and compile-time constants, and triton is untyped.
# mypy: disable-error-code="no-untyped-def, import-untyped"

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from veclink.geometry.arrays import DEVICE_NUMBERS, tiles, to_numpy
from veclink.matching.rankings import Found, Lists, Nearest

Pair = tuple[torch.Tensor, torch.Tensor]


class Tuning(NamedTuple):
    """Tile of a program (rows, columns, dimensions per step), its warps and stages, the tiles it goes through."""

    rows: int = 128
    columns: int = 256
    step: int = 64
    warps: int = 8
    stages: int = 3
    tiles: int = 16

    def padded(self, left: torch.Tensor, right: torch.Tensor) -> Pair:
        """Both sides in float16, with zeros up to whole blocks and steps, so that the kernels need no bounds."""
        blocks = ((left, self.rows), (right, self.columns * self.tiles))
        left, right = (
            torch.nn.functional.pad(side.half(), (0, -side.shape[1] % self.step, 0, -len(side) % block))
            for side, block in blocks
        )
        return left, right

    def run(self, kernel, grid, left: torch.Tensor, right: torch.Tensor, *rest, **options) -> None:
        """Run a kernel on padded sides, which the copy engine of a Hopper takes in blocks of rows and dimensions."""
        blocks = ((left, self.rows), (right, self.columns))
        sides = [TensorDescriptor.from_tensor(side, [size, self.step]) for side, size in blocks]
        with torch.cuda.device_of(left):
            kernel[grid](
                *sides, *rest, D=left.shape[1], ROWS=self.rows, COLUMNS=self.columns, STEP=self.step,
                num_warps=self.warps, num_stages=self.stages, **options,
            )  # fmt: skip


# TUNED was best on the H200 (bench/results/speed/gpu_matching.json); devices other than this and the H100 take SAFE,
# small enough to run everywhere.
SAFE = Tuning(rows=128, columns=128, step=32, warps=4, stages=3)
TUNED = Tuning(rows=256, columns=128, step=64, warps=8, stages=3, tiles=32)
SAMPLE = 1 << 16
SLAB = 1 << 18  # rows whose survivors are held at a time: a few hundred for each
# Low bits of a survivor: its column; then its row within the block; the upper 32 are the cosine.
_PLACE_BITS = tl.constexpr(24)
_AT_ONCE = tl.constexpr(8)  # cosines of one test and one branch; with 4 as quick or slower, with 1 a seventh slower


def _append_survivors(at_once: int) -> str:
    """In PTX: appends each cosine that beats the lower of its two floors, with its place, to the room; counts all.

    Each operand is one register for each of the cosines: where nothing is returned; the cosine; the floors of its row
    and of its column; its row, shifted to its place, and its column; the address of the count, that of the room for
    survivors, and how many it holds.
    """
    every = range(at_once)
    result, cosine, row_floor, column_floor, row, column, count, packed, room = (
        [f"${operand * at_once + place}" for place in every] for operand in range(9)
    )
    floors = ", ".join(f"floor{i}" for i in every)
    lines = [f".reg .pred some, fits; .reg .f32 {floors}; .reg .b32 slot, place, bits; .reg .b64 address, value;"]
    for i in every:
        lines.append(f"min.f32 floor{i}, {row_floor[i]}, {column_floor[i]};")
        lines.append(f"setp.gt{'.or' if i else ''}.f32 some, {cosine[i]}, floor{i}{', some' if i else ''};")
    lines.append("@!some bra DONE;")
    for i in every:
        lines += [
            f"setp.gt.f32 some, {cosine[i]}, floor{i};",
            f"@!some bra NEXT{i};",
            f"or.b32 place, {row[i]}, {column[i]};",
            f"atom.global.add.u32 slot, [{count[0]}], 1;",
            f"setp.lt.u32 fits, slot, {room[0]};",
            "mul.wide.u32 address, slot, 8;",
            f"add.u64 address, address, {packed[0]};",
            f"mov.b32 bits, {cosine[i]};",
            "mov.b64 value, {place, bits};",
            "@fits st.global.b64 [address], value;",
            f"NEXT{i}:",
        ]
    lines += ["DONE:", *(f"mov.b32 {result[i]}, 0;" for i in every)]
    return "\n".join(["{", *lines, "}"])


_APPEND = tl.constexpr(_append_survivors(_AT_ONCE.value))
# floats, integers and addresses, as LLVM wants to know them
_CONSTRAINTS = tl.constexpr(",".join(kind for kind in "=r f f f r r l l r".split() for _ in range(_AT_ONCE.value)))


def tuning_for(device: torch.device) -> Tuning:
    """The setting for this device, or a safe one."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    return TUNED if any(known in name for known in ("H200", "H100")) else SAFE


def fits(rows: int, columns: int) -> bool:
    """Whether a survivor's place can be packed."""
    return max(rows, columns) < (1 << _PLACE_BITS.value) - (1 << 16)  # less what padding may add


def nearest(left: torch.Tensor, right: torch.Tensor, width: int) -> Lists:
    """Lists of up to `width` nearest rows for each row of left (n1, d) and right (n2, d), by products in float16.

    Lists may be shorter than `width`; their floors hold in any case.
    """
    tuning, sizes = tuning_for(left.device), (len(left), len(right))
    left, right = tuning.padded(left, right)
    floors = _floors(left, right, sizes, width, tuning)
    by_row: list[Nearest] = []
    by_column = Nearest.none(sizes[1], width, left.float()[:0])
    by_column.floor = floors[1][: sizes[1]]
    for start, row, column, cosine in _found(left, right, floors, sizes, tuning):
        by_row.append(_lists(row, column, cosine, floors[0][start : min(start + SLAB, sizes[0])], width))
        held = by_column.index >= 0
        column = torch.cat([held.nonzero()[:, 0], column])
        row = torch.cat([by_column.index[held].long(), row + start])
        by_column = _lists(column, row, torch.cat([by_column.cosine[held], cosine]), by_column.floor, width)
    joined = (torch.cat([getattr(part, name) for part in by_row]) for name in ("cosine", "index", "floor"))
    return Nearest(*joined), by_column


def likely_pairs(rows: torch.Tensor, others: torch.Tensor, penalty: torch.Tensor, least: torch.Tensor) -> Pair:
    """What `rankings.likely_pairs` finds of rows (n1, d) and others (n2, d).

    Half the penalty stands beside the others as two further numbers, the second for what the first rounds off, so that
    the kernel's product is cos − penalty/2.
    """
    half = penalty[:, None] / 2
    left = torch.nn.functional.pad(rows, (0, 2), value=1.0)
    right = torch.cat([others, -half, half.half() - half], dim=1)
    tuning, sizes = tuning_for(left.device), (len(left), len(right))
    left, right = tuning.padded(left, right)
    floor, nothing = (torch.full((len(side),), float("inf"), device=left.device) for side in (left, right))
    floor[: sizes[0]] = least / 2
    found = [(row + start, column) for start, row, column, _ in _found(left, right, (floor, nothing), sizes, tuning)]
    return torch.cat([row for row, _ in found]), torch.cat([column for _, column in found])


def _floors(left: torch.Tensor, right: torch.Tensor, sizes: tuple[int, int], width: int, tuning: Tuning) -> Pair:
    """A floor for every row of both padded sides; +inf for padding, which nothing passes."""
    floors, rank = [], 4  # fewer make floors that vary more, and more rows are searched again
    for rows, n, others, n_others in ((left, sizes[0], right, sizes[1]), (right, sizes[1], left, sizes[0])):
        floor = torch.full((len(rows),), float("inf"), device=rows.device)
        floor[:n] = -float("inf")
        most = min(SAMPLE, n_others)
        # four survivors for each that is wanted, since their number varies
        # of fewer tiles, one would too often hold two of the largest
        n_tiles = max(min(rank * n_others // (4 * width), most) // tuning.columns, 2 * rank)
        if n_tiles * tuning.columns <= most:  # else there are too few to be sampled
            generator = torch.Generator(device="cpu").manual_seed(0)
            chosen = torch.randperm(n_others, generator=generator)[: n_tiles * tuning.columns].to(rows.device)
            grid = (triton.cdiv(len(rows), tuning.rows),)
            tuning.run(_floors_of_sample, grid, rows, others[chosen], floor, n, n_tiles, RANK=rank)
            floor[:n] = torch.nextafter(floor[:n], floor.new_full((n,), -float("inf")))
        floors.append(floor)
    return floors[0], floors[1]


def _found(
    left: torch.Tensor,
    right: torch.Tensor,
    floors: Pair,
    sizes: tuple[int, int],
    tuning: Tuning,
) -> Iterator[tuple[int, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """The survivors of one slab of left after another, since those of millions of rows would not fit.

    Its first row; rows, counted from there, columns and cosines.
    """
    ptx = left.device.type == "cuda" and torch.version.hip is None
    room = min(256, len(right)) * tuning.rows  # survivors of a block that there is room for at first
    for start in range(0, len(left), SLAB):
        slab, here = left[start : start + SLAB], (floors[0][start : start + SLAB], floors[1])
        grid = len(slab) // tuning.rows, len(right) // (tuning.columns * tuning.tiles)
        while True:
            count = torch.zeros(grid[0], dtype=torch.int32, device=left.device)
            packed = torch.empty((grid[0], room), dtype=torch.int64, device=left.device)
            tuning.run(_keep_survivors, grid, slab, right, here, (count, packed, room), TILES=tuning.tiles, PTX=ptx)
            most = int(count.max())
            if most <= room:
                break
            room = most  # the count goes on where the room ends, so it says how much is needed
        used = torch.arange(room, device=packed.device) < count[:, None]
        block = used.nonzero()[:, 0]
        packed = packed[used]
        column = packed & ((1 << _PLACE_BITS.value) - 1)
        row = block * tuning.rows + ((packed >> _PLACE_BITS.value) & (tuning.rows - 1))
        cosine = (packed >> 32).int().view(torch.float32)
        real = (row < sizes[0] - start) & (column < sizes[1])
        yield start, row[real], column[real], cosine[real]


def _lists(row: torch.Tensor, other: torch.Tensor, cosine: torch.Tensor, floor: torch.Tensor, width: int) -> Nearest:
    """The `width` largest survivors of each row as lists, and the floor below them."""
    # One sort by row, then by descending cosine: the bits of a float order as integers once negative ones are flipped.
    bits = cosine.view(torch.int32).long()
    ascending = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    order = ((row << 32) - ascending).argsort()
    row, other, cosine = row[order], other[order], cosine[order]
    place = torch.arange(len(row), device=row.device) - torch.searchsorted(row, row)
    lists = Nearest.none(len(floor), width, floor)
    kept = place < width
    lists.cosine[row[kept], place[kept]] = cosine[kept]
    lists.index[row[kept], place[kept]] = other[kept].int()
    dropped = torch.zeros(len(floor), dtype=torch.bool, device=floor.device)
    dropped[row[place == width]] = True
    lists.floor = torch.where(dropped, torch.maximum(floor, lists.cosine[:, -1]), floor)
    return lists


@triton.jit
def tile_product(
    left, right, first_row, first_column,
    D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Cosines of a tile, summed in float32."""
    cosine = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for k in range(0, D, STEP):
        cosine = tl.dot(left.load([first_row, k]), right.load([first_column, k]).T, cosine)
    return cosine


@triton.jit
def _floors_of_sample(  # noqa: PLR0913
    left, sample, floor, n, tiles,
    D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr, RANK: tl.constexpr,
):  # fmt: skip
    """floor[row]: of its largest cosines in each tile of the sample, the RANK largest; RANK is a power of two."""
    first = tl.program_id(0) * ROWS
    rows = first + tl.arange(0, ROWS)
    place = tl.arange(0, RANK)
    best = tl.full((ROWS, RANK), -3.0, tl.float32)
    for tile in tl.range(0, tiles, flatten=True):
        cosine = tile_product(left, sample, first, tile * COLUMNS, D, ROWS, COLUMNS, STEP)
        largest = tl.max(cosine, axis=1)
        better = largest > tl.min(best, axis=1)
        smallest = place[None, :] == tl.argmin(best, axis=1)[:, None]
        best = tl.where(smallest & better[:, None], largest[:, None], best)
    tl.store(floor + rows, tl.min(best, axis=1), mask=rows < n)


@triton.jit
def _keep_survivors(  # noqa: PLR0913
    left, right, floors, survivors,
    D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr, TILES: tl.constexpr,
    PTX: tl.constexpr,
):  # fmt: skip
    """Appends what beats the floor of its row or column, over TILES tiles beside each other."""
    floor_left, floor_right = floors
    count, packed, room = survivors
    block = tl.program_id(0)
    row = tl.arange(0, ROWS)
    beat_left = tl.load(floor_left + block * ROWS + row)
    own_room = packed + block.to(tl.int64) * room
    # Flattened with the loop over dimensions, so that the next tile is loaded while this one is looked through.
    for tile in tl.range(0, TILES, flatten=PTX):
        first = (tl.program_id(1) * TILES + tile) * COLUMNS
        cosine = tile_product(left, right, block * ROWS, first, D, ROWS, COLUMNS, STEP)
        columns = first + tl.arange(0, COLUMNS)
        beat_right = tl.load(floor_right + columns)
        if PTX:
            of_row = tl.broadcast_to((row << _PLACE_BITS)[:, None], (ROWS, COLUMNS))
            of_column = tl.broadcast_to(columns[None, :], (ROWS, COLUMNS))
            tl.inline_asm_elementwise(
                _APPEND, _CONSTRAINTS,
                [
                    cosine,
                    tl.broadcast_to(beat_left[:, None], (ROWS, COLUMNS)),
                    tl.broadcast_to(beat_right[None, :], (ROWS, COLUMNS)),
                    of_row, of_column,
                    tl.full((ROWS, COLUMNS), (count + block).to(tl.int64), tl.int64),
                    tl.full((ROWS, COLUMNS), own_room.to(tl.int64), tl.int64),
                    tl.full((ROWS, COLUMNS), room, tl.int32),
                ],
                dtype=tl.int32, is_pure=False, pack=_AT_ONCE,
            )  # fmt: skip
        else:
            _append(cosine, beat_left, beat_right, row, columns, count + block, own_room, room)


@triton.jit
def _append(cosine, beat_left, beat_right, row, columns, count, own_room, room):
    """What `_append_survivors` does, in Triton's own words."""
    # One comparison: a cosine that beats the lower of the two floors beats one of them.
    survives = cosine > tl.minimum(beat_left[:, None], beat_right[None, :])
    if tl.max(tl.max(survives.to(tl.int32), axis=1), axis=0) > 0:
        slot = tl.atomic_add(count + tl.zeros(cosine.shape, tl.int32), 1, mask=survives, sem="relaxed")
        place = (row[:, None] << _PLACE_BITS) | columns[None, :]
        place = place.to(tl.uint32, bitcast=True).to(tl.int64)
        value = (cosine.to(tl.int32, bitcast=True).to(tl.int64) << 32) | place
        tl.store(own_room + slot, value, mask=survives & (slot < room))


def searched(queries: torch.Tensor, others: torch.Tensor, k: int) -> Found:
    """As `matching.searched`, of queries (q, s) and others (n, s) on the same device."""
    tuning, q, device = tuning_for(queries.device), len(queries), others.device
    asked, rows = tuning.padded(queries, others)
    groups = min(k, q)
    # the mean over groups of consecutive queries of the largest cosine in each
    maxima = torch.empty((groups, len(rows)), dtype=torch.float32, device=device)
    tuning.run(_group_maxima, (len(rows) // tuning.columns, groups), asked, rows, maxima, q // groups, len(rows))
    density = maxima.mean(dim=0)
    density[len(others) :] = float("inf")  # what is padding is no partner
    n_tiles, whole_tiles = -(-len(others) // tuning.columns), len(rows) // tuning.columns
    runs = whole_tiles // tuning.tiles
    parts = []
    for first, last in tiles(len(asked), max(1, DEVICE_NUMBERS // n_tiles // tuning.rows) * tuning.rows):
        shape, grid = (last - first, runs), ((last - first) // tuning.rows, runs)
        value = torch.empty(shape, dtype=torch.float32, device=device)
        index = torch.empty(shape, dtype=torch.int32, device=device)
        largest = torch.empty((last - first, whole_tiles), dtype=torch.float32, device=device)
        found = value, index, largest
        tuning.run(_best_of_tiles, grid, asked[first:last], rows, density, found, TILES=tuning.tiles)
        best = value.max(dim=1)
        nearest = largest[:, :n_tiles].topk(min(k, n_tiles), dim=1).values.flip(1)
        parts.append((best.values, index.gather(1, best.indices[:, None])[:, 0].long(), nearest))
    best, index, nearest = (to_numpy(torch.cat(each)[:q]) for each in zip(*parts, strict=True))
    return best, index, nearest


@triton.jit
def _group_maxima(  # noqa: PLR0913
    asked, rows, maxima, size, n,
    D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """maxima[group, column]: the largest cosine of the column with the rows of a group."""
    first = tl.program_id(0) * COLUMNS
    group = tl.program_id(1)
    best = tl.full((COLUMNS,), -3.0, tl.float32)
    for top in range(0, size, ROWS):
        cosine = tile_product(asked, rows, group * size + top, first, D, ROWS, COLUMNS, STEP)
        in_group = (top + tl.arange(0, ROWS)) < size
        best = tl.maximum(best, tl.max(tl.where(in_group[:, None], cosine, -3.0), axis=0))
    tl.store(maxima + group.to(tl.int64) * n + first + tl.arange(0, COLUMNS), best)


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
                D=rows.shape[1], WIDTH=triton.next_power_of_2(width), STEP=128,
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
