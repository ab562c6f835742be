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

Columns = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Ranked:
    """Pairs to report, the surest first.

    Attributes
    ----------
    pairs : ndarray of shape (n, 2)
        Rows of A and of B.
    probability : ndarray of shape (n,)
        Of each.
    positions : ndarray of shape (n,)
        Among the candidates; −1 for a given pair that is none.
    given : ndarray of shape (n,), bool
        Whether a person gave it.
    """

    pairs: np.ndarray
    probability: np.ndarray
    positions: np.ndarray
    given: np.ndarray

    def only(self, chosen: np.ndarray) -> Ranked:
        """Those at these positions, in that order."""
        return Ranked(self.pairs[chosen], self.probability[chosen], self.positions[chosen], self.given[chosen])

    def before(self, others: Ranked) -> Ranked:
        """These, then the others."""
        return Ranked(
            np.concatenate([self.pairs, others.pairs]),
            np.concatenate([self.probability, others.probability]),
            np.concatenate([self.positions, others.positions]),
            np.concatenate([self.given, others.given]),
        )


def ranked_pairs(
    candidates: Candidates, calibrated: Calibrated, given: np.ndarray, one_to_one: bool, *, certain: bool = True
) -> Ranked:
    """The calibrated candidates and the given pairs (m, 2).

    certain: the given pairs are links whatever their score; else they are marked, and as probable as they look.
    """
    positions, probability = calibrated.positions, calibrated.probability
    if not one_to_one:
        positions = np.concatenate([positions, calibrated.others])
        probability = np.concatenate([probability, calibrated.other_probability])
    rows_a = candidates.rows_a[positions]
    rows_b = candidates.rows_b[positions]
    pairs = np.column_stack([rows_a, rows_b])
    n_b = len(candidates.best_b)
    keys = pair_keys(pairs, n_b)
    given_keys = pair_keys(given, n_b)
    is_given = np.isin(keys, given_keys)
    ranked = Ranked(pairs, probability, positions, is_given)
    if certain:
        found = positions_of(given_keys, keys)
        sure = _certain(given, _taken(positions, found))
        ranked = sure.before(ranked.only(np.flatnonzero(~is_given)))
    return _in_order(ranked, one_to_one)


def _certain(given: np.ndarray, positions: np.ndarray) -> Ranked:
    """The given pairs (m, 2), as certain as can be."""
    count = len(given)
    return Ranked(given, np.ones(count), positions, np.ones(count, bool))


def _in_order(ranked: Ranked, one_to_one: bool) -> Ranked:
    """The surest first; of pairs that share a row only the surest, where links are one-to-one."""
    if one_to_one:
        return ranked.only(choose_one_to_one(ranked.pairs, ranked.probability))
    rows_a, rows_b = ranked.pairs.T
    order = np.lexsort((rows_b, rows_a, -ranked.probability))
    return ranked.only(order)


def explaining_columns(
    clouds: CloudPair, candidates: Candidates, features: np.ndarray, ranked: Ranked, pool: Pool, links: np.ndarray
) -> Columns:
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
    at = ranked.positions
    of_scores, near = score_evidence(), neighbourhood_evidence()
    evidence = evidence_columns((*of_scores, *near), candidates, features, at)
    columns = {entry.name: evidence[entry.name] for entry in of_scores if entry.is_column}
    columns |= _vote_columns(ranked, pool, clouds.n_b)
    columns["given"] = ranked.given
    columns |= {entry.name: evidence[entry.name] for entry in near if entry.is_column}
    rows_a, rows_b = ranked.pairs.T
    columns |= _rival_columns("b", candidates, candidates.best_a[rows_a], at)
    columns |= _rival_columns("a", candidates, candidates.best_b[rows_b], at)
    return columns | _neighbour_columns(clouds, ranked.pairs, links)


def _taken(values: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The values at the places found; −1 where none was."""
    if not len(values):
        return np.full(len(found), -1, np.int64)
    return np.where(found >= 0, values[found], -1)


def _known(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Values as float32, NaN where nothing is known."""
    filled = np.where(known, values, np.nan)
    return filled.astype(np.float32)


def _vote_columns(ranked: Ranked, pool: Pool, n_b: int) -> Columns:
    """How many views of the last round voted for each pair, and how many there were."""
    wanted = pair_keys(ranked.pairs, n_b)
    found = positions_of(wanted, pair_keys(pool.pairs, n_b))
    votes = np.rint(pool.share[found] * pool.views)
    votes = np.where(found >= 0, votes, 0)
    return {"votes": votes.astype(np.int64), "views": np.full(len(found), pool.views)}


def _rival_columns(side: str, candidates: Candidates, best: np.ndarray, at: np.ndarray) -> Columns:
    """The rank of each partner among its row's candidates, and the best rival of the partner.

    side: the cloud that partners and rivals are in. best: (n, depth) candidates of the rows on the other side.
    """
    rows = candidates.rows_a if side == "a" else candidates.rows_b
    own = best == at[:, None]
    rank = np.argmax(own, axis=1) + 1
    listed = (at >= 0) & own.any(axis=1)
    first, second = best[:, 0], best[:, 1]
    rival = np.where(own[:, 0], second, first)
    return {
        f"rank_{side}": np.where(listed, rank, 0),
        f"rival_{side}": np.where(rival >= 0, rows[rival], -1),
        f"rival_{side}_score": _known(candidates.score[rival], rival >= 0),
    }


def _neighbour_columns(clouds: CloudPair, pairs: np.ndarray, links: np.ndarray) -> Columns:
    """The nearest links around each pair, and how near they are."""
    columns: Columns = {}
    nearest, similarity = nearest_links(clouds.a, clouds.b, pairs, links)
    for i in range(nearest.shape[1]):
        near = links[nearest[:, i]]
        name = f"near{i + 1}"
        columns[f"{name}_a"] = near[:, 0]
        columns[f"{name}_b"] = near[:, 1]
        columns[f"{name}_similarity"] = similarity[:, i]
    return columns
