"""Exact CSLS neighbours of two sets of unit vectors, streamed in tiles: never the whole matrix of cosines."""

from __future__ import annotations

from veclink.errors import InputError, needed
from veclink.files.memory import parse_memory
from veclink.geometry.rows import RowSource, Unfinished
from veclink.matching import cpu
from veclink.matching.rankings import Matches, Ranking, Ranks

__all__ = ["Matches", "Ranking", "match"]


def match(
    left: RowSource,
    right: RowSource,
    *,
    k: int = 10,
    depth: int = 1,
    certain: int | None = None,
    memory: int | str | None = None,
    device: str = "cpu",
    unfinished: Unfinished | None = None,
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
    unfinished : Unfinished, optional
        Where a pass on the CPU keeps what it has so far, and finds what one that was broken off had.
    """
    for name, value in (("k", k), ("depth", depth)):
        if value < 1:
            raise InputError(f"{name} is {value}; it must be at least 1.")
    for name, side in (("Left", left), ("Right", right)):
        if len(side.shape) != 2 or 0 in side.shape:
            raise InputError(f"{name} has the shape {tuple(side.shape)}; give rows of vectors, at least one.")
    if left.shape[1] != right.shape[1]:
        raise InputError(f"Left rows have {left.shape[1]} dimensions and right rows {right.shape[1]}; make them equal.")
    ranks, budget = Ranks(k, depth, certain), None if memory is None else parse_memory(memory)
    if device == "cpu":
        return cpu.match(left, right, ranks, memory=budget, unfinished=unfinished)
    needed("torch", f"Matching on {device!r}", "veclink[torch]")
    from veclink.matching import torch_backend

    return torch_backend.match(left, right, ranks, memory=budget, device=device)
