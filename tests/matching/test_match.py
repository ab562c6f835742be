"""match(): what it refuses, and the mutual nearest neighbours."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from directions import unit_rows
from veclink.errors import InputError
from veclink.files.memory import parse_memory
from veclink.matching import match
from veclink.matching.rankings import Ranks, brute_force


def test_mutual_pairs_are_those_whose_best_partners_are_each_other():
    left, right = unit_rows(200, 16, seed=1), unit_rows(150, 16, seed=2)
    pairs, score = match(left, right, k=10).mutual()
    cosine = left @ right.T
    density = [-np.sort(-side, axis=1)[:, :10].mean(axis=1) for side in (cosine, cosine.T)]
    csls = 2 * cosine - density[0][:, None] - density[1]
    expected = [(i, j) for i, j in enumerate(csls.argmax(axis=1)) if csls[:, j].argmax() == i]
    assert pairs.dtype == np.int64 and pairs.tolist() == [list(pair) for pair in expected]
    np.testing.assert_allclose(score, csls[tuple(pairs.T)], atol=1e-6)


@pytest.mark.extras
def test_torch_is_used_for_a_torch_device():
    left, right = unit_rows(80, 8, seed=6), unit_rows(90, 8, seed=7)
    found, expected = match(left, right, device="torch:cpu"), brute_force(left, right, Ranks())
    np.testing.assert_array_equal(found.forward.index, expected.forward.index)


@pytest.mark.extras
def test_a_device_that_torch_does_not_know_is_named():
    with pytest.raises(InputError, match="Device 'abacus'"):
        match(*np.ones((2, 5, 3), np.float32), device="abacus")


@pytest.mark.parametrize(
    "text, size",
    [(1000, 1000), ("500MB", 500_000_000), ("1.5 gb", 1_500_000_000), ("2GiB", 2 << 30), ("64k", 64_000), ("7", 7)],
)
def test_memory_is_read_as_people_write_it(text, size):
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "MB", "-3GB", "3 XB", 0, -5])
def test_memory_that_is_no_size_is_refused(text):
    with pytest.raises(InputError):
        parse_memory(text)


def test_rows_are_matched_where_compiled_loops_cannot_be_kept() -> None:
    """As for a user without a folder of his own, where somebody else has installed the package."""
    code = "import numpy; from veclink.matching import match; print(len(match(*[numpy.eye(20)] * 2).mutual()[0]))"
    nowhere = {**os.environ, "NUMBA_CACHE_LOCATOR_CLASSES": "ZipCacheLocator"}
    run = subprocess.run([sys.executable, "-c", code], env=nowhere, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.split()) == (0, ["20"]), run.stderr
