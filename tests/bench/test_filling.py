"""Filling several tables: what matters first, no device that fails takes a cell away, no version beside another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from small_papers import small_papers
from veclink_bench.experiments.running import Job, Store, key_of
from veclink_bench.experiments.setup import Setup
from veclink_bench.filling import Filling, Lane, has_data, in_order, take
from veclink_bench.versions import version_of

PAIR = ["papers", "minilm", "mpnet"]


def job(setup: Setup, method: str, state: int = 0, table: str = "main") -> Job:
    settings = {"pair": PAIR, "overlap": 0.5, "seeds": 15, "method": method, "state": state}
    return Job(table, setup, settings)


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    """150 papers by both models."""
    a, b, truth = small_papers()
    (tmp_path / "papers").mkdir()
    np.save(tmp_path / "papers" / "minilm.npy", a[truth[:, 0]])
    np.save(tmp_path / "papers" / "mpnet.npy", b[truth[:, 1]])
    return Setup(tmp_path)


def test_span_and_tuned_geh_come_first_and_rivals_have_fewer_trials(setup: Setup) -> None:
    names = ("linear", "geh", "geh tuned", "span")
    order = in_order([job(setup, name, state) for state in range(5) for name in names])
    methods = [each.settings["method"] for each in order]
    assert set(methods[:10]) == {"span", "geh tuned"}
    assert methods[10:] == ["linear", "geh", *["geh"] * 4, "linear"]


def test_other_tables_are_finished_in_the_order_of_their_names_with_all_trials(setup: Setup) -> None:
    cells = [
        (table, name, state) for table in ("votes", "outside") for state in range(3) for name in ("span", "linear")
    ]
    order = in_order([job(setup, name, state, table) for table, name, state in cells])
    assert [each.experiment for each in order] == ["votes"] * 6 + ["outside"] * 6
    assert len(order) == len(cells), "rivals too have every trial there"


def test_a_device_that_fails_leaves_its_cells_to_the_cpu(setup: Setup, tmp_path: Path) -> None:
    store = Store(tmp_path / "main.json", "main", setup)
    jobs = [job(setup, "span"), job(setup, "geh"), job(setup, "geh", 1)]
    # On a machine with a GPU nothing fails, and the cells come from there.
    Filling({"main": store}, list(jobs)).run([Lane(1), Lane(1, gpu=True)], 60)
    measured = Store(tmp_path / "main.json", "main", setup).measured
    assert sorted(measured) == sorted(key_of(each.settings) for each in jobs)
    assert all("f1" in cell and cell["device"] in ("cpu", "cuda") for cell in measured.values())


def test_cells_for_a_gpu_and_others_are_taken_by_their_own_lanes_and_none_is_left(setup: Setup) -> None:
    methods = ("span", "geh fps raw", "ugw", "linear")
    filling = Filling({}, [job(setup, method) for method in methods])
    filling._gpu = True
    of_gpu, of_cores = filling._taken_by(Lane(1, gpu=True)), filling._taken_by(Lane(1))
    taken = [next(of_gpu), next(of_gpu), next(of_gpu), next(of_cores)]
    assert [(each.settings["method"], each.setup.device) for each in taken] == [
        ("geh fps raw", "cuda"), ("ugw", "cuda"), ("span", "cpu"), ("linear", "cpu")
    ]  # fmt: skip
    assert not list(of_gpu) and not list(of_cores)


def test_cells_of_another_version_are_dropped_with_those_that_are_brought(setup: Setup, tmp_path: Path) -> None:
    store = Store(tmp_path / "main.json", "main", setup)
    old, new, stale = (job(setup, "span", state).settings for state in range(3))
    store.add(old, {"f1": 1.0})
    brought = {
        key_of(new): new | {"f1": 2.0, "version": version_of("span")},
        key_of(stale): stale | {"f1": 3.0, "version": "0.1"},
    }
    take(store, {})
    assert list(store.measured) == [key_of(old)], "where nothing is brought, nothing is lost"
    take(store, brought)
    assert list(store.measured) == [key_of(old)], "nor where a cell would have no trial"
    take(store, brought, partly=True)
    assert list(Store(tmp_path / "main.json", "main", setup).measured) == [key_of(new)]


@pytest.mark.parametrize("named", ["pair", "collections"])
def test_cells_whose_vectors_are_not_there_are_left_out(named: str, setup: Setup) -> None:
    for models, there in ((["minilm", "mpnet"], True), (["minilm", "mpnet", "granite"], False)):
        assert has_data(Job("many", setup, {named: ["papers", *models]})) is there


def test_corpora_that_are_joined_are_there_where_each_of_them_is(setup: Setup) -> None:
    for other, there in (("papers", True), ("nowhere", False)):
        joined = {"pair": [f"papers+{other}", "minilm", "mpnet"]}
        assert has_data(Job("scalability", setup, joined)) is there
