"""The same collections and seeds give the same links, however they are computed: one table of all the ways."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_papers import N_SEEDS, small_papers
from veclink.data.links import Links
from veclink.linkers.linking import link
from veclink.matching import cpu

# Links the same papers in a process that may use so many threads, and prints what it found.
OTHER_PROCESS = """
import json
from linkers.test_determinism import linked
from veclink.threads import thread_count
found = linked()
print(json.dumps([thread_count(), found.pairs.tolist(), found.probability.tolist()]))
"""


def linked(**options: Any) -> Links:
    """The papers, linked from arrays in memory unless told otherwise."""
    a, b, truth = small_papers()
    given = {"a": a, "b": b, "seeds": truth[:N_SEEDS], "device": "cpu", **options}
    return link(given.pop("a"), given.pop("b"), **given)


@cache
def expected() -> Links:
    return linked()


def files(folder: Path) -> dict[str, Path]:
    """The same vectors as files, which are mapped."""
    a, b, _ = small_papers()
    np.save(folder / "a.npy", a)
    np.save(folder / "b.npy", b)
    return {"a": folder / "a.npy", "b": folder / "b.npy"}


def shuffled_seeds() -> np.ndarray:
    return np.random.default_rng(1).permutation(small_papers()[2][:N_SEEDS])


def with_tiles(monkeypatch: pytest.MonkeyPatch, rows: int, columns: int) -> Links:
    def tile(left: tuple[int, int], right: tuple[int, int], *rest: int) -> tuple[int, int]:
        return min(rows, left[0]), min(columns, right[0])

    monkeypatch.setattr(cpu, "tile_shape", tile)
    return linked()


def with_a_checkpoint(folder: Path) -> Links:
    found = linked(checkpoint=folder / "kept")
    assert not list((folder / "kept").iterdir())
    return found


WAYS: dict[str, Callable[[Path, pytest.MonkeyPatch], Links]] = {
    "the same again": lambda folder, patch: linked(),
    "seeds in another order, each twice": lambda folder, patch: linked(seeds=np.repeat(shuffled_seeds(), 2, axis=0)),
    "mapped from files": lambda folder, patch: linked(**files(folder)),
    "read from files when asked": lambda folder, patch: linked(**files(folder), memory="1500000"),
    "with little memory": lambda folder, patch: linked(memory="3MB"),
    "with a checkpoint": lambda folder, patch: with_a_checkpoint(folder),
    "with three threads": lambda folder, patch: linked(threads=3),
    "tiles of 100 by 37": lambda folder, patch: with_tiles(patch, 100, 37),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_links_are_the_same_to_the_last_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    found = WAYS[way](tmp_path, monkeypatch)
    assert len(found) > 100
    assert np.array_equal(found.pairs, expected().pairs)
    assert np.array_equal(found.probability, expected().probability)
    assert found.summary == expected().summary


def test_rows_and_signatures_that_are_made_block_by_block_give_the_same_pairs(tmp_path: Path) -> None:
    """Read from disk when asked, or as float64: all rounds otherwise, and probabilities differ in their last bits."""
    a, b, _ = small_papers()
    for found in (linked(**files(tmp_path), memory="1MB"), linked(a=a.astype(float), b=b.astype(float))):
        assert np.array_equal(found.pairs, expected().pairs)
        np.testing.assert_allclose(found.probability, expected().probability, atol=1e-6)


def test_rows_in_another_order_give_the_same_links_but_for_a_few() -> None:
    """What is drawn at random is drawn by row number."""
    a, b, truth = small_papers()
    to_a, to_b = (np.random.default_rng(state).permutation(len(each)) for state, each in enumerate((a, b)))
    seeds = np.column_stack([np.argsort(to_a)[truth[:N_SEEDS, 0]], np.argsort(to_b)[truth[:N_SEEDS, 1]]])
    pairs = linked(a=a[to_a], b=b[to_b], seeds=seeds).pairs
    found = set(zip(to_a[pairs[:, 0]].tolist(), to_b[pairs[:, 1]].tolist(), strict=True))
    here = {tuple(pair) for pair in expected().pairs.tolist()}
    assert len(found & here) >= 0.95 * len(found | here)


def test_the_links_are_the_same_in_a_process_with_more_threads() -> None:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    place = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    there = {**os.environ, **dict.fromkeys(names, "2"), "PYTHONPATH": place}
    run = subprocess.run([sys.executable, "-c", OTHER_PROCESS], env=there, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    count, pairs, probability = json.loads(run.stdout)
    assert count == min(2, len(os.sched_getaffinity(0)))
    assert pairs == expected().pairs.tolist()
    assert probability == expected().probability.tolist()


@pytest.mark.extras
def test_the_links_are_the_same_where_torch_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    from veclink.matching import torch_backend

    def match(left: Any, right: Any, ranks: Any, *, memory: int | None = None, unfinished: Any = None) -> Any:
        return torch_backend.match(left, right, ranks, memory=memory)

    monkeypatch.setattr(cpu, "match", match)
    found = linked()
    assert np.array_equal(found.pairs, expected().pairs)
    assert np.array_equal(found.probability, expected().probability)


@pytest.mark.extras
def test_the_links_are_the_same_where_torch_computes_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its products round otherwise: the pairs are the same, and the probabilities but for their last digits."""
    monkeypatch.setattr("veclink.backends.DEVICES", ("auto", "cpu", "torch:cpu"))
    found = linked(device="torch:cpu")
    of_found, of_expected = np.lexsort(found.pairs.T), np.lexsort(expected().pairs.T)
    assert np.array_equal(found.pairs[of_found], expected().pairs[of_expected])
    assert np.allclose(found.probability[of_found], expected().probability[of_expected], rtol=0, atol=1e-5)
