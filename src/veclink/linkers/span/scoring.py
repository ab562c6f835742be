"""Scoring: candidates by maps that were fitted without them, and what their neighbourhoods say about them."""

from __future__ import annotations

import numpy as np

from veclink.backends.cloud_pair import CloudPair
from veclink.confidence.calibration import FITTED
from veclink.confidence.candidates import FOLDS, Candidates
from veclink.linkers.options import SpanOptions
from veclink.linkers.span.constants import FOLDS_OF_LARGE, NEIGHBOURHOOD_LINKS

N_FEATURES = 4  # correlation and overlap of the links around both; how alike, and how high, their densities are


def folds_of(clouds: CloudPair, options: SpanOptions) -> int:
    """Into how many folds a pool is cut; one means that maps are not cross-fitted."""
    if not options.crossfitted:
        return 1
    return FOLDS_OF_LARGE if clouds.large else FOLDS


def fitted_links(candidates: Candidates, rng: np.random.Generator) -> np.ndarray:
    """Positions of the mutual candidates that the calibration is fitted to: all, or of very many a sample."""
    links = candidates.mutual()
    if len(links) <= FITTED:
        return links
    return np.sort(rng.choice(links, FITTED, replace=False))


def nearby_links(pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The pool (m, 2), or of a very large one enough links to surround any pair."""
    if len(pool) <= NEIGHBOURHOOD_LINKS:
        return pool
    some = rng.choice(len(pool), NEIGHBOURHOOD_LINKS, replace=False)
    return pool[np.sort(some)]


def neighbourhood_features(
    clouds: CloudPair,
    candidates: Candidates,
    pool: np.ndarray,
    rng: np.random.Generator,
    fitted: np.ndarray | None = None,
) -> np.ndarray:
    """What the neighbourhoods of both rows say about each candidate.

    Parameters
    ----------
    clouds : CloudPair
        Two clouds of unit rows.
    candidates : Candidates
        c scored pairs.
    pool : ndarray of shape (m, 2)
        Links that surround them.
    rng : numpy.random.Generator
        Draws the rows that densities are taken over.
    fitted : ndarray of shape (f,), optional
        Positions of the mutual candidates that others are learnt from, for which the rivals are looked at too; None
        looks at the rivals of all.

    Returns
    -------
    ndarray of shape (c, 4), float32
        Correlation and overlap of the links around both (0 for candidates that nobody looks at); how alike, and how
        high, their densities are.
    """
    features = np.zeros((len(candidates.rows_a), N_FEATURES), np.float32)
    looked_at = _looked_at(candidates, fitted)
    rows_a, rows_b = candidates.rows_a[looked_at], candidates.rows_b[looked_at]
    correlation, shared = clouds.local_agreement(pool, rows_a, rows_b)
    features[looked_at, 0] = correlation
    features[looked_at, 1] = shared
    density_a = clouds.own_density("a", rng)[candidates.rows_a]
    density_b = clouds.own_density("b", rng)[candidates.rows_b]
    features[:, 2] = -np.abs(density_a - density_b)
    features[:, 3] = density_a + density_b
    return features


def _looked_at(candidates: Candidates, fitted: np.ndarray | None) -> np.ndarray:
    """Positions of the candidates whose surroundings matter."""
    wanted = np.zeros(len(candidates.rows_a) + 1, bool)  # the last one stands for "no candidate", −1
    if fitted is None:
        wanted[candidates.best_a[:, :2]] = True
        wanted[candidates.best_b[:, :2]] = True
    else:
        wanted[candidates.mutual()] = True
        wanted[candidates.best_a[candidates.rows_a[fitted], :2]] = True
        wanted[candidates.best_b[candidates.rows_b[fitted], :2]] = True
    return np.flatnonzero(wanted[:-1])
