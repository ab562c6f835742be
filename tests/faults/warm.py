"""Imported once by the process that all others are forked from: what takes seconds at its first use is used once."""

from __future__ import annotations

from small_papers import N_SEEDS, small_papers
from veclink.linkers.linking import link

_a, _b, _truth = small_papers()
for _method in ("span", "geh"):
    link(_a[:60, :64], _b[:60, :64], seeds=_truth[:N_SEEDS], device="cpu", method=_method)
