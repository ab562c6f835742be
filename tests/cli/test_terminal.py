"""Progress and summaries say what a person waits to know."""

from __future__ import annotations

import numpy as np
import pytest

from veclink import link
from veclink.cli.terminal import print_column_scores, print_scores, print_summary, print_thresholds
from veclink.confidence.threshold import Threshold
from veclink.data.agreement import Agreement, ColumnMatches, ColumnScores
from veclink.data.pairs import score
from veclink.data.summary import Summary
from veclink.progress import Progress, describe, showing_progress


def test_progress_tells_iteration_links_confidence_and_time_left() -> None:
    now = Progress(step=20, of=100, links=1_234, confidence=0.876, stage="growing")
    assert describe(now, elapsed=30.0) == "iteration 20, 1,234 links, confidence 0.88, at most 2:00 left"


def test_progress_leaves_out_what_is_not_known() -> None:
    assert (
        describe(Progress(step=3, of=None, links=15, confidence=None, stage="growing"), 2.0) == "iteration 3, 15 links"
    )


def test_quiet_has_no_listener() -> None:
    with showing_progress(quiet=True) as listener:
        assert listener is None


def test_progress_never_reaches_stdout(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veclink.progress.LOG_EVERY", 0.0)
    with showing_progress(quiet=False) as listener:
        assert listener is not None
        listener(Progress(step=1, of=10, links=7, confidence=0.5, stage="growing"))
    told = capsys.readouterr()
    assert told.out == ""
    assert "growing: iteration 1, 7 links, confidence 0.50" in told.err


def test_summary_shows_the_estimates_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(
        Summary("geh", 1_000, 2_000, 300, precision=0.9, overlap=400.0, verdict="doubtful", reasons=("Few.",))
    )
    printed = capsys.readouterr().out
    assert "300 links between 1,000 and 2,000 vectors: doubtful." in printed
    assert "precision 90.0 %" in printed and "overlap 400 objects" in printed and "recall" not in printed
    assert "Few." in printed


def test_summary_names_the_seeds_that_look_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(Summary("span", 100, 200, 3, wrong_seeds=((4, 17), (9, 150))))
    assert "Seeds that look wrong, by row: (4, 17), (9, 150)." in capsys.readouterr().out


def test_summary_names_the_seeds_that_contradict_one_another(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(Summary("span", 100, 200, 3, contradicting_seeds=((4, 17), (4, 150))))
    told = " ".join(capsys.readouterr().out.split())
    assert "Seeds that contradict one another, and were not used, by row: (4, 17), (4, 150)." in told


def test_summary_says_how_far_the_estimates_may_be_off(capsys: pytest.CaptureFixture[str]) -> None:
    estimates = {"precision": 0.9, "recall": 0.8, "overlap": 1400.0}
    ranges = {"precision_range": (0.85, 0.93), "recall_range": (0.7, 0.875), "overlap_range": (1300.0, 1555.0)}
    print_summary(Summary("span", 2_000, 2_000, 300, **estimates, **ranges))
    told = " ".join(capsys.readouterr().out.split())
    assert "precision 90.0 % (likely 85.0–93.0 %)" in told
    assert "recall 80.0 % (likely 70.0–87.5 %)" in told
    assert "overlap 1,400 objects (likely 1,300–1,555)" in told


def test_the_table_says_what_a_wanted_precision_costs(capsys: pytest.CaptureFixture[str]) -> None:
    print_thresholds([Threshold(0.99, 1234, 0.5), Threshold(0.9, 2000, None)])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split() == ["0.99", "1,234", "50.0", "%"] for line in lines)
    assert any(line.split() == ["0.90", "2,000", "–"] for line in lines)
    print_thresholds([], 2.4)
    assert capsys.readouterr().out == ""


def test_the_table_says_why_it_keeps_fewer_links_than_the_estimates_allow(capsys: pytest.CaptureFixture[str]) -> None:
    for caution, said in ((2.41, True), (1.0, False), (1.04, False)):
        print_thresholds([Threshold(0.9, 2000, None)], caution)
        told = " ".join(capsys.readouterr().out.split())
        assert ("each expected wrong link counts as 2.4." in told) is said
        assert ("Conservative" in told) is said


def test_one_link_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(Summary("span", 100, 200, 1))
    assert "1 link between 100 and 200 vectors" in capsys.readouterr().out


def test_of_no_links_no_precision_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    print_scores(score([], [(0, 0)]), right=0, found=0, true=1)
    assert capsys.readouterr().out.strip() == "There are no links, so no precision; the truth has 1 pair."
    print_scores(score([(0, 0)], [(0, 0)]), right=1, found=1, true=1)
    assert "1 of 1 link is right" in capsys.readouterr().out
    matches = ColumnMatches(("title", "title"), np.array([[0, 0]]))
    print_column_scores(ColumnScores(matches, Agreement("title", "title", 0, 0), 0))
    told = " ".join(capsys.readouterr().out.split())
    assert "no links with titles on both sides" in told and "%" not in told and "0 of the 1 pair of rows" in told


def test_reading_a_store_shows_rows_rate_and_time_left() -> None:
    now = Progress(50_000, 200_000, 0, None, "reading lancedb:///x#papers", rows_per_second=2_000.0)
    assert describe(now, 25.0) == "50,000 of 200,000 rows, 2,000 a second, 1:15 left"


def test_pairs_that_nothing_bears_out_are_not_told_as_links() -> None:
    now = Progress(step=6, of=None, links=1_483, confidence=0.0, stage="growing (no seeds, searching)")
    assert describe(now, elapsed=9.0) == "iteration 6, 1,483 pairs tried, no links yet"


def test_no_seeds_no_links_while_clouds_are_only_being_aligned() -> None:
    noise = np.random.default_rng(0).standard_normal((2, 60, 40))
    told: list[Progress] = []
    link(*noise, device="cpu", progress=told.append)
    aligning = [each for each in told if each.stage == "growing" and each.step]
    assert "pairs tried, no links yet" in describe(aligning[0], elapsed=1.0)
