"""The review page as a person uses it: in a real browser, with keys, through reloads and crashes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from reviewed_papers import HOSTILE, Reviewed, served


@pytest.fixture(scope="module")
def address(papers: Reviewed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server for the tests that need no answers of their own kind."""
    with served(papers, tmp_path_factory.mktemp("page")) as (_, told):
        yield told["url"]


@pytest.fixture
def window(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh window; whatever its pages ask for outside this machine, or complain about, fails the test."""
    context = browser.new_context()
    asked: list[str] = []
    wrong: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.on("console", lambda told: "Content Security Policy" in told.text and wrong.append(told.text))
    yield context
    context.close()
    assert asked and all(url.startswith("http://127.0.0.1:") for url in asked)
    assert wrong == []


def opened(window: BrowserContext, address: str) -> Page:
    page = window.new_page()
    page.goto(address)
    ready(page)
    return page


def ready(page: Page) -> None:
    expect(page.locator("main")).to_have_attribute("aria-busy", "false")


def press(page: Page, key: str) -> None:
    page.keyboard.press(key)
    ready(page)


def title(page: Page, side: str) -> str:
    return page.locator(f"#fields tr:first-child td:nth-child({2 if side == 'a' else 3})").inner_text()


def answered(folder: Path) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(folder / "journal.sqlite")) as file:
        return file.execute("SELECT a, b, answer FROM answers ORDER BY n").fetchall()


def test_twenty_links_reviewed_with_keys_through_a_reload_and_a_crash(
    papers: Reviewed, window: BrowserContext, tmp_path: Path
) -> None:
    seen: list[tuple[str, str, str]] = []

    def review_until(page: Page, count: int) -> None:
        while len(seen) < count:
            same = title(page, "a") == title(page, "b")
            seen.append((page.locator("#name-a").inner_text(), page.locator("#name-b").inner_text(),
                         "accept" if same else "reject"))  # fmt: skip
            press(page, "a" if same else "r")
            expect(page.locator("#progress")).to_contain_text(f"{len(seen)} of {len(papers.links)} answered")

    with served(papers, tmp_path) as (process, told):
        page = opened(window, told["url"])
        review_until(page, 8)
        page.reload()
        ready(page)
        expect(page.locator("#progress")).to_contain_text("8 of")
        review_until(page, 14)
        process.kill()  # kill -9
        process.wait()
        press(page, "a")
        expect(page.locator("#alert")).to_contain_text("Every answer that was counted is saved")
        expect(page.locator("#progress")).to_contain_text("14 of")
        page.close()
    with served(papers, tmp_path) as (_, told):
        page = opened(window, told["url"])
        expect(page.locator("#progress")).to_contain_text("14 of")
        expect(page.locator("#recent li")).to_have_count(8)
        review_until(page, 20)
        expect(page.locator("#precision-text")).to_contain_text("From 20 answers")
    assert answered(tmp_path) == seen
    assert len({(a, b) for a, b, _ in seen}) == 20


def test_a_hostile_title_is_only_text(window: BrowserContext, address: str) -> None:
    page = opened(window, address)
    assert title(page, "a") == HOSTILE
    assert page.locator("main img, main script").count() == 0
    assert "owned" not in page.title()


def test_undo_skip_and_rivals_have_keys_and_a_held_key_answers_once(
    papers: Reviewed, window: BrowserContext, tmp_path: Path
) -> None:
    with served(papers, tmp_path) as (_, told):
        page = opened(window, told["url"])
        first = page.locator("#name-a").inner_text()
        press(page, "s")
        assert page.locator("#name-a").inner_text() != first
        press(page, "u")
        assert page.locator("#name-a").inner_text() == first
        rival = page.locator(".rival").nth(1).locator(".more").inner_text().split(" · ")[0]
        press(page, "2")
        expect(page.locator("#progress")).to_contain_text("1 of")
        for _ in range(5):
            page.keyboard.down("a")
        page.keyboard.up("a")
        ready(page)
        expect(page.locator("#progress")).to_contain_text("2 of")
        page.locator("#keys").uncheck()
        press(page, "a")
        page.locator("#reject").press("Enter")
        expect(page.locator("#progress")).to_contain_text("3 of")
        with page.expect_download() as download:
            page.get_by_role("link", name="truth.csv").click()
        lines = download.value.path().read_text().splitlines()
    assert lines[0] == "a,b" and lines[1] == f"{first},{rival}" and len(lines) == 3
    assert [answer for _, _, answer in answered(tmp_path)] == ["reject", "accept", "reject"]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_it_is_accessible_and_fits_a_phone(browser: Browser, address: str, scheme: str, width: int) -> None:
    # axe is a script from outside the page, which the page's own policy would keep out
    context = browser.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": width, "height": 740})
    page = opened(context, address)
    page.locator("details").evaluate("each => each.open = true")
    wide = page.evaluate("document.documentElement.scrollWidth")
    found = Axe().run(page)
    context.close()
    serious = [each["id"] for each in found.response["violations"] if each["impact"] in ("serious", "critical")]
    assert serious == [] and len(found.response["passes"]) > 15 and wide == width
