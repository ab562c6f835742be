"""On a Ray cluster of two nodes the links are those of one machine, and they stay so when a node goes away."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Before ray is imported: no reports to anybody, and nodes that trust each other.
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled")

import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster as Nodes
from typer.testing import CliRunner

from small_papers import small_papers
from span_papers import all_papers
from veclink.backends import CloudPair, ray_clouds
from veclink.backends.ray_clouds import Cluster, RayCloudPair, Stored, connected
from veclink.cli.app import app
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import joined_projections, unit_rows
from veclink.linkers.linking import link
from veclink.matching import match
from veclink.matching.rankings import Ranks

MEMORY = "1MB"  # so little that 200 rows are several tiles
STORE = 100_000_000
# A dead node is noticed after a second, not after half a minute.
ALERT = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 2}


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    started = Nodes(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": STORE, "_system_config": ALERT},
    )
    yield started
    ray.shutdown()
    started.shutdown()


@pytest.fixture
def second(nodes: Nodes) -> Iterator[Any]:
    """A second node, for one test."""
    node = nodes.add_node(num_cpus=1, object_store_memory=STORE)
    nodes.wait_for_nodes()
    yield node
    if node in nodes.worker_nodes:
        nodes.remove_node(node)


@pytest.fixture(scope="module")
def local() -> Links:
    a, b, seeds = few_papers()
    return link(a, b, seeds=seeds, device="cpu", memory=MEMORY)


def few_papers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """200 papers of either side, and 15 seeds."""
    a, b, truth = small_papers()
    return a, b, truth[:15]


def assert_same(ours: Links, reference: Links) -> None:
    assert len(reference) > 120
    assert np.array_equal(ours.pairs, reference.pairs)
    np.testing.assert_allclose(ours.probability, reference.probability, rtol=1e-6)
    np.testing.assert_allclose(ours.evidence["score"], reference.evidence["score"], rtol=1e-5)
    assert ours.summary.verdict == reference.summary.verdict


def test_a_node_killed_at_work_changes_no_link(
    nodes: Nodes, second: Any, local: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    (a, b, seeds), killed = few_papers(), []
    with socket.create_server(("127.0.0.1", 0)) as told:
        told.settimeout(60)
        held = held_on(second.node_id, told.getsockname(), ray_clouds.listed)
        monkeypatch.setattr(ray_clouds, "listed", held)
        monkeypatch.setattr(ray_clouds, "BLOCK", 32)

        def kill() -> None:
            at_work, _ = told.accept()
            with at_work:
                nodes.remove_node(second, allow_graceful=False)
            killed.append(second.node_id)

        watcher = threading.Thread(target=kill)
        watcher.start()
        links = link(a, b, seeds=seeds, cluster=nodes.address, memory=MEMORY)
        watcher.join()
    assert killed == [second.node_id], "no task ran on the second node"
    assert_same(links, local)


def test_the_command_finds_the_links_of_one_machine_on_two_nodes(
    nodes: Nodes, second: Any, local: Links, tmp_path: Path
) -> None:
    a, b, seeds = few_papers()
    files = {name: str(tmp_path / name) for name in ("a.npy", "b.npy", "seeds.csv", "l.parquet")}
    np.save(files["a.npy"], a)
    np.save(files["b.npy"], b)
    np.savetxt(files["seeds.csv"], seeds, "%d", ",", header="a,b", comments="")
    given = [files["a.npy"], files["b.npy"], "--seeds", files["seeds.csv"], "-o", files["l.parquet"]]
    told = CliRunner().invoke(app, ["link", *given, "--cluster", nodes.address, "--memory", MEMORY, "--quiet"])
    assert told.exit_code == 0, told.output
    assert_same(Links.load(files["l.parquet"]), local)
    assert not ray.is_initialized(), "a connection that link() made is closed by it"


@pytest.fixture(scope="module")
def machines(nodes: Nodes) -> Iterator[Cluster]:
    """A connection that tests share; while there is one, "auto" is that cluster."""
    with connected(nodes.address) as cluster:
        yield cluster


@pytest.mark.parametrize(("k", "depth", "certain"), [(10, 3, None), (1, 1, 1), (40, 2, None)])
def test_matching_in_tasks_is_exactly_that_of_one_machine(
    machines: Cluster, k: int, depth: int, certain: int | None
) -> None:
    rng = np.random.default_rng(k)
    left, right = (unit_rows(rng.normal(size=(n, 24)).astype(np.float32)) for n in (333, 270))
    right[100:120] = right[80:100]  # ties, within a block of the store and across two
    right[:30] = left[:30]
    stored = [
        Stored([machines.ray.put(side[low : low + 90]) for low in range(0, len(side), 90)], 90, side.shape)
        for side in (left, right)
    ]
    ours = ray_clouds.match(stored[0], stored[1], machines, Ranks(k, depth, certain))
    reference = match(left, right, k=k, depth=depth, certain=certain, memory=120_000)
    for one, other in ((ours.forward, reference.forward), (ours.backward, reference.backward)):
        assert np.array_equal(one.index, other.index)
        assert np.array_equal(one.score, other.score) and np.array_equal(one.density, other.density)


def test_samples_of_large_clouds_find_the_same_partners(machines: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    papers = all_papers()
    clouds = [prepare(Collection.from_array(each)) for each in (papers.a, papers.b)]
    monkeypatch.setattr(ray_clouds, "BLOCK", 1024)
    either = [CloudPair(*(cloud.dense() for cloud in clouds)), RayCloudPair(clouds[0], clouds[1], machines)]
    axes = joined_projections(*either[0].vectors(papers.truth))
    found = []
    for placed in either:
        placed.large = True
        sample = placed.sample_queries(np.random.default_rng(0), most=300)
        pairs, score = placed.propose(axes, sample)
        cosines = placed.cosines(axes, np.arange(1950), np.arange(1950)[::-1])
        found.append((pairs, score, placed.confirmed(axes, pairs, sample, np.random.default_rng(0)), cosines))
    assert papers.right(found[0][0][found[0][2]]).sum() > 100
    for ours, reference in zip(*found[::-1], strict=True):
        assert np.array_equal(ours, reference)


def test_a_cluster_with_gpus_is_asked_for_them(nodes: Nodes, machines: Cluster) -> None:
    assert machines.device == "cpu"
    node = nodes.add_node(num_cpus=1, num_gpus=1, object_store_memory=STORE)
    nodes.wait_for_nodes()
    try:
        with connected("auto") as with_gpus, connected("auto", "cpu") as without:
            assert (with_gpus.device, with_gpus.workers, without.device) == ("cuda", 1, "cpu")

            def where() -> str:
                return ray.get_runtime_context().get_node_id()

            assert list(with_gpus.results([(0, (where, ()))])) == [(0, node.node_id)]
    finally:
        nodes.remove_node(node)


def held_on(node_id: str, address: tuple[str, int], work: Callable[..., Any]) -> Callable[..., Any]:
    """The same work; on one node it reports that it has begun, and then waits for an end that only its death brings."""

    def held(*arguments: Any) -> Any:
        if ray.get_runtime_context().get_node_id() == node_id:
            with socket.create_connection(address) as line:
                line.recv(1)
                threading.Event().wait()
        return work(*arguments)

    return held
