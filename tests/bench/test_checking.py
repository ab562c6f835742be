"""`veclink bench check`: the pages say what the results say, and a figure that is changed by hand is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from veclink_bench import checking
from veclink_bench.checking import faults_of, typed_figures
from veclink_bench.claims import CLAIMS
from veclink_bench.pages import NUMBER, broken_claims, filled, pages
from veclink_bench.places import PAGE


def test_every_page_says_what_the_results_say() -> None:
    assert [fault for page in pages() for fault in faults_of(page)] == []


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the page of results, checked as strictly as the page itself."""
    copy = tmp_path / "RESULTS.md"
    copy.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(checking, "STRICT", (copy,))
    assert faults_of(copy) == []
    return copy


def test_a_number_changed_by_hand_is_found(changed: Path) -> None:
    text = changed.read_text(encoding="utf-8")
    mark = NUMBER.search(text)
    assert mark is not None
    wrong = text[: mark.start(2)] + "12.3" + text[mark.end(2) :]
    changed.write_text(wrong, encoding="utf-8")
    assert [mark[2] in fault and "12.3" in fault for fault in faults_of(changed)] == [True]
    assert filled(wrong) == text


def test_a_number_typed_into_prose_is_found(changed: Path) -> None:
    text = changed.read_text(encoding="utf-8")
    changed.write_text(text + "\nSpan reaches 97.3 there.\n", encoding="utf-8")
    assert [fault.endswith("97.3 is typed; fill it from the results") for fault in faults_of(changed)] == [True]
    assert typed_figures("at α = 0.3, `0.7`, <!-- paper -->72.2<!-- /paper -->, 5,183 documents") == []


def test_a_sentence_that_the_results_contradict_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "<!-- claim ao-tuned-is-the-best-baseline -->No pair is lost.<!-- /claim -->"
    assert broken_claims(sentence) == []
    monkeypatch.setitem(CLAIMS, "ao-tuned-is-the-best-baseline", lambda _: False)
    assert "No pair is lost." in broken_claims(sentence)[0]
    assert "no check" in broken_claims("<!-- claim of-nothing -->All.<!-- /claim -->")[0]
