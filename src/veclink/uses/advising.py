"""advise(): change the model of a collection, or not? Keep it, translate queries or documents, or embed again.

A is the collection of the old model, B holds some of its objects by the new one, and links say which. What each way
keeps of the new model's neighbours follows from the links alone, each held out of the maps that it is measured with.
How well each way searches follows from queries whose answers are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from veclink.errors import InputError
from veclink.geometry.clouds import Cloud, prepare
from veclink.geometry.nearest import largest
from veclink.geometry.signatures import unit_rows
from veclink.progress import Progress, ProgressListener, heard, shows_progress
from veclink.stores.opening import open_collection
from veclink.uses.linked_pairs import GivenLinks, pairs_of
from veclink.uses.maps import DEFAULT_MAP, LEAST_LINKS, Moments, Paired, fit_map
from veclink.uses.maps.quality import FOLDS, NEIGHBOURS
from veclink.uses.merging import DEFAULT_SURE
from veclink.uses.searching import Asked, ndcg
from veclink.uses.translating import Source, Translator, check_map, fit_translator

MOST_LINKS = 4_000  # linked objects that neighbours are compared among
WITHIN = 0.005
"""NDCG@10 that a dearer way has to gain. Set before `veclink bench advise` was run, and kept."""
CLEARLY = 1.0
"""Standard errors that a forecast has to gain. As the one above."""
WEAKER = 0.2
"""How much less of the new model the old one has to foretell than the other way round to be called the weaker one.

On SciFact between −0.05 and 0.11 for pairs of contrastive models, and 0.31 and more for GloVe, with 30 and 10 % linked.
"""

WAYS = {
    "keep": "keep the old model",
    "queries": "translate the queries",
    "documents": "translate the documents",
    "embed": "embed all documents again",
}
"""The ways, the cheapest first."""


@dataclass(frozen=True)
class Way:
    """One way, and what is forecast of it.

    Attributes
    ----------
    name : str
        One of WAYS.
    neighbours : float
        The share of the new model's ten nearest neighbours that it keeps.
    ndcg : float or None
        Of the queries, where there are any. Measured on all documents of A, but for "embed", which is a forecast.
    error : float or None
        The standard error of the difference to "keep".
    """

    name: str
    neighbours: float
    ndcg: float | None = None
    error: float | None = None


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
    pairs, probability = pairs_of(links, left, right)
    cloud_a = prepare(left, centre=False, skip_zero=True, side="A")
    cloud_b = prepare(right, centre=False, skip_zero=True, side="B")
    usable = np.isin(pairs[:, 0], cloud_a.rows) & np.isin(pairs[:, 1], cloud_b.rows)
    rows = np.column_stack([cloud_a.positions(pairs[usable, 0]), cloud_b.positions(pairs[usable, 1])])
    if len(rows) < LEAST_LINKS:
        raise InputError(
            f"There are {len(rows):,} links; advice needs at least {LEAST_LINKS}. Link again with more known pairs."
        )
    return Paired(cloud_a, cloud_b, rows, probability[usable])


def compared(paired: Paired, map: str, random_state: int = 0) -> tuple[dict[str, float], Foretold]:
    """What two models have in common, each link held out in turn.

    First the share of the new model's ten nearest linked documents that each way finds.
    """
    rng = np.random.default_rng(random_state)
    share = len(paired) / len(paired.a)
    some = paired.only(np.sort(rng.permutation(len(paired))[:MOST_LINKS]))
    x, y = some.vectors()
    into_b, into_a = np.empty_like(y), np.empty_like(x)
    fold = rng.permutation(len(some)) % FOLDS
    turned = Paired(some.b, some.a, some.pairs[:, ::-1], some.weight)
    for side, moved in ((some, into_b), (turned, into_a)):
        kind = fit_translator(side, map, random_state=random_state).kind if map == "auto" else map
        parts = [Moments.of(side.only(fold == each)) for each in range(FOLDS)]
        for each in range(FOLDS):
            rest = [part for place, part in enumerate(parts) if place != each]
            fitted = fit_map(kind, side.only(fold != each), rest, random_state=random_state)
            moved[fold == each] = unit_rows(fitted.apply(side.only(fold == each).vectors()[0]))
    native = rng.random(len(some)) < share  # documents that B has are not translated
    found = {
        "keep": _agreement(y, y, x, x),
        "queries": _agreement(y, y, into_a, x),
        "documents": _agreement(y, y, y, np.where(native[:, None], y, into_b)),
    }
    return {**found, "embed": 1.0}, Foretold(_explained(y, into_b), _explained(x, into_a))


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
            near[np.arange(near.shape[0]), np.arange(here.start, here.stop)] = -2.0
            tops.append(largest(near, depth))
        shared += sum(len(np.intersect1d(*pair)) for pair in zip(*tops, strict=True))
    return round(shared / (depth * len(true)), 4)


def with_search(ways: tuple[Way, ...], gains: dict[str, np.ndarray]) -> tuple[Way, ...]:
    """The ways with NDCG@10 of the queries, and how sure each difference to keeping the model is."""
    answered = ~np.isnan(gains["keep"])
    found = []
    for way in ways:
        if way.name == "embed":
            forecast, error = _forecast(gains["old linked"], gains["new linked"])
            ndcg_now = min(float(gains["keep"][answered].mean()) + forecast, 1.0)
        else:
            change = (gains[way.name] - gains["keep"])[answered]
            ndcg_now, error = float(gains[way.name][answered].mean()), _standard_error(change)
        found.append(Way(way.name, way.neighbours, round(ndcg_now, 4), round(error, 4)))
    return tuple(found)


def gains(paired: Paired, asked: Asked, map: str, random_state: int) -> Iterator[tuple[str, np.ndarray]]:
    """NDCG@10 of each query (q,) by each way, and by both models among linked documents alone."""
    old, n = paired.a, len(paired.a)
    place = np.full(len(old.collection), -1)
    place[old.rows] = np.arange(n)
    answers = [{int(place[row]): grade for row, grade in each.items() if place[row] >= 0} for each in asked.answers]
    yield "keep", ndcg(asked.by_a, old.block, n, answers)
    turned = Paired(paired.b, paired.a, paired.pairs[:, ::-1], paired.weight)
    back = fit_translator(turned, map, check=False, random_state=random_state)
    yield "queries", ndcg(back.transform(asked.by_b), old.block, n, answers)
    onward = fit_translator(paired, map, check=False, random_state=random_state)
    yield "documents", ndcg(asked.by_b, _Merged(paired, onward).block, n, answers)
    sure = paired.only(paired.weight >= DEFAULT_SURE)
    sure = sure if len(sure) >= LEAST_LINKS else paired
    linked = {int(row): place for place, row in enumerate(sure.pairs[:, 0])}
    among = [{linked[row]: grade for row, grade in each.items() if row in linked} for each in answers]
    x, y = sure.vectors()
    yield "old linked", ndcg(asked.by_a, lambda start, stop: x[start:stop], len(x), among)
    yield "new linked", ndcg(asked.by_b, lambda start, stop: y[start:stop], len(y), among)


class _Merged:
    """Documents in B's space: those that B has as they are there, the others translated."""

    def __init__(self, paired: Paired, translator: Translator) -> None:
        self._old, self._new, self._translator = paired.a, paired.b, translator
        sure = paired.pairs[paired.weight >= DEFAULT_SURE]
        self._partner = np.full(len(paired.a), -1)
        self._partner[sure[:, 0]] = sure[:, 1]

    def block(self, start: int, stop: int) -> np.ndarray:
        rows = unit_rows(self._translator.transform(self._old.block(start, stop)))
        partner = self._partner[start:stop]
        native = np.flatnonzero(partner >= 0)
        if len(native):
            rows[native] = _taken(self._new, partner[native])
        return rows


def _taken(cloud: Cloud, rows: np.ndarray) -> np.ndarray:
    order = np.argsort(rows, kind="stable")  # a memory map is read from front to back
    taken = np.empty((len(rows), cloud.shape[1]), np.float32)
    taken[order] = cloud.take(rows[order])
    return taken


def _forecast(old: np.ndarray, new: np.ndarray) -> tuple[float, float]:
    """What NDCG@10 would gain with all documents in the new model, from the linked ones, and its standard error.

    The difference of the two models among the linked documents, in the queries that these answer.
    """
    answered = ~np.isnan(old)
    if answered.sum() < 2:
        return 0.0, float("inf")
    change = (new - old)[answered]
    return float(change.mean()), _standard_error(change)


def _standard_error(change: np.ndarray) -> float:
    return float(change.std(ddof=1) / np.sqrt(len(change))) if len(change) > 1 else float("inf")


def choice(ways: tuple[Way, ...], without_old: bool, foretold: Foretold | None = None) -> tuple[str, str]:
    """The way to take, and why."""
    possible = [way for way in ways if not (without_old and way.name == "keep")]
    if possible[0].ndcg is None:
        if foretold is not None and foretold.old_is_weaker:
            return _by_weakness(ways, foretold)
        return _by_neighbours(possible, without_old)
    first = best = possible[0]
    for way in possible[1:]:
        assert way.ndcg is not None and best.ndcg is not None and way.error is not None
        needed = WITHIN if way.name != "embed" else max(WITHIN, CLEARLY * way.error)
        if way.ndcg > best.ndcg + needed:
            best = way
    told = f"NDCG@10 of the queries is {100 * (best.ndcg or 0):.1f}"
    if best is first:
        return best.name, f"{told}, and no dearer way is clearly better."
    forecast = " by forecast" if best.name == "embed" else ""
    return best.name, f"{told}{forecast}, and {100 * (first.ndcg or 0):.1f} if you {WAYS[first.name]}."


def _by_weakness(ways: tuple[Way, ...], foretold: Foretold) -> tuple[str, str]:
    """Without queries, where the old model is clearly the weaker one."""
    next_best = max(ways[1:3], key=lambda way: way.neighbours)
    return "embed", (
        f"the new model foretells {max(foretold.old_by_new, 0):.0%} of what the old one tells apart, and the old one "
        f"{max(foretold.new_by_old, 0):.0%} of what the new one does: it is the weaker one. If you cannot, "
        f"{WAYS[next_best.name]}; queries and answers would show what each way is worth."
    )


def _by_neighbours(possible: list[Way], without_old: bool) -> tuple[str, str]:
    """Without queries: staying loses nothing; where the old model is gone, the way that keeps most."""
    if not without_old:
        translated = max(possible[1:3], key=lambda way: way.neighbours)
        return "keep", (
            f"translating loses {1 - translated.neighbours:.0%} of the new model's neighbours, and embedding again "
            "pays only if the new model searches better, which links cannot show; give queries and answers to see."
        )
    best = max(possible[:2], key=lambda way: way.neighbours)
    return best.name, f"it keeps {best.neighbours:.0%} of the new model's neighbours; embedding again keeps all."


def _tell(progress: ProgressListener | None, step: int, stage: str) -> None:
    if progress is not None:
        progress(Progress(step, 2, 0, None, stage))
