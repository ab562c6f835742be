"""The report in a real browser: it opens offline, says whether to trust the links, and every part of it works."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

import span_papers
from veclink.confidence.intervals import estimate
from veclink.data.summary import range_in_words

WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 360, "height": 780}


def serious(page: Any) -> list[str]:
    """What axe-core finds serious or worse."""
    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in ("serious", "critical")]


def links_kept(page: Any) -> int:
    return int(page.inner_text("#at-links").replace(",", ""))


def test_it_loads_nothing_but_itself_and_complains_about_nothing(visit: Any, sample_report: Path) -> None:
    opened = visit(sample_report, viewport=WIDE)
    for part in ("#threshold", "#growth", "#map-section", "#links", "#trouble", "#run"):
        opened.page.locator(part).scroll_into_view_if_needed()
    opened.page.click("#links tbody tr >> nth=0")
    assert opened.asked == [sample_report.as_uri()]
    assert opened.complaints == []


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_first_screen_says_whether_to_trust_the_links_and_how_sure_that_is(
    visit: Any, sample_report: Path, viewport: dict[str, int]
) -> None:
    page = visit(sample_report, viewport=viewport).page
    head = page.locator("h1")
    assert head.inner_text() == "You can trust these links."
    for what in (head, page.get_by_text("Precision, estimated"), page.get_by_text("Recall, estimated")):
        box = what.bounding_box()
        assert box is not None and box["y"] + box["height"] < viewport["height"]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
        "the page is wider than the screen"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_page_or_in_an_explanation(
    visit: Any, sample_report: Path, scheme: str
) -> None:
    page = visit(sample_report, viewport=WIDE, color_scheme=scheme).page
    page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    assert serious(page) == []
    page.click("#links tbody tr >> nth=0")
    page.wait_for_selector("dialog[open]")
    assert serious(page) == []


def test_axe_finds_nothing_serious_on_a_small_screen(visit: Any, sample_report: Path) -> None:
    assert serious(visit(sample_report, viewport=NARROW).page) == []


def test_the_page_and_the_linker_agree_on_the_estimates_and_their_ranges(visit: Any, sample_report: Path) -> None:
    page, found = visit(sample_report).page, estimate(span_papers.linked())
    assert found is not None
    assert links_kept(page) == len(span_papers.linked())
    for name in ("precision", "recall"):
        interval = getattr(found, name)
        assert page.inner_text(f"#at-{name}") == f"{100 * interval.value:.1f} %"
        expected = range_in_words((interval.low, interval.high), to=" % to ")
        assert page.inner_text(f"#at-{name}-range") == expected
    assert page.inner_text("#at-recall-range").startswith("at least"), "of the sample's recall only a bound is known"


def test_the_buttons_set_the_threshold_where_the_linker_would(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report).page
    for wanted in (0.95, 0.99):
        page.click(f"[data-threshold='{wanted}']")
        assert abs(links_kept(page) - len(span_papers.linked().at(precision=wanted))) <= 1
    page.click("[data-threshold='0']")
    assert links_kept(page) == len(span_papers.linked())


@pytest.mark.parametrize("chart", ["#histogram", "#curve"])
def test_dragging_the_line_in_a_chart_moves_the_threshold(visit: Any, sample_report: Path, chart: str) -> None:
    page = visit(sample_report, viewport=WIDE).page
    before, precision = links_kept(page), page.inner_text("#at-precision")
    canvas = page.locator(chart)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    middle, stricter = box["y"] + box["height"] / 2, 0.9 if chart == "#histogram" else 0.4
    page.mouse.move(box["x"] + box["width"] * 0.6, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * stricter, middle, steps=4)
    page.mouse.up()
    assert 0 < links_kept(page) < before
    assert float(page.inner_text("#at-precision").removesuffix(" %")) > float(precision.removesuffix(" %"))
    assert page.input_value("#threshold-slider") == str(links_kept(page))


def test_the_threshold_moves_by_keys_and_says_what_it_is(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report).page
    before = links_kept(page)
    page.focus("#threshold-slider")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert links_kept(page) == before - 3
    assert f"{before - 3:,} links" in page.get_attribute("#threshold-slider", "aria-valuetext")


def test_the_table_shows_what_the_threshold_keeps(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report).page
    page.focus("#threshold-slider")
    page.keyboard.press("Home")
    expect(page.locator("#found")).to_have_text("1 pair")
    assert page.locator("#links tbody tr").count() == 1


def test_search_finds_titles_and_ids_and_says_how_many(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report).page
    title = page.inner_text("#links tbody tr:nth-child(20) td:nth-child(3)").split("\n")
    page.fill("#search", title[0].upper())
    expect(page.locator("#links tbody tr")).to_have_count(1)
    assert title[0] in page.inner_text("#links tbody")
    page.fill("#search", title[1])
    expect(page.locator("#links tbody")).to_contain_text(title[1])
    page.fill("#search", "no such title at all")
    expect(page.locator("#found")).to_have_text("0 pairs")
    assert "No link fits" in page.inner_text("#links tbody")


def test_filters_show_the_links_they_name(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report).page
    links = span_papers.linked()
    expected = {
        "doubtful": int((links.probability < 0.9).sum()),
        "given": 15,
        "wrong": len(links) - round(span_papers.demo().scores.precision * len(links)),
        "all": len(links.considered) if links.considered is not None else 0,
    }
    for name, count in expected.items():
        page.select_option("#filter", name)
        assert page.inner_text("#found").split()[0] == f"{count:,}"


def test_columns_are_filtered_each_by_a_field_of_its_own(visit: Any, sample_report: Path) -> None:
    page, links = visit(sample_report).page, span_papers.linked()
    page.click("text=Filter by column")
    page.fill("[data-column=p-least]", "0.5")
    page.fill("[data-column=p-most]", "0.9")
    inside = (links.probability >= 0.5) & (links.probability <= 0.9)
    expect(page.locator("#found")).to_have_text(f"{int(inside.sum()):,} pairs")
    word = page.inner_text("#links tbody tr:nth-child(2) td:nth-child(4)").split("\n")[0]
    page.fill("[data-column=b]", word.upper())
    expect(page.locator("#links tbody tr")).to_have_count(1)
    page.fill("[data-column=a]", "no such title")
    expect(page.locator("#found")).to_have_text("0 pairs")
    page.click("[data-filter=doubtful]")
    assert page.input_value("[data-column=b]") == "", "the advice shows all that it speaks of"


def test_a_rival_that_is_linked_elsewhere_is_told_with_its_partner(visit: Any, sample_report: Path) -> None:
    page, links = visit(sample_report).page, span_papers.linked()
    place = {row_b: i for i, row_b in enumerate(links.pairs[:, 1].tolist())}
    rank = next(i for i, rival in enumerate(links.evidence["rival_b"].tolist()) if rival in place)
    elsewhere = links[place[int(links.evidence["rival_b"][rank])]]
    page.locator(f"button[aria-label='Explain link {rank + 1}']").click()
    told = page.inner_text("dialog tr:has(th:text-is('Next best in B'))")
    assert elsewhere.titles[0] in told and elsewhere.titles[1] in told


def test_the_advice_leads_to_the_links_it_speaks_of(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report).page
    page.click("[data-filter=doubtful]")
    assert page.input_value("#filter") == "doubtful"
    shown = page.locator("#links tbody td:nth-child(2)").all_inner_texts()
    assert len(shown) == 25 and max(float(each) for each in shown) <= 0.9


def test_sorting_by_title_and_back(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report).page
    heading = page.locator("th[data-sort=a]")
    heading.locator("button").click()
    names = page.eval_on_selector_all("#links tbody td:nth-child(3)", "all => all.map(each => each.firstChild.data)")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert page.evaluate(
        "n => n.every((x, i) => !i || new Intl.Collator('en', {numeric: true}).compare(n[i-1], x) <= 0)", names
    )
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert page.inner_text("#links tbody tr:first-child td:nth-child(3)").split("\n")[0] != names[0]
    page.click("[data-page='1']")
    assert page.inner_text("#where").startswith("Page 2 of")


def test_a_link_explains_itself_and_the_keys_go_from_one_to_the_next(visit: Any, sample_report: Path) -> None:
    page, links = visit(sample_report).page, span_papers.linked()
    rank = int(np.flatnonzero(~links.evidence["given"])[0])
    page.locator(f"button[aria-label='Explain link {rank + 1}']").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert page.inner_text("dialog h2").startswith(f"Link {rank + 1}: probability")
    steps = page.locator("dialog .waterfall .step").all_inner_texts()
    assert len(steps) == 9 and steps[-1] == page.inner_text("dialog h2").split("probability ")[1]
    told = page.inner_text("dialog")
    assert "Next best in B" in told and "The links nearest to it" in told
    assert "One that is linked elsewhere fits another object better" in told
    page.keyboard.press("ArrowRight")
    assert page.inner_text("dialog h2").startswith(f"Link {rank + 2}:")
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0


def test_the_waterfall_adds_up_to_the_probability_of_every_link_tried(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report).page
    page.select_option("#filter", "doubtful")
    page.click("#links tbody tr >> nth=0")
    for _ in range(12):
        said = float(page.inner_text("dialog h2").split("probability ")[1])
        together = float(page.locator("dialog .waterfall .step").last.inner_text())
        assert abs(said - together) < 0.05
        page.keyboard.press("ArrowRight")


def test_the_map_answers_to_mouse_and_keys(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report, viewport=WIDE).page
    canvas = page.locator("#map canvas")
    canvas.scroll_into_view_if_needed()
    picture = "document.querySelector('#map canvas').toDataURL()"

    def changes(act: Any) -> bool:
        before = page.evaluate(picture)
        act()
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return page.evaluate(picture) != before

    assert changes(lambda: page.click("[data-zoom=in]"))
    canvas.focus()
    assert changes(lambda: page.keyboard.press("ArrowLeft"))
    assert not page.is_checked("[data-show=links]"), "all lines at once are a hairball"
    for box in ("links", "doubtful", "density", "both", "alone-a", "alone-b"):
        assert changes(lambda box=box: page.click(f"[data-show={box}]"))
        page.click(f"[data-show={box}]")
    assert changes(lambda: page.click("[data-zoom=all]"))
    box = canvas.bounding_box()
    for step in range(20):  # across the middle, where points lie close together
        page.mouse.move(box["x"] + box["width"] * (0.4 + 0.01 * step), box["y"] + box["height"] / 2)
        if page.is_visible(".tip"):
            break
    page.wait_for_selector(".tip")
    assert "in A" in page.inner_text(".tip") or "in B" in page.inner_text(".tip")


def test_the_map_follows_the_threshold_and_shows_the_link_that_is_explained(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report, viewport=WIDE).page
    picture = "document.querySelector('#map canvas').toDataURL()"
    settle = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    before = page.evaluate(picture)
    page.click("[data-threshold='0.99']")
    page.evaluate(settle)
    stricter = page.evaluate(picture)
    assert stricter != before
    page.click("#links tbody tr >> nth=3")
    page.wait_for_selector("dialog[open]")
    page.evaluate(settle)
    assert page.evaluate(picture) != stricter


def test_the_first_screen_shows_examples_that_explain_themselves(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report, viewport=WIDE).page
    kinds = page.locator(".eye tbody th").all_inner_texts()
    assert [kind.split("\n")[0] for kind in kinds] == [
        "A sure link",
        "A doubtful link",
        "A doubtful link",
        "Closest to a link, left out",
    ]
    doubts = page.locator(".eye .doubt").all_inner_texts()
    assert doubts[0] == "Nothing speaks against it." and all(doubt not in doubts[:1] for doubt in doubts[1:])
    title = page.locator(".eye tbody tr").nth(1).locator("td").first.inner_text()
    page.locator(".eye button").nth(1).click()
    page.wait_for_selector("dialog[open]")
    assert title in page.inner_text("dialog .sides")


def test_the_button_saves_what_a_file_would_hold(visit: Any, sample_report: Path, tmp_path: Path) -> None:
    page, links = visit(sample_report).page, span_papers.linked()
    for wanted in ("0.99", "0.95", "0"):
        page.click(f"[data-threshold='{wanted}']")
        with page.expect_download() as download:
            page.click("#save")
        download.value.save_as(tmp_path / "saved.csv")
        links.at(links=links_kept(page)).save(tmp_path / "links.csv")
        saved, file = (list(csv.DictReader((tmp_path / name).open())) for name in ("saved.csv", "links.csv"))
        assert len(saved) == len(file) == links_kept(page)
        assert [(row["a"], row["b"]) for row in saved] == [(row["a"], row["b"]) for row in file]
        assert [float(row["probability"]) for row in saved] == [float(row["probability"]) for row in file]


def test_light_and_dark_can_be_changed_by_hand_and_paper_is_light(visit: Any, sample_report: Path) -> None:
    page = visit(sample_report, color_scheme="dark").page
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.click("#theme")
    light = page.evaluate(background)
    assert light != dark
    page.click("#theme")
    assert page.evaluate(background) == dark
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert not page.is_visible("#search") and page.is_visible("#histogram")
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(background) == dark


def test_without_javascript_the_verdict_and_the_numbers_are_still_there(browser: Any, sample_report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(sample_report.as_uri())
    assert page.inner_text("h1") == "You can trust these links."
    assert "need JavaScript" in page.inner_text("main")
    assert page.locator("#threshold details td").count() > 20
    context.close()
