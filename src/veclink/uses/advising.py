"""advise(): change the model of a collection, or not? Keep it, translate queries or documents, or embed again.

A is the collection of the old model, B holds some of its objects by the new one, and links say which. What each way
keeps of the new model's neighbours follows from the links alone, each held out of the maps that it is measured with.
How well each way searches follows from queries whose answers are known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.errors import InputError
from veclink.geometry.clouds import prepare
from veclink.progress import Progress, ProgressListener, heard, shows_progress
from veclink.stores.opening import open_collection
from veclink.uses.advice.compared import Foretold, compared
from veclink.uses.advice.search import gains, with_search
from veclink.uses.advice.ways import WAYS, Way, choice
from veclink.uses.linked_pairs import GivenLinks, pairs_of
from veclink.uses.maps import DEFAULT_MAP, LEAST_LINKS, Paired
from veclink.uses.searching import Asked
from veclink.uses.translating import Source, check_map


@dataclass(frozen=True)
class Advice:
    """What to do, why, and what was forecast of each way."""

    best: str
    why: str
    ways: tuple[Way, ...]
    n_links: int
    share: float
    foretold: Foretold | None = None

    def sentence(self) -> str:
        """The advice for a person."""
        said = "Don't change the model" if self.best == "keep" else WAYS[self.best].capitalize()
        return f"{said}: {self.why}"


@shows_progress
def advise(
    a: Source,
    b: Source,
    links: GivenLinks,
    *,
    asked: Asked | None = None,
    without_old: bool = False,
    map: str = DEFAULT_MAP,
    random_state: int = 0,
    progress: ProgressListener | bool | None = None,
) -> Advice:
    """Whether to keep the old model, translate the queries or the documents, or embed all documents again.

    Parameters
    ----------
    a, b : array of shape (n, d), Collection, path or URL
        All documents by the old model, and some of them by the new one.
    links : Links, pairs of shape (m, 2), or path
        Which of A are in B, at least 10.
    asked : Asked, optional
        Queries by both models, and the rows of A that answer them. Without it nobody can know which of two good models
        searches better, and nothing is gained by a change that is certain; an old model that is far weaker is seen.
    without_old : bool
        The old model cannot be asked any more, so that A cannot be kept as it is.
    map : str
        The kind of map that translates; "auto" takes the best on held-back links, for each direction.
    random_state : int
        The same one gives the same advice.
    progress : callable or True, optional
        Hears of each step; True shows them.
    """
    progress = heard(progress)
    check_map(map)
    paired = paired_links(a, b, links)
    if asked is not None:
        _check_queries(asked, paired)
    _tell(progress, 1, "comparing neighbours")
    kept, foretold = compared(paired, map, random_state)
    ways = tuple(Way(name, kept[name]) for name in WAYS)
    if asked is not None:
        _tell(progress, 2, "asking the queries")
        ways = with_search(ways, dict(gains(paired, asked, map, random_state)))
    best, why = choice(ways, without_old, foretold)
    return Advice(best, why, ways, len(paired), len(paired) / max(len(paired.a), 1), foretold)


def _check_queries(asked: Asked, paired: Paired) -> None:
    """Refuse queries that are of another model than the documents, or that are not the same ones."""
    for which, queries, cloud in (("old", asked.by_a, paired.a), ("new", asked.by_b, paired.b)):
        if queries.shape[1] != cloud.shape[1]:
            raise InputError(
                f"The queries by the {which} model have {queries.shape[1]:,} numbers, and its documents "
                f"{cloud.shape[1]:,}; check which model made which."
            )
    if len(asked.by_a) != len(asked.by_b):
        raise InputError(
            f"There are {len(asked.by_a):,} queries by the old model and {len(asked.by_b):,} by the new one; give both "
            "the same ones, in one order."
        )


def paired_links(a: Source, b: Source, links: GivenLinks) -> Paired:
    """The links between two collections whose vectors have a direction."""
    left, right = open_collection(a, payload=False), open_collection(b, payload=False)
    pairs, probability = pairs_of(links, left, right, by_id=False)
    cloud_a = prepare(left, centre=False, skip_zero=True, side="A")
    cloud_b = prepare(right, centre=False, skip_zero=True, side="B")
    usable = np.isin(pairs[:, 0], cloud_a.rows) & np.isin(pairs[:, 1], cloud_b.rows)
    rows = np.column_stack([cloud_a.positions(pairs[usable, 0]), cloud_b.positions(pairs[usable, 1])])
    if len(rows) < LEAST_LINKS:
        raise InputError(
            f"There are {len(rows):,} links; advice needs at least {LEAST_LINKS}. Link again with more known pairs."
        )
    return Paired(cloud_a, cloud_b, rows, probability[usable])


def _tell(progress: ProgressListener | None, step: int, stage: str) -> None:
    if progress is not None:
        progress(Progress(step, 2, 0, None, stage))
