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
    is_new = ~_given(source)
    is_kept = np.arange(len(source)) < len(links)
    is_sure = source.probability >= SURE
    sure_ranks = np.flatnonzero(is_kept & is_sure & is_new)
    doubtful_ranks = np.flatnonzero(is_kept & ~is_sure & is_new)
    left_out = np.flatnonzero(~is_kept & is_new)
    chosen = {
        "sure": _spread(sure_ranks, sure),
        "doubtful": _spread(doubtful_ranks, doubtful),
        "left out": left_out[:1].tolist(),
    }
    return [
        (kind, rank)
        for kind, ranks in chosen.items()
        for rank in ranks
    ]  # fmt: skip


def against(links: Links, i: int, most: int = 2) -> list[tuple[str, float]]:
    """What speaks against link i: (name of the evidence, change of the log odds), the weightiest first.

    A change is weight·(feature − centre)/scale of the model of these probabilities (see `trace.traced`): it is measured
    against a pair with average evidence. Changes that are not worth a word are left out, and so are all after the
    first `most`. Empty where the links carry no model, and for given pairs.
    """
    model = links.trace.get("model")
    if not model or _given(links)[i]:
        return []
    values = recorded_values(links.evidence, model["features"], i)
    if values is None:
        return []
    changes = model_changes(model, values)
    telling = [
        (name, change)
        for name, change in changes.items()
        if change < -MIN_TELLING_CHANGE
    ]  # fmt: skip
    telling.sort(key=lambda each: each[1])
    return telling[:most]


def in_words(links: Links, i: int, rival_a: str = "", rival_b: str = "") -> str:
    """One sentence on what speaks against link i; empty where nothing does. rival_a, rival_b: names of its rivals."""
    names = [name for name, _ in against(links, i)]
    rivals = {"a": rival_a, "b": rival_b}
    if not names:
        return ""
    phrases = [_phrase(links, i, name, rivals) for name in names]
    text = ", and ".join(phrases)
    return text[:1].upper() + text[1:] + "."


def recorded_values(columns: evidence.Columns, names: list[str], i: int) -> dict[str, float] | None:
    """The evidence of link i by name, from the columns of the links; None where one of the names has no value."""
    one = {name: values[[i]] for name, values in columns.items()}
    values = {}
    for name in names:
        entry = evidence.lookup(name)
        if entry is None:
            column = one.get(name)
        else:
            column = entry.recorded(one)
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


def _phrase(links: Links, i: int, name: str, rivals: Mapping[str, str]) -> str:
    entry = evidence.lookup(name)
    if entry is None:
        return name.replace("_", " ")
    values = recorded_values(links.evidence, [name], i)
    assert values is not None, "what speaks against a link has a value"
    of_link = {column: each[i] for column, each in links.evidence.items()}
    doubt = evidence.Doubt(values[name], of_link, rivals)
    return entry.speaks_against(doubt)


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
