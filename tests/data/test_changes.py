"""What changed between two sets of links is told row by row."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.data.changes import changes
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.errors import InputError


def linked(*rows: tuple[int, int, float], ids: bool = False) -> Links:
    pairs = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
    names = np.array([f"p{row}" for row in pairs[:, 0]], object) if ids else None
    chance = np.array([row[2] for row in rows], dtype=float)
    return Links(pairs, chance, Summary("span", 9, 9, len(rows)), ids_a=names)


def test_each_row_is_kept_moved_gained_or_lost() -> None:
    found = changes(
        linked((1, 1, 0.9), (2, 2, 0.8), (3, 3, 0.7)),
        linked((1, 1, 0.95), (2, 5, 0.6), (4, 4, 0.5)),
    )
    assert found.counts() == {"kept": 1, "moved": 1, "gained": 1, "lost": 1}
    table = found.table().to_pylist()
    assert [(row["kind"], row["a"], row["before"], row["after"]) for row in table] == [
        ("moved", 2, 2, 5),
        ("lost", 3, 3, None),
        ("gained", 4, None, 4),
        ("kept", 1, 1, 1),
    ]
    assert np.isnan(found.probability_after[1]) and found.probability_before[1] == 0.7


def test_no_links_at_all_are_no_change() -> None:
    assert len(changes(linked(), linked())) == 0


def test_ids_are_not_compared_with_row_numbers() -> None:
    with pytest.raises(InputError, match="Only one of the two files has ids"):
        changes(linked((1, 1, 0.9), ids=True), linked((1, 1, 0.9)))
