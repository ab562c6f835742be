"""`veclink bench`: every study, measurement and picture is listed in a section and can be run."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from veclink.cli.app import app
from veclink_bench.catalogue import ENTRIES
from veclink_bench.command import SECTIONS, bench


def test_each_command_stands_in_one_section_of_the_help() -> None:
    known: Any = typer.main.get_command(bench)
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(known.commands)
    told = CliRunner().invoke(app, ["bench", "--help"]).stdout
    places = [told.index(f"{title}:") for title in SECTIONS]
    assert places == sorted(places)
    assert all(f"\n  {name} " in told for name in listed)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_names_a_module_that_runs(name: str) -> None:
    module = import_module(f"veclink_bench.{ENTRIES[name].module}")
    assert callable(module.main)
    assert f"veclink bench {name}" in module.__doc__, "its help says how it is called"


def test_a_study_reads_its_own_options_and_its_exit_code_comes_back() -> None:
    command = [sys.executable, "-m", "veclink", "bench", "real"]
    told = subprocess.run([*command, "--help"], capture_output=True, text=True)
    assert told.returncode == 0 and told.stdout.startswith("usage: veclink bench real")
    assert subprocess.run([*command, "--nothing"], capture_output=True).returncode == 2


def test_listing_the_commands_loads_no_study_and_no_heavy_package() -> None:
    code = "import sys, veclink.cli.app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "veclink_bench.command" in loaded
    assert not {"torch", "matplotlib", "sklearn", "playwright"} & set(loaded)
    assert not [name for name in loaded if name.startswith("veclink_bench.studies")]
