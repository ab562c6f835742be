"""How to begin: the given pairs or anchors, the given ones less those that look wrong, or nothing at all.

Starts are tried in that order, each at more cost, until the bootstrap clearly converges: the pool then agrees on a
share of the smaller cloud that a failed one never comes near, and no label is needed to see it. Where that is not
clear, a few starts are compared. The smaller one cloud is against the other, the more of it agrees by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from veclink.backends.cloud_pair import CloudPair
from veclink.data.pairs import sharing_no_row
from veclink.linkers.anchors import Anchors
from veclink.linkers.options import SpanOptions
from veclink.linkers.outlier_seeds import find_outlier_seeds
from veclink.linkers.span.attempts import FROM_NOTHING, AttemptListener, Search, attempts
from veclink.linkers.span.constants import COMPARED_STARTS, CONVERGED, MAX_OUTLIER_SHARE, OUTLIER_ANCHORS
from veclink.linkers.span.growing import Pool, RoundListener

DEFAULT_OPTIONS = SpanOptions()


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The best pool of all starts tried.

    Attributes
    ----------
    pool : Pool
        The links that it ended with.
    started_from : str
        The name of its start.
    share : float
        Of the smaller cloud, that its views agree on.
    outlier_seeds : ndarray of shape (w,)
        Positions of the given pairs that look wrong from the pool; empty where no start converged.
    mark : float
        The share that it takes to have found the map.
    tried : tuple of (str, float)
        Name and agreed share of each start, in order.
    """

    pool: Pool
    started_from: str
    share: float
    outlier_seeds: np.ndarray
    mark: float = CONVERGED
    tried: tuple[tuple[str, float], ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the pool agrees on enough of the smaller cloud to have found the map."""
        return self.share >= self.mark


def best_pool(
    clouds: CloudPair,
    anchors: Anchors | None,
    rng: np.random.Generator,
    *,
    options: SpanOptions = DEFAULT_OPTIONS,
    listener: RoundListener | None = None,
    attempt_listener: AttemptListener | None = None,
) -> Bootstrap:
    """Grow from the given anchors (None: from nothing) and, where that fails, from others: the pool that agrees most.

    Parameters
    ----------
    clouds : CloudPair
        Two clouds of unit rows.
    anchors : Anchors, optional
        What a person gave.
    rng : numpy.random.Generator
        Draws everything that is drawn.
    options : SpanOptions
        The growth schedule, whether votes are out of bag, and whether other starts are tried.
    listener : callable, optional
        Hears of every round of every start.
    attempt_listener : callable, optional
        Hears which start is tried, before it is.
    """
    search = Search(clouds, rng, options, listener, attempt_listener)
    best: Bootstrap | None = None
    tried: list[tuple[str, float]] = []
    for name, pool in attempts(search, anchors):
        share, outliers = _rated(search, anchors, name, pool)
        tried.append((name, share))
        if best is None or share > best.share:
            best = Bootstrap(pool, name, share, outliers, search.mark)
        if _is_enough(search, best, tried):
            break
    assert best is not None, "there is always a start to try"
    return replace(best, tried=tuple(tried))


def _is_enough(search: Search, best: Bootstrap, tried: list[tuple[str, float]]) -> bool:
    """Whether no further start has to be tried."""
    if not best.converged:
        return False
    from_nothing = tried[-1][0] == FROM_NOTHING
    compared = len(tried) >= COMPARED_STARTS
    return best.share >= search.clear or from_nothing or compared or search.clouds.large


def _rated(
    search: Search,
    anchors: Anchors | None,
    name: str,
    pool: Pool,
) -> tuple[float, np.ndarray]:
    """The share of the smaller cloud that a pool agrees on, and positions of the given pairs that look wrong from it.

    A pool that does not bear out what it began with has found something else: its share is 0.
    """
    share = pool.agreed / pool.extent
    if share < search.mark or anchors is None:
        return share, np.empty(0, np.int64)
    outliers = _outlier_seeds(search, anchors, pool)
    if name != FROM_NOTHING and len(outliers) > MAX_OUTLIER_SHARE * len(anchors):
        share = 0.0
    return share, outliers


def _outlier_seeds(search: Search, anchors: Anchors, pool: Pool) -> np.ndarray:
    """Positions of the given pairs that look wrong as seen from the pool's best links, themselves left out."""
    clouds = search.clouds
    links = pool.pairs[sharing_no_row(pool.pairs, anchors.rows)]
    seen_from = clouds.vectors(links[:OUTLIER_ANCHORS])
    sample = partial(clouds.sample, rng=search.rng)
    given = anchors.left, anchors.right
    return find_outlier_seeds(given, seen_from, sample, clouds.ridge)
