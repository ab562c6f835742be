"""link(): inputs of every kind, ids, skipped rows, verdicts."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_papers import N_SEEDS, small_papers
from span_papers import linked_cut, some_papers
from veclink.confidence.constants import CALIBRATION_VERSION
from veclink.data.collection import Collection
from veclink.data.pairs import score
from veclink.errors import InputError
from veclink.linkers.geh.linker import Growth, Iteration
from veclink.linkers.linking import link

OPTIONS: dict[str, Any] = {"method": "geh", "k": 10, "max_iterations": 4, "device": "cpu"}
SEEDS = np.stack([np.arange(0, 100, 5)] * 2, axis=1)


def _growth(confidence: list[float], n_seeds: int = 1, anchors: int = 6) -> Growth:
    n = n_seeds + len(confidence)
    pairs = np.stack([np.arange(n)] * 2, axis=1)
    history = tuple(Iteration(5, anchors, n, 0.5) for _ in range(12))
    ones = np.ones(n)
    return Growth(pairs, np.array([1.0] * n_seeds + confidence), ones, ones, ones, n_seeds, history)


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
    assert links.evidence["given"].sum() == N_SEEDS and np.all(links.probability[links.evidence["given"]] == 1)
    found = ~links.evidence["given"]
    views = links.evidence["views"][found]
    assert np.allclose(links.probability[found], (1 + links.evidence["votes"][found]) / (2 + views))
    assert links.summary.n_links == len(links) and links.summary.iterations == 4 and links.summary.method == "geh"
    assert links.options == {"random_state": 0, "k": 10, "max_iterations": 4}


def test_outside_anchors_come_as_arrays_or_files_and_are_no_links(tmp_path: Path) -> None:
    a, b, _ = small_papers()
    np.save(tmp_path / "left.npy", a[:30])
    np.save(tmp_path / "right.npy", b[:30])
    links = link(a[30:], b[30:], anchors=(a[:30], b[:30]), **OPTIONS)
    assert links == link(a[30:], b[30:], anchors=(tmp_path / "left.npy", tmp_path / "right.npy"), **OPTIONS)
    assert len(links) > 30 and not links.evidence["given"].any()


def test_torch_is_not_imported_where_there_is_no_gpu_to_use() -> None:
    """In a process of its own: others here have imported torch. With a GPU driver it is needed, and imported."""
    script = """
import ctypes, sys
from veclink.backends import chosen_device
try:
    ctypes.CDLL("libcuda.so.1")
    driver = True
except OSError:
    driver = False
device = chosen_device("auto")
print(device if driver else f"{device} {'torch' in sys.modules}")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("cpu False", "cuda", "cpu")


def test_skipped_zero_vectors_shift_all_rows_that_span_names() -> None:
    papers = some_papers()
    gapped = np.insert(papers.a, 3, 0.0, axis=0)
    seeds = papers.seeds + np.stack([papers.seeds[:, 0] >= 3, np.zeros(len(papers.seeds), bool)], axis=1)
    wrong = np.array([[200, 0], [300, 1]])  # rows of A above the gap, and none of them a pair
    links = link(gapped, papers.b, seeds=np.concatenate([seeds, wrong]), skip_zero=True, device="cpu")
    assert set(links.summary.wrong_seeds) == {(200, 0), (300, 1)}
    for name in ("rival_a", "near1_a", "near2_a", "near3_a"):
        assert 3 not in links.evidence[name] and links.evidence[name].max() > 250
    truth = papers.truth + np.stack([papers.truth[:, 0] >= 3, np.zeros(len(papers.truth), bool)], axis=1)
    assert score(links.pairs, truth).f1 > 0.9


@pytest.mark.parametrize(
    ("growth", "verdict", "reason"),
    [
        (_growth([]), "not linkable", "nothing_beyond_given"),
        (_growth([0.9, 0.8, 0.7]), "linkable", "views_agree"),
        (_growth([0.6, 0.5]), "doubtful", "views_agree"),
        (_growth([0.5, 0.3]), "not linkable", "views_agree"),
        (_growth([0.9, 0.9], anchors=1), "doubtful", "nothing_confirms"),
    ],
)
def test_verdict_follows_growth_and_agreement(growth: Growth, verdict: str, reason: str) -> None:
    found = growth.decided(n_given=1).verdict
    assert found.name == verdict and found.why[0].code == reason


def test_seeds_that_contradict_one_another_are_named_and_the_others_used() -> None:
    papers = some_papers()
    torn = np.array([[200, 0], [200, 1]])  # one row with two partners
    given = np.concatenate([papers.seeds, torn, papers.seeds[:1]])
    links = link(papers.a, papers.b, seeds=given, device="cpu")
    clean = linked_cut()
    assert links.summary.contradicting_seeds == ((200, 0), (200, 1))
    assert np.array_equal(links.pairs, clean.pairs) and np.array_equal(links.probability, clean.probability)
    assert clean.summary.contradicting_seeds == ()
    with pytest.raises(InputError, match="give pairs more than once"):
        link(papers.a, papers.b, seeds=given, device="cpu", strict=True)
    with pytest.raises(InputError, match="more than one partner in B for 200 of A"):
        link(papers.a, papers.b, seeds=given[:-1], device="cpu", strict=True)


def test_the_summary_has_the_ranges_of_its_estimates_and_the_version_of_the_calibration() -> None:
    summary = linked_cut().summary
    assert summary.calibration == CALIBRATION_VERSION
    for name in ("precision", "recall", "overlap"):
        low, high = getattr(summary, f"{name}_range")
        assert low <= getattr(summary, name) <= high
