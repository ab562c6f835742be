"""Neighbours of two sets of unit vectors under CSLS, streamed in tiles: never the whole matrix of cosines.

`match` is exact, on every device. `best_partners` is a quick search for the rows that are asked, in one pass: what
growing on a sample needs. CSLS wants the mean cosine to the k nearest rows of the other side. For the rows that are
asked it is taken over the largest cosines of small pieces of the other side, and for the others over k groups of the
rows asked, the largest of each: the same order of hubs and outliers, for a fraction of the work of exact lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.errors import needed
from veclink.files.memory import parse_memory
from veclink.geometry.arrays import Array, RowSource
from veclink.matching import cpu
from veclink.matching.rankings import Found, Matches, Ranking, Ranks

__all__ = ["Found", "Matches", "Ranking", "best_partners", "match", "searched"]


def match(
    left: RowSource,
    right: RowSource,
    *,
    k: int = 10,
    depth: int = 1,
    certain: int | None = None,
    memory: int | str | None = None,
    device: str = "cpu",
    unfinished: Any = None,
) -> Matches:
    """The `depth` best partners of each row of left and right under csls(u, v) = 2·cos(u, v) − density(u) − density(v).

    The result is exact and the same on every device, ties going to the lower row.

    Parameters
    ----------
    left, right : ndarray of shape (n1, s) and (n2, s), or Rows
        Rows of unit length, of any float type.
    k : int
        density: the mean cosine to the k nearest rows of the other side.
    certain : int, optional
        How many of the `depth` partners have to be exact, by default all; those after them are taken from lists of the
        nearest by cosine, which hold them nearly always.
    memory : int or str, optional
        Bytes, or text such as "500MB", that the call may take beyond its inputs and the O(n·(k + depth)) result.
    device : str
        "cpu", or a torch device such as "cuda".
    unfinished : linkers.checkpoint.UnfinishedPass, optional
        Where a pass on the CPU keeps what it has so far, and finds what one that was broken off had.
    """
    ranks, budget = Ranks(k, depth, certain), None if memory is None else parse_memory(memory)
    if device == "cpu":
        return cpu.match(left, right, ranks, memory=budget, unfinished=unfinished)
    needed("torch", f"Matching on {device!r}", "veclink[torch]")
    from veclink.matching import torch_backend

    return torch_backend.match(left, right, ranks, memory=budget, device=device)


def best_partners(
    queries: Array, others: RowSource, *, k: int = 10, device: str = "cpu", memory: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The row of the others with the largest csls for each query, and this csls: (q,) each.

    Parameters
    ----------
    queries : array of shape (q, s)
        Rows of unit length, of numpy or torch, in random order: the density of a row of others is taken over k groups
        of consecutive queries.
    others : array of shape (n, s), or Rows
    """
    best, index, nearest = searched(queries, others, k=k, memory=memory, device=device)
    return index, best - nearest.mean(axis=1)


def searched(queries: Array, others: RowSource, *, k: int, memory: int | None = None, device: str = "cpu") -> Found:
    """What one part of the others says: parts of whole tiles say together what all say at once."""
    if device == "cpu":
        return cpu.searched(queries, others, k, memory)
    from veclink.matching import torch_backend

    return torch_backend.searched(queries, others, k, device, memory)
