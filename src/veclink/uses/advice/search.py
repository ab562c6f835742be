"""How well each way searches: NDCG@10 of queries whose answers are known, and a forecast of embedding all again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import unit_rows
from veclink.uses.advice.ways import Way
from veclink.uses.maps import LEAST_LINKS, Paired
from veclink.uses.merging import DEFAULT_SURE
from veclink.uses.searching import Asked, ndcg
from veclink.uses.translating import Translator, fit_translator


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
    back = fit_translator(paired.turned(), map, check=False, random_state=random_state)
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
