"""SECURITY.md names tests that are there, and the table of dependencies is the one of pyproject.toml."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,]+\])?(?P<bounds>[<>=!~,.\d]*)")


def test_every_claim_names_a_test_that_is_there() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    found = NAMED.findall(text)
    assert [f"{file}::{name}" for file, name in found if name not in functions_of(ROOT / file)] == []
    claims = [line for line in text.splitlines() if line.startswith("| ") and "`tests/" in line]
    assert len(claims) >= 20 and len(found) >= 40
    after = text[text.index("## What is claimed") :]
    rows = [line for line in after.splitlines() if line.startswith("| ") and not line.startswith("| claim")]
    assert [line for line in rows if not NAMED.search(line)] == []


def test_the_table_of_dependencies_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"–": project["dependencies"], **project["optional-dependencies"]}
    wanted = {
        (parts["name"], least(parts["bounds"]), extra)
        for extra, requirements in groups.items()
        for parts in map(REQUIREMENT.match, requirements)
        if parts["name"] != "veclink"
    }
    assert set(rows_of(ROOT / "docs" / "dependencies.md")) == wanted


def test_every_dependency_says_what_for_its_licence_its_size_and_what_else_there_is() -> None:
    for line in (ROOT / "docs" / "dependencies.md").read_text().splitlines():
        if line.startswith("| ") and not line.startswith("| package"):
            assert all(cell.strip() for cell in line.strip("|").split("|")), line


def least(bounds: str) -> str:
    return next(part.removeprefix(">=") for part in bounds.split(",") if part.startswith(">="))


def rows_of(page: Path) -> list[tuple[str, str, str]]:
    """Name, lower bound and extra of each row of both tables."""
    lines = [line for line in page.read_text().splitlines() if re.match(r"\| (?!package)[a-z]", line)]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(name, bound, extra) for name, bound, extra, *_ in cells]


@cache
def functions_of(file: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}
