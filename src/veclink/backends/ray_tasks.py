"""What a worker of a cluster does: functions of blocks of rows alone, so that a lost one can be run again anywhere.

They compute what `matching` and `CloudPair` compute on one machine, with the same products of the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veclink.geometry.arrays import asarray, to_numpy
from veclink.geometry.rows import ArrayRows, ProjectedRows
from veclink.matching import cpu, lists, search
from veclink.matching.certify import Ranks, Wanted, scan
from veclink.matching.lists import Nearest

MEMORY = 64_000_000  # for what is gathered beside the rows themselves
_LOW = 0xFFFFFFFF
_LAST_ROW = 0x7FFFFFFF


@dataclass(frozen=True)
class Span:
    """Rows start…stop−1 of one side, and the first row of the stored blocks that they lie in."""

    start: int
    stop: int
    stored_from: int

    def cut(self, blocks: tuple[np.ndarray, ...]) -> np.ndarray:
        """The rows of the span out of its blocks, copied: those of the store are read-only."""
        parts, at = [], self.stored_from
        for block in blocks:
            parts.append(block[max(self.start - at, 0) : max(self.stop - at, 0)])
            at += len(block)
        return np.concatenate(parts)


@dataclass
class Lists:
    """The nearest partners of some rows, in a form that merges to the same lists in any order.

    keys: (n, width) int64, see `keys`; exact: (n, width) their exact cosines; floor: (n,), no partner that is not
    listed has a larger cosine as the tiles computed it.
    """

    keys: np.ndarray
    exact: np.ndarray
    floor: np.ndarray

    @classmethod
    def none(cls, n: int, width: int) -> Lists:
        """Empty lists."""
        empty = keys(np.full((1, 1), -np.inf, np.float32), np.full((1, 1), -1))
        exact, floor = np.full((n, width), -np.inf, np.float32), np.full(n, -np.inf, np.float32)
        return cls(np.tile(empty, (n, width)), exact, floor)

    def take_in(self, start: int, other: Lists) -> None:
        """Merges the lists of rows start… with other partners, keeping the nearest."""
        here, width = slice(start, start + len(other.floor)), self.keys.shape[1]
        joined = np.concatenate([self.keys[here], other.keys], axis=1)
        exact = np.concatenate([self.exact[here], other.exact], axis=1)
        nearest = np.argpartition(joined, joined.shape[1] - width, axis=1)[:, -width:]
        self.keys[here] = np.take_along_axis(joined, nearest, axis=1)
        self.exact[here] = np.take_along_axis(exact, nearest, axis=1)
        np.maximum(self.floor[here], other.floor, out=self.floor[here])

    def nearest(self, others: int) -> tuple[Nearest, np.ndarray]:
        """The lists as `certify` takes them, of so many others in all, and the exact cosines; nearest first."""
        order = np.argsort(self.keys, axis=1)[:, ::-1]
        listed = np.take_along_axis(self.keys, order, axis=1)
        cosine, index = _unpacked(listed)
        floor = np.maximum(self.floor, cosine[:, -1]) if others > listed.shape[1] else self.floor
        return Nearest(cosine, index, floor), np.take_along_axis(self.exact, order, axis=1)


def keys(cosine: np.ndarray, index: np.ndarray) -> np.ndarray:
    """An int64 for each cosine (float32) and row, rising with the cosine, among equal ones falling with the row."""
    bits = np.ascontiguousarray(cosine).view(np.int32).astype(np.int64)
    rising = np.where(bits < 0, bits ^ _LAST_ROW, bits)  # of negative floats, the larger have the smaller bits
    return (rising << 32) | (_LAST_ROW - index.astype(np.int64))


def _unpacked(packed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rising = packed >> 32
    bits = np.where(rising < 0, rising ^ _LAST_ROW, rising).astype(np.int32)
    return bits.view(np.float32), (_LAST_ROW - (packed & _LOW)).astype(np.int32)


def projected(device: str, projection: np.ndarray, block: np.ndarray) -> np.ndarray:
    """The rows of a block (n, d) under a projection (d, m), of unit length."""
    if device == "cpu":
        return ProjectedRows(ArrayRows(block), projection).block(0, len(block))
    return to_numpy(_on_device(device, projection, block))


def listed(
    device: str, ranks: Ranks, tile: tuple[int, int], spans: tuple[Span, Span], n_left: int, *blocks: Any
) -> tuple[Lists, Lists]:
    """The nearest of each row of one span among those of the other, both ways.

    blocks: the signatures that the spans lie in, n_left of them of the first span.
    """
    left, right = spans[0].cut(blocks[:n_left]), spans[1].cut(blocks[n_left:])
    if device == "cpu":
        rows, columns = ArrayRows(left), ArrayRows(right)
        near = cpu.nearest(rows, columns, ranks.list_width, tile)
        exact_left = cpu.inner_products(rows, columns, near[0].index, MEMORY)
        exact_right = cpu.inner_products(columns, rows, near[1].index, MEMORY)
    else:
        near, exact_left, exact_right = _listed_on_device(device, left, right, ranks)
    return _lists(near[0], exact_left, spans[1]), _lists(near[1], exact_right, spans[0])


def _lists(near: Nearest, exact: np.ndarray, others: Span) -> Lists:
    return Lists(keys(near.cosine, np.where(near.index < 0, -1, near.index + others.start)), exact, near.floor)


def scanned(
    device: str, tile: tuple[int, int], spans: tuple[Span, Span], n_left: int, wanted: Wanted, *blocks: Any
) -> tuple[np.ndarray, np.ndarray]:
    """`certify.scan` of rows of one span among those of the other; all rows are counted as on their whole side."""
    left, right = spans[0].cut(blocks[:n_left]), spans[1].cut(blocks[n_left:])
    wanted = wanted._replace(rows=wanted.rows - spans[0].start)
    if device == "cpu":
        value, index = scan(ArrayRows(left), ArrayRows(right), wanted, tile=tile, memory=MEMORY)
    else:
        value, index = _scanned_on_device(device, left, right, wanted)
    return value, np.where(index < 0, -1, index + spans[1].start)


def searched(
    device: str, k: int, start: int, queries: np.ndarray, projection: np.ndarray, block: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`search.searched` among the rows of one block, which begins at row `start` of its side."""
    if device == "cpu":
        best, index, largest = search.searched(queries, projected(device, projection, block), k=k)
    else:
        best, index, largest = search.searched(queries, _on_device(device, projection, block), k=k, device=device)
    return best, index + start, largest


def cosines(spans: tuple[Span, Span], n_left: int, rows: np.ndarray, others: np.ndarray, *blocks: Any) -> np.ndarray:
    """The cosine of each pair of rows, of which the first lie in one span and the second in the other."""
    left, right = spans[0].cut(blocks[:n_left]), spans[1].cut(blocks[n_left:])
    return np.einsum("ij,ij->i", left[rows - spans[0].start], right[others - spans[1].start])


def _on_device(device: str, projection: np.ndarray, block: np.ndarray) -> Any:
    import torch

    from veclink.backends.torch_clouds import unit
    from veclink.matching.torch_backend import torch_device

    place = torch_device(device)
    return unit(torch.tensor(block, device=place) @ torch.tensor(projection, device=place))


def _listed_on_device(
    device: str, left: np.ndarray, right: np.ndarray, ranks: Ranks
) -> tuple[tuple[Nearest, Nearest], np.ndarray, np.ndarray]:
    from veclink.matching.torch_backend import complete

    rows, columns, tile = _device_rows(device, left, right)
    of_rows, of_columns = complete(rows, columns, ranks, tile)
    exact_left = lists.inner_products(rows, columns, of_rows.index, MEMORY)
    exact_right = lists.inner_products(columns, rows, of_columns.index, MEMORY)
    return (of_rows.to_numpy(), of_columns.to_numpy()), to_numpy(exact_left), to_numpy(exact_right)


def _scanned_on_device(
    device: str, left: np.ndarray, right: np.ndarray, wanted: Wanted
) -> tuple[np.ndarray, np.ndarray]:
    rows, columns, tile = _device_rows(device, left, right)
    like = rows.block(0, 1)
    chosen, penalty, least = (asarray(each, like) for each in (wanted.rows, wanted.penalty, wanted.least))
    there = wanted._replace(rows=chosen, penalty=penalty, least=least)
    value, index = scan(rows, columns, there, tile=tile, memory=MEMORY)
    return to_numpy(value), to_numpy(index)


def _device_rows(device: str, left: np.ndarray, right: np.ndarray) -> tuple[Any, Any, tuple[int, int]]:
    from veclink.matching.torch_backend import device_tile, torch_device
    from veclink.matching.torch_rows import DeviceRows

    place = torch_device(device)
    rows, columns = (DeviceRows(side, place, 1 << 62) for side in (left, right))
    return rows, columns, device_tile(rows, columns, 1 << 62)
