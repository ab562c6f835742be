"""The demo shows a fair picture of the result: links by title, and the estimates beside the truth."""

from __future__ import annotations

import pytest

import span_papers
from veclink.demo import Demo
from veclink.terminal import print_demo


@pytest.fixture(scope="module")
def demo() -> Demo:
    return span_papers.demo()


def test_demo_links_most_shown_papers_rightly_and_knows_which(demo: Demo) -> None:
    assert demo.n_shared == 900 and demo.n_seeds == 15
    assert demo.scores.f1 > 0.9
    assert [each.right for each in demo.shown] == [each.title_a == each.title_b for each in demo.shown]


def test_demo_shows_links_from_the_surest_to_the_least_sure(demo: Demo) -> None:
    shown = [each.probability for each in demo.shown]
    assert len(shown) == 12
    assert shown == sorted(shown, reverse=True)
    assert (shown[0], shown[-1]) == (demo.links.probability[0], demo.links.probability[-1])


def test_demo_prints_titles_scores_and_the_next_command_within_80_columns(
    demo: Demo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_demo(demo)
    printed = capsys.readouterr().out
    assert max(len(line) for line in printed.splitlines() if "file://" not in line) <= 80
    assert demo.shown[0].title_a[:20] in printed
    summary = demo.links.summary
    assert summary.precision is not None and summary.recall is not None
    by_truth = next(line for line in printed.splitlines() if "by the truth" in line)
    estimated = next(line for line in printed.splitlines() if "estimated" in line and "%" in line)
    for share in (demo.scores.precision, demo.scores.recall, demo.scores.f1):
        assert f"{100 * share:.1f} %" in by_truth
    for share in (summary.precision, summary.recall):
        assert f"{100 * share:.1f} %" in estimated
    assert "veclink link A.npy B.npy --seeds seeds.csv -o links.csv" in printed
