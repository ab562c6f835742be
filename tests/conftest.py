"""For all tests: few threads, so that runs on small machines are steady, one hypothesis profile, and one browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

# Before numpy, numba or torch are imported: they read these once.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, sync_playwright

# The same examples on every run, no deadline (the first call of a compiled kernel is slow), no database on disk.
settings.register_profile(
    "veclink",
    deadline=None,
    derandomize=True,
    max_examples=25,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("veclink")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's chromium, or the one that CHROMIUM names.

    For one file of tests at a time: while it runs, this thread has a running event loop, which others could not start.
    """
    found = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if found is None:
        pytest.fail("The pages are tested in chromium, which is not installed: run 'make browser' first.")
    with sync_playwright() as play:
        launched = play.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture(autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scratch folder of each test's own."""
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setenv("VECLINK_SCRATCH", str(folder))
    return folder
