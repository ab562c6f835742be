"""One link in words: what is known of it, a line for each thing, with the labels of the registry of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from veclink.confidence import evidence
from veclink.confidence.constants import MIN_TELLING_CHANGE
from veclink.confidence.explanations import in_words, model_changes, recorded_values
from veclink.data.link import Explanation
from veclink.data.links import Links

SPEAKS = {1: "speaks for it", 0: "speaks neither for nor against it", -1: "speaks against it"}


def explanation(links: Links, i: int) -> Explanation:
    """Link i in words: how probable it is, its evidence, what speaks for it first, its votes and its rivals."""
    known = links.explain(i)
    rivals = links.rival_names(i)
    told = Explanation(Probability=_chance_in_words(links, known))
    told.update(_evidence_in_words(known, _changes(links, i, known)))
    doubt = in_words(links, i, rivals["a"], rivals["b"])
    if doubt:
        told["Against it"] = doubt
    if known.get("views"):
        told["Votes"] = f"{known['votes']} of {known['views']} views proposed it"
    for side, name in rivals.items():
        if name:
            score = known.get(f"rival_{side}_score")
            told[f"Next best in {side.upper()}"] = name if score is None else f"{name}, with the score {score:.2f}"
    return told


def _chance_in_words(links: Links, known: Mapping[str, Any]) -> str:
    if known.get("given"):
        return "1, as it was given as known"
    chance = known["probability"]
    if not links.summary.is_calibrated:
        return f"{chance:.3f}, a share of votes and no calibrated probability"
    right = "more than 99" if chance > 0.995 else f"about {100 * chance:.0f}"  # never rounded up to all
    return f"{chance:.3f}; of 100 pairs like this one, {right} are right"


def _changes(links: Links, i: int, known: Mapping[str, Any]) -> dict[str, float]:
    """`model_changes` of link i; empty where the links carry no model, and for given pairs."""
    model = links.trace.get("model")
    if not model or known.get("given"):
        return {}
    values = recorded_values(links.evidence, model["features"], i)
    return {} if values is None else model_changes(model, values)


def _evidence_in_words(
    known: Mapping[str, Any],
    changes: Mapping[str, float],
) -> dict[str, str]:
    """What each kind of evidence says of a link, by its label, what speaks for it first and against it last.

    Those without words are there only where they are telling.
    """
    told = {}
    for entry in sorted(evidence.REGISTRY, key=lambda each: -_direction(changes.get(each.name, 0.0))):
        value = known.get(entry.name)
        words = []
        if entry.card is not None and value is not None and isfinite(value):
            words.append(entry.card(float(value), known))
        direction = _direction(changes.get(entry.name, 0.0))
        if direction or (words and entry.name in changes):
            words.append(SPEAKS[direction])
        if words:
            told[entry.label] = "; ".join(words)
    return told


def _direction(change: float) -> int:
    """Whether a change of the log odds speaks for a link (1), against it (−1), or is not worth a word (0)."""
    if abs(change) <= MIN_TELLING_CHANGE:
        return 0
    return 1 if change > 0 else -1
