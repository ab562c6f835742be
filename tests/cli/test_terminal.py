"""Progress and results say what a person waits to know."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.cli.shared import in_words
from veclink.data.agreement import Agreement, ColumnMatches, ColumnScores
from veclink.progress import Progress, describe, showing_progress


def test_progress_tells_iteration_links_confidence_and_time_left() -> None:
    now = Progress(step=20, of=100, links=1_234, confidence=0.876, stage="growing")
    assert describe(now, elapsed=30.0) == "iteration 20, 1,234 links, confidence 0.88, at most 2:00 left"


def test_progress_never_reaches_stdout(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veclink.progress.LOG_EVERY", 0.0)
    with showing_progress(quiet=False) as listener:
        assert listener is not None
        listener(Progress(step=1, of=10, links=7, confidence=0.5, stage="growing"))
    told = capsys.readouterr()
    assert told.out == ""
    assert "growing: iteration 1, 7 links, confidence 0.50" in told.err


def test_of_no_links_no_precision_is_told() -> None:
    matches = ColumnMatches(("title", "title"), np.array([[0, 0]]))
    found = ColumnScores(matches, Agreement("title", "title", 0, 0), 0)
    told = in_words("eval", truth=None, column=found)
    assert "no links with titles on both sides" in told and "%" not in told and "0 of the 1 pair of rows" in told


def test_reading_a_store_shows_rows_rate_and_time_left() -> None:
    now = Progress(50_000, 200_000, 0, None, "reading lancedb:///x#papers", rows_per_second=2_000.0)
    assert describe(now, 25.0) == "50,000 of 200,000 rows, 2,000 a second, 1:15 left"
