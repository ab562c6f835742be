"""`veclink bench check`: the pages say what the results say, and a figure that is changed by hand is found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from veclink.errors import InputError
from veclink.linkers import geh as constants
from veclink_bench import checking
from veclink_bench.checking import faults_of, typed_figures
from veclink_bench.claims import CLAIMS
from veclink_bench.pages import NUMBER, broken_claims, constants_table, filled, number, pages
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


def test_a_cell_of_a_table_changed_by_hand_is_found(changed: Path) -> None:
    text = changed.read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| span | "))
    digits = re.search(r"\d+\.\d", row)
    assert digits is not None
    changed.write_text(text.replace(row, row.replace(digits[0], "99.9", 1)), encoding="utf-8")
    assert any("99.9" in fault for fault in faults_of(changed))


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


@pytest.mark.parametrize(
    ("name", "f1"),
    [
        ("out-of-bag-always-gains", {"own": 50.0, "out-of-bag": 49.0}),
        ("encoding-is-no-help", {"kernel": 9.0, "raw": 8.0}),
    ],
)
def test_checks_of_sentences_can_fail(name: str, f1: dict[str, float]) -> None:
    setting = "votes" if "own" in f1 else "encoding"
    rest = {"views": "fps", "encoding": "raw", "votes": "own"}
    cells = [{**rest, setting: value, "overlap": o, "f1": f} for value, f in f1.items() for o in (0.15, 0.3)]
    assert not CLAIMS[name](lambda _: cells)


def test_marks_ask_for_means_ranges_and_constants() -> None:
    means = [float(number(f"{kind} factorial.f1 votes=own by=views")) for kind in ("least", "mean", "most")]
    assert means == sorted(means) and means[0] < means[-1]
    assert number("count factorial.f1 votes=own") == "400"
    assert number("code veclink.linkers.geh.GROWTH") == f"{constants.GROWTH:g}"
    table = constants_table("veclink.linkers.geh")
    assert f"| `GROWTH` | {constants.GROWTH} | Growth c and share" in table
    assert f"| `NEIGHBOURS` | {constants.NEIGHBOURS} | as above |" in table
    both = [f"veclink.linkers.geh.{name}" for name in ("GROWTH", "SHARE")]
    assert number(f"code {' '.join(both)} percent") == f"{100 * constants.GROWTH * constants.SHARE:g}"
    for wrong in ("mean factorial.f1 votes=none", "median factorial.f1", "mean nowhere.f1"):
        with pytest.raises(InputError):
            number(wrong)
