"""The demo shows a fair picture of the result: links by title, and the estimates beside the truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click import unstyle

import span_papers
from veclink.cli.links import Demo
from veclink.cli.shared import in_words
from veclink.confidence.intervals import thresholds

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo() -> Demo:
    return span_papers.demo()


def test_demo_links_most_shown_papers_rightly_and_knows_which(demo: Demo) -> None:
    assert demo.n_shared == 900 and demo.n_seeds == 15
    assert demo.scores.f1 > 0.9
    assert [each.right for each in demo.shown] == [each.title_a == each.title_b for each in demo.shown]


def test_the_pages_tell_what_the_demo_gives_today(demo: Demo) -> None:
    """Where this fails, `veclink bench sample` and `veclink bench results --pages-only` tell it anew."""
    kept = json.loads((ROOT / "bench" / "results" / "experiments" / "sample.json").read_text(encoding="utf-8"))
    assert abs(len(demo.links) - kept["links"]) <= 2  # another numerical library may move a link at the threshold
    assert 100 * demo.scores.recall == pytest.approx(kept["recall"], abs=0.3)
    assert demo.links.summary.caution == pytest.approx(kept["caution"], abs=0.02)


def test_demo_prints_titles_scores_and_the_next_command_within_80_columns(
    demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = unstyle(in_words("demo", demo=demo, thresholds=thresholds(demo.links)))
    assert max(len(line) for line in printed.splitlines() if "file://" not in line) <= 80
    words = " ".join(printed.split())
    for each in demo.shown:
        assert each.title_a in words and each.title_b in words, "titles are printed in full"
        assert each.doubt in words
    summary = demo.links.summary
    assert summary.precision is not None and summary.recall is not None
    estimated, by_truth = words.partition("Estimated precision: ")[2].split("By the truth: ")
    for share in (demo.scores.precision, demo.scores.recall, demo.scores.f1):
        assert f"{100 * share:.1f} %" in by_truth
    for share in (summary.precision, summary.recall):
        assert f"{100 * share:.1f} %" in estimated
    assert "veclink link A.npy B.npy --seeds seeds.csv -o links.csv" in printed
    low, high = summary.precision_range
    assert f"{100 * low:.1f}–{100 * high:.1f} %" in printed
    for line in thresholds(demo.links):
        assert f"{line.precision:.2f} {line.n_links} {100 * line.recall:.1f} %" in words
