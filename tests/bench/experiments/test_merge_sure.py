"""The tables of `veclink bench merge-sure` say what they measure, and prose counts the cells that miss the rule."""

from __future__ import annotations

from typing import Any

import pytest

from veclink.uses.merging import DEFAULT_SURE
from veclink_bench import merge_sure_figures as figures
from veclink_bench.experiments.merge_sure import CHOSEN_ON, OVERLAPS, tables

FOUND = {"recall": 0.9, "ndcg": 0.5}


def cell(hidden: float) -> dict[str, Any]:
    """A split of the corpus that the default was chosen on."""
    merged = {"hidden": hidden, "expected": 0.2, "copies": 7, **FOUND}
    return {
        "pair": [CHOSEN_ON, "minilm", "mpnet"],
        "overlap": OVERLAPS[0],
        "native": {"recall": 1.0, "ndcg": 1.0},
        "sure": {str(DEFAULT_SURE): merged},
        "maps": {"blend": merged},
        "lost": {"as merged": FOUND},
        "old": FOUND,
    }


def test_every_table_names_its_measure_and_the_maps_their_probability() -> None:
    found = tables([cell(0.1)])
    assert len(found) == 3 and all("Recall@100, % of native" in " ".join(table.columns) for table in found)
    assert found[1].columns[0] == "`--map`, at probability 0.9" and found[1].rows[0][-1] == "50.0"


def test_a_mean_below_the_rule_does_not_hide_a_cell_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_cells", lambda: [cell(0.1), cell(0.501), cell(0.5)])
    of = figures.merge_sure_figures()
    assert (of["merge-cells-chosen-on"](), of["merge-cells-over-the-rule"]()) == (3, 1)
    assert of["merge-most-hidden-where-chosen"]() == 0.501
    assert of[f"merge-hidden-{CHOSEN_ON}-{OVERLAPS[0]:g}"]() == pytest.approx(0.367)
