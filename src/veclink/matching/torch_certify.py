"""`certify` on a torch device: exact CSLS rankings from lists of near neighbours. The proof is explained there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from veclink.matching.rankings import Matches, Ranking
from veclink.matching.torch_rows import DeviceRows, product

_GATHER_COST = 12  # bytes per number gathered for exact inner products: in float32 and in float64
_INF = float("inf")


@dataclass
class Nearest:
    """The nearest partners found for each of n rows, in no order.

    cosine, index: (n, width), −inf and −1 where nothing is listed; floor: (n,), no other partner has a larger cosine as
    the tiles computed it.
    """

    cosine: torch.Tensor
    index: torch.Tensor
    floor: torch.Tensor

    @classmethod
    def none(cls, n: int, width: int, device: torch.device) -> Nearest:
        """Empty lists."""
        cosine = torch.full((n, width), -_INF, device=device)
        index = torch.full((n, width), -1, dtype=torch.int32, device=device)
        return cls(cosine, index, torch.full((n,), -_INF, device=device))

    def complete(self, rows: DeviceRows, others: DeviceRows, least: int, tile: tuple[int, int]) -> None:
        """Lists again what has fewer than `least` partners, from all of the others; lists are sorted here."""
        short = (self.index[:, min(least, len(others)) - 1] < 0).nonzero()[:, 0]
        again = Nearest.none(len(short), self.index.shape[1], rows.device)
        for top in range(0, len(short), tile[0]):
            block = rows.take_operand(short[top : top + tile[0]])
            for first in range(0, len(others), tile[1]):
                again.take_in(product(block, others.operand(first, min(first + tile[1], len(others)))), top, first)
        self.cosine[short], self.index[short], self.floor[short] = again.cosine, again.index, again.floor

    def take_in(self, cosine: torch.Tensor, top: int, first: int) -> None:
        """Adds the cosines of rows top… with partners first…, and keeps the largest."""
        here = slice(top, top + len(cosine))
        width = self.cosine.shape[1]
        value, column = cosine.topk(min(width, cosine.shape[1]), dim=1)
        joined = torch.cat([self.cosine[here], value], dim=1)
        position = torch.cat([self.index[here], (column + first).int()], dim=1)
        self.cosine[here], chosen = joined.topk(width, dim=1)
        self.index[here] = position.gather(1, chosen)
        self.floor[here] = self.cosine[here, -1]  # −inf as long as the list is not full


def rank(
    left: DeviceRows,
    right: DeviceRows,
    near_left: Nearest,
    near_right: Nearest,
    *,
    k: int,
    depth: int,
    certain: int | None = None,
    tile: tuple[int, int],
    memory: int,
) -> Matches:
    """Exact rankings from the lists of both sides, with at most `memory` bytes for rows gathered along the way."""
    error = 0.0
    for rows, others, near in ((left, right, near_left), (right, left, near_right)):
        rough = near.cosine
        near.cosine = inner_products(rows, others, near.index, memory)
        seen = torch.where(near.index >= 0, (rough - near.cosine).abs(), 0.0).max().item()
        error = max(error, 3.0 * seen + 2.0**-23)
    forward, backward = (Search(*sides, tile, error, memory) for sides in ((left, right), (right, left)))
    density_left, density_right = forward.density(near_left, k), backward.density(near_right, k)
    return Matches(
        forward=forward.ranking(near_left, near_right, density_left, density_right, depth, certain or depth),
        backward=backward.ranking(near_right, near_left, density_right, density_left, depth, certain or depth),
    )


def inner_products(rows: DeviceRows, others: DeviceRows, index: torch.Tensor, memory: int) -> torch.Tensor:
    """⟨rows[i], others[index[i, j]]⟩, summed in float64, given in float32; −inf where index is −1."""
    exact = torch.empty(index.shape, device=index.device)
    step = max(1, memory // (_GATHER_COST * (index.shape[1] + 1) * rows.shape[1]))
    for start in range(0, len(index), step):
        part = index[start : start + step].long()
        listed = others.take(part.clamp(min=0).flatten()).double().view(*part.shape, -1)
        own = rows.block(start, start + len(part)).double()
        exact[start : start + step] = torch.bmm(listed, own[:, :, None])[:, :, 0].float()
    exact[index < 0] = -_INF
    return exact


@dataclass
class Search:
    """Finds partners of `rows` among `others`."""

    rows: DeviceRows
    others: DeviceRows
    tile: tuple[int, int]
    error: float
    memory: int

    def density(self, near: Nearest, k: int) -> torch.Tensor:
        """Mean of the k largest cosines of each row, float32."""
        k = min(k, len(self.others))
        nearest = near.cosine.topk(k, dim=1).values.double()
        density = nearest.mean(dim=1)
        unsure = (nearest[:, -1] < near.floor + self.error).nonzero()[:, 0]
        if len(unsure):
            free = torch.zeros(len(self.others), dtype=torch.float64, device=near.floor.device)
            density[unsure] = self.scan(unsure, free, 2 * nearest[unsure, -1], k)[0].mean(dim=1) / 2
        return density.float()

    def ranking(
        self,
        near: Nearest,
        near_others: Nearest,
        density: torch.Tensor,
        density_others: torch.Tensor,
        depth: int,
        certain: int,
    ) -> Ranking:
        """The `depth` partners of each row with the largest 2·cos − density(partner), `certain` of them proven."""
        penalty = density_others.double()
        worth = 2 * near.cosine.double() - penalty[near.index.long()]
        value, index = _largest(worth, near.index, min(depth, len(self.others)))
        self._add_reverse(value, index, near_others, penalty)
        bound = _unlisted(near.floor.double(), near_others.floor.double(), penalty) + 2 * self.error
        unsure = (value[:, min(certain, value.shape[1]) - 1] <= bound).nonzero()[:, 0]
        if len(unsure):
            value[unsure], index[unsure] = self.scan(unsure, penalty, value[unsure, -1], value.shape[1])
        shape = (len(self.rows), depth)
        padded_index, score = np.full(shape, -1, dtype=np.int64), np.full(shape, -np.inf, dtype=np.float32)
        padded_index[:, : index.shape[1]] = index.cpu().numpy()
        score[:, : index.shape[1]] = (value - density[:, None]).cpu().numpy()
        return Ranking(padded_index, score, density.cpu().numpy())

    def _add_reverse(
        self, value: torch.Tensor, index: torch.Tensor, near_others: Nearest, penalty: torch.Tensor
    ) -> None:
        """Takes in the pairs that only the other side listed."""
        reverse = 2 * near_others.cosine.double() - penalty[:, None]
        listed = near_others.index >= 0
        other, place = (listed & (reverse >= value[near_others.index.long(), -1])).nonzero(as_tuple=True)
        row = near_others.index[other, place].long()
        new = (index[row] != other[:, None]).all(dim=1)
        _merge(value, index, row[new], other[new], reverse[other, place][new])

    def scan(
        self, chosen: torch.Tensor, penalty: torch.Tensor, least: torch.Tensor, width: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The `width` best values 2·cos − penalty of the chosen rows, and where, among all others.

        least: a value that at least `width` others reach. The tiles' rough values only say which pairs may reach it.
        """
        value = torch.full((len(chosen), width), -_INF, dtype=torch.float64, device=chosen.device)
        index = torch.full((len(chosen), width), -1, dtype=torch.int64, device=chosen.device)
        wanted = (least - 2 * self.error - 1e-6).float()
        pairs_at_once = max(1, self.memory // (2 * _GATHER_COST * self.rows.shape[1]))
        for top in range(0, len(chosen), self.tile[0]):
            here = slice(top, top + self.tile[0])
            operand = self.rows.take_operand(chosen[here])
            for first in range(0, len(self.others), self.tile[1]):
                last = min(first + self.tile[1], len(self.others))
                rough = 2 * product(operand, self.others.operand(first, last)) - penalty[first:last].float()
                row, column = (rough >= wanted[here, None]).nonzero(as_tuple=True)
                for start in range(0, len(row), pairs_at_once):
                    i, j = row[start : start + pairs_at_once], first + column[start : start + pairs_at_once]
                    cosine = (self.rows.take(chosen[here][i]).double() * self.others.take(j).double()).sum(dim=1)
                    _merge(value[here], index[here], i, j, 2 * cosine.float().double() - penalty[j])
        return value, index


def _largest(value: torch.Tensor, index: torch.Tensor, depth: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The `depth` largest values of each row, descending, with their indices; the lower index first where they tie."""
    best = torch.full((len(value), depth), -_INF, dtype=torch.float64, device=value.device)
    where = torch.full((len(value), depth), -1, dtype=torch.int64, device=value.device)
    for place in range(min(depth, value.shape[1])):
        best[:, place] = value.max(dim=1).values
        tied = torch.where(value == best[:, place, None], index, torch.iinfo(index.dtype).max)
        lowest, column = tied.min(dim=1)
        where[:, place] = lowest
        value.scatter_(1, column[:, None], -_INF)
    return best, where


def _merge(
    value: torch.Tensor, index: torch.Tensor, row: torch.Tensor, other: torch.Tensor, new_value: torch.Tensor
) -> None:
    """Merges new (row, other, value) entries, distinct from those held, into sorted lists of fixed length, in place."""
    if not len(row):
        return
    depth = value.shape[1]
    touched = torch.unique(row)
    all_row = torch.cat([touched.repeat_interleave(depth), row])
    all_other = torch.cat([index[touched].flatten(), other])
    all_value = torch.cat([value[touched].flatten(), new_value])
    order = all_other.argsort(stable=True)
    order = order[all_value[order].argsort(stable=True, descending=True)]
    order = order[all_row[order].argsort(stable=True)]
    start = torch.searchsorted(all_row[order], touched)
    kept = order[start[:, None] + torch.arange(depth, device=row.device)]
    value[touched], index[touched] = all_value[kept], all_other[kept]


def _unlisted(floor: torch.Tensor, floor_others: torch.Tensor, penalty: torch.Tensor) -> torch.Tensor:
    """max over others v of 2·min(floor(u), floor(v)) − penalty(v), for every row u."""
    sorted_floor, order = floor_others.sort()
    sorted_penalty = penalty[order]
    end = torch.tensor([_INF], dtype=torch.float64, device=floor.device)
    lower = torch.cat([-end, (2 * sorted_floor - sorted_penalty).cummax(dim=0).values])
    least_penalty = torch.cat([sorted_penalty.flip(0).cummin(dim=0).values.flip(0), end])
    position = torch.searchsorted(sorted_floor, floor)
    return torch.maximum(lower[position], 2 * floor - least_penalty[position])
