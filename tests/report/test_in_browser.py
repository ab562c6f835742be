"""The report in a real browser: it opens offline, says whether to trust the links, and its parts work."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

import span_papers
from veclink import Collection, probe
from veclink.confidence.intervals import estimate
from veclink.data.summary import range_in_words
from veclink.report import save_probe

WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 360, "height": 780}


def serious(page: Any) -> list[str]:
    """What axe-core finds serious or worse."""
    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in ("serious", "critical")]


def links_kept(page: Any) -> int:
    return int(page.inner_text("#at-links").replace(",", ""))


@pytest.mark.parametrize(("scheme", "viewport"), [("light", WIDE), ("dark", NARROW)])
def test_it_is_accessible_fits_the_screen_loads_nothing_and_complains_about_nothing(
    visit: Any, sample_report: Path, scheme: str, viewport: dict[str, int]
) -> None:
    opened = visit(sample_report, viewport=viewport, color_scheme=scheme)
    page = opened.page
    page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    box = page.get_by_text("Recall, estimated").bounding_box()
    assert box["y"] + box["height"] < viewport["height"], "the figures are on the first screen"
    page.click("#links tbody tr >> nth=5")
    page.wait_for_selector("dialog[open]")
    assert serious(page) == []
    assert opened.asked == [sample_report.as_uri()] and opened.complaints == []


def test_the_page_and_the_linker_agree_on_estimates_thresholds_and_files(
    visit: Any, sample_report: Path, tmp_path: Path
) -> None:
    page, links, found = visit(sample_report).page, span_papers.linked(), estimate(span_papers.linked())
    for name in ("precision", "recall"):
        interval = getattr(found, name)
        assert page.inner_text(f"#at-{name}") == f"{100 * interval.value:.1f} %"
        assert page.inner_text(f"#at-{name}-range") == range_in_words(interval.range, to=" % to ")
    for wanted in (0.99, 0.95, 0):
        page.click(f"[data-threshold='{wanted}']")
        chosen = links.at(precision=wanted) if wanted else links
        assert abs(links_kept(page) - len(chosen)) <= 1
        with page.expect_download() as download:
            page.click("#save")
        download.value.save_as(tmp_path / "saved.csv")
        links.at(links=links_kept(page)).save(tmp_path / "links.csv")
        saved, file = (list(csv.DictReader((tmp_path / name).open())) for name in ("saved.csv", "links.csv"))
        assert [(row["a"], row["b"]) for row in saved] == [(row["a"], row["b"]) for row in file]
        assert [float(row["probability"]) for row in saved] == [float(row["probability"]) for row in file]


def test_search_and_filters_show_the_links_they_name(visit: Any, sample_report: Path) -> None:
    page, links = visit(sample_report).page, span_papers.linked()
    right = round(span_papers.demo().scores.precision * len(links))
    expected = {
        "doubtful": int((links.probability < 0.9).sum()),
        "given": 15,
        "wrong": len(links) - right,
        "all": len(links.considered),
    }
    for name, count in expected.items():
        page.select_option("#filter", name)
        assert page.inner_text("#found").split()[0] == f"{count:,}"
    title = page.inner_text("#links tbody tr:nth-child(20) td:nth-child(3)").split("\n")[0]
    page.fill("#search", title.upper())
    expect(page.locator("#links tbody tr")).to_have_count(1)


def test_the_page_of_two_inspected_collections_is_safe_and_accessible(browser: Any, tmp_path: Path) -> None:
    papers = span_papers.some_papers()
    seeds = papers.truth[:20].copy()
    seeds[:4, 1] = np.roll(seeds[:4, 1], 1)
    hostile = "x/</title><script>alert(1)</script>"
    a, b = (Collection.from_array(each, name=hostile) for each in (papers.a, papers.b))
    save_probe(tmp_path / "p.html", probe(a, b, seeds=seeds, device="cpu"))
    page = browser.new_page()
    page.on("dialog", lambda dialog: pytest.fail("a name was run as a script"))
    page.goto((tmp_path / "p.html").as_uri())
    assert page.inner_text("h1") == "These two can be linked."
    assert page.locator("#seeds tbody tr").count() >= 4 and page.locator("svg.chart").count() == 2
    assert serious(page) == []
    page.close()
