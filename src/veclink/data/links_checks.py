"""What the metadata of a links file may say: checked on reading, as a file comes from anywhere and is used everywhere.

Values that are not known, of later versions, are let through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from veclink.errors import InputError, named

LARGEST = 1e300
"""Numbers beyond this, which no linker writes, leave the range of floats at the next step."""
MOST_ROWS = 2**40
BINS = 10
"""The bars of a report's histogram: the decoys are counted in a multiple of them."""
_ROWS = re.compile(r"(?:rival|near\d+)_([ab])")

# What values are of: a type, [kind] for many of a kind, (kind, kind) for two values, {name: kind} for named ones.
_PAIRS = [(int, int)]
_SUMMARY: dict[str, Any] = {
    "method": str,
    **dict.fromkeys(("n_a", "n_b", "n_links", "iterations"), int),
    **dict.fromkeys(("precision", "recall", "overlap", "seconds", "caution"), float),
    "verdict": str,
    "reasons": [str],
    **dict.fromkeys(("wrong_seeds", "contradicting_seeds"), _PAIRS),
    "copies": (int, int),
    "agreement": Mapping,
    "vectors": (str, str),
    "found": str,
}
_MODEL = {"features": [str], "weights": [float], "centre": [float], "scale": [float]}
_TRACE: dict[str, Any] = {
    "growth": _PAIRS,
    "starts": [(str, float)],
    "model": {**_MODEL, "base": float},
    "decoys": {"probability": [float]},
}
_MAY_BE_NONE = ("precision", "recall", "overlap", "seconds", "agreement", "vectors", "found", "model", "decoys")


def check_summary(values: Any) -> None:
    """Refuse a summary with a value that is not of the kind that it has to be."""
    if not isinstance(values, Mapping):
        raise InputError("Its summary is not a table of named values; save the links again.")
    wrong = _wrong(values, _SUMMARY)
    if wrong:
        raise InputError(f"The summary of the links has something odd for {named(wrong)}; save the links again.")


def check_trace(trace: Mapping[str, Any], n_a: int, n_b: int) -> None:
    """Refuse a trace that a report or a review could not show."""
    wrong = _wrong(trace, _TRACE)
    model, decoys, hubs = (trace.get(name) for name in ("model", "decoys", "hubs"))
    if model is not None and "model" not in wrong:
        # as many of each as features, and no scale by which is divided in vain
        if len({len(model[name]) for name in _MODEL}) > 1 or 0 in model["scale"]:
            wrong.append("model")
    if decoys is not None and "decoys" not in wrong:
        bins = len(decoys["probability"])
        if not bins or bins % BINS or not _fits(decoys.get("made", 0), int):
            wrong.append("decoys")
    sizes = {"a": n_a, "b": n_b}
    if "hubs" in trace and not (
        isinstance(hubs, dict)
        and hubs.keys() <= sizes.keys()
        and all(_fits(pairs, _PAIRS) and all(row < sizes[side] for row, _ in pairs) for side, pairs in hubs.items())
    ):
        wrong.append("hubs")  # rows that are not there, or no counts of who prefers them
    if wrong:
        raise InputError(
            f"Its trace has something odd for {named(wrong)}; remove `trace` from its metadata, or link again."
        )


def row_evidence(name: str) -> str | None:
    """Of evidence that names rows, −1 for none: "a" or "b" for their side, "" for either; None of other evidence."""
    if name == "displaces":
        return ""
    side = _ROWS.fullmatch(name)
    return None if side is None else side[1]


def check_rows(evidence: Mapping[str, np.ndarray], n_a: int, n_b: int) -> None:
    """Refuse evidence that names rows which a collection does not have."""
    for name, values in evidence.items():
        side = row_evidence(name)
        if side is None:
            continue
        size = {"a": n_a, "b": n_b}.get(side, max(n_a, n_b))
        if values.dtype.kind != "i" or (len(values) and not -1 <= values.min() <= values.max() < size):
            raise InputError(f"Its evidence {name!r} names rows outside the {size:,} there are; link again.")


def _wrong(values: Mapping[str, Any], kinds: dict[str, Any]) -> list[str]:
    """The names of values that are not of their kind."""
    given = ((name, values[name], kind) for name, kind in kinds.items() if name in values)
    told = ((name, value, kind) for name, value, kind in given if value is not None or name not in _MAY_BE_NONE)
    return [name for name, value, kind in told if not _fits(value, kind)]


def _fits(value: Any, kind: Any) -> bool:
    if kind is int:
        return type(value) is int and 0 <= value < MOST_ROWS
    if kind is float:
        return type(value) in (int, float) and not abs(value) > LARGEST
    if isinstance(kind, dict):
        return isinstance(value, Mapping) and all(_fits(value.get(name), each) for name, each in kind.items())
    if not isinstance(kind, (list, tuple)):
        return isinstance(value, kind)
    kinds = kind if isinstance(kind, tuple) else kind * len(value) if isinstance(value, (list, tuple)) else ()
    return isinstance(value, (list, tuple)) and len(value) == len(kinds) and all(map(_fits, value, kinds))
