"""CSLS rankings on several torch devices: each has all rows of the smaller side and its part of the larger one.

Every device lists the nearest among what it has, as one device alone does. Lists of the larger side are then complete
and stand one after another; those of the smaller side are merged. They are proven on the first device, and the rows
without a proof are searched again on all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import torch

from veclink.geometry.arrays import Array
from veclink.geometry.nearest import largest
from veclink.geometry.rows import tiles
from veclink.matching.certify import Ranks, Wanted, proven, scan, scan_found
from veclink.matching.lists import Nearest
from veclink.matching.rankings import Matches
from veclink.matching.torch_backend import (
    USEFUL,
    complete,
    device_tile,
    exact_products,
    for_triton,
    free_memory,
    likely_pairs,
)
from veclink.matching.torch_rows import DeviceRows

Listed = tuple[Nearest, torch.Tensor]
"""Lists, and the exact cosines of what they list."""
Found = tuple[torch.Tensor, torch.Tensor]
"""Values and indices, as `certify.scan` gives them."""
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Shard:
    """What one device works on.

    Attributes
    ----------
    rows : DeviceRows of shape (n1, s)
        All rows of left.
    columns : DeviceRows of shape (n, s)
        Rows start…start + n − 1 of right.
    start : int
    memory : int
        Bytes for what is gathered along the way.
    fused : bool, optional
        See `torch_backend.match`.
    """

    rows: DeviceRows
    columns: DeviceRows
    start: int
    memory: int
    fused: bool | None = None

    @property
    def stop(self) -> int:
        """The row of right after the last one here."""
        return self.start + len(self.columns)

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of a tile."""
        return device_tile(self.rows, self.columns, self.memory)

    def listed(self, ranks: Ranks) -> tuple[Listed, Listed]:
        """The nearest columns of each row and rows of each column; columns are counted as rows of right."""
        of_rows, of_columns = complete(self.rows, self.columns, ranks, self.tile, self.fused)
        exact_rows = exact_products(self.rows, self.columns, of_rows.index, self.memory, self.fused)
        exact_columns = exact_products(self.columns, self.rows, of_columns.index, self.memory, self.fused)
        of_rows.index = self._of_right(of_rows.index)
        return (of_rows, exact_rows), (of_columns, exact_columns)

    def scan_rows(self, wanted: Wanted) -> Found:
        """The best of these columns for the wanted rows of left, (m, width); `scan` for a part of the others."""
        here = wanted._replace(penalty=wanted.penalty[self.start : self.stop])
        value, index = self._scan(self.rows, self.columns, here)
        return value, self._of_right(index)

    def scan_columns(self, wanted: Wanted) -> Found:
        """The best rows of left for those of the wanted rows of right that are here; `scan` for a part of the rows."""
        is_here = (wanted.rows >= self.start) & (wanted.rows < self.stop)
        here = wanted._replace(rows=wanted.rows[is_here] - self.start, least=wanted.least[is_here])
        return self._scan(self.columns, self.rows, here)

    def _of_right(self, index: torch.Tensor) -> torch.Tensor:
        return torch.where(index < 0, -1, index + self.start)

    def _scan(self, rows: DeviceRows, others: DeviceRows, wanted: Wanted) -> Found:
        place = rows.device
        chosen, penalty, least = (each.to(place) for each in (wanted.rows, wanted.penalty, wanted.least))
        there = wanted._replace(rows=chosen, penalty=penalty, least=least)
        if not len(chosen):
            return there.nothing_found()
        if for_triton(rows, others, self.fused) is None:
            return scan(rows, others, there, tile=self.tile, memory=self.memory)
        return scan_found(rows, others, there, find=likely_pairs, memory=self.memory)


def match(
    left: Array,
    right: Array,
    ranks: Ranks,
    places: list[torch.device],
    *,
    memory: int | None = None,
    fused: bool | None = None,
) -> Matches:
    """Matches of `left` (n1, s) and `right` (n2, s), rows of unit length, computed on several devices.

    places: the devices; one that is named twice works on two parts. memory: bytes to use on each, by default half of
    what is free there.
    """
    if len(left) > len(right):
        turned = match(right, left, ranks, places, memory=memory, fused=fused)
        return Matches(forward=turned.backward, backward=turned.forward)
    shards = shards_of(left, right, places, memory, fused)
    of_left, of_right = zip(*_on_all(shards, partial(Shard.listed, ranks=ranks)), strict=True)
    near_left, exact_left = _merged([_sent(each, places[0]) for each in of_left])
    near_right, exact_right = _joined([_sent(each, places[0]) for each in of_right])
    scans = partial(_scan_rows, shards), partial(_scan_columns, shards)
    return proven((near_left, near_right), (exact_left, exact_right), scans, ranks)


def shards_of(
    left: Array, right: Array, places: list[torch.device], memory: int | None = None, fused: bool | None = None
) -> list[Shard]:
    """A part of right for each device, of nearly equal size, beside all of left; fewer parts where right has fewer."""
    budgets = {place: _budget(place, memory) // places.count(place) for place in places}
    rows = {place: DeviceRows(left, place, budget // 4) for place, budget in budgets.items()}
    shards = []
    parts = tiles(len(right), -(-len(right) // len(places)))
    for place, (start, stop) in zip(places, parts, strict=False):
        columns = DeviceRows(right[start:stop], place, budgets[place] // 4, first=start)
        shards.append(Shard(rows[place], columns, start, min(budgets[place] // 4, USEFUL), fused))
    return shards


def _budget(place: torch.device, memory: int | None) -> int:
    return free_memory(place) // 2 if memory is None else memory


def _on_all(shards: list[Shard], work: Callable[[Shard], Result]) -> list[Result]:
    """What the work gives on every shard, in their order: a thread for each, since it waits for its own device."""
    with ThreadPoolExecutor(len(shards), thread_name_prefix="veclink-shard") as threads:
        return list(threads.map(work, shards))


def _scan_rows(shards: list[Shard], wanted: Wanted) -> Found:
    """`certify.scan` for rows of left: each device looks through its own columns, and the best of all are kept."""
    value, index = _sent_together(_on_all(shards, partial(Shard.scan_rows, wanted=wanted)), wanted, axis=1)
    # stable: of equal values the lower row comes first, as the shards stand in the order of their rows
    best = value.sort(dim=1, descending=True, stable=True)
    value, index = best.values, index.gather(1, best.indices)
    return value[:, : wanted.width], index[:, : wanted.width]


def _scan_columns(shards: list[Shard], wanted: Wanted) -> Found:
    """`certify.scan` for rows of right: each device looks for the partners of its own."""
    return _sent_together(_on_all(shards, partial(Shard.scan_columns, wanted=wanted)), wanted, axis=0)


def _sent_together(parts: list[Found], wanted: Wanted, axis: int) -> Found:
    """What the devices found, side by side or one after another, where the wanted rows are."""
    place = wanted.rows.device
    value = torch.cat([found.to(place) for found, _ in parts], axis)
    index = torch.cat([where.to(place) for _, where in parts], axis)
    return value, index


def _sent(listed: Listed, place: torch.device) -> Listed:
    near, exact = listed
    return Nearest(near.cosine.to(place), near.index.to(place), near.floor.to(place)), exact.to(place)


def _merged(parts: list[Listed]) -> Listed:
    """Lists of the same rows among different others as one, which keeps the nearest."""
    width = parts[0][1].shape[1]
    cosine = torch.cat([near.cosine for near, _ in parts], dim=1)
    index = torch.cat([near.index for near, _ in parts], dim=1)
    exact = torch.cat([exact for _, exact in parts], dim=1)
    kept = largest(cosine, width)
    cosine = cosine.gather(1, kept)
    floor = torch.stack([near.floor for near, _ in parts]).amax(dim=0)
    floor = torch.maximum(floor, cosine.amin(dim=1))  # nothing that was dropped now is above the least that was kept
    return Nearest(cosine, index.gather(1, kept), floor), exact.gather(1, kept)


def _joined(parts: list[Listed]) -> Listed:
    """Lists of different rows, one after another."""
    cosine = torch.cat([near.cosine for near, _ in parts])
    index = torch.cat([near.index for near, _ in parts])
    floor = torch.cat([near.floor for near, _ in parts])
    return Nearest(cosine, index, floor), torch.cat([exact for _, exact in parts])
