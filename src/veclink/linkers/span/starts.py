"""How to begin: the given pairs or anchors, the given ones less those that look wrong, or nothing at all.

Starts are tried in that order, each at more cost, until the bootstrap clearly converges: the pool then agrees on a
share of the smaller cloud that a failed one never comes near, and no label is needed to see it. Where that is not
clear, a few starts are compared. The smaller one cloud is against the other, the more of it agrees by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from veclink.backends import CloudPair
from veclink.data.pairs import sharing_no_row
from veclink.data.words import FROM_NOTHING
from veclink.linkers.anchors import Anchors
from veclink.linkers.options import SpanOptions
from veclink.linkers.outlier_seeds import find_outlier_seeds
from veclink.linkers.span.attempt import Attempt, AttemptListener, Search, centred_on_pool
from veclink.linkers.span.attempts import attempts
from veclink.linkers.span.centring import Means, anchors_on
from veclink.linkers.span.constants import COMPARED_STARTS, CONVERGED, MIN_POOL, OUTLIER_ANCHORS
from veclink.linkers.span.growing import Pool
from veclink.progress import RoundListener

DEFAULT_OPTIONS = SpanOptions()
Tried = tuple[str, float]  # the name of a start, and the share that it agrees on


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
    means : tuple of ndarrays, optional
        What was subtracted from the rows of both clouds where the pool grew; None where it grew on the clouds as given.
    anchored : bool
        Whether it is of the map of outside anchors, to which final maps are fitted too.
    """

    pool: Pool
    started_from: str
    share: float
    outlier_seeds: np.ndarray
    mark: float = CONVERGED
    tried: tuple[Tried, ...] = ()
    means: Means | None = None
    anchored: bool = False

    @property
    def converged(self) -> bool:
        """Whether the pool agrees on enough of the smaller cloud to have found the map, and can fit one."""
        return self.share >= self.mark and len(self.pool.pairs) >= MIN_POOL


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
        Seed of the random generator.
    options : SpanOptions
        The growth schedule, whether votes are out of bag, and whether other starts are tried.
    listener : callable, optional
        Hears of every round of every start.
    attempt_listener : callable, optional
        Hears which start is tried, before it is.
    """
    search = Search(clouds, rng, options, listener, attempt_listener)
    best: Bootstrap | None = None
    tried: list[Tried] = []
    for attempt in attempts(search, anchors):
        rated = _rated(attempt, anchors)
        if rated.anchored and not rated.converged:
            continue  # anchors of another kind: what they align may still grow
        if rated.converged and not rated.anchored:
            rated = _centred(attempt, anchors, rated)
        tried.append((attempt.name, rated.share))
        if best is None or rated.share > best.share:
            best = rated
        if _is_enough(search, best, tried):
            break
    assert best is not None, "there is always a start to try"
    return replace(best, tried=tuple(tried))


def _is_enough(search: Search, best: Bootstrap, tried: list[Tried]) -> bool:
    """Whether no further start has to be tried."""
    if search.clouds.extent_of_all < MIN_POOL:
        return True  # no start can fit a map to so few rows
    if not best.converged:
        return False
    if best.anchored or not best.mark:
        return True
    last, _ = tried[-1]
    if last == FROM_NOTHING or len(tried) >= COMPARED_STARTS:
        return True
    return search.clouds.large or best.share >= search.clear


def _centred(attempt: Attempt, anchors: Anchors | None, rated: Bootstrap) -> Bootstrap:
    """The same where the clouds are centred on the links of the pool, if that moves their means."""
    moved = centred_on_pool(attempt)
    if moved is attempt:
        return rated
    again = _rated(moved, anchors)
    return again if again.converged else rated


def _rated(attempt: Attempt, anchors: Anchors | None) -> Bootstrap:
    """A pool with the share of the smaller cloud that it agrees on, and the given pairs that look wrong from it.

    A pool that bears out none of what it began with has found something else: its share is 0.
    """
    search, pool = attempt.search, attempt.pool
    share = pool.agreed / pool.extent
    rated = Bootstrap(pool, attempt.name, share, np.empty(0, np.int64), search.mark)
    if attempt.mark is not None:
        return replace(rated, mark=attempt.mark, anchored=True)
    mark = 0.0 if attempt.vouched else search.mark
    outliers = rated.outlier_seeds
    if share >= mark and anchors is not None:
        outliers = _outlier_seeds(search, anchors, pool)
        if len(outliers) == len(anchors):
            rated = replace(rated, started_from=FROM_NOTHING)  # which a search may do
            share, mark = (share if attempt.searched else 0.0), search.mark
    return replace(rated, share=share, mark=mark, outlier_seeds=outliers, means=search.moved)


def _outlier_seeds(search: Search, anchors: Anchors, pool: Pool) -> np.ndarray:
    """Positions of the given pairs that look wrong as seen from the pool's best links, themselves left out.

    None where fewer others are left than were given: if all that is shared was given, the others are all wrong.
    """
    clouds = search.clouds
    links = pool.pairs[sharing_no_row(pool.pairs, anchors.rows)]
    if len(links) < len(anchors.rows):
        return np.empty(0, np.int64)
    seen_from = clouds.vectors(links[:OUTLIER_ANCHORS])
    sample = partial(clouds.sample, rng=search.rng)
    as_here = anchors if search.moved is None else anchors_on(clouds, anchors)
    given = as_here.left, as_here.right
    return find_outlier_seeds(given, seen_from, sample, clouds.ridge)
