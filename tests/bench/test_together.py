"""Cells of several studies measured in several processes, and taken into the committed results."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veclink_bench import together
from veclink_bench.studies import advise, living, merge_sure
from veclink_bench.studies.living_figures import summary
from veclink_bench.together import Cell, lines, measure_all
from veclink_bench.versions import version_of


def batch_cell(f1: float, estimated: float) -> dict[str, Any]:
    return {
        "f1": f1,
        "single_estimated": estimated,
        "single_right": 0.6,
        "unlike_estimated": 0.8,
        "unlike_right": 0.8,
    }


def test_cells_are_lines_of_their_version_and_one_that_fails_leaves_the_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "cells.jsonl"
    wanted = [
        ("living", Cell("again: one, 0", 0, partial(dict, f1=90.0))),
        ("living", Cell("again: two, 0", 0, partial(int, "no number"))),  # type: ignore[arg-type]
        ("advise", Cell("three", 1, partial(dict, alone="keep"))),
    ]
    measure_all(wanted, out, jobs=2, seconds=60)
    found = {(line["study"], line["name"]): line for line in lines(out)}
    assert set(found) == {("living", "again: one, 0"), ("advise", "three")}
    assert found["living", "again: one, 0"]["measured"] == {"f1": 90.0}
    assert found["advise", "three"]["version"] == version_of("advise")
    assert "failed: ValueError" in capfd.readouterr().out
    with out.open("a") as file:
        file.write('{"study": "living", "na')  # killed in the middle of a line
    assert len(lines(out)) == 2


@pytest.mark.parametrize("study", [living, merge_sure, advise], ids=lambda study: study.__name__)
def test_results_take_cells_of_this_version_and_drop_those_of_others(study: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for corpus in ("scifact", "nfcorpus"):
        (data / corpus).mkdir(parents=True)
        for model in ("minilm", "mpnet", "e5", "glove"):
            np.save(data / corpus / f"{model}.npy", np.empty((0, 2)))
    name = next(key for key, module in together.STUDIES.items() if study.__name__.endswith(module))
    first, second = (cell.name for cell in study.cells(data, 1)[:2])
    about = {"corpus": "scifact", "models": ["glove", "mpnet"], "overlap": 0.3, "share": 0.3, "state": 0}
    output = tmp_path / "results.json"
    study.take({first: {**about, **batch_cell(90, 0.6), "version": "older"}}, output)
    study.take({second: {**about, **batch_cell(91, 0.6), "version": version_of(name)}}, output)
    text = output.read_text()
    assert "91" in text and "older" not in text


def test_the_worst_case_is_the_mean_of_its_trials_and_the_worst_trial_stands_beside_it() -> None:
    kept = {
        "batch": {"x, 0": batch_cell(90, 0.68), "x, 1": batch_cell(92, 0.58), "y, 0": batch_cell(95, 0.61)},
        "again": {"x, 0": {"f1": 93.0}, "x, 1": {"f1": 91.0}, "y, 0": {"f1": 95.5}},
    }
    told = summary(kept, ("x", "y"))["batch"]
    assert (told["cases"], told["trials"]) == (2, 3)
    assert told["worst_behind"] == pytest.approx(1.0) and told["worst_trial_behind"] == pytest.approx(3.0)
    assert told["worst_single_error"] == pytest.approx(3.0) and told["worst_trial_single_error"] == pytest.approx(8.0)
    assert summary(kept, ("y",))["batch"]["worst_behind"] == pytest.approx(0.5)


def test_rows_that_come_one_at_a_time_are_shared_as_often_as_all_are() -> None:
    rows = np.random.default_rng(0).permutation(3000)
    is_shared = rows < 1400
    some = living.alike(rows, is_shared, 200)
    assert len(np.unique(some)) == 200 and np.count_nonzero(some < 1400) == round(200 * 1400 / 3000)
