"""The documentation: it builds without a warning, loads nothing from elsewhere, and speaks of commands that exist."""

from __future__ import annotations

import http.server
import importlib.util
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

import veclink
from veclink.cli.app import app
from veclink_bench.catalogue import ENTRIES

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
BESIDE = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md", "bench/RESULTS.md")
]
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
CODE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Not among the test's output."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    told = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert told.returncode == 0, told.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_every_page_is_built_and_the_reference_is_filled_in(site: Path) -> None:
    for page in PAGES:
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file()
    commands = (site / "reference/command-line.html").read_text()
    for name, options in known_options().items():
        assert f"veclink {name}" in commands
        for option in options:
            assert option in commands
    python = (site / "reference/python.html").read_text()
    for name in veclink.__all__:
        assert f"veclink.{name}" in python or name.startswith("__")
    assert "<!-- the" not in commands + python
    source = (ROOT / "docs/reference/command-line.md").read_text()
    assert "veclink COMMAND --help" in source and "veclink COMMAND --help" not in commands, "for whoever reads the file"


def test_every_page_fits_a_phone_and_asks_nothing_of_another_machine(
    browser: Browser, site: Path, address: str
) -> None:
    from playwright.sync_api import expect

    asked: list[str] = []
    too_wide: list[str] = []
    page = browser.new_page(viewport={"width": 360, "height": 740})
    page.on("request", lambda request: asked.append(request.url))
    for file in sorted(site.rglob("*.html")):
        page.goto(address + str(file.relative_to(site)))
        if page.evaluate("document.documentElement.scrollWidth") > 360:
            too_wide.append(str(file.relative_to(site)))
    assert too_wide == []
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(address)
    page.get_by_role("textbox", name="Search").press_sequentially("threshold")
    expect(page.locator(".md-search-result__item").first).to_be_visible()
    page.close()
    assert len(asked) > len(PAGES)
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_the_site(browser: Browser, site: Path, scheme: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(color_scheme=scheme, viewport={"width": 360, "height": 740})
    page, found = context.new_page(), []
    for name in ("404", "index", "start", "how-to/change-the-model", "how-to/threshold", "reference/files"):
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_selector("pre > code[tabindex], main", state="attached")
        faults = Axe().run(page).response["violations"]
        found += [f"{name}: {each['id']}" for each in faults if each["impact"] in ("serious", "critical")]
    context.close()
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_commands_and_python_in_the_pages_are_of_this_version(page: Path) -> None:
    known, own = known_options(), {f"bench {name}" for name in ENTRIES}  # which read their options themselves
    for language, block in CODE.findall(page.read_text()):
        if language == "python":
            compile(block, str(page), "exec")
            for name in re.findall(r"\bveclink\.(\w+)", block):
                known_name = hasattr(veclink, name) or importlib.util.find_spec(f"veclink.{name}") is not None
                assert known_name, f"{page} speaks of veclink.{name}"
        for line in re.findall(r"^veclink (.+)", block, re.MULTILINE) if not language else ():
            words = line.split("||")[0].split()
            given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
            name = next((each for each in (" ".join(words[:2]), words[0]) if each in known), None)
            assert name is not None or not words[0].isalpha(), f"{page} speaks of veclink {words[0]}"
            assert name is None or name in own or given <= known[name], f"{page} gives {given} to veclink {name}"


@pytest.mark.parametrize("page", [*BESIDE, *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_to_a_file_leads_to_one(page: Path) -> None:
    text = CODE.sub("", page.read_text())
    links = [link for link in LINK.findall(text) if not link.startswith(("http://", "https://", "mailto:"))]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_architecture_lists_the_packages_in_the_order_that_is_checked() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [name for layer in settings["contracts"][0]["layers"] for name in layer.split(" | ")[::-1]]
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page[page.index("## The packages") :].split("\n\n")[2]
    first = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert [name for cell in first for name in re.findall(r"`(\w+)`", cell)] == layers[::-1]


def known_options() -> dict[str, set[str]]:
    """The options of every command, those of groups by both names: `bench run`."""
    found: dict[str, set[str]] = {}

    def collect(group: Any, before: str) -> None:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                collect(command, f"{before}{name} ")
            else:
                shown = [each for each in command.params if not getattr(each, "hidden", False)]
                options = [opt for each in shown for opt in (*each.opts, *each.secondary_opts)]
                found[before + name] = {opt for opt in options if opt.startswith("-")}

    collect(typer.main.get_command(app), "")
    return found
