"""Span linking put together from its parts, so that one of them can be left out or set otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.backends.cloud_pair import CloudPair, Projections
from veclink.confidence.calibration import best_threshold, calibrate
from veclink.confidence.candidates import crossfit
from veclink.data.collection import Collection
from veclink.data.links import Links, Summary
from veclink.data.pairs import one_to_one
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import RIDGE, distances, kernel_hash, kernel_width
from veclink.linkers.span.growing import DEFAULT_SCHEDULE, GrowthSchedule, Start, grow
from veclink.linkers.span.linker import FEW, NEIGHBOURS, Listed, _surroundings, _with_given
from veclink.matching import match
from veclink_bench.experiments.trials import Case

WIDTH_SAMPLE = 500


@dataclass(frozen=True)
class Parts:
    """Which parts are used. `signature`: "span" or "kernel", the paper's; `cut`: whether improbable links are cut off;
    `calibrated`: whether candidates are scored by maps without them, and calibrated at all."""

    centred: bool = True
    signature: str = "span"
    ridge: float = RIDGE
    k: int = NEIGHBOURS
    views: int = DEFAULT_SCHEDULE.views
    rounds: int = DEFAULT_SCHEDULE.rounds
    votes: float = DEFAULT_SCHEDULE.votes
    calibrated: bool = True
    cut: bool = True

    def pace(self) -> GrowthSchedule:
        """The pace at which the pool grows."""
        return GrowthSchedule(rounds=self.rounds, views=self.views, votes=self.votes)


class KernelField(CloudPair):
    """Clouds that propose by the paper's kernel hash instead of the span signature."""

    def span_projections(self, left: np.ndarray, right: np.ndarray) -> Projections:
        """The anchors themselves: a kernel hash has no axes."""
        return left, right

    def propose(self, axes: Projections) -> tuple[np.ndarray, np.ndarray]:
        """Mutual csls neighbours by the kernel hashes from paired anchor vectors, and their csls."""
        hashes = []
        for rows, n, anchors in ((self.a, self.n_a, axes[0]), (self.b, self.n_b, axes[1])):
            r = distances(rows.block(0, n), anchors)
            step = max(1, len(r) // WIDTH_SAMPLE)
            hashes.append(kernel_hash(r, kernel_width(r[::step][:WIDTH_SAMPLE])))
        return match(*hashes, k=self.k, memory=self.memory, device=self.device).mutual()


def linked_by_parts(case: Case, parts: Parts, *, random_state: int, device: str) -> Links:
    """The links of a case from its seeds by these parts; only the given seeds are tried as a start."""
    rng = np.random.default_rng(random_state)
    clouds = [prepare(Collection.from_array(side), centre=parts.centred).dense() for side in (case.a, case.b)]
    clouds = (CloudPair if parts.signature == "span" else KernelField)(
        *clouds, ridge=parts.ridge, k=parts.k, device=device
    )
    seeds = case.start["seeds"]
    found = grow(clouds, Start(seeds), rng, pace=parts.pace())
    pool = _with_given(found.pairs, seeds)
    if not parts.calibrated or len(pool) < FEW:
        every = np.concatenate([clouds.propose(clouds.span_projections(*clouds.vectors(pool)))[0], pool])
        every = every[np.sort(np.unique(every, axis=0, return_index=True)[1])]
        is_seed = np.isin(every @ [len(case.b), 1], seeds @ [len(case.b), 1])
        every = every[one_to_one(every, is_seed.astype(float))]
        return _links(case, every, np.full(len(every), 0.5))
    candidates = crossfit(clouds, pool, rng)
    calibrated = calibrate(candidates, _surroundings(clouds, candidates, pool, rng), k=parts.k)
    listed = Listed.of(candidates, calibrated, seeds, True)
    kept = best_threshold(listed.probability, calibrated.overlap) if parts.cut else len(listed.pairs)
    return _links(case, listed.pairs[:kept], listed.probability[:kept])


def _links(case: Case, pairs: np.ndarray, probability: np.ndarray) -> Links:
    return Links(pairs, probability, Summary("span", len(case.a), len(case.b), len(pairs)))
