"""The best partner of some rows among all others on a torch device: what `search` does there, in two products.

The first gives the densities of the others and the largest cosines of the rows asked; of both only means matter, so it
is kept in float16. In the second the density stands beside the others as further numbers, so that the product is what
is to be compared. What a product writes is read as seldom as that allows: on a GPU this is what takes time.
"""

from __future__ import annotations

import torch

from veclink.geometry.arrays import to_numpy
from veclink.geometry.rows import tiles
from veclink.matching.search import PIECES, TILE, Found
from veclink.matching.torch_backend import with_penalty


def searched(queries: torch.Tensor, others: torch.Tensor, k: int, tile: int) -> Found:
    """As `search.searched`, of queries (q, s) and others (n, s) on the same device, `tile` others at a time."""
    on_cuda = queries.device.type == "cuda"
    rough = torch.float16 if on_cuda else torch.float32
    asked, rows = queries.to(rough), others.to(rough)
    density, nearest = _densities(asked, rows, k, tile)
    asked, rows = with_penalty(asked, rows, density)
    best = torch.full((len(asked),), -torch.inf, device=asked.device)
    index = torch.zeros(len(asked), dtype=torch.int64, device=asked.device)
    for first, last in tiles(len(rows), tile):
        part = rows[first:last].T
        here = (torch.mm(asked, part, out_dtype=torch.float32) if on_cuda else asked @ part).max(dim=1)
        better = here.values > best
        best = torch.where(better, here.values, best)
        index = torch.where(better, here.indices + first, index)
    return to_numpy(2 * best), to_numpy(index), to_numpy(nearest)


def _densities(asked: torch.Tensor, rows: torch.Tensor, k: int, tile: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The density of the rows (n,), over k groups of those asked, and the k largest cosines of each asked: (q, k)."""
    q, groups = len(asked), min(k, len(asked))
    size = q // groups
    densities, parts = [], []
    for first, last in tiles(len(rows), tile):
        cosine = asked @ rows[first:last].T
        width = last - first
        of_groups = cosine[: groups * size].reshape(groups, size, width).amax(dim=1)
        densities.append(of_groups.float().mean(dim=0))
        pieces = min(PIECES * max(1, width // TILE), width)
        whole = cosine[:, : width // pieces * pieces]
        parts.append(whole.reshape(q, -1, pieces).amax(dim=1))
    maxima = torch.cat(parts, dim=1).float()
    nearest = maxima.topk(min(k, maxima.shape[1]), dim=1).values
    return torch.cat(densities), nearest.flip(1)
