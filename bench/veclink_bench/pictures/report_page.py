"""Pictures of the report and of the probe's page for the documentation, from the bundled sample.

    veclink bench report-pictures

Written to docs/pictures.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from veclink import link, probe, sample
from veclink.report import save_probe, save_report
from veclink_bench.arguments import parser
from veclink_bench.places import PICTURES


def take(page: Page, path: Path) -> None:
    """One picture of each thing that the documentation speaks of."""
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    page.locator(".verdict").screenshot(path=PICTURES / "report-verdict.png")
    page.locator("#threshold .two").screenshot(path=PICTURES / "report-threshold.png")
    page.select_option("#filter", "doubtful")
    page.locator("#links tbody tr").nth(6).get_by_role("button").click()
    page.locator("dialog").screenshot(path=PICTURES / "report-why.png")
    page.keyboard.press("Escape")
    page.emulate_media(color_scheme="dark")
    page.locator("#map").scroll_into_view_if_needed()
    page.locator("#map").screenshot(path=PICTURES / "report-map.png")


def main() -> None:
    """Link and probe the sample, and take the pictures."""
    parser(__doc__).parse_args()
    links = link(sample.A, sample.B, seeds=sample.SEEDS, device="cpu")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        report, page_of_probe = Path(folder) / "report.html", Path(folder) / "probe.html"
        save_report(report, links, sample.A, sample.B, truth=sample.TRUTH)
        save_probe(page_of_probe, probe(sample.A, sample.B, seeds=sample.SEEDS, device="cpu"))
        found = shutil.which(os.environ.get("CHROMIUM", "chromium"))
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1000}, color_scheme="light")
        take(page, report)
        page.emulate_media(color_scheme="light")
        page.goto(page_of_probe.as_uri())
        page.locator("#seeds").screenshot(path=PICTURES / "probe-seeds.png")
        browser.close()
