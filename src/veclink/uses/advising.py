"""advise(): change the model of a collection, or not? Keep it, translate queries or documents, or embed again.

A is the collection of the old model, B holds some of its objects by the new one, and links say which. What each way
keeps of the new model's neighbours follows from the links alone, each held out of the maps that it is measured with.
How well each way searches follows from queries whose answers are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from veclink.data.collection import Collection
from veclink.data.pairs import resolve_pairs
from veclink.data.words import Told
from veclink.errors import InputError, named
from veclink.files.tables import read_columns, readable
from veclink.geometry.arrays import tiles
from veclink.geometry.nearest import EXCLUDED, largest
from veclink.geometry.signatures import unit_rows
from veclink.progress import ProgressListener, heard, shows_progress, tell
from veclink.uses.linked_pairs import GivenLinks
from veclink.uses.maps import DEFAULT_MAP, Moments, Paired
from veclink.uses.merging import DEFAULT_SURE
from veclink.uses.translating import (
    FOLDS,
    Source,
    check_map,
    crossfitted,
    fit_translator,
    paired_links,
    shared_neighbours,
)

WAYS = {
    "keep": "keep the old model",
    "queries": "translate the queries",
    "documents": "translate the documents",
    "embed": "embed all documents again",
}
"""The ways, the cheapest first."""
Answers = Sequence[Mapping[int, float]]
"""For each query the rows of the documents that answer it, with their grades."""
Documents = Callable[[int, int], np.ndarray]
"""Gives the unit vectors of documents start…stop−1."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries by both models, row i of both being the same, and the documents of A that answer them."""

    by_a: np.ndarray
    by_b: np.ndarray
    answers: Answers


@dataclass(frozen=True)
class Way:
    """One way, and what is forecast of it."""

    name: str  # one of WAYS
    neighbours: float  # the share of the new model's ten nearest neighbours that it keeps
    ndcg: float | None = None  # of the queries, on all documents of A; a forecast for "embed"; None without queries
    error: float | None = None  # the standard error of the difference to "keep"


@dataclass(frozen=True)
class Foretold:
    """How much of what each model tells apart the other one foretells, from links held out of the maps.

    The share of the variance: 1 − Σ|ŷ − y|² / Σ|y − ȳ|². A model that the other one foretells, and that does not
    foretell the other one, knows less.
    """

    new_by_old: float
    old_by_new: float


@dataclass(frozen=True)
class Advice(Told):
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

    headline = property(sentence)  # type: ignore[assignment]

    def figures(self) -> list[tuple[str, str]]:
        """What each way keeps of the new model's ten nearest neighbours, and how it searches, the cheapest first."""
        found = []
        for way in self.ways:
            told = f"keeps {100 * way.neighbours:.0f} of 100 neighbours by the new model"
            if way.ndcg is not None:
                told += f", NDCG@10 {100 * way.ndcg:.1f}" + " (forecast)" * (way.name == "embed")
            found.append((WAYS[way.name], told))
        return [*found, ("Measured on", f"{self.n_links:,} links, each held out once; {self.share:.0%} of A")]


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
    a, b : array of shape (n, d), frame, Collection, path or URL
        All documents by the old model, and some of them by the new one.
    links : Links, pairs of shape (m, 2), or path
        Which of A are in B, at least 10.
    asked : Asked, optional
        Queries by both models, and the rows of A that answer them. Without them, vectors alone cannot tell which of two
        good models searches better, only that the old one is far weaker.
    without_old : bool
        The old model is not available any more, so A cannot be kept as it is.
    map : str
        The kind of map that translates; "auto" takes the best on held-back links, for each direction.
    random_state : int
        Seed of the random generator.
    progress : callable or True, optional
        Called with every step. True shows them.
    """
    progress = heard(progress)
    check_map(map)
    paired = paired_links(links, a, b)
    if asked is not None:
        for which, queries, cloud in (("old", asked.by_a, paired.a), ("new", asked.by_b, paired.b)):
            if queries.shape[1] != cloud.shape[1]:
                raise InputError(
                    f"The queries by the {which} model have {queries.shape[1]:,} numbers, and its documents "
                    f"{cloud.shape[1]:,}; check which model made which."
                )
        if len(asked.by_a) != len(asked.by_b):
            raise InputError(
                f"There are {len(asked.by_a):,} queries by the old model and {len(asked.by_b):,} by the new one; give "
                "both the same ones, in one order."
            )
    tell(progress, "comparing neighbours", step=1, of=2)
    kept, foretold = compared(paired, map, random_state)
    ways = tuple(Way(name, kept[name]) for name in WAYS)
    if asked is not None:
        tell(progress, "asking the queries", step=2, of=2)
        ways = with_search(ways, dict(gains(paired, asked, map, random_state)))
    best, why = choice(ways, without_old, foretold)
    return Advice(best, why, ways, len(paired), len(paired) / max(len(paired.a), 1), foretold)


def with_search(ways: tuple[Way, ...], gains: dict[str, np.ndarray]) -> tuple[Way, ...]:
    """The ways with NDCG@10 of the queries, and how sure each difference to keeping the model is."""
    answered = ~np.isnan(gains["keep"])
    found = []
    for way in ways:
        if way.name == "embed":  # what is gained among the linked documents, by the queries that these answer
            change = (gains["new linked"] - gains["old linked"])[~np.isnan(gains["old linked"])]
            forecast = float(change.mean()) if len(change) > 1 else 0.0
            ndcg_now = min(float(gains["keep"][answered].mean()) + forecast, 1.0)
        else:
            change = (gains[way.name] - gains["keep"])[answered]
            ndcg_now = float(gains[way.name][answered].mean())
        error = float(change.std(ddof=1) / np.sqrt(len(change))) if len(change) > 1 else float("inf")
        found.append(replace(way, ndcg=round(ndcg_now, 4), error=round(error, 4)))
    return tuple(found)


def gains(paired: Paired, asked: Asked, map: str, random_state: int) -> Iterator[tuple[str, np.ndarray]]:
    """NDCG@10 of each query (q,) by each way, and by both models among linked documents alone."""
    old, n = paired.a, len(paired.a)
    place = np.full(len(old.collection), -1)
    place[old.rows] = np.arange(n)
    answers = [{int(place[row]): grade for row, grade in each.items() if place[row] >= 0} for each in asked.answers]
    yield "keep", ndcg(asked.by_a, old.block, n, answers)
    back = fit_translator(paired.turned(), map, check=False, random_state=random_state)
    yield "queries", ndcg(back.transform(asked.by_b), old.block, n, answers)
    onward = fit_translator(paired, map, check=False, random_state=random_state)
    sure = paired.only(paired.weight >= DEFAULT_SURE)
    partner = np.full(n, -1)
    partner[sure.pairs[:, 0]] = sure.pairs[:, 1]

    def merged(start: int, stop: int) -> np.ndarray:
        """Documents in B's space: those that B has as they are there, the others translated."""
        rows = unit_rows(onward.transform(old.block(start, stop)))
        native = np.flatnonzero(partner[start:stop] >= 0)
        native = native[np.argsort(partner[start + native], kind="stable")]  # a memory map is read from front to back
        if len(native):
            rows[native] = paired.b.take(partner[start + native])
        return rows

    yield "documents", ndcg(asked.by_b, merged, n, answers)
    sure = sure if len(sure) >= 10 else paired
    linked = {int(row): place for place, row in enumerate(sure.pairs[:, 0])}
    among = [{linked[row]: grade for row, grade in each.items() if row in linked} for each in answers]
    x, y = sure.vectors()
    yield "old linked", ndcg(asked.by_a, lambda start, stop: x[start:stop], len(x), among)
    yield "new linked", ndcg(asked.by_b, lambda start, stop: y[start:stop], len(y), among)


def compared(paired: Paired, map: str, random_state: int = 0) -> tuple[dict[str, float], Foretold]:
    """What two models have in common, each link held out in turn.

    The share of the new model's ten nearest linked documents that each way finds, and what each model foretells of the
    other one.
    """
    rng = np.random.default_rng(random_state)
    share = len(paired) / len(paired.a)
    some = paired.only(np.sort(rng.permutation(len(paired))[:4_000]))
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
    for held_out, fitted in crossfitted(kind, paired, fold, parts, random_state):
        rows, _ = paired.only(held_out).vectors()
        moved[held_out] = unit_rows(fitted.apply(rows))
    return moved


def _explained(true: np.ndarray, forecast: np.ndarray) -> float:
    """The share of the variance of rows (n, d) that a forecast of them has."""
    missed = float(np.square(forecast - true).sum())
    spread = float(np.square(true - true.mean(axis=0)).sum())
    return round(1 - missed / max(spread, 1e-12), 4)


def _agreement(true_queries: np.ndarray, true: np.ndarray, queries: np.ndarray, documents: np.ndarray) -> float:
    """The mean share of the ten nearest rows that two searches have in common, a row itself left out."""
    shared: list[float] = []
    for start in range(0, len(true), 512):
        here = np.arange(start, min(start + 512, len(true)))
        near, near_true = queries[here] @ documents.T, true_queries[here] @ true.T
        near[here - start, here] = near_true[here - start, here] = EXCLUDED
        shared += shared_neighbours(near, near_true)
    return round(float(np.mean(shared)), 4)


def choice(ways: tuple[Way, ...], without_old: bool, foretold: Foretold | None = None) -> tuple[str, str]:
    """The way to take, and why."""
    possible = [way for way in ways if not (without_old and way.name == "keep")]
    first = best = possible[0]
    if first.ndcg is not None:
        for way in possible[1:]:
            assert way.ndcg is not None and best.ndcg is not None and way.error is not None
            # what a dearer way has to gain, and a forecast by its error: set before `veclink bench advise` was run
            if way.ndcg > best.ndcg + max(0.005, way.error if way.name == "embed" else 0):
                best = way
        told = f"NDCG@10 of the queries is {100 * (best.ndcg or 0):.1f}"
        if best is first:
            return best.name, f"{told}, and no dearer way is clearly better."
        forecast = " by forecast" if best.name == "embed" else ""
        return best.name, f"{told}{forecast}, and {100 * first.ndcg:.1f} if you {WAYS[first.name]}."
    translated = max(ways[1:3], key=lambda way: way.neighbours)
    # On SciFact the difference is between −0.05 and 0.11 for pairs of contrastive models, and 0.31 and more for GloVe,
    # with 30 and 10 % linked.
    if foretold is not None and foretold.old_by_new - foretold.new_by_old > 0.2:
        return "embed", (
            f"the new model foretells {max(foretold.old_by_new, 0):.0%} of what the old one tells apart, and the old "
            f"one {max(foretold.new_by_old, 0):.0%} of what the new one does: it is the weaker one. If you cannot, "
            f"{WAYS[translated.name]}; queries and answers would show what each way is worth."
        )
    if without_old:  # the way that keeps most
        kept = f"it keeps {translated.neighbours:.0%} of the new model's neighbours; embedding again keeps all."
        return translated.name, kept
    return "keep", (  # staying loses nothing
        f"translating loses {1 - translated.neighbours:.0%} of the new model's neighbours, and embedding again "
        "pays only if the new model searches better, which links cannot show; give queries and answers to see."
    )


def ndcg(queries: np.ndarray, documents: Documents, count: int, answers: Answers) -> np.ndarray:
    """NDCG@10 of each query (q,), 0 to 1; NaN where nothing answers it.

    `Σ grade/log₂(1 + rank)` of the ten documents with the largest cosine, over the same of the best order.
    """
    asked = unit_rows(np.array(queries, np.float32))
    best = np.empty((len(asked), 0), np.float32)
    rows = np.empty((len(asked), 0), np.int64)
    for start, stop in tiles(count, 16_384):
        here = np.broadcast_to(np.arange(start, stop), (len(asked), stop - start))
        best, rows = np.hstack([best, asked @ documents(start, stop).T]), np.hstack([rows, here])
        kept = largest(best, min(10, best.shape[1]))
        best, rows = np.take_along_axis(best, kept, axis=1), np.take_along_axis(rows, kept, axis=1)
    rows = np.take_along_axis(rows, np.argsort(-best, axis=1, kind="stable"), axis=1)
    gains, discount = np.full(len(asked), np.nan), 1 / np.log2(np.arange(2, 12))
    for place, (found, right) in enumerate(zip(rows.tolist(), answers, strict=True)):
        if right:
            grades = np.array([right.get(row, 0.0) for row in found])
            most = np.sort(list(right.values()))[::-1][:10]
            gains[place] = (grades * discount[: len(grades)]).sum() / (most * discount[: len(most)]).sum()
    return gains


def read_answers(path: str | Path, queries: Collection, documents: Collection) -> list[dict[int, float]]:
    """The answers in a CSV or Parquet file with the columns query, document and (unless all are 1) relevance.

    Queries and documents are named by id, or by row where a collection has no ids.
    """
    with readable(f"The answers in {path} cannot be read", "give a .csv or .parquet file"):
        table = read_columns(Path(path), ("query", "document", "relevance"))
    missing = [name for name in ("query", "document") if name not in table.names]
    if missing:
        raise InputError(f"{path} has no column {named(missing)}; answers are in query, document and relevance.")
    named_so = tuple(np.array(table.values[name], object) for name in ("query", "document"))
    what = f"answers in {path}, of queries as A and documents as B,"
    rows = resolve_pairs(named_so, queries, documents, what=what, unique=False)
    try:
        grades = [float(each) for each in table.values.get("relevance", [1.0] * len(rows))]
    except (TypeError, ValueError) as error:
        raise InputError(f"The relevance in {path} is not a number everywhere ({error}).") from error
    answers: list[dict[int, float]] = [{} for _ in range(len(queries))]
    for (query, document), grade in zip(rows.tolist(), grades, strict=True):
        if grade > 0:
            answers[query][document] = grade
    if not any(answers):
        raise InputError(f"{path} names no document that answers a query; give some with a relevance above 0.")
    return answers
