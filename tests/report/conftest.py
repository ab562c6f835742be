"""Pages opened in the browser, and the report of the whole sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import span_papers

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def sample_report() -> Path:
    """The report that the demo writes: of the whole sample, with its truth."""
    path = span_papers.demo().report
    assert path is not None
    return path


class Visit:
    """A page that was opened, and what it asked for or complained about."""

    def __init__(self, browser: Browser, path: Path, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page: Page = self.context.new_page()
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.goto(path.as_uri())
        # by selectors only: the page's policy forbids the text of scripts that `wait_for_function` would run in it
        self.page.wait_for_selector("html[data-ready]", state="attached")


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Opens pages, `visit(path, **options of the browser's context)`, and closes them after the test."""
    opened: list[Visit] = []

    def open_page(path: Path, **options: Any) -> Visit:
        opened.append(Visit(browser, path, **options))
        return opened[-1]

    yield open_page
    for each in opened:
        each.context.close()
