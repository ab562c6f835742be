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
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.data.pairs import columns_of_pairs
from veclink.data.words import FIRST, Tabled, card
from veclink.errors import InputError, plural
from veclink.files.tables import write_table
from veclink.linkers.linking import Source, link
from veclink.progress import ProgressListener, heard, shows_progress, tell
from veclink.stores.opening import open_collection

DETOUR = 0.7
"""w: how much a way over a third collection counts; its two links are not as independent as the product assumes."""
CONTRADICTED = 0.1
"""c: how often a true pair is contradicted by a third collection, that is, its link there was missed."""
ACCEPTED = 0.6
"""Probability, with what third collections say, from which a pair joins two rows. Origin not recorded."""

Pair = tuple[int, int]
Row = tuple[int, int]
"""A collection and a row of it."""
Near = dict[Row, dict[Row, float]]
"""The partners of each row in all other collections, and how probable they are."""


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
    known: dict[Pair, Any] = {}
    for (i, j), pairs in (seeds or {}).items():
        ends = min(i, j), max(i, j)
        if i == j or ends[0] < 0 or ends[1] >= len(opened) or ends in known:
            raise InputError(
                f"Seeds are given for the collections {(i, j)}; there are {len(opened)}, counted from 0, and each two "
                "have seeds once."
            )
        known[ends] = pairs if i < j else columns_of_pairs(pairs, "seeds")[::-1]
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
    near: Near = defaultdict(dict)
    for (i, j), links in pairwise.items():
        # all pairs that a run considered; none where the collections do not link
        source = links.considered if len(links) else links
        likely = source.probability >= 0.02
        for (row_i, row_j), chance in zip(
            source.pairs[likely].tolist(), source.probability[likely].tolist(), strict=True
        ):
            near[i, row_i][j, row_j] = near[j, row_j][i, row_i] = chance
    listed = []
    for one, partners in near.items():
        for other in set(partners).union(*(near[via] for via in partners)):
            if other[0] > one[0] and (chance := _probability(near, one, other, m)) >= ACCEPTED:
                listed.append((-chance, one[0], other[0], one[1], other[1]))
    # of each row the group that it is in: a row of each collection at most, and the probabilities that joined them
    groups: dict[Row, tuple[dict[int, int], list[float]]] = {}
    for negative, i, j, row_i, row_j in sorted(listed):
        left = groups.setdefault((i, row_i), ({i: row_i}, []))
        right = groups.setdefault((j, row_j), ({j: row_j}, []))
        if left is not right:
            if left[0].keys() & right[0].keys():
                continue
            left[0].update(right[0])
            left[1].extend(right[1])
            groups |= dict.fromkeys(right[0].items(), left)
        left[1].append(-negative)
    kept = [group for group in {id(each): each for each in groups.values()}.values() if group[1]]
    objects = np.array([[rows.get(i, -1) for i in range(m)] for rows, _ in kept], np.int64).reshape(-1, m)
    probability = np.array([float(np.mean(joined_by)) for _, joined_by in kept])
    order = np.lexsort((*objects.T[::-1], -probability))
    return ManyLinks(objects[order], probability[order], dict(pairwise))


def _probability(near: Near, one: Row, other: Row, m: int) -> float:
    """P that two rows are one object, by their own link, what contradicts it, and the ways over a third collection."""
    own, doubt = near[one].get(other, 0.0), 1.0
    for via, chance in near[one].items():
        doubt *= 1 - DETOUR * chance * near[via].get(other, 0.0)
    for k in range(m):
        if own < 1 and k not in (one[0], other[0]):  # a given pair is beyond doubt
            left = _uncontradicted(near, k, one, other) * _uncontradicted(near, k, other, one)
            own = own * left / (1 - own + own * left)
    return 1 - (1 - own) * doubt


def _uncontradicted(near: Near, k: int, one: Row, other: Row) -> float:
    """What is left of the odds that two rows are one object, given the best partner of the first in collection k."""
    partners = [(chance, -row) for (place, row), chance in near[one].items() if place == k]
    if not partners:
        return 1.0
    chance, row = max(partners)
    return 1 - (1 - CONTRADICTED) * chance * (1 - near[k, -row].get(other, 0.0))
