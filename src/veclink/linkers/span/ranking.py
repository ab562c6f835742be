"""Ranking: the pairs to report, the surest first, and the columns that explain each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.backends import CloudPair
from veclink.confidence.calibration import Calibrated
from veclink.confidence.candidates import Candidates
from veclink.confidence.evidence import evidence_columns, neighbourhood_evidence, score_evidence
from veclink.data.pairs import one_to_one as choose_one_to_one
from veclink.data.pairs import pair_keys, positions_of
from veclink.geometry.nearest import nearest_links
from veclink.linkers.span.growing import Pool


@dataclass(frozen=True, eq=False)
class Ranked:
    """Pairs to report, the surest first."""

    pairs: np.ndarray  # (n, 2) rows of A and of B
    probability: np.ndarray  # (n,)
    positions: np.ndarray  # (n,) among the candidates; −1 for a given pair that is none
    given: np.ndarray  # (n,) whether a person gave it


def ranked_pairs(
    candidates: Candidates, calibrated: Calibrated, given: np.ndarray, one_to_one: bool, certain: bool
) -> Ranked:
    """The calibrated candidates and the given pairs (m, 2).

    certain: the given pairs are links whatever their score; else they are marked, and as probable as they look.
    """
    positions, probability = calibrated.positions, calibrated.probability
    if not one_to_one:
        positions = np.concatenate([positions, calibrated.others])
        probability = np.concatenate([probability, calibrated.other_probability])
    pairs = np.column_stack([candidates.rows_a[positions], candidates.rows_b[positions]])
    n_b = len(candidates.best_b)
    keys, given_keys = pair_keys(pairs, n_b), pair_keys(given, n_b)
    is_given = np.isin(keys, given_keys)
    if certain:
        of_given = np.append(positions, -1)[positions_of(given_keys, keys)]
        pairs = np.concatenate([given, pairs[~is_given]])
        probability = np.concatenate([np.ones(len(given)), probability[~is_given]])
        positions = np.concatenate([of_given, positions[~is_given]])
        is_given = np.arange(len(pairs)) < len(given)
    if one_to_one:  # of pairs that share a row only the surest
        order = choose_one_to_one(pairs, probability)
    else:
        order = np.lexsort((pairs[:, 1], pairs[:, 0], -probability))
    return Ranked(pairs[order], probability[order], positions[order], is_given[order])


def explaining_columns(
    clouds: CloudPair, candidates: Candidates, features: np.ndarray, ranked: Ranked, pool: Pool, links: np.ndarray
) -> dict[str, np.ndarray]:
    """The columns that explain each ranked pair.

    Parameters
    ----------
    clouds : CloudPair
        Two clouds of unit rows.
    candidates : Candidates
        c scored pairs.
    features : ndarray of shape (c, f)
        Their neighbourhood features.
    ranked : Ranked
        The pairs to explain.
    pool : Pool
        The pool that grew, for its votes.
    links : ndarray of shape (m, 2)
        The links around which neighbours are looked for.
    """
    at, (rows_a, rows_b) = ranked.positions, ranked.pairs.T
    columns = evidence_columns(score_evidence(), candidates, features, at)
    in_pool = positions_of(pair_keys(ranked.pairs, clouds.n_b), pair_keys(pool.pairs, clouds.n_b))
    votes = np.where(in_pool >= 0, np.rint(pool.share[in_pool] * pool.views), 0)  # of the views of the last round
    columns |= {"votes": votes.astype(np.int64), "views": np.full(len(at), pool.views), "given": ranked.given}
    columns |= evidence_columns(neighbourhood_evidence(), candidates, features, at)
    for side, rows, best in (
        ("b", candidates.rows_b, candidates.best_a[rows_a]),
        ("a", candidates.rows_a, candidates.best_b[rows_b]),
    ):
        # the rank of each partner among its row's candidates, and the best rival of the partner
        own = best == at[:, None]
        is_listed = (at >= 0) & own.any(axis=1)
        rival = np.where(own[:, 0], best[:, 1], best[:, 0])
        columns |= {
            f"rank_{side}": np.where(is_listed, np.argmax(own, axis=1) + 1, 0),
            f"rival_{side}": np.where(rival >= 0, rows[rival], -1),
            f"rival_{side}_score": np.where(rival >= 0, candidates.score[rival], np.nan).astype(np.float32),
        }
    nearest, similarity = nearest_links(clouds.a, clouds.b, ranked.pairs, links)
    for i, (near, alike) in enumerate(zip(nearest.T, similarity.T, strict=True), 1):
        columns |= {f"near{i}_a": links[near, 0], f"near{i}_b": links[near, 1], f"near{i}_similarity": alike}
    return columns
