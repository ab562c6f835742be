"""How well a kind of map takes links to their partners: by cross-fitting, and against what wrong links would give."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from veclink.files.memory import forget_pages
from veclink.geometry.nearest import EXCLUDED, largest
from veclink.geometry.signatures import unit_rows
from veclink.uses.maps import Moments, Paired, fit_map

FOLDS = 3  # of the links, each held back once
HELD_BACK = 300  # links of a fold that quality is measured on
AMONG = 10_000  # rows of B that a held-back link's partner is looked for in
NEIGHBOURS = 10  # of a translated row, of which so many should be those of the true one
CLEARLY = 3.0  # standard errors above chance
SCATTERED = 500  # rows from all over a mapped file at a time: each may bring a megabyte around it into memory


@dataclass(frozen=True)
class Quality:
    """How well a map takes held-back links to their partners: each was left out of the map that it is measured with.

    cosine: mean cosine of a translated vector and its partner. partner: how often the partner is the nearest of `among`
    rows of B. neighbours: how many of the partner's ten nearest rows are among the translated vector's ten nearest.
    held_back: how many links were measured. A wrong link counts as a failure of the map, so these figures are lower
    than the truth where links are wrong. chance: what `neighbours` is with the partners exchanged among the held-back
    links; at_chance: whether it is not clearly (by three standard errors) more than that.
    """

    kind: str
    cosine: float
    partner: float
    neighbours: float
    held_back: int
    among: int
    chance: float = 0.0
    at_chance: bool = False

    def sentence(self) -> str:
        """The same for a person."""
        return (
            f"On {self.held_back:,} links held back, the map {self.kind} has a mean cosine of {self.cosine:.2f} to the "
            f"linked vector and {self.neighbours:.0%} of its ten nearest neighbours."
        )

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Quality:
        """The quality that `asdict` gave this of."""
        known = {each.name: told[each.name] for each in fields(cls) if each.name in told}
        strange = [name for name, value in known.items() if name != "kind" and not isinstance(value, (int, float))]
        if strange:
            raise ValueError(f"{strange[0]} is no number")
        return cls(**known)


def crossfitted(kind: str, paired: Paired, fold: np.ndarray, parts: list[Moments], random_state: int) -> Quality:
    """The quality of a kind of map, each link being measured with a map fitted without its fold."""
    rng = np.random.default_rng([random_state, len(paired)])
    measured = []
    rows = np.sort(rng.permutation(len(paired.b))[:AMONG])
    blocks = []
    for start in range(0, len(rows), SCATTERED):
        blocks.append(paired.b.take(rows[start : start + SCATTERED]))
        forget_pages(paired.b.collection.vectors)
    others = np.concatenate(blocks)
    for each in range(FOLDS):
        rest = [part for place, part in enumerate(parts) if place != each]
        fitted = fit_map(kind, paired.only(fold != each), rest, random_state=random_state)
        out = np.flatnonzero(fold == each)
        x, y = paired.only(rng.permutation(out)[:HELD_BACK]).vectors()
        moved = unit_rows(fitted.apply(x))
        of_others = _agreement(moved, np.roll(y, 1, axis=0), others)[:, 2:]  # what wrong partners would give
        measured.append(np.column_stack([_agreement(moved, y, others), of_others]))
        for cloud in (paired.a, paired.b):
            forget_pages(cloud.collection.vectors)
    every = np.concatenate(measured)
    cosine, partner, neighbours, chance = np.round(every.mean(axis=0), 4).tolist()
    above = every[:, 2] - every[:, 3]
    at_chance = bool(above.mean() <= CLEARLY * above.std() / np.sqrt(len(above)))
    return Quality(kind, cosine, partner, neighbours, len(every), len(others), chance, at_chance)


def _agreement(moved: np.ndarray, true: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n, 3): cosine to the partner, whether no row is nearer, and the share of ten nearest rows that both have."""
    cosine = np.einsum("ij,ij->i", moved, true)
    near, near_true = moved @ others.T, true @ others.T
    itself = near_true > 1 - 1e-5  # the partner, where it is one of the rows, is no neighbour of itself
    near_true[itself] = EXCLUDED
    near[itself] = EXCLUDED
    depth = min(NEIGHBOURS, others.shape[0] - 1)
    tops = (largest(each, depth) for each in (near, near_true))
    shared = [len(np.intersect1d(mine, theirs)) / depth for mine, theirs in zip(*tops, strict=True)]
    return np.column_stack([cosine, near.max(axis=1) < cosine, shared])
