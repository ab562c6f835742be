"""Exact inner products of listed pairs on CUDA: rows are read where they lie, and not gathered first.

`lists.inner_products` is the same in plain array code; it writes every listed row twice, in float32 and in float64.
"""

# The arguments of a kernel are pointers and compile-time constants, and triton is untyped.
# mypy: disable-error-code="no-untyped-def, import-untyped"

from __future__ import annotations

import torch
import triton
import triton.language as tl

from veclink.matching.launching import launching

STEP = 128  # numbers of a row at a time


def inner_products(rows: torch.Tensor, others: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """⟨rows[i], others[index[i, j]]⟩, summed in float64, given in float32; −inf where index is −1.

    Parameters
    ----------
    rows, others : (n1, d) and (n2, d) float32
    index : (n1, width) int32

    Returns
    -------
    (n1, width) float32
    """
    rows, others, index = rows.contiguous(), others.contiguous(), index.contiguous()
    n, width = index.shape
    exact = torch.empty((n, width), dtype=torch.float32, device=rows.device)
    if n:
        with launching(rows):
            _listed_products[(n,)](
                rows, others, index, exact, width,
                D=rows.shape[1], WIDTH=triton.next_power_of_2(width), STEP=STEP,
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
