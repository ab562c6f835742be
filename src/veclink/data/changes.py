"""What changed between two sets of links of the same collections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.data.tabled import Tabled
from veclink.errors import InputError

KINDS = ("kept", "moved", "gained", "lost")
"""A row of A has the same partner as before, another one, one for the first time, or none any more."""


@dataclass(frozen=True, eq=False)
class Changes(Tabled):
    """What became of each row of A that was or is linked.

    Attributes
    ----------
    kind : (n,) array of str
        One of KINDS.
    a : (n,) array
        The ids of the rows, or their numbers.
    before, after : (n,) arrays
        Their partners in B; None where there was, or is, none.
    probability_before, probability_after : (n,) float64
        NaN where there was, or is, no link.
    """

    kind: np.ndarray
    a: np.ndarray
    before: np.ndarray
    after: np.ndarray
    probability_before: np.ndarray
    probability_after: np.ndarray

    def __len__(self) -> int:
        return len(self.kind)

    def counts(self) -> dict[str, int]:
        """How many rows of each kind there are."""
        return {kind: int(np.count_nonzero(self.kind == kind)) for kind in KINDS}

    def columns(self) -> dict[str, Any]:
        """The table: kind, a, before, after, and both probabilities."""
        return {
            "kind": self.kind.tolist(),
            "a": self.a.tolist(),
            "before": self.before.tolist(),
            "after": self.after.tolist(),
            "probability_before": self.probability_before,
            "probability_after": self.probability_after,
        }


def changes(before: Links, after: Links) -> Changes:
    """What became of the links `before`: by ids where both have ids, else by rows.

    The rows that moved come first, then those that were lost and gained, then those that were kept; within each, the
    surest first.
    """
    for side in ("ids_a", "ids_b"):
        if (getattr(before, side) is None) != (getattr(after, side) is None):
            raise InputError(
                "Only one of the two files has ids, so their rows cannot be compared; link both times with the ids."
            )
    old, new = _partners(before), _partners(after)
    rows = [_row(name, old.get(name), new.get(name)) for name in {**old, **new}]
    order = {kind: place for place, kind in enumerate(("moved", "lost", "gained", "kept"))}
    rows.sort(key=lambda row: (order[row[0]], -np.nanmax([row[4], row[5]]), str(row[1])))
    kind, a, was, now, *probability = (list(column) for column in zip(*rows, strict=True)) if rows else [[]] * 6
    return Changes(*(_objects(each) for each in (kind, a, was, now)), *(np.array(each, float) for each in probability))


Partner = tuple[Any, float]


def _partners(links: Links) -> dict[Any, Partner]:
    """The surest partner of each row of A, by id or row number."""
    columns = links.columns()
    rows = zip(columns["a"].tolist(), columns["b"].tolist(), links.probability.tolist(), strict=True)
    found: dict[Any, Partner] = {}
    for a, b, probability in rows:  # the surest come first
        found.setdefault(a, (b, probability))
    return found


def _row(name: Any, old: Partner | None, new: Partner | None) -> tuple[Any, ...]:
    was, chance_before = old or (None, np.nan)
    now, chance_after = new or (None, np.nan)
    if old is None or new is None:
        kind = "gained" if old is None else "lost"
    else:
        kind = "kept" if was == now else "moved"
    return kind, name, was, now, chance_before, chance_after


def _objects(values: list[Any]) -> np.ndarray:
    column = np.empty(len(values), object)
    column[:] = values
    return column


def sentence(counts: Mapping[str, int]) -> str:
    """What changed, in one line."""
    return (
        f"Rows of A with the same partner as before: {counts['kept']:,}; with another one: {counts['moved']:,}; linked "
        f"for the first time: {counts['gained']:,}; no longer linked: {counts['lost']:,}."
    )
