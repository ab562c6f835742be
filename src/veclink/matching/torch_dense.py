"""CSLS rankings of few rows on a torch device: all cosines at once, as `reference` has them.

Lists and proofs take dozens of steps, each of which waits for the one before; a GPU multiplies thousands of rows in
float64 in less time than one of these steps takes.
"""

from __future__ import annotations

import torch

from veclink.geometry.arrays import to_numpy
from veclink.matching.certify import Ranks
from veclink.matching.rankings import Matches, Ranking

MOST_COSINES = 1 << 30  # that are held at once
BYTES_EACH = 24  # in float64 and float32, and less the density


def fits(rows: int, columns: int, memory: int) -> bool:
    """Whether all cosines of so many rows can be held in so many bytes."""
    return rows * columns <= min(MOST_COSINES, memory // BYTES_EACH)


def match(left: torch.Tensor, right: torch.Tensor, ranks: Ranks) -> Matches:
    """Matches of `left` (n1, s) and `right` (n2, s), rows of unit length on the same device."""
    cosine = (left.double() @ right.double().T).float()
    density_left, density_right = densities(cosine, ranks.k), densities(cosine.T, ranks.k)
    return Matches(
        forward=_ranking(cosine, density_left, density_right, ranks.depth),
        backward=_ranking(cosine.T, density_right, density_left, ranks.depth),
    )


def densities(cosine: torch.Tensor, k: int) -> torch.Tensor:
    """Mean of the k largest cosines of each row, of one matrix (n1, n2) or of several (v, n1, n2)."""
    listed = min(k, cosine.shape[-1])
    nearest = cosine.topk(listed, dim=-1, sorted=False).values
    return nearest.double().mean(dim=-1).float()


def _ranking(cosine: torch.Tensor, density: torch.Tensor, density_other: torch.Tensor, depth: int) -> Ranking:
    value = 2 * cosine.double() - density_other
    index = torch.full((len(cosine), depth), -1, device=cosine.device)
    score = torch.full((len(cosine), depth), -torch.inf, device=cosine.device)
    for place in range(min(depth, cosine.shape[1])):
        best = value.max(dim=1)  # of those that tie, the lowest row
        index[:, place] = best.indices
        score[:, place] = best.values - density
        value.scatter_(1, best.indices[:, None], -torch.inf)
    return Ranking(to_numpy(index), to_numpy(score), to_numpy(density))
