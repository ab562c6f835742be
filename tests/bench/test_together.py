"""Cells of several studies measured in several processes, and taken into the committed results."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veclink_bench import together
from veclink_bench.studies import advise, merge_sure
from veclink_bench.together import Cell, lines, measure_all
from veclink_bench.versions import version_of


def test_cells_are_lines_of_their_version_and_one_that_fails_leaves_the_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "cells.jsonl"
    wanted = [
        ("merge-sure", Cell("again: one, 0", 0, partial(dict, f1=90.0))),
        ("merge-sure", Cell("again: two, 0", 0, partial(int, "no number"))),  # type: ignore[arg-type]
        ("advise", Cell("three", 1, partial(dict, alone="keep"))),
    ]
    measure_all(wanted, out, jobs=2, seconds=60)
    found = {(line["study"], line["name"]): line for line in lines(out)}
    assert set(found) == {("merge-sure", "again: one, 0"), ("advise", "three")}
    assert found["merge-sure", "again: one, 0"]["measured"] == {"f1": 90.0}
    assert found["advise", "three"]["version"] == version_of("advise")
    assert "failed: ValueError" in capfd.readouterr().out
    with out.open("a") as file:
        file.write('{"study": "advise", "na')  # killed in the middle of a line
    assert len(lines(out)) == 2


@pytest.mark.parametrize("study", [merge_sure, advise], ids=lambda study: study.__name__)
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
    study.take({first: {**about, "f1": 90.0, "version": "older"}}, output)
    study.take({second: {**about, "f1": 91.0, "version": version_of(name)}}, output)
    text = output.read_text()
    assert "91" in text and "older" not in text
