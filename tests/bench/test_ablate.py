"""`veclink bench ablate`: every part can be taken away, and the table says what that costs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any
from unittest.mock import patch

from veclink_bench.studies.ablate import PARTS, table

LINE: dict[str, Any] = {
    "kind": "few", "shared": 100, "links": 90, "starts": ["seeds", "seeds, softly"], "copies": [0, 0], "n_a": 150,
    "n_b": 150, "seconds": 2.0, "true": {"f1": 0.9}, "estimated": {"precision": 0.9}, "at": {"0.95": {"recall": 0.5}},
}  # fmt: skip
LINE["true"]["precision"] = 0.95


def test_what_stands_for_a_part_that_is_left_out_has_its_place() -> None:
    for part in PARTS.values():
        for place, value in part.values.items():
            with patch(place, value):
                pass


def test_the_table_says_what_changes_without_a_part() -> None:
    without = deepcopy(LINE) | {"links": 0, "seconds": 1.0, "true": {"f1": 0.0, "precision": 0.0}}
    rows = table({("one", ""): LINE, ("one", "start: softly"): without}).splitlines()
    told = {row.split(" | ")[0][2:]: row.split(" | ")[1:] for row in rows}
    assert told["start: softly"][:6] == ["1", "1", "1", "0", "× 0.50", "-90.0"]
    assert told["start: searched"][1] == "0", "no run had a use for it"
    assert "refits" not in told, "not measured"
