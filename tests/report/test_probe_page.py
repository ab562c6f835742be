"""The page of a probe in a real browser."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

import span_papers
from veclink import Collection
from veclink.probing import Probe, probe
from veclink.report.probe_page import save_probe

HOSTILE = "</title><script>alert(1)</script>"


@cache
def probed() -> Probe:
    papers = span_papers.some_papers()
    seeds = papers.truth[:20].copy()
    seeds[:4, 1] = np.roll(seeds[:4, 1], 1)
    a, b = (Collection.from_array(each, name=f"x/{HOSTILE}") for each in (papers.a, papers.b))
    return probe(a, b, seeds=seeds, device="cpu")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_probe_is_safe_accessible_and_loads_nothing(browser: Any, tmp_path: Path, scheme: str) -> None:
    save_probe(tmp_path / "p.html", probed())
    context = browser.new_context(color_scheme=scheme)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail("a name was run as a script"))
    page.goto((tmp_path / "p.html").as_uri())
    assert page.inner_text("h1") == "These two can be linked."
    assert "Seeds that look wrong" in page.inner_text("#seeds")
    assert page.locator("svg.chart").count() == 2
    found = Axe().run(page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    assert asked == [(tmp_path / "p.html").as_uri()]
    context.close()
