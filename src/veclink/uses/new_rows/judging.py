"""Judging: how probable the pairs of new rows are, by the evidence and the model of the fit.

A new row stands among the rows that are known: its partner may have a better partner already, or may leave one for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veclink.backends.cloud_pair import CloudPair
from veclink.confidence.candidates import Candidates, scored_candidates
from veclink.confidence.constants import MUTUAL_SHARE
from veclink.confidence.evidence import (
    evidence_columns,
    feature_matrix,
    model_evidence,
    neighbourhood_evidence,
    neighbourhood_features,
    score_evidence,
)
from veclink.confidence.features import candidate_pairs
from veclink.confidence.logistic import logit, sigmoid
from veclink.errors import InputError
from veclink.geometry.clouds import Cloud
from veclink.uses.new_rows.knowledge import Knowledge
from veclink.uses.new_rows.learning import crowding
from veclink.uses.new_rows.searching import Found

PRIOR_ROWS = 10
"""Rows that the share of shared rows of the fit counts for, against the new rows of a batch.

30 was tried first and held the estimate back: of 100 new rows, 70 shared, 59 seemed to be (reddit, minilm–mpnet).
"""
ROUNDS = 100  # of counting how many new rows have a partner, at most
CONVERGED = 1e-4  # change of a round from which no further one is made


@dataclass(frozen=True, eq=False)
class Judged:
    """The pairs of new rows that are mutual nearest neighbours, the surest first.
    """

    rows: np.ndarray  # (p,) new rows
    places: np.ndarray  # (p,) places among the known rows of the other side
    probability: np.ndarray  # (p,) float64
    score: np.ndarray  # (p,) float32
    lead: np.ndarray  # (p,) how far it scores above the best other partner of its row of the other side
    shared: float  # estimated share of the new rows that have a partner
    evidence: dict[str, np.ndarray]  # columns (p,) that explain the pairs
    standing: Standing

    def only(self, chosen: np.ndarray) -> Judged:
        """Some of the pairs. chosen: (p,) bool."""
        return replace(
            self,
            rows=self.rows[chosen],
            places=self.places[chosen],
            probability=self.probability[chosen],
            score=self.score[chosen],
            lead=self.lead[chosen],
            evidence={name: column[chosen] for name, column in self.evidence.items()},
        )


@dataclass(frozen=True, eq=False)
class Standing:
    """New rows among known ones."""

    candidates: Candidates  # of the new rows, and of the known rows that compete with them
    own: np.ndarray  # (r,) known rows of the new rows' side, which follow the m new rows in the candidates
    others: np.ndarray  # (s,) known rows of the other side in the candidates
    new: int  # how many rows are new
    lift: np.ndarray  # (s,) by how much the density of each of the others rises by the new rows


def judge(knowledge: Knowledge, side: int, new: np.ndarray, found: Found, other: Cloud) -> Judged:
    """Probabilities of the pairs that were found for new rows (m, d) of one side, centred and of unit length."""
    standing = stand(knowledge, side, found, len(new))
    candidates = standing.candidates
    own_rows = candidates.rows_b if side else candidates.rows_a
    other_rows = candidates.rows_a if side else candidates.rows_b
    best_of_other = candidates.best_a if side else candidates.best_b
    mutual = candidates.mutual()
    mutual = mutual[own_rows[mutual] < len(new)]
    clouds, pool = _clouds(knowledge, side, new, standing, other)
    rng = np.random.default_rng(0)  # nothing is drawn: crowding is known
    no_decoys = np.empty(0, np.int64)
    near = neighbourhood_features(clouds, candidates, pool, rng, no_decoys)
    model = knowledge.model
    if tuple(entry.name for entry in model_evidence()) != model.features:
        raise InputError("The linker was fitted by a version that looked at other evidence; fit it again.")
    features = feature_matrix(candidate_pairs(candidates, near, mutual))
    log_odds = model.base + ((features - model.centre) / model.scale) @ model.weights
    probability, shared = with_prior(log_odds, knowledge.shared_share(side), len(new))
    order = np.argsort(-probability, kind="stable")
    mutual = mutual[order]
    return Judged(
        rows=own_rows[mutual],
        places=standing.others[other_rows[mutual]],
        probability=probability[order],
        score=candidates.score[mutual],
        lead=candidates.score[mutual] - candidates.scores(best_of_other[other_rows[mutual], 1]),
        shared=shared,
        evidence=evidence_columns((*score_evidence(), *neighbourhood_evidence()), candidates, near, mutual),
        standing=standing,
    )


def with_prior(log_odds: np.ndarray, share: float, n: int) -> tuple[np.ndarray, float]:
    """Probabilities (p,) of the pairs of n new rows, and the share of those rows that has a partner.

    The log odds hold for rows of which `share` have a partner. How many of the new ones have is estimated from the
    batch (expectation–maximisation), with `share` counting for PRIOR_ROWS rows: of one row it is `share`, of many it
    is what they say.
    """
    shared = share
    probability = sigmoid(log_odds)
    for _ in range(ROUNDS):
        expected = probability.sum() / MUTUAL_SHARE + PRIOR_ROWS * share
        fresh = float(np.clip(expected / (n + PRIOR_ROWS), 0.02, 0.98))
        moved = abs(fresh - shared)
        shared = fresh
        probability = sigmoid(log_odds + float(logit(shared)) - float(logit(share)))
        if moved < CONVERGED:
            break
    return probability, shared


def stand(knowledge: Knowledge, side: int, found: Found, n_new: int) -> Standing:
    """The pairs found for new rows, and those of the known rows that compete with them, as candidates."""
    known = knowledge.sides[1 - side]
    others, at = np.unique(found.places, return_inverse=True)
    # by how much the densities of the others rise by new rows that are nearer than their nearest were: (s, f)
    lift = np.zeros((len(others), found.cosine.shape[1]), np.float32)
    np.add.at(lift, at, np.maximum(found.cosine - known.density[others][at], 0) / knowledge.k)
    weights = _free_maps(known.fold[found.places], found.cosine.shape[1])
    density = known.density[found.places] + lift[at]
    csls = 2 * found.cosine - found.density[found.rows] - density
    score = (weights * csls).sum(axis=1) / weights.sum(axis=1)
    free = _free_maps(known.fold[others], lift.shape[1])
    lifted = (lift * free).sum(axis=1) / free.sum(axis=1)
    rivals, rival_scores = known.rivals[others], known.rival_scores[others]
    there = rivals >= 0
    own, own_at = np.unique(rivals[there], return_inverse=True)
    old_at = np.nonzero(there)[0]
    old_score = rival_scores[there] - lifted[old_at]
    rows = np.concatenate([found.rows, n_new + own_at])
    other_rows = np.concatenate([at, old_at])
    scores = np.concatenate([score, old_score]).astype(np.float32)
    own_density = np.concatenate([found.density.mean(axis=1), knowledge.sides[side].density[own].mean(axis=1)])
    other_density = known.density[others].mean(axis=1) + lifted
    if side:
        rows, other_rows, own_density, other_density = other_rows, rows, other_density, own_density
    order = np.lexsort((other_rows, rows))
    counts, densities = _Counts(len(own_density), len(other_density)), [(own_density, other_density)]
    candidates = scored_candidates(counts, rows[order], other_rows[order], scores[order], densities)
    return Standing(candidates, own.astype(np.int64), others, n_new, lifted.astype(np.float32))


class _Counts(CloudPair):
    """So many rows, of which nothing else is asked."""

    def __init__(self, n_a: int, n_b: int) -> None:
        self.n_a, self.n_b = n_a, n_b


class _NewClouds(CloudPair):
    """The new rows and the links around them as two small clouds; how crowded their places are is known."""

    def __init__(self, a: np.ndarray, b: np.ndarray, crowding: tuple[np.ndarray, np.ndarray], k: int) -> None:
        super().__init__(a, b, k=k)
        self.crowding = crowding

    def own_density(self, side: str, rng: np.random.Generator) -> np.ndarray:
        """What was measured in the whole clouds."""
        return self.crowding[0 if side == "a" else 1]


def _clouds(
    knowledge: Knowledge, side: int, new: np.ndarray, standing: Standing, other: Cloud
) -> tuple[_NewClouds, np.ndarray]:
    """Clouds of the candidates' rows followed by those of the nearby links, and the links as pairs of their rows."""
    nearby = knowledge.nearby
    known, others = knowledge.sides[side], knowledge.sides[1 - side]
    crowded = (crowding(new, known.backdrop) - known.crowding_scale[0]) / known.crowding_scale[1]
    own_rows, own_places = _joined(standing.own, nearby.rows[:, side])
    other_rows, other_places = _joined(standing.others, nearby.rows[:, 1 - side])
    # Known rivals have no vector here: nothing of their neighbourhoods is looked at.
    own_vectors = np.zeros((len(new) + len(own_rows), new.shape[1]), np.float32)
    own_vectors[: len(new)] = new
    own_vectors[len(new) + own_places] = nearby.vectors(side)
    other_vectors = np.empty((len(other_rows), other.shape[1]), np.float32)
    other_vectors[other_places] = nearby.vectors(1 - side)
    other_vectors[: len(standing.others)] = other.take(standing.others)
    vectors = [own_vectors, other_vectors]
    places = [np.concatenate([crowded, known.crowding[own_rows]]), others.crowding[other_rows]]
    pool = [len(new) + own_places, other_places]
    if side:
        vectors, places, pool = vectors[::-1], places[::-1], pool[::-1]
    clouds = _NewClouds(vectors[0], vectors[1], (places[0], places[1]), knowledge.k)
    return clouds, np.column_stack(pool)


def _joined(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a first list (n,), ascending, then the others of a second (m,); and where the second ones are."""
    place = np.minimum(np.searchsorted(first, second), max(len(first) - 1, 0))
    known = (first[place] == second) if len(first) else np.zeros(len(second), bool)
    position = np.where(known, place, len(first) + np.cumsum(~known) - 1)
    return np.concatenate([first, second[~known]]), position


def _free_maps(fold: np.ndarray, count: int) -> np.ndarray:
    """(n, count) of 0 and 1: the maps that rows of these folds (n,) had no part in."""
    return ((fold[:, None] == np.arange(count)) | (fold[:, None] < 0)).astype(np.float32)
