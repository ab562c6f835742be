"""A collection that grows, of real vectors: what was linked first, and the rows that came later."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cache

import numpy as np

from span_papers import some_papers
from veclink import Linker, link
from veclink.data.links import Links

N_NEW_SHARED, N_NEW_ALONE = 40, 20


@dataclass(frozen=True, eq=False)
class Grown:
    """A (240 rows) and B (300), linked from seeds; 60 new rows of A, and the row of B of each (−1: none)."""

    a: np.ndarray
    b: np.ndarray
    new: np.ndarray
    partner: np.ndarray
    seeds: np.ndarray

    def right(self, links: Links, start: int = 0) -> np.ndarray:
        """Which links of new rows, that begin at row `start`, are true."""
        rows, found = links.pairs.T
        return self.partner[rows - start] == found


@cache
def grown_papers() -> Grown:
    """The cut of the sample without 40 shared rows of A and 20 of its own, which come later."""
    papers = some_papers()
    alone = np.setdiff1d(np.arange(len(papers.a)), papers.truth[:, 0])[:N_NEW_ALONE]
    later = np.concatenate([papers.truth[-N_NEW_SHARED:, 0], alone])
    first = np.setdiff1d(np.arange(len(papers.a)), later)
    partner = np.concatenate([papers.truth[-N_NEW_SHARED:, 1], np.full(N_NEW_ALONE, -1)])
    mixed = np.random.default_rng(0).permutation(len(later))
    seeds = np.column_stack([np.searchsorted(first, papers.seeds[:, 0]), papers.seeds[:, 1]])
    return Grown(papers.a[first], papers.b, papers.a[later[mixed]], partner[mixed], seeds)


@cache
def first_links() -> Links:
    """The links before the new rows came."""
    grown = grown_papers()
    return link(grown.a, grown.b, seeds=grown.seeds, device="cpu")


def fitted_anew() -> Linker:
    """A linker of those links, by the constants of now."""
    grown = grown_papers()
    return Linker.fit(grown.a, grown.b, links=first_links())


_fitted = cache(fitted_anew)


def fitted() -> Linker:
    """A linker of those links, which a test may change: a copy of one that was fitted once."""
    return deepcopy(_fitted())
