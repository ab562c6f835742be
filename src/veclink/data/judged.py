"""All judged pairs in one table: the links, and the pairs below the threshold, so that it can be moved later.

A Parquet file of links holds them all; its column `linked` says which are links. A CSV file holds the links alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.data.pairs import pair_keys
from veclink.data.summary import heeding_range
from veclink.errors import InputError

if TYPE_CHECKING:
    from veclink.data.links import Links
    from veclink.data.summary import Summary

IS_LINK = "linked"
"""The column that says which of the judged pairs are links; where there is none, all are."""


def judged_columns(links: Links) -> dict[str, np.ndarray]:
    """The table of all judged pairs, or of the links alone where no others are known.

    Links that were changed since, as by a review, are no part of what was judged then: they are saved alone.
    """
    every = links.considered
    if every is None:
        return links.all_columns()
    n_b = max(links.summary.n_b, 1)
    linked = np.isin(pair_keys(every.pairs, n_b), pair_keys(links.pairs, n_b))
    of_links = links.columns()
    of_all = every.columns()
    same = list(of_links) == list(of_all) and all(
        same_column(of_all[name][linked], values)
        for name, values in of_links.items()
    )  # fmt: skip
    if not same:
        return links.all_columns()
    of_all = every.all_columns()
    first = {name: of_all.pop(name) for name in ("a", "b", "probability")}
    return {**first, IS_LINK: linked, **of_all}


def summary_of_all(summary: Summary, probability: np.ndarray) -> Summary:
    """What is estimated of all judged pairs (n,), from the summary of the links among them."""
    return replace(_estimated(summary, probability), precision_range=None, recall_range=None)


def summary_of_first(summary: Summary, probability: np.ndarray) -> Summary:
    """What is estimated of the surest pairs, whose probabilities (n,) these are, with the ranges."""
    estimated = _estimated(summary, probability)
    if not summary.is_calibrated:
        return replace(estimated, precision_range=None, recall_range=None)
    return with_ranges(estimated, probability)


def shares(probability: np.ndarray, overlap: float | None) -> tuple[float | None, float | None]:
    """Precision and recall to expect of links with these probabilities (n,); None for what cannot be said.

    overlap: the estimated number of shared objects, where there is an estimate.
    """
    expected = float(probability.sum())
    precision = expected / len(probability) if len(probability) else None
    recall = min(1.0, expected / overlap) if overlap else None
    return precision, recall


def with_shares(summary: Summary, probability: np.ndarray) -> Summary:
    """The summary with the precision and the recall to expect of links with these probabilities (n,)."""
    precision, recall = shares(probability, summary.overlap)
    return replace(summary, precision=precision, recall=recall)


def with_ranges(summary: Summary, probability: np.ndarray) -> Summary:
    """The summary with the ranges of its estimates, for links with these probabilities (n,).

    Where there are no links, the range of the overlap stays: it is one of the collections.
    """
    smaller = min(summary.n_a, summary.n_b)
    from veclink.confidence.intervals import estimates

    known = estimates(probability, summary.overlap, smaller, summary.caution)
    if known is None:
        of_overlap = summary.overlap_range if summary.overlap else None
        return replace(summary, precision_range=None, recall_range=None, overlap_range=of_overlap)
    return replace(
        summary,
        precision_range=known.precision.range,
        recall_range=known.recall.range,
        overlap_range=known.overlap.range,
    )


def _estimated(summary: Summary, probability: np.ndarray) -> Summary:
    """The summary of other pairs of a run, with these probabilities (n,): their number, precision and recall."""
    other = replace(summary, n_links=len(probability), agreement=None)
    if not summary.is_calibrated:  # nothing follows from the sum of such probabilities
        return replace(other, precision=None, recall=None)
    return with_shares(other, probability)


def judged_anew(summary: Summary) -> Summary:
    """The summary of other links of a run, with the verdict that the range of their precision asks for."""
    if summary.precision_range is None:
        return summary
    verdict, reasons = heeding_range(summary.verdict, tuple(summary.reasons), summary.precision_range[0])
    return replace(summary, verdict=verdict, reasons=reasons)


def count_kept(probability: np.ndarray, caution: float, wanted: dict[str, Any]) -> int:
    """How many of the judged pairs, the surest first (n,), are kept for what is wanted.

    wanted: precision, probability and links, of which one is not None; caution: see `Summary`.
    """
    given = {name: value for name, value in wanted.items() if value is not None}
    if len(given) != 1:
        raise InputError("Give one of precision, probability and links: that many pairs, or as many as have it.")
    ((name, value),) = given.items()
    if name == "links":
        return _checked_count(value, len(probability))
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value <= 1:
        raise InputError(f"The wanted {name} is {value!r}; it is more than 0 and at most 1, such as 0.95.")
    if name == "probability":
        return int(np.count_nonzero(probability >= value))
    wrong = np.cumsum(1 - probability) / np.arange(1, len(probability) + 1)
    # the mean of rising numbers rises, but for the rounding of the sum
    return int(np.count_nonzero(wrong * caution <= 1 - value + 1e-12))


def _checked_count(value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise InputError(f"The wanted number of links is {value!r}; it is a whole number from 0.")
    if value > most:
        raise InputError(f"{value:,} links are wanted, and {most:,} pairs were judged; ask for at most those.")
    return int(value)


def same_column(mine: np.ndarray | None, theirs: np.ndarray | None) -> bool:
    """Whether two columns have the same type and values, missing ones (NaN) being alike; or neither is there."""
    if mine is None or theirs is None:
        return mine is theirs
    both_floats = mine.dtype.kind == "f" and theirs.dtype.kind == "f"
    return mine.dtype == theirs.dtype and np.array_equal(mine, theirs, equal_nan=both_floats)
