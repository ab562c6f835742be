"""Lists of near neighbours on CUDA without ever writing the cosines to memory.

1. Floors. Each row's cosines with a random sample of the other side, as maxima over tiles: the m-th largest maximum is
   reached by at least m of the sample, so about m·n/sample partners in all lie above it.
2. One pass over all tiles. A cosine above its row's or its column's floor survives: it is packed with its place into
   one 64-bit number and appended to the room of its block of rows. A row of a million partners has about a hundred
   survivors: the rest of the product never leaves the registers.
3. Survivors are sorted into the lists of both sides. `certify` computes them again in float32 and proves what follows
   from them. `lists.nearest` is the same in plain array code.
"""

# The arguments of a kernel are pointers and compile-time constants, and triton is untyped.
# mypy: disable-error-code="no-untyped-def, import-untyped"

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import triton
import triton.language as tl

from veclink.matching.lists import Nearest


@dataclass(frozen=True)
class Tuning:
    """Tile of a program (rows, columns, dimensions per step), its warps and stages, the tiles it goes through."""

    rows: int = 128
    columns: int = 256
    step: int = 64
    warps: int = 8
    stages: int = 3
    tiles: int = 16


# TUNED is what `veclink bench gpu-matching` found best on the H200; devices not in it take SAFE, small enough to run
# everywhere.
SAFE = Tuning(rows=128, columns=128, step=32, warps=4, stages=3)
TUNED = {name: Tuning(128, 128, 64, warps=8, stages=4, tiles=32) for name in ("H200", "H100")}
SAMPLE = 1 << 16
SLAB = 1 << 18  # rows whose survivors are held at a time: a few hundred for each
# Low bits of a survivor: its column; then its row within the block; the upper 32 are the cosine.
_PLACE_BITS = tl.constexpr(24)


def tuning_for(device: torch.device) -> Tuning:
    """The setting for this device, or a safe one."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    return next((tuned for part, tuned in TUNED.items() if part in name), SAFE)


def fits(rows: int, columns: int) -> bool:
    """Whether a survivor's place can be packed."""
    return max(rows, columns) < (1 << _PLACE_BITS.value) - (1 << 16)  # less what padding may add


def nearest(
    left: torch.Tensor,
    right: torch.Tensor,
    width: int,
    tuning: Tuning | None = None,
    sample: int = SAMPLE,
    slab: int = SLAB,
) -> tuple[Nearest, Nearest]:
    """Lists of up to `width` nearest rows for each row of left (n1, d) and right (n2, d), both float16.

    Lists may be shorter than `width`; their floors hold in any case. The survivors of `slab` rows of left are held at a
    time, since those of millions would not fit.
    """
    tuning = tuning or tuning_for(left.device)
    n1, n2 = len(left), len(right)
    left, right = _padded(left, tuning.rows, tuning.step), _padded(right, tuning.columns * tuning.tiles, tuning.step)
    floor_left, floor_right = _floors(left, n1, right, n2, width, tuning, sample)
    by_row: list[Nearest] = []
    by_column: Nearest | None = None
    slab = max(1, slab // tuning.rows) * tuning.rows
    for start in range(0, len(left), slab):
        floor = floor_left[start : start + slab]
        survivors = _survivors(left[start : start + slab], right, floor, floor_right, tuning)
        row, column, cosine = _unpacked(*survivors, n1 - start, n2, tuning)
        by_row.append(_lists(row, column, cosine, floor[: n1 - start], width))
        row += start
        if by_column is not None:
            held = by_column.index >= 0
            column = torch.cat([held.nonzero()[:, 0], column])
            row = torch.cat([by_column.index[held].long(), row])
            cosine = torch.cat([by_column.cosine[held], cosine])
        found = _lists(column, row, cosine, floor_right[:n2], width)
        # A floor that an earlier slab raised stays: what it dropped is not among the entries any more.
        by_column = found if by_column is None else replace(found, floor=torch.maximum(found.floor, by_column.floor))
    assert by_column is not None
    return _joined(by_row), by_column


def _joined(lists: list[Nearest]) -> Nearest:
    return Nearest(*(torch.cat([getattr(part, name) for part in lists]) for name in ("cosine", "index", "floor")))


def _floors(
    left: torch.Tensor, n1: int, right: torch.Tensor, n2: int, width: int, tuning: Tuning, sample: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """A floor for every row of both (padded) sides; +inf for padding, which nothing passes."""
    floors = []
    for rows, n, others, n_others in ((left, n1, right, n2), (right, n2, left, n1)):
        generator = torch.Generator(device="cpu").manual_seed(0)
        size = min(sample, n_others) // tuning.columns * tuning.columns
        floor = torch.full((len(rows),), float("inf"), device=rows.device)
        # About four times as many as wanted, since their number varies: few rows then have too few and are done again.
        nth = max(4, -(-4 * width * size // n_others))
        if nth > size // tuning.columns // 2:
            floor[:n] = -float("inf")
        else:
            chosen = torch.randperm(n_others, generator=generator)[:size].to(rows.device)
            maxima = torch.empty((size // tuning.columns, len(rows)), device=rows.device)
            grid = (triton.cdiv(len(rows), tuning.rows), len(maxima))
            _tile_maxima[grid](
                rows, others[chosen], maxima, len(rows),
                D=rows.shape[1], ROWS=tuning.rows, COLUMNS=tuning.columns, STEP=tuning.step,
                num_warps=tuning.warps, num_stages=tuning.stages,
            )  # fmt: skip
            reached = maxima[:, :n].topk(nth, dim=0).values[-1]
            floor[:n] = torch.nextafter(reached, torch.full_like(reached, -float("inf")))
        floors.append(floor)
    return floors[0], floors[1]


def _survivors(
    left: torch.Tensor, right: torch.Tensor, floor_left: torch.Tensor, floor_right: torch.Tensor, tuning: Tuning
) -> tuple[torch.Tensor, torch.Tensor]:
    """Packed survivors (blocks of rows, room) and how many there are in each block."""
    blocks, chunks = len(left) // tuning.rows, len(right) // (tuning.columns * tuning.tiles)
    room = min(256 * tuning.rows, tuning.rows * len(right))
    while True:
        count = torch.zeros(blocks, dtype=torch.int32, device=left.device)
        packed = torch.empty((blocks, room), dtype=torch.int64, device=left.device)
        _keep_survivors[(blocks, chunks)](
            (left, right), (floor_left, floor_right), (count, packed, room),
            D=left.shape[1], ROWS=tuning.rows, COLUMNS=tuning.columns, STEP=tuning.step, TILES=tuning.tiles,
            num_warps=tuning.warps, num_stages=tuning.stages,
        )  # fmt: skip
        most = int(count.max())
        if most <= room:
            return packed, count
        room = most  # the count goes on where the room ends, so it says how much is needed


def _unpacked(
    packed: torch.Tensor, count: torch.Tensor, n1: int, n2: int, tuning: Tuning
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows, columns and cosines of the survivors, without those of the padding."""
    used = torch.arange(packed.shape[1], device=packed.device) < count[:, None]
    block = used.nonzero()[:, 0]
    packed = packed[used]
    column = packed & ((1 << _PLACE_BITS.value) - 1)
    row = block * tuning.rows + ((packed >> _PLACE_BITS.value) & (tuning.rows - 1))
    cosine = (packed >> 32).int().view(torch.float32)
    real = (row < n1) & (column < n2)
    return row[real], column[real], cosine[real]


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


def _padded(rows: torch.Tensor, block: int, step: int) -> torch.Tensor:
    """Rows with zeros up to whole blocks and steps, so that the kernels need no bounds."""
    n, d = rows.shape
    padded = torch.zeros((-(-n // block) * block, -(-d // step) * step), dtype=torch.float16, device=rows.device)
    padded[:n, :d] = rows
    return padded


@triton.jit
def _product(
    left, right, rows, columns, D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr
):
    """Cosines of a tile, summed in float32."""
    step = tl.arange(0, STEP)
    left_at = left + rows[:, None].to(tl.int64) * D + step[None, :]
    right_at = right + columns[None, :].to(tl.int64) * D + step[:, None]
    cosine = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for _ in range(0, D, STEP):
        cosine = tl.dot(tl.load(left_at), tl.load(right_at), cosine)
        left_at += STEP
        right_at += STEP
    return cosine


@triton.jit
def _tile_maxima(
    left, right, maxima, n,
    D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """maxima[tile, row]: the largest cosine of a row in a tile of columns."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = rows < n
    cosine = _product(left, right, tl.where(inside, rows, 0), columns, D, ROWS, COLUMNS, STEP)
    tl.store(maxima + tl.program_id(1).to(tl.int64) * n + rows, tl.max(cosine, axis=1), mask=inside)


@triton.jit
def _keep_survivors(
    sides, floors, survivors,
    D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """Appends what beats the floor of its row or column, over TILES tiles beside each other."""
    left, right = sides
    floor_left, floor_right = floors
    count, packed, room = survivors
    block = tl.program_id(0)
    row = tl.arange(0, ROWS)
    rows = block * ROWS + row
    beat_left = tl.load(floor_left + rows)
    own_room = packed + block.to(tl.int64) * room
    for tile in range(TILES):
        columns = (tl.program_id(1) * TILES + tile) * COLUMNS + tl.arange(0, COLUMNS)
        cosine = _product(left, right, rows, columns, D, ROWS, COLUMNS, STEP)
        beat_right = tl.load(floor_right + columns)
        # One comparison: a cosine that beats the lower of the two floors beats one of them.
        survives = cosine > tl.minimum(beat_left[:, None], beat_right[None, :])
        if tl.max(tl.max(survives.to(tl.int32), axis=1), axis=0) > 0:  # most tiles have no survivor
            slot = tl.atomic_add(count + block + tl.zeros((ROWS, COLUMNS), tl.int32), 1, mask=survives, sem="relaxed")
            place = (row[:, None] << _PLACE_BITS) | columns[None, :]
            place = place.to(tl.uint32, bitcast=True).to(tl.int64)
            value = (cosine.to(tl.int32, bitcast=True).to(tl.int64) << 32) | place
            tl.store(own_room + slot, value, mask=survives & (slot < room))
