"""link(): inputs of every kind, ids, skipped rows, verdicts."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_papers import N_SEEDS, small_papers
from veclink.collection import Collection
from veclink.errors import InputError
from veclink.geh import Growth, Iteration
from veclink.linking import chosen_device, judge, link
from veclink.links import Links

OPTIONS: dict[str, Any] = {"k": 10, "max_iterations": 4, "device": "cpu"}
SEEDS = np.stack([np.arange(0, 100, 5)] * 2, axis=1)


def _growth(confidence: list[float], n_seeds: int = 1, anchors: int = 6) -> Growth:
    n = n_seeds + len(confidence)
    pairs = np.stack([np.arange(n)] * 2, axis=1)
    history = tuple(Iteration(5, anchors, n, 0.5) for _ in range(12))
    return Growth(pairs, np.array([1.0] * n_seeds + confidence), np.ones(n), np.ones(n), 60, n_seeds, history)


def test_arrays_collections_and_files_give_the_same_links(tmp_path: Path) -> None:
    a, b, _ = small_papers()
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    with (tmp_path / "seeds.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("a", "b"), *SEEDS.tolist()])
    expected = link(a, b, seeds=SEEDS, **OPTIONS)
    assert link(Collection.from_array(a), Collection.from_array(b), seeds=SEEDS.tolist(), **OPTIONS) == expected
    assert link(tmp_path / "a.npy", str(tmp_path / "b.npy"), seeds=tmp_path / "seeds.csv", **OPTIONS) == expected


def test_links_are_one_to_one_with_seeds_first_and_evidence_for_each() -> None:
    a, b, _ = small_papers()
    links = link(a, b, seeds=SEEDS, **OPTIONS)
    assert len(np.unique(links.pairs[:, 0])) == len(np.unique(links.pairs[:, 1])) == len(links) > N_SEEDS
    assert {tuple(p) for p in links.pairs[:N_SEEDS].tolist()} == {tuple(p) for p in SEEDS.tolist()}
    assert links.evidence["seed"].sum() == N_SEEDS and np.all(links.probability[links.evidence["seed"]] == 1)
    found = ~links.evidence["seed"]
    views = links.evidence["views"][found]
    assert np.allclose(links.probability[found], (1 + links.evidence["votes"][found]) / (2 + views))
    assert links.summary.n_links == len(links) and links.summary.iterations == 4 and links.summary.method == "geh"
    assert links.options == {"random_state": 0, "k": 10, "max_iterations": 4}


def test_ids_name_seeds_and_links() -> None:
    a, b, _ = small_papers()
    ids_a, ids_b = [f"paper {i}" for i in range(len(a))], np.arange(len(b)) + 1000
    seeds = [(ids_a[i], int(ids_b[j])) for i, j in SEEDS]
    named = link(Collection.from_array(a, ids_a), Collection.from_array(b, ids_b), seeds=seeds, **OPTIONS)
    plain = link(a, b, seeds=SEEDS, **OPTIONS)
    assert np.array_equal(named.pairs, plain.pairs)
    assert named.ids_a is not None and named.ids_a.tolist() == [ids_a[i] for i in plain.pairs[:, 0]]
    assert named.ids_b is not None and named.ids_b.tolist() == (plain.pairs[:, 1] + 1000).tolist()


def test_a_saved_result_loads_back_equal(tmp_path: Path) -> None:
    a, b, _ = small_papers()
    links = link(a, b, seeds=SEEDS, **OPTIONS)
    links.save(tmp_path / "links.parquet")
    assert Links.load(tmp_path / "links.parquet") == links


def test_skipped_zero_vectors_keep_the_row_numbers_of_the_rest() -> None:
    a, b, _ = small_papers()
    plain = link(a, b, seeds=SEEDS, **OPTIONS)
    gapped = np.insert(a, 3, 0.0, axis=0)
    seeds = SEEDS + np.stack([SEEDS[:, 0] >= 3, np.zeros(N_SEEDS, bool)], axis=1)
    with pytest.raises(InputError, match="row 3"):
        link(gapped, b, seeds=seeds, **OPTIONS)
    links = link(gapped, b, seeds=seeds, skip_zero=True, **OPTIONS)
    rows = links.pairs[:, 0] - (links.pairs[:, 0] > 3)
    assert {tuple(p) for p in np.stack([rows, links.pairs[:, 1]], axis=1).tolist()} == {
        tuple(p) for p in plain.pairs.tolist()
    }
    assert links.summary.n_a == len(a) + 1


def test_outside_anchors_come_as_arrays_or_files_and_are_no_links(tmp_path: Path) -> None:
    a, b, _ = small_papers()
    np.save(tmp_path / "left.npy", a[:30])
    np.save(tmp_path / "right.npy", b[:30])
    links = link(a[30:], b[30:], anchors=(a[:30], b[:30]), **OPTIONS)
    assert links == link(a[30:], b[30:], anchors=(tmp_path / "left.npy", tmp_path / "right.npy"), **OPTIONS)
    assert len(links) > 30 and not links.evidence["seed"].any()


def test_start_method_and_device_are_checked() -> None:
    a, b, _ = small_papers()
    with pytest.raises(InputError, match="neither"):
        link(a, b)
    with pytest.raises(InputError, match="both"):
        link(a, b, seeds=SEEDS, anchors=(a, b))
    with pytest.raises(InputError, match="two sets"):
        link(a, b, anchors=a)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="best"):
        link(a, b, seeds=SEEDS, method="best")
    with pytest.raises(InputError, match="gpu"):
        link(a, b, seeds=SEEDS, device="gpu")


def test_auto_device_is_one_that_exists() -> None:
    assert chosen_device("auto") in ("cpu", "cuda") and chosen_device("cpu") == "cpu"


@pytest.mark.parametrize(
    ("growth", "verdict", "reason"),
    [
        (_growth([]), "not linkable", "beyond the 1 given"),
        (_growth([0.9, 0.8, 0.7]), "linkable", "80% of the 60 views"),
        (_growth([0.6, 0.5]), "doubtful", "55%"),
        (_growth([0.5, 0.3]), "not linkable", "40%"),
        (_growth([0.9, 0.9], anchors=1), "doubtful", "nothing confirms"),
    ],
)
def test_verdict_follows_growth_and_agreement(growth: Growth, verdict: str, reason: str) -> None:
    summary = judge(growth, 10, 10, n_start=1)
    assert summary.verdict == verdict and reason in summary.reasons[0]


def test_unrelated_clouds_are_not_called_linkable() -> None:
    a, _, _ = small_papers()
    noise = np.random.default_rng(0).normal(size=(200, 64)).astype(np.float32)
    links = link(a, noise, seeds=SEEDS, k=10, max_iterations=12, device="cpu")
    assert links.summary.verdict != "linkable"
