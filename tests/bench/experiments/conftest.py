"""A folder of data like the one experiments are run on, cut from the bundled sample: real vectors, few rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from veclink_bench.behaviour import write_sample


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `write_sample` makes."""
    folder = tmp_path_factory.mktemp("data")
    write_sample(folder)
    return folder
