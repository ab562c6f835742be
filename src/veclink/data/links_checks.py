"""What the metadata of a links file may say: checked on reading, as a file comes from anywhere and is used everywhere.

Values that are not known, of later versions, are let through. Each check gives None, or what is wrong in a few words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from veclink.errors import InputError, named

LARGEST = 1e300
"""Numbers beyond this, which no linker writes, leave the range of floats at the next step."""
MOST_ROWS = 2**40
BINS = 10
"""The bars of a report's histogram: the decoys are counted in a multiple of them."""
_ROWS = re.compile(r"(?:rival|near\d+)_([ab])")

Check = Callable[[Any], bool]


def check_summary(values: Any) -> None:
    """Refuse a summary with a value that is not of the kind that it has to be."""
    if not isinstance(values, Mapping):
        raise InputError("Its summary is not a table of named values; save the links again.")
    wrong = [name for name, fits in _SUMMARY.items() if name in values and not fits(values[name])]
    if wrong:
        raise InputError(f"The summary of the links has something odd for {named(wrong)}; save the links again.")


def check_trace(trace: Mapping[str, Any], n_a: int, n_b: int) -> None:
    """Refuse a trace that a report or a review could not show."""
    wrong = [name for name, fits in _TRACE.items() if name in trace and not fits(trace[name])]
    if "hubs" in trace and not _is_hubs(trace["hubs"], {"a": n_a, "b": n_b}):
        wrong.append("hubs")
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


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < MOST_ROWS


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and not abs(value) > LARGEST


def _is_number_or_none(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _list_of(fits: Check) -> Check:
    return lambda value: isinstance(value, (list, tuple)) and all(map(fits, value))


def _pair_of(first: Check, second: Check) -> Check:
    return lambda value: isinstance(value, (list, tuple)) and len(value) == 2 and first(value[0]) and second(value[1])


def _is_model(model: Any) -> bool:
    """Features, and as many weights, centres and scales, by which none is divided in vain."""
    if model is None:
        return True
    if not isinstance(model, dict) or not _list_of(_is_text)(model.get("features")):
        return False
    for name in ("weights", "centre", "scale"):
        values = model.get(name, [])
        if not _list_of(_is_number)(values) or len(values) != len(model["features"]):
            return False
    return _is_number(model.get("base")) and 0 not in model.get("scale", [])


def _is_decoys(decoys: Any) -> bool:
    if decoys is None:
        return True
    if not isinstance(decoys, dict) or not _list_of(_is_number)(decoys.get("probability")):
        return False
    bins = len(decoys["probability"])
    return bins > 0 and bins % BINS == 0 and _is_whole(decoys.get("made", 0))


def _is_hubs(hubs: Any, sizes: dict[str, int]) -> bool:
    """Rows of each side that are there, with how many prefer them."""
    if not isinstance(hubs, dict) or not hubs.keys() <= sizes.keys():
        return False
    fits = _list_of(_pair_of(_is_whole, _is_whole))
    return all(fits(pairs) and all(row < sizes[side] for row, _ in pairs) for side, pairs in hubs.items())


def _is_table_or_none(value: Any) -> bool:
    return value is None or isinstance(value, Mapping)


_SUMMARY: dict[str, Check] = {
    "method": _is_text,
    **dict.fromkeys(("n_a", "n_b", "n_links", "iterations"), _is_whole),
    **dict.fromkeys(("precision", "recall", "overlap", "seconds"), _is_number_or_none),
    "verdict": _is_text,
    "reasons": _list_of(_is_text),
    **dict.fromkeys(("wrong_seeds", "contradicting_seeds"), _list_of(_pair_of(_is_whole, _is_whole))),
    "copies": _pair_of(_is_whole, _is_whole),
    "agreement": _is_table_or_none,
    "caution": _is_number,
    "vectors": lambda value: value is None or _pair_of(_is_text, _is_text)(value),
    "found": lambda value: value is None or _is_text(value),
}
_TRACE: dict[str, Check] = {
    "growth": _list_of(_pair_of(_is_whole, _is_whole)),
    "starts": _list_of(_pair_of(_is_text, _is_number)),
    "model": _is_model,
    "decoys": _is_decoys,
}
