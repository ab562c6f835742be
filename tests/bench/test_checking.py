"""`veclink bench check`: pages say what the results and the code say, and what somebody changes by hand is found."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from veclink.errors import InputError
from veclink_bench import checking, pages
from veclink_bench.checking import faults_of, page_texts, stale_results, typed_numbers, unvouched
from veclink_bench.claims import CLAIMS
from veclink_bench.pages import NUMBER, broken_claims, cells_of, filled

README, WELL, LIMITS, RESULTS = "README.md", "docs/how-well.md", "docs/limits.md", "bench/RESULTS.md"
TEXTS = page_texts()
Change = Callable[[str], str]


def test_every_page_says_what_the_results_say() -> None:
    assert [fault for name, text in TEXTS.items() for fault in faults_of(name, text)] + unvouched(TEXTS) == []
    assert stale_results() == []


def swap(old: str, new: str) -> Change:
    """The first of these words by others, whatever line breaks and marks stand in them."""
    spaced = re.compile(r"\s+".join(map(re.escape, old.split(" "))))
    return lambda text: spaced.sub(lambda _: new, text, count=1)


def filling(mark: str, number: str) -> Change:
    """The number that the first mark of this kind fills."""
    return lambda text: re.sub(rf"(<!-- = {mark}.*?-->).*?(<!-- /= -->)", rf"\g<1>{number}\2", text, count=1)


def unmarked(text: str) -> str:
    """The first number stands there without its mark."""
    return NUMBER.sub(lambda mark: mark[2], text, count=1)


def row_of(table: str, old: str, new: str) -> Change:
    """Some words of a table."""
    return lambda text: re.sub(rf"(<!-- {table} -->.*?){old}", rf"\g<1>{new}", text, count=1, flags=re.DOTALL)


def added(line: str) -> Change:
    return lambda text: f"{text}\n{line}\n"


TAMPERS: dict[str, tuple[str, Change]] = {
    "a figure of the front page": (README, filling("figure real-f1-even-0.3", "97.0")),
    "a figure of the front page, typed": (README, unmarked),
    "a row more in the table of the front page": (README, added("| 50 % | 99.1 | 99.2 | 98.0 |")),
    "fewer seeds on the front page": (README, swap("15 seeds", "5 seeds")),
    "words of a claim of the front page": (README, swap("every trial says", "nearly every trial says")),
    "a claim without its check": (WELL, lambda text: re.sub(r"<!-- claim span-leads.*?-->", "", text)),
    "a release that is older": (LIMITS, filling("release no_seeds", "veclink 0.3")),
    "a release that is not told": (LIMITS, lambda text: re.sub(r"<!-- = release no_seeds.*?/= -->", "", text)),
    "a sentence with a figure": (WELL, added("Span reaches 97 % there.")),
    "a size": (WELL, swap("1.18M titles", "11.8M titles")),
    "how many wrong seeds are named": (WELL, filling("figure wrong-seeds-named", "450")),
    "words of a claim of another page": (WELL, swap("stays below it in", "stays far below it in")),
    "a cell of the table of kinds": (LIMITS, row_of("made real-cases", "copies", "copies and more")),
    "the table of starts": (LIMITS, row_of("made starts", "[0-9]+ of [0-9]+", "99 of 99")),
    "a constant": (LIMITS, filling("code veclink.linkers.span.constants.MIN_COMING_BACK", "5")),
    "a typed table": (LIMITS, swap("below 30 rows", "below 20 rows")),
    "the worst estimate": (LIMITS, filling("figure worst-estimate-of-a-tenth", "3")),
    "a cell of the main table": (RESULTS, row_of("table main 0", r"\| linear \| [\d.]+", "| linear | 1.2")),
    "the version of a table": (RESULTS, row_of("table grid 0", "Measured with[^.]*.[^.]*", "Measured with 0.3")),
    "the size of a corpus": (RESULTS, swap("5,183 and", "5,283 and")),
    "a figure of the paper": (RESULTS, swap("72.2", "62.2")),
    "words of a claim of the results": (RESULTS, swap("on all five corpora", "on all six corpora")),
    "what a mark asks for": (RESULTS, swap("method=geh overlap=0.15", "method=geh_tuned overlap=0.15")),
    "a claim of another page, words": ("docs/clustering.md", swap("In all six pairs", "In all eight pairs")),
    "a promise": ("docs/how-to/threshold.md", row_of("made promise", "in [0-9]+ of", "in 99 of")),
    "a list of constants": ("docs/method.md", row_of("constants [^>]*", r"` [0-9]+;", "` 77;")),
    "what a command prints": ("docs/start.md", row_of("made sample-link", "[0-9]+ links", "999 links")),
    "what merging hides": ("docs/merging.md", filling("figure merge-hidden-scifact-0.3", "0.11")),
    # Numbers typed on pages that are not strict pass: what they are of is no result file.
    "a typed figure of the method": ("docs/method.md", added("Without it F1 is 3.1 points lower.")),
    "a typed time": ("docs/scale.md", added("It takes 12 s.")),
}
PASSING = {"a typed figure of the method", "a typed time"}


@pytest.mark.parametrize("tamper", TAMPERS)
def test_what_is_changed_by_hand_is_found(tamper: str) -> None:
    page, change = TAMPERS[tamper]
    changed = change(TEXTS[page])
    assert changed != TEXTS[page], "the page has other words by now: find them"
    found = faults_of(page, changed) + unvouched(TEXTS | {page: changed})
    assert bool(found) != (tamper in PASSING)
    if found and filled(changed) != changed:
        assert filled(changed) == TEXTS[page] or tamper == "what a mark asks for"


def changed_cells(monkeypatch: pytest.MonkeyPatch, file: str, **values: Any) -> list[Any]:
    """Has the first cell of a result file hold other values."""
    cells = [dict(cell) for cell in cells_of(file)]
    cells[0] |= values
    monkeypatch.setattr(pages, "_cells", lambda name, known=pages._cells: cells if name == file else known(name))
    monkeypatch.setattr(pages, "tables_of", pages.tables_of.__wrapped__)
    return cells


def test_a_result_changed_behind_the_pages_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    changed_cells(monkeypatch, "grid", f1=0.0)
    assert any("the results say" in fault for fault in faults_of(RESULTS, TEXTS[RESULTS]))


def test_a_table_that_mixes_versions_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    changed_cells(monkeypatch, "grid", version="0.3.0 12345678")
    assert any("mix" in fault and "grid --full" in fault for fault in stale_results())
    assert any("mix" in fault for fault in faults_of(RESULTS, TEXTS[RESULTS]))


def test_a_result_that_is_stale_has_to_be_listed_and_one_that_is_not_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = dict(checking.older())
    monkeypatch.setattr(checking, "older", lambda: {**listed, "tuning": "0.2", "main": "0.1"})
    assert ["main" in fault or "tuning" in fault for fault in stale_results()] == [True, True]
    listed.pop("seeding")
    monkeypatch.setattr(checking, "older", lambda: listed)
    assert ["seeding is of 0.2" in fault for fault in stale_results()] == [True]


def test_a_sentence_that_the_results_contradict_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = re.search(r"<!-- claim ao-tuned-is-the-best-baseline -->.*?<!-- /claim -->", TEXTS[RESULTS], re.DOTALL)
    assert sentence is not None and broken_claims(sentence[0]) == []
    monkeypatch.setitem(CLAIMS, "ao-tuned-is-the-best-baseline", lambda _: False)
    assert "the results contradict" in broken_claims(sentence[0])[0]
    assert "no check" in broken_claims("<!-- claim of-nothing -->All.<!-- /claim -->")[0]


def test_a_command_a_link_and_a_name_are_no_typed_numbers() -> None:
    assert typed_numbers("`0.7`, [a link](docs/5.md), mpnet–e5 by LA2M, <!-- = at x y -->4<!-- /= -->") == []
    assert [words for _, words in typed_numbers("in 30 trials\nor 97.3 of")] == ["in 30 trials", "or 97.3 of"]


def test_a_mark_that_no_result_fits_is_told() -> None:
    with pytest.raises(InputError, match="No cell"):
        filled("<!-- = mean grid.f1 method=nothing -->1<!-- /= -->")
