"""For all tests: their tiers, few threads, so that small machines are steady, one hypothesis profile, a browser.

A tier is what a test needs beyond `pip install -e . pytest hypothesis`. The file decides it (TIERS below; what is not
there is `unit`), or a mark on the test itself. `pytest -m unit` does not even import the files of other tiers, and
`pytest -m core`, which `make test` runs, takes the unit tests, whole runs, and a few of the others (CORE).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

# Before numpy, numba or torch are imported: they read these once.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import pytest
from hypothesis import HealthCheck, settings
from typer import testing
from typer.main import get_command

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent
NAMES = ("unit", "runs", "extras", "stores", "browser", "ray", "bench")
TIERS = {
    "bench/*": "bench",
    "backends/test_cloud_pair.py": "runs",
    "backends/test_out_of_core.py": "runs",
    "backends/test_ray.py": "ray",
    "backends/test_torch_clouds.py": "extras",
    "cli/test_demo.py": "runs",
    "cli/test_new_rows.py": "runs",
    "cli/test_npy_and_csv.py": "runs",
    "files/test_folders.py": "runs",
    "fuzz/*": "browser",
    "files/test_safetensors.py": "extras",
    "faults/*": "stores",
    "geometry/test_groups.py": "extras",
    "linkers/geh/test_reference.py": "runs",
    "linkers/test_checkpoint.py": "runs",
    "linkers/test_determinism.py": "runs",
    "linkers/test_seeds_by.py": "runs",
    "linkers/span/test_linker.py": "runs",
    "linkers/span/test_mapped.py": "runs",
    "linkers/span/test_search.py": "runs",
    "linkers/span/test_starts.py": "runs",
    "matching/test_triton_kernels.py": "extras",
    "probing/test_probe.py": "runs",
    "report/test_in_browser.py": "browser",
    "review/test_again.py": "runs",
    "review/test_command.py": "browser",
    "review/test_review.py": "browser",
    "review/test_page.py": "browser",
    "review/test_server.py": "browser",
    "stores/*": "stores",
    "test_docs.py": "browser",
    "test_notebooks.py": "extras",
    "test_recorded.py": "runs",
    "test_walks.py": "stores",
    "uses/test_clustering.py": "extras",
    "uses/test_appending.py": "runs",
    "uses/test_linker.py": "runs",
    "uses/test_many.py": "runs",
    "uses/test_new_rows.py": "runs",
}
# What a parameter of a test says of its tier, by how it begins or ends.
PARAMETERS = {"torch": "extras", ".safetensors": "extras", "lancedb:": "stores", "sqlite:": "stores"}

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


# Of the tiers that need more, what `make test` runs all the same: files, and what the name of a test has to hold.
CORE = {
    "report/test_in_browser.py": ("accessible_fits_the_screen",),
    "review/test_page.py": ("twenty_links",),
    "stores/test_contract.py": ("[sqlite", "[lancedb", "[parquet"),
    "stores/test_filters.py": ("",),
    "stores/test_urls.py": ("urls_of",),
    "stores/test_writing_back.py": ("[sqlite",),
    "uses/test_clustering.py": ("",),
}
# What it leaves to `make test-all`, in the same form, beside tests with the mark `whole`. They take seconds, and what
# one shows a quicker one or a recorded run shows too, or it kills processes.
WHOLE = {
    "backends/test_cloud_pair.py": ("large_field",),
    "files/test_folders.py": ("killed",),
    "linkers/span/test_few_rows.py": ("all_of_a_hundred",),
    "linkers/span/test_mapped.py": ("where_nothing_is_shared", "by_the_map_of_the_anchors"),
    "linkers/span/test_search.py": ("between_two_models",),
    "linkers/span/test_starts.py": ("without_a_right_pair", "random_vectors", "half_the_seeds_wrong"),
    "linkers/test_checkpoint.py": ("a_killed_run",),
    "linkers/test_determinism.py": ("block_by_block",),
    "uses/test_appending.py": ("was_killed",),
}


def pytest_configure() -> None:
    """Refuse a pattern of TIERS that fits no file: the file was renamed, and would be `unit` without a word.

    And have CliRunner read the signatures of all commands once: it would for each command that a test gives, in 0.2 s.
    """
    testing.__dict__["_get_command"] = cache(get_command)
    for pattern in (*TIERS, *CORE, *WHOLE):
        if not any(HERE.glob(pattern)):
            raise pytest.UsageError(f"No file of tests fits {pattern!r} in {__file__}; correct it there.")


def tier_of(file: Path) -> str:
    """The tier of a file of tests; of several patterns the first that fits counts."""
    place = file.relative_to(HERE).as_posix()
    return next((tier for pattern, tier in TIERS.items() if fnmatch(place, pattern)), "unit")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what belongs to another tier where one is asked for: what it imports may not be installed."""
    wanted = config.getoption("markexpr")
    if wanted not in (*NAMES, "core") or collection_path == HERE or not collection_path.is_relative_to(HERE):
        return None
    place = collection_path.relative_to(HERE).as_posix()
    if wanted == "core" and any(f"{file}/".startswith(f"{place}/") for file in CORE):
        return None
    inside = collection_path / "any" if collection_path.is_dir() else collection_path
    return True if tier_of(inside) not in (wanted, "unit", *(["runs"] if wanted == "core" else [])) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that says nothing of its tier with that of its file, and put the unit tests last.

    Files of long tests first, of quick ones in the end: two processes then end at about the same time.
    """
    for item in items:
        if not any(mark.name in NAMES for mark in item.iter_markers()):
            item.add_marker(_own_tier(item) or tier_of(item.path))
        if _is_core(item):
            item.add_marker("core")
    items.sort(key=lambda item: tier_of(item.path) == "unit")


def _is_core(item: pytest.Item) -> bool:
    """Whether `make test` runs a test."""
    place = item.path.relative_to(HERE).as_posix()
    if item.get_closest_marker("whole") or any(part in item.name for part in WHOLE.get(place, ())):
        return False
    if any(item.get_closest_marker(tier) for tier in ("unit", "runs")):
        return True
    return any(part in item.name for part in CORE.get(place, ()))


def _own_tier(item: pytest.Item) -> str | None:
    """The tier of a test that needs more than others of its file: it opens pages, or a parameter says so."""
    if "browser" in getattr(item, "fixturenames", ()):
        return "browser"
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    for value in (each for each in given if isinstance(each, str)):
        for part, tier in PARAMETERS.items():
            if value.startswith(part) or value.endswith(part):
                return tier
    return None


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's chromium, or the one that CHROMIUM names.

    For one file of tests at a time: while it runs, this thread has a running event loop, which others could not start.
    """
    from playwright.sync_api import sync_playwright

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


@pytest.fixture(scope="module", autouse=True)
def computing_all_the_while() -> Iterator[None]:
    """As in one run of link(): looking for the libraries of BLAS takes milliseconds, which tests would wait a thousand
    times. The tests of threads do without.
    """
    from veclink.threads import computing

    with computing():
        yield
