"""The report as a file: whole, closed in itself and safe, for every kind of result and of input."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import packed_data
import span_papers
from small_papers import N_SEEDS, small_papers
from veclink import Collection, Links, link
from veclink.data.summary import Summary
from veclink.data.words import Reason
from veclink.report import save_report

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "--><!--",
    "\u202eturned around\u202c",
    "line\nbreak\ttab\x00\x1b[31m",
    "",
    "x" * 5000,
    "{{123*457}}{% raw %}",
]


def unpacked(page: str) -> dict[str, Any]:
    """The data of a page as the browser reads it."""
    found = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', page)
    assert found is not None
    return packed_data.unpacked(found[1])


def cut_report(path: Path, **options: Any) -> str:
    """The page of the links of the small cut."""
    papers = span_papers.some_papers()
    save_report(path, options.pop("links", span_papers.linked_cut()), papers.a, papers.b, **options)
    return path.read_text(encoding="utf-8")


def test_a_hostile_report_runs_nothing_and_shows_the_titles_as_they_are(tmp_path: Path, visit: Any) -> None:
    papers, links = span_papers.some_papers(), span_papers.linked_cut()
    titles = [HOSTILE[row % len(HOSTILE)] for row in range(300)]
    ids = np.array([f"{name}{row}" for row, name in enumerate(titles)], object)
    a, b = (
        Collection.from_array(each, ids=ids, payload=pa.table({"title": titles}), name=f"/x/{HOSTILE[1]}.npy")
        for each in (papers.a, papers.b)
    )
    summary = replace(links.summary, why=tuple(map(Reason.of, HOSTILE)))
    named = {f"ids_{side}": ids[links.pairs[:, column]] for column, side in enumerate("ab")}
    links = links.some(slice(None), summary, options={"x": HOSTILE[0]}, **named)
    save_report(tmp_path / "r.html", links, a, b)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2 and page.count("</script>") == 2 and "56211" not in page
    assert "<img" not in page and ' onmouseover="alert' not in page and "\x00" not in page and "\u202e" not in page
    assert max(map(len, unpacked(page)["texts"])) == 160
    opened = visit(tmp_path / "r.html")
    opened.page.on("dialog", lambda dialog: pytest.fail("a title was run as a script"))
    opened.page.fill("#search", "<script>alert(1)")
    opened.page.click("#links tbody tr >> nth=0")
    opened.page.wait_for_selector("dialog[open]")
    assert "<script>alert(1)</script>" in opened.page.inner_text("dialog")
    assert opened.complaints == [] and len(opened.asked) == 1


def test_the_page_forbids_all_loading_and_every_script_but_its_own(tmp_path: Path) -> None:
    page = cut_report(tmp_path / "r.html")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and "default-src 'none'" in policy[1] and "unsafe" not in policy[1]
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)


def report_of_noise(path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((100, 32)), rng.standard_normal((100, 48))
    save_report(path, link(a, b, device="cpu"), a, b)


def report_of_few(path: Path) -> None:
    rng = np.random.default_rng(0)
    save_report(path, link(rng.standard_normal((10, 8)), rng.standard_normal((12, 9)), device="cpu"))


def report_of_geh(path: Path) -> None:
    a, b, truth = small_papers()
    a, b = a[:90], b[:90]
    save_report(path, link(a, b, seeds=truth[:N_SEEDS], method="geh", device="cpu"), a, b)


def report_of_short_csv(path: Path) -> None:
    span_papers.linked_cut().save(path.with_suffix(".csv"))
    cut_report(path, links=Links.load(path.with_suffix(".csv")))


def report_of_several_partners(path: Path) -> None:
    papers = span_papers.some_papers()
    seeds = papers.truth[papers.truth[:, 0] < 200][:15]
    links = link(papers.a[:200], papers.b, seeds=seeds, one_to_one=False, device="cpu")
    save_report(path, links, papers.a[:200], papers.b)


def report_of_pairs_by_hand(path: Path) -> None:
    rows = np.arange(30)
    summary = Summary("by hand", 30, 30, 30)
    save_report(path, Links(np.column_stack([rows, rows[::-1]]), np.linspace(0.2, 1, 30), summary))


def report_of_nothing_by_hand(path: Path) -> None:
    summary = Summary("by hand", 30, 30, 0)
    save_report(path, Links(np.empty((0, 2), np.int64), np.empty(0), summary, trace={"growth": [[12, 3]]}))


@pytest.mark.parametrize(
    ("write", "head", "links", "curve"),
    [
        (report_of_noise, "No links found without seeds.", 0, 0),
        (report_of_few, "Too few rows to link.", 0, 0),
        (report_of_geh, "Doubtful: look at the links before you use them.", 1, 0),
        (report_of_short_csv, "Most links are right, but not all.", 1, 1),
        (report_of_several_partners, "Most links are right, but not all.", 1, 1),
        (report_of_pairs_by_hand, "The views agree: these links are likely right.", 1, 0),
        (report_of_nothing_by_hand, "No link is kept at this threshold.", 0, 0),
    ],
)
def test_every_kind_of_result_has_a_page_that_works(
    tmp_path: Path, visit: Any, write: Any, head: str, links: int, curve: int
) -> None:
    write(tmp_path / "r.html")
    opened = visit(tmp_path / "r.html")
    assert opened.page.inner_text("h1") == head
    assert (opened.page.locator("#links").count(), opened.page.locator("#curve").count()) == (links, curve)
    if links:
        opened.page.click("#links tbody tr >> nth=2")
        opened.page.wait_for_selector("dialog[open]")
    assert opened.complaints == []


def test_the_same_links_give_the_same_file(tmp_path: Path) -> None:
    assert cut_report(tmp_path / "one.html") == cut_report(tmp_path / "two.html")
