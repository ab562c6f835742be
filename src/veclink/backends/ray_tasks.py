"""What a worker of a cluster does: functions of blocks of rows alone, so that a lost one can be run again anywhere.

They compute what `matching` and `CloudPair` compute on one machine, with the same products of the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from veclink.backends.cloud_pair import Held, Seen
from veclink.geometry.rows import Rows
from veclink.matching import certify, cpu, search

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

    def nearest(self, others: int) -> tuple[certify.Nearest, np.ndarray]:
        """The lists as `certify` takes them, of so many others in all, and the exact cosines; nearest first."""
        order = np.argsort(self.keys, axis=1)[:, ::-1]
        listed = np.take_along_axis(self.keys, order, axis=1)
        cosine, index = _unpacked(listed)
        floor = np.maximum(self.floor, cosine[:, -1]) if others > listed.shape[1] else self.floor
        return certify.Nearest(cosine, index, floor), np.take_along_axis(self.exact, order, axis=1)


def keys(cosine: np.ndarray, index: np.ndarray) -> np.ndarray:
    """An int64 for each cosine (float32) and row, rising with the cosine, among equal ones falling with the row."""
    bits = np.ascontiguousarray(cosine).view(np.int32).astype(np.int64)
    rising = np.where(bits < 0, bits ^ _LAST_ROW, bits)  # of negative floats, the larger have the smaller bits
    return (rising << 32) | (_LAST_ROW - index.astype(np.int64))


def _unpacked(packed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rising = packed >> 32
    bits = np.where(rising < 0, rising ^ _LAST_ROW, rising).astype(np.int32)
    return bits.view(np.float32), (_LAST_ROW - (packed & _LOW)).astype(np.int32)


def seen(device: str, axes: np.ndarray, block: np.ndarray) -> np.ndarray:
    """The rows of a block along the axes, of unit length."""
    if device == "cpu":
        return Seen(Held(block), axes).block(0, len(block))
    return _on_device(device, axes, block).cpu().numpy()


def listed(
    device: str, width: int, least: int, tile: tuple[int, int], spans: tuple[Span, Span], n_left: int, *blocks: Any
) -> tuple[Lists, Lists]:
    """The `width` nearest of each row of one span among those of the other, both ways.

    blocks: the signatures that the spans lie in, n_left of them of the first span. least: how many a list has at least.
    """
    left, right = spans[0].cut(blocks[:n_left]), spans[1].cut(blocks[n_left:])
    if device == "cpu":
        rows, columns = Rows(left, 0), Rows(right, 0)
        of_rows, of_columns = cpu.nearest(rows, columns, width, tile)
        exact_rows = cpu.inner_products(rows, columns, of_rows.index, MEMORY)
        exact_columns = cpu.inner_products(columns, rows, of_columns.index, MEMORY)
    else:
        of_rows, exact_rows, of_columns, exact_columns = _listed_on_device(device, left, right, width, least)
    return _lists(of_rows, exact_rows, spans[1]), _lists(of_columns, exact_columns, spans[0])


def _lists(near: certify.Nearest, exact: np.ndarray, others: Span) -> Lists:
    return Lists(keys(near.cosine, np.where(near.index < 0, -1, near.index + others.start)), exact, near.floor)


def scanned(
    device: str,
    tile: tuple[int, int],
    spans: tuple[Span, Span],
    n_left: int,
    wanted: tuple[np.ndarray, np.ndarray, np.ndarray, int, float],
    *blocks: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """`certify.scan` of rows of one span among those of the other; all rows are counted as on their whole side.

    wanted: the rows, the penalties of the others in the span, the value that counts, the width, the error.
    """
    left, right = spans[0].cut(blocks[:n_left]), spans[1].cut(blocks[n_left:])
    chosen, penalty, least, width, error = wanted
    chosen = chosen - spans[0].start
    if device == "cpu":
        exact = partial(cpu.inner_products, memory=MEMORY)
        given = (chosen, penalty, least, width, error)
        value, index = certify.scan(Rows(left, 0), Rows(right, 0), *given, tile=tile, inner_products=exact)
    else:
        value, index = _scanned_on_device(device, left, right, chosen, penalty, least, width, error)
    return value, np.where(index < 0, -1, index + spans[1].start)


def searched(
    device: str, k: int, start: int, queries: np.ndarray, axes: np.ndarray, block: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`search.searched` among the rows of one block, which begins at row `start` of its side."""
    if device == "cpu":
        best, index, largest = search.searched(queries, seen(device, axes, block), k=k)
    else:
        best, index, largest = search.searched(queries, _on_device(device, axes, block), k=k, device=device)
    return best, index + start, largest


def cosines(spans: tuple[Span, Span], n_left: int, rows: np.ndarray, others: np.ndarray, *blocks: Any) -> np.ndarray:
    """The cosine of each pair of rows, of which the first lie in one span and the second in the other."""
    left, right = spans[0].cut(blocks[:n_left]), spans[1].cut(blocks[n_left:])
    return np.einsum("ij,ij->i", left[rows - spans[0].start], right[others - spans[1].start])


def _on_device(device: str, axes: np.ndarray, block: np.ndarray) -> Any:
    import torch

    from veclink.backends.torch_clouds import unit
    from veclink.matching.torch_backend import torch_device

    place = torch_device(device)
    return unit(torch.tensor(block, device=place) @ torch.tensor(axes, device=place))


def _listed_on_device(
    device: str, left: np.ndarray, right: np.ndarray, width: int, least: int
) -> tuple[certify.Nearest, np.ndarray, certify.Nearest, np.ndarray]:
    from veclink.matching.torch_backend import complete
    from veclink.matching.torch_certify import inner_products

    rows, columns, tile = _device_rows(device, left, right)
    found: list[Any] = []
    sides = ((rows, columns), (columns, rows))
    for near, side in zip(complete(rows, columns, width, least, tile), sides, strict=True):
        found.append(certify.Nearest(*(part.cpu().numpy() for part in (near.cosine, near.index, near.floor))))
        found.append(inner_products(*side, near.index, MEMORY).cpu().numpy())
    return found[0], found[1], found[2], found[3]


def _scanned_on_device(
    device: str,
    left: np.ndarray,
    right: np.ndarray,
    chosen: np.ndarray,
    penalty: np.ndarray,
    least: np.ndarray,
    width: int,
    error: float,
) -> tuple[np.ndarray, np.ndarray]:
    import torch

    from veclink.matching.torch_certify import Search

    rows, columns, tile = _device_rows(device, left, right)
    asked, cost, limit = (torch.tensor(each, device=rows.device) for each in (chosen, penalty, least))
    value, index = Search(rows, columns, tile, error, MEMORY).scan(asked, cost, limit, width)
    return value.cpu().numpy(), index.cpu().numpy()


def _device_rows(device: str, left: np.ndarray, right: np.ndarray) -> tuple[Any, Any, tuple[int, int]]:
    from veclink.matching.torch_backend import torch_device
    from veclink.matching.torch_rows import DeviceRows

    place = torch_device(device)
    largest = (1024, 2048) if place.type == "cpu" else (16384, 32768)
    tile = cpu.tile_shape(left.shape, right.shape, 1 << 62, *largest)
    return DeviceRows(left, place, 1 << 62), DeviceRows(right, place, 1 << 62), tile
