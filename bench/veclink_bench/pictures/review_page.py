"""The picture of the review page in docs/pictures: the bundled sample's links, some of them answered by the truth.

veclink bench review-picture [--chromium /usr/bin/chromium]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from veclink import link, sample
from veclink_bench.arguments import parser
from veclink_bench.places import PICTURES

PICTURE = PICTURES / "review.png"
VECLINK = [sys.executable, "-c", "from veclink.cli.app import main; main()"]
LEAST = 12  # answers before the picture is taken, at the next link that is doubtful to the eye too


def main() -> None:
    arguments = parser(__doc__)
    default = os.environ.get("CHROMIUM", "chromium")
    arguments.add_argument("--chromium", default=default, help="the browser; else $CHROMIUM")
    chromium = shutil.which(arguments.parse_args().chromium)
    with tempfile.TemporaryDirectory() as folder:
        links = Path(folder) / "links.parquet"
        link(sample.A, sample.B, seeds=sample.SEEDS, device="cpu").save(links)
        command = [*VECLINK, "review", str(links), str(sample.A), str(sample.B), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
            assert server.stdout is not None
            told = ""
            while not told.endswith("}\n"):
                told += server.stdout.readline()
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(json.loads(told)["url"])
            answer_some(page)
            page.screenshot(path=PICTURE, full_page=True)
            browser.close()
            server.terminate()


def answer_some(page: Page) -> None:
    """Answer by whether the ids are the same, and stop at a pair whose titles differ."""
    answered = 0
    while True:
        expect(page.locator("main")).to_have_attribute("aria-busy", "false")
        same = page.locator("#name-a").inner_text() == page.locator("#name-b").inner_text()
        if answered >= LEAST and not same:
            return
        page.keyboard.press("a" if same else "r")
        answered += 1
        expect(page.locator("#progress")).to_contain_text(f"{answered} of ")
