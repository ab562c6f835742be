"""What importing a part of veclink loads, and what the command line shows without its laboratory."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import veclink

ROOT = Path(__file__).parent.parent

# Entry points are read from what is installed: an empty answer is what a machine without veclink-bench gives.
WITHOUT_THE_LABORATORY = """
import importlib.metadata as metadata, sys
found = metadata.entry_points
metadata.entry_points = lambda **wanted: () if wanted.get("group") == "veclink.commands" else found(**wanted)
sys.modules["veclink_bench"] = None  # an import of it fails
from veclink.cli.app import main
main()
"""


def loaded_by(code: str) -> set[str]:
    """The modules that a process has loaded after it has run the code."""
    command = [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(told.stdout.split())


def test_showing_a_report_loads_no_linker() -> None:
    loaded = loaded_by("import veclink.report")
    assert "veclink.report" in loaded
    assert not {name for name in loaded if name.startswith("veclink.linkers")}


def test_importing_veclink_loads_none_of_its_packages() -> None:
    loaded = {name for name in loaded_by("import veclink") if name.startswith("veclink.")}
    assert loaded == set()


def test_the_command_line_is_whole_without_the_laboratory() -> None:
    command = [sys.executable, "-c", WITHOUT_THE_LABORATORY]
    told = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert " link " in told.stdout and "bench" not in told.stdout
    refused = subprocess.run([*command, "bench", "main"], capture_output=True, text=True)
    assert refused.returncode == 2 and "No such command" in refused.stderr


def test_every_file_that_names_the_version_names_this_one() -> None:
    assert tomllib.loads((ROOT / "bench" / "pyproject.toml").read_text())["project"]["version"] == veclink.__version__
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {veclink.__version__}\n" in cited
    released = re.search(r"^date-released: (.+)$", cited, re.MULTILINE)
    newest = re.search(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert released is not None and newest is not None
    assert newest.groups() == (veclink.__version__, released[1])


def test_the_first_screen_of_the_front_page_has_the_two_commands_of_a_fresh_machine() -> None:
    first, makefile = (ROOT / "README.md").read_text(encoding="utf-8")[:900], (ROOT / "Makefile").read_text()
    assert all(f"make {name} " in first and f"\n{name}:" in makefile for name in ("demo", "test"))
