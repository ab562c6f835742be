"""What two models have in common, from links alone: neighbours that each way keeps, and what each model foretells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.geometry.nearest import EXCLUDED, largest
from veclink.geometry.signatures import unit_rows
from veclink.uses.maps import Moments, Paired, fit_map
from veclink.uses.maps.quality import FOLDS, NEIGHBOURS
from veclink.uses.translating import fit_translator

MOST_LINKS = 4_000  # linked objects that neighbours are compared among
WEAKER = 0.2
"""How much less of the new model the old one has to foretell than the other way round to be called the weaker one.

On SciFact between −0.05 and 0.11 for pairs of contrastive models, and 0.31 and more for GloVe, with 30 and 10 % linked.
"""


@dataclass(frozen=True)
class Foretold:
    """How much of what each model tells apart the other one foretells, from links held out of the maps.

    The share of the variance: 1 − Σ|ŷ − y|² / Σ|y − ȳ|². A model that the other one foretells, and that does not
    foretell the other one, knows less.
    """

    new_by_old: float
    old_by_new: float

    @property
    def old_is_weaker(self) -> bool:
        """Whether the old model is clearly the weaker one."""
        return self.old_by_new - self.new_by_old > WEAKER


def compared(paired: Paired, map: str, random_state: int = 0) -> tuple[dict[str, float], Foretold]:
    """What two models have in common, each link held out in turn.

    The share of the new model's ten nearest linked documents that each way finds, and what each model foretells of the
    other one.
    """
    rng = np.random.default_rng(random_state)
    share = len(paired) / len(paired.a)
    some = paired.only(np.sort(rng.permutation(len(paired))[:MOST_LINKS]))
    x, y = some.vectors()
    fold = rng.permutation(len(some)) % FOLDS
    into_b = _translated(some, fold, map, random_state)
    into_a = _translated(some.turned(), fold, map, random_state)
    native = rng.random(len(some)) < share  # documents that B has are not translated
    found = {
        "keep": _agreement(y, y, x, x),
        "queries": _agreement(y, y, into_a, x),
        "documents": _agreement(y, y, y, np.where(native[:, None], y, into_b)),
    }
    return {**found, "embed": 1.0}, Foretold(_explained(y, into_b), _explained(x, into_a))


def _translated(paired: Paired, fold: np.ndarray, map: str, random_state: int) -> np.ndarray:
    """The rows of A (n, d2) in B's space, those of each fold (n,) by a map that was fitted to the others."""
    kind = fit_translator(paired, map, random_state=random_state).kind if map == "auto" else map
    parts = [Moments.of(paired.only(fold == each)) for each in range(FOLDS)]
    moved = np.empty((len(paired), paired.b.shape[1]), np.float32)
    for each in range(FOLDS):
        rest = [part for place, part in enumerate(parts) if place != each]
        fitted = fit_map(kind, paired.only(fold != each), rest, random_state=random_state)
        rows, _ = paired.only(fold == each).vectors()
        moved[fold == each] = unit_rows(fitted.apply(rows))
    return moved


def _explained(true: np.ndarray, forecast: np.ndarray) -> float:
    """The share of the variance of rows (n, d) that a forecast of them has."""
    missed = float(np.square(forecast - true).sum())
    spread = float(np.square(true - true.mean(axis=0)).sum())
    return round(1 - missed / max(spread, 1e-12), 4)


def _agreement(true_queries: np.ndarray, true: np.ndarray, queries: np.ndarray, documents: np.ndarray) -> float:
    """The mean share of the ten nearest rows that two searches have in common, a row itself left out."""
    depth = min(NEIGHBOURS, len(true) - 1)
    shared = 0
    for start in range(0, len(true), 512):
        here = slice(start, min(start + 512, len(true)))
        tops = []
        for asked, rows in ((true_queries, true), (queries, documents)):
            near = asked[here] @ rows.T
            near[np.arange(near.shape[0]), np.arange(here.start, here.stop)] = EXCLUDED
            tops.append(largest(near, depth))
        shared += sum(len(np.intersect1d(*pair)) for pair in zip(*tops, strict=True))
    return round(shared / (depth * len(true)), 4)
