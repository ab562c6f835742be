"""The speed figures: what they compare is the same thing, and their keys are those that people read."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from veclink.cli.app import app
from veclink_bench.speed.cpu import measure_matching


def test_matching_is_measured_against_a_product_and_the_searches_of_others() -> None:
    found = measure_matching(600, 16, rounds=1)
    assert found["products"] > 0 and found["speedup_over_faiss"] > 0 and found["peak_extra_mb"] >= 0
    assert found["speedup_over"].keys() == {"torch", "faiss", "usearch"}
    assert max(found["pairs_that_differ"].values()) <= 2


def test_the_commands_print_what_was_measured() -> None:
    matching = CliRunner().invoke(app, ["bench", "matching", "--rows", "300", "--dim", "8", "--json"])
    linking = CliRunner().invoke(app, ["bench", "linking", "--rows", "500", "--json"])
    assert {"products", "speedup_over_faiss", "peak_extra_mb"} <= json.loads(matching.stdout).keys()
    found = json.loads(linking.stdout)
    assert found["rows"] == 500 and found["passes"] > 0 and found["seconds"] > 0 and "peak_extra_mb" in found
    assert found["f1"] > 0.8 and found["verdict"] == "linkable"
