"""link_many(): three or more collections linked pairwise, and reconciled into one consistent set of objects.

Pairwise links contradict each other: a with b and b with c, but a with another c. And they are silent where another
way round speaks: a with b, b with c, and nothing for a and c. Both are settled by probability. The chance that two
rows are one object begins with that of their own link, falls where a third collection k contradicts it, and rises by
every way over k:

    odds(i, j) = p/(1 − p) · Π_k (1 − (1 − c)·p(i, kᵢ)·(1 − p(kᵢ, j))) · (the same from j),   kᵢ: i's best partner in k
    P(i, j) = 1 − (1 − odds/(1 + odds)) · Π_k (1 − w·p(i, k)·p(k, j))

If i is surely kᵢ, and kᵢ not j, then i is hardly j: true pairs look like that seldom (c), false ones nearly always.
Pairs are then taken by falling P; two groups of rows become one object unless both hold a row of the same collection.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import resolve_pairs
from veclink.data.tabled import FIRST, Tabled, card
from veclink.errors import InputError, plural
from veclink.files.tables import table_ending, write_table
from veclink.linkers.linking import Source, link
from veclink.progress import ProgressListener, heard, shows_progress, tell
from veclink.stores.opening import open_collection

DETOUR = 0.7
"""w: how much a way over a third collection counts; its two links are not as independent as the product assumes."""
CONTRADICTED = 0.1
"""c: how often a true pair is contradicted by a third collection, that is, its link there was missed."""
ACCEPTED = 0.6
"""Probability, with what third collections say, from which a pair joins two rows. Origin not recorded."""
WORTH = 0.02  # pairs below this probability are not looked at

Pair = tuple[int, int]
Chances = dict[Pair, dict[int, dict[int, float]]]


@dataclass(frozen=True, eq=False)
class ManyLinks(Tabled):
    """Objects across m collections.

    Attributes
    ----------
    objects : ndarray of shape (n, m)
        Rows, −1 where an object is not in a collection; each has at least two.
    probability : ndarray of shape (n,)
        The mean of the pairs that made it.
    pairwise : dict
        The links of each two collections as they were found, by (i, j) with i < j.
    ids : tuple of m arrays or None
        The ids of each collection, None where it has none; empty where they are not known.
    """

    objects: np.ndarray
    probability: np.ndarray
    pairwise: dict[Pair, Links]
    ids: tuple[np.ndarray | None, ...] = ()

    def __len__(self) -> int:
        return len(self.objects)

    def __repr__(self) -> str:
        return f"ManyLinks({self.sentence.removesuffix('.')})"

    def pairs(self, i: int, j: int) -> np.ndarray:
        """The rows (n, 2) of collections i and j that are the same object."""
        both = self.objects[:, [i, j]]
        return both[(both >= 0).all(axis=1)]

    def columns(self) -> dict[str, Any]:
        """A row for each object: its id (or row) in the collections a, b, c, …, None where it is in none; probability.

        Beyond the 26th, collections are called c27, c28, ….
        """
        names = [chr(ord("a") + i) if i < 26 else f"c{i + 1}" for i in range(self.objects.shape[1])]
        known = self.ids or (None,) * len(names)
        listed = {}
        for name, rows, ids in zip(names, self.objects.T, known, strict=True):
            found = rows if ids is None else ids[rows]
            listed[name] = [None if row < 0 else each for row, each in zip(rows.tolist(), found.tolist(), strict=True)]
        return {**listed, "probability": self.probability}

    def save(self, path: str | Path) -> None:
        """Write the columns, .csv or .parquet, whole or not at all."""
        path = Path(path)
        table_ending(path, "objects are written as one of these")
        write_table(path, self.columns())

    @property
    def sentence(self) -> str:
        """How many objects were found, and in how many collections they are."""
        places, counts = np.unique((self.objects >= 0).sum(axis=1), return_counts=True)
        told = ", ".join(f"{count:,} in {place}" for place, count in zip(places, counts, strict=True))
        return f"{plural(len(self), 'object')} in two or more of {self.objects.shape[1]} collections: {told or 'none'}."

    def _repr_html_(self) -> str:
        columns = self.columns()
        first = islice(zip(*columns.values(), strict=True), FIRST)
        rows = [["" if value is None else value for value in row] for row in first]
        figures = [(f"{i} and {j}", repr(links)) for (i, j), links in self.pairwise.items()]
        return card(self.sentence, figures, list(columns), rows)


@shows_progress
def link_many(
    collections: Sequence[Source],
    *,
    seeds: Mapping[Pair, Any] | None = None,
    random_state: int = 0,
    progress: ProgressListener | bool | None = None,
    **options: Any,
) -> ManyLinks:
    """Link three or more collections: every two of them by `link`, then all of them by `reconcile`.

    Parameters
    ----------
    collections : sequence of arrays, Collections, paths or URLs
        Three or more.
    seeds : dict, optional
        Known pairs by the two collections they are of, {(0, 1): pairs, …}; collections without any start from nothing.
    random_state : int
        Seed of the random generator.
    progress : callable or True, optional
        Called for every two collections. True shows them.
    **options
        More arguments of `link`.
    """
    progress = heard(progress)
    if len(collections) < 3:
        raise InputError(f"{len(collections)} collections were given; link_many is for 3 or more, link for two.")
    opened = [open_collection(each, payload=False, progress=progress) for each in collections]
    known = _known_seeds(seeds or {}, opened)
    pairwise = {}
    every = list(itertools.combinations(range(len(opened)), 2))
    for step, (i, j) in enumerate(every):
        tell(progress, f"linking {i} and {j}", step=step + 1, of=len(every))
        pairwise[i, j] = link(opened[i], opened[j], seeds=known.get((i, j)), random_state=random_state, **options)
    return replace(reconcile(pairwise, len(opened)), ids=tuple(each.ids for each in opened))


def reconcile(pairwise: Mapping[Pair, Links], m: int) -> ManyLinks:
    """One consistent set of objects from the links of every two of `m` collections.

    Right after linking, the pairs that were considered but fell below the threshold count too (`Links.considered`): a
    weak link that a way over a third collection confirms is a link.
    """
    chance: Chances = {}
    for (i, j), links in pairwise.items():
        # all pairs that a run considered; none where the collections do not link
        source = links.considered if links.considered is not None and len(links) else links
        likely = source.probability >= WORTH
        rows, probable = source.pairs[likely].tolist(), source.probability[likely].tolist()
        for (row_i, row_j), probability in zip(rows, probable, strict=True):
            chance.setdefault((i, j), {}).setdefault(row_i, {})[row_j] = probability
            chance.setdefault((j, i), {}).setdefault(row_j, {})[row_i] = probability
    combined = {ends: _combined(ends, chance, m) for ends in itertools.combinations(range(m), 2)}
    listed = [
        (-probability, i, j, row_i, row_j)
        for (i, j), pairs in combined.items()
        for (row_i, row_j), probability in pairs.items()
        if probability >= ACCEPTED
    ]
    group: dict[tuple[int, int], int] = {}  # that each row of a collection is in, with at most one of each
    members: list[dict[int, int]] = []
    trust: list[list[float]] = []
    for negative, i, j, row_i, row_j in sorted(listed):
        for row in ((i, row_i), (j, row_j)):
            if row not in group:
                group[row] = len(members)
                members.append(dict([row]))
                trust.append([])
        left, right = group[i, row_i], group[j, row_j]
        if left != right:
            if members[left].keys() & members[right].keys():
                continue
            group |= dict.fromkeys(members[right].items(), left)
            members[left] |= members[right]
            trust[left] += trust[right]
            members[right] = {}
        trust[left].append(-negative)
    kept = [place for place, rows in enumerate(members) if len(rows) > 1]
    objects = np.array([[members[place].get(i, -1) for i in range(m)] for place in kept], np.int64).reshape(-1, m)
    probability = np.array([float(np.mean(trust[place])) for place in kept])
    order = np.lexsort((*objects.T[::-1], -probability))
    return ManyLinks(objects[order], probability[order], dict(pairwise))


def _combined(ends: Pair, chance: Chances, m: int) -> dict[tuple[int, int], float]:
    """P(i, j) of all pairs that a link or a way over a third collection speaks for."""
    i, j = ends
    others = [k for k in range(m) if k not in ends]
    pairs = {(row_i, row_j) for row_i, found in chance.get(ends, {}).items() for row_j in found}
    for k in others:
        onward = chance.get((k, j), {})
        for row_i, found in chance.get((i, k), {}).items():
            pairs |= {(row_i, row_j) for row_k in found for row_j in onward.get(row_k, ())}
    probability = {}
    for row_i, row_j in pairs:
        own = chance.get(ends, {}).get(row_i, {}).get(row_j, 0.0)
        doubt = 1.0
        for k in others:
            to_j = chance.get((k, j), {})
            for row_k, first in chance.get((i, k), {}).get(row_i, {}).items():
                doubt *= 1 - DETOUR * first * to_j.get(row_k, {}).get(row_j, 0.0)
            if own < 1:  # a given pair is beyond doubt
                kept = _uncontradicted(chance, k, (i, row_i), (j, row_j)) * _uncontradicted(
                    chance, k, (j, row_j), (i, row_i)
                )
                own = own * kept / (1 - own + own * kept)
        probability[row_i, row_j] = 1 - (1 - own) * doubt
    return probability


def _uncontradicted(chance: Chances, k: int, one: tuple[int, int], other: tuple[int, int]) -> float:
    """What is left of the odds that two rows are one object, given the best partner of the first in collection k."""
    partners = chance.get((one[0], k), {}).get(one[1])
    if not partners:
        return 1.0
    best = max(partners, key=lambda row: (partners[row], -row))
    agreed = chance.get((k, other[0]), {}).get(best, {}).get(other[1], 0.0)
    return 1 - (1 - CONTRADICTED) * partners[best] * (1 - agreed)


def _known_seeds(seeds: Mapping[Pair, Any], opened: Sequence[Collection]) -> dict[Pair, Any]:
    """Seeds by (i, j) with i < j."""
    known, m = {}, len(opened)
    for (i, j), pairs in seeds.items():
        if i == j or not (0 <= i < m and 0 <= j < m):
            raise InputError(f"Seeds are given for the collections {(i, j)}; there are {m}, counted from 0.")
        if (j, i) in seeds and i > j:
            raise InputError(f"Seeds are given for the collections {(i, j)} and {(j, i)}; give them once.")
        known[min(i, j), max(i, j)] = pairs if i < j else _turned(pairs, opened[i], opened[j])
    return known


def _turned(pairs: Any, a: Collection, b: Collection) -> list[tuple[Any, Any]]:
    """Known pairs of a and b as pairs of b and a, by id where there are ids."""
    rows_a, rows_b = resolve_pairs(pairs, a, b, unique=False).T
    names = ((rows if side.ids is None else side.ids[rows]).tolist() for rows, side in ((rows_b, b), (rows_a, a)))
    return list(zip(*names, strict=True))
