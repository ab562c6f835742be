"""Links to look at, and what makes one doubtful in words: the evidence that lowers its odds most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from veclink.confidence import evidence
from veclink.confidence.constants import MIN_TELLING_CHANGE, SURE
from veclink.data.links import Links

__all__ = ["SURE", "against", "in_words", "typical"]


def typical(links: Links, sure: int, doubtful: int) -> list[tuple[str, int]]:
    """Some "sure" links, some "doubtful" ones, and the pair that came closest to being a link ("left out"), by rank.

    Ranks are among all calibrated pairs. They are spread evenly over their kind: the best alone would look better than
    the result is.
    """
    source = links.considered
    is_new, is_kept = ~_given(source), np.arange(len(source)) < len(links)
    is_sure = source.probability >= SURE
    sure_ranks = _spread(np.flatnonzero(is_kept & is_sure & is_new), sure)
    doubtful_ranks = _spread(np.flatnonzero(is_kept & ~is_sure & is_new), doubtful)
    left_out = np.flatnonzero(~is_kept & is_new)[:1].tolist()
    chosen = {"sure": sure_ranks, "doubtful": doubtful_ranks, "left out": left_out}
    return [(kind, rank) for kind, ranks in chosen.items() for rank in ranks]


def against(links: Links, i: int, most: int = 2) -> list[tuple[str, float]]:
    """What speaks against link i: (name of the evidence, change of the log odds), the weightiest first.

    A change is weight·(feature − centre)/scale of the model of these probabilities: it is measured
    against a pair with average evidence. Changes that are not worth a word are left out, and so are all after the
    first `most`. Empty where the links carry no model, and for given pairs.
    """
    model = links.trace.get("model")
    if not model or _given(links)[i]:
        return []
    values = recorded_values(links.evidence, model["features"], i)
    if values is None:
        return []
    changes = sorted(model_changes(model, values).items(), key=lambda each: each[1])
    return [(name, change) for name, change in changes if change < -MIN_TELLING_CHANGE][:most]


def in_words(links: Links, i: int, rival_a: str = "", rival_b: str = "") -> str:
    """One sentence on what speaks against link i; empty where nothing does. rival_a, rival_b: names of its rivals."""
    phrases = []
    of_link = {column: each[i] for column, each in links.evidence.items()}
    for name, _ in against(links, i):
        entry, value = evidence.lookup(name), recorded_values(links.evidence, [name], i)
        assert value is not None, "what speaks against a link has a value"
        if entry is None:
            phrases.append(name.replace("_", " "))
        elif callable(entry.against):
            phrases.append(entry.against(of_link, {"a": rival_a, "b": rival_b}))
        else:
            phrases.append(entry.against.format(value=value[name]))
    text = ", and ".join(phrases)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def recorded_values(columns: evidence.Columns, names: list[str], i: int) -> dict[str, float] | None:
    """The evidence of link i by name, from the columns of the links; None where one of the names has no value."""
    one = {name: values[[i]] for name, values in columns.items()}
    values = {}
    for name in names:
        entry = evidence.lookup(name)
        column = one.get(name) if entry is None else entry.recorded(one)
        if column is None:
            return None
        values[name] = float(column[0])
    return values


def model_changes(model: Mapping[str, Any], values: Mapping[str, float]) -> dict[str, float]:
    """By how much each kind of evidence moves the log odds from those of a pair with average evidence.

    Kinds that are explained with another one count as that one.
    """
    changes: dict[str, float] = {}
    parts = zip(model["features"], model["weights"], model["centre"], model["scale"], strict=True)
    for name, weight, centre, scale in parts:
        told = evidence.explained_with(name)
        change = weight * (values[name] - centre) / scale
        changes[told] = changes.get(told, 0.0) + change
    return changes


def _given(links: Links) -> np.ndarray:
    """Which of the links were given, (n,) bool."""
    return links.evidence.get("given", np.zeros(len(links), bool))


def _spread(ranks: np.ndarray, count: int) -> list[int]:
    """At most so many of the ranks, evenly spaced."""
    if not len(ranks):
        return []
    middles = (np.arange(count) + 0.5) / max(count, 1)
    places = (middles * len(ranks)).astype(int)
    return ranks[np.unique(places)].tolist()
