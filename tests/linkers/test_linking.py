"""link(): inputs of every kind, ids, skipped rows, verdicts."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_papers import N_SEEDS, small_papers
from span_papers import linked_cut, some_papers
from veclink.backends import chosen_device
from veclink.confidence.constants import CALIBRATION_VERSION
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import score
from veclink.errors import InputError
from veclink.linkers.geh.linker import Growth, Iteration
from veclink.linkers.linking import link
from veclink.report.words import advice_without_links

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


def test_arrays_and_their_titles_make_a_table_that_people_read() -> None:
    a, b, _ = small_papers()
    titles = [[f"{side} {row}" for row in range(len(rows))] for side, rows in (("left", a), ("right", b))]
    links = link(a, b, seeds=SEEDS, payload_a={"title": titles[0]}, payload_b=titles[1], **OPTIONS)
    assert np.array_equal(links.pairs, link(a, b, seeds=SEEDS, **OPTIONS).pairs)
    row_a, row_b = links.pairs[0].tolist()
    assert links[0].titles == (f"left {row_a}", f"right {row_b}")
    assert links.summary.agreement.agree == 0  # no title is the same


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
    assert len(links) > 30 and not links.evidence["given"].any()


def test_start_method_and_device_are_checked() -> None:
    a, b, _ = small_papers()
    with pytest.raises(InputError, match="Neither seeds nor anchors"):
        link(a, b, method="geh")
    with pytest.raises(InputError, match="both"):
        link(a, b, seeds=SEEDS, anchors=(a, b))
    with pytest.raises(InputError, match="two sets"):
        link(a, b, anchors=a)
    with pytest.raises(InputError, match="best"):
        link(a, b, seeds=SEEDS, method="best")
    with pytest.raises(InputError, match="gpu"):
        link(a, b, seeds=SEEDS, device="gpu")


def test_auto_device_is_one_that_exists() -> None:
    assert chosen_device("auto") in ("cpu", "cuda") and chosen_device("cpu") == "cpu"


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


@pytest.mark.parametrize(
    ("method", "option", "sentence"),
    [
        ("span", "max_iterations", "Method 'span' has no option 'max_iterations'; it has 'one_to_one', "),
        ("geh", "one_to_one", "Method 'geh' has no option 'one_to_one'; it has "),
    ],
)
def test_options_of_another_method_are_refused(method: str, option: str, sentence: str) -> None:
    a, b, _ = small_papers()
    with pytest.raises(InputError, match=re.escape(sentence)):
        link(a, b, seeds=SEEDS, method=method, **{option: 3})


def test_span_is_the_default_and_says_how_it_began() -> None:
    links = linked_cut()
    assert links.summary.method == "span" and links.options == {"random_state": 0}
    assert links.summary.reasons[0].startswith("Starting from seeds")
    assert links.summary.seconds is not None and links.summary.iterations > 1


def test_a_lower_precision_reaches_below_the_cut_also_of_saved_links_but_not_in_csv(tmp_path: Path) -> None:
    links = linked_cut()
    assert links.considered is not None and len(links.considered) > len(links)
    assert np.array_equal(links.considered.pairs[: len(links)], links.pairs)
    more = links.at(precision=0.5)
    assert len(more) > len(links) and len(more.at(precision=0.99)) < len(links)
    links.save(tmp_path / "links.parquet")
    loaded = Links.load(tmp_path / "links.parquet")
    assert loaded == links and loaded.considered is not None
    assert np.array_equal(loaded.considered.pairs, links.considered.pairs)
    assert np.array_equal(loaded.at(precision=0.5).pairs, more.pairs)
    links.save(tmp_path / "links.csv", columns="all")
    written = Links.load(tmp_path / "links.csv")
    assert written == links and written.considered is None
    assert len(written.at(precision=0.5)) == len(links)


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
        (_growth([]), "not linkable", "beyond the 1 given"),
        (_growth([0.9, 0.8, 0.7]), "linkable", "80% of the 60 views"),
        (_growth([0.6, 0.5]), "doubtful", "55%"),
        (_growth([0.5, 0.3]), "not linkable", "40%"),
        (_growth([0.9, 0.9], anchors=1), "doubtful", "nothing confirms"),
    ],
)
def test_verdict_follows_growth_and_agreement(growth: Growth, verdict: str, reason: str) -> None:
    found = growth.decided(n_given=1).verdict
    assert found.name == verdict and reason in found.reasons[0]


def test_unrelated_clouds_are_not_called_linkable() -> None:
    a, _, _ = small_papers()
    noise = np.random.default_rng(0).normal(size=(200, 64)).astype(np.float32)
    links = link(a, noise, seeds=SEEDS, method="geh", k=10, max_iterations=12, device="cpu")
    assert links.summary.verdict != "linkable"


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


@pytest.mark.runs
def test_the_first_run_on_a_machine_says_that_it_compiles(tmp_path: Path) -> None:
    script = """
import numpy as np, veclink
a = np.random.default_rng(0).standard_normal((120, 24)).astype(np.float32)
for _ in range(2):
    stages = []
    veclink.link(a, a[::-1, ::-1], seeds=[(i, 119 - i) for i in range(10)], device="cpu",
                 progress=lambda now: stages.append(now.stage))
    print("compiling" in stages)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.parametrize(("equal", "seeds_by"), [(3, None), (0, "auto"), (20, None)])
def test_where_nothing_is_found_it_is_said_whether_a_column_could_be_a_start(equal: int, seeds_by: str | None) -> None:
    noise = np.random.default_rng(0).standard_normal((2, 60, 40))
    titles = [[f"{'both' if row < equal else side} {row}" for row in range(60)] for side in "ab"]
    links = link(*noise, payload_a=titles[0], payload_b=titles[1], seeds_by=seeds_by, device="cpu")
    said = " ".join(links.summary.reasons)
    assert links.summary.verdict == "not linkable" and ("A and B have no equal titles" in said) is (equal == 0)
    assert ("20; --seeds-by title starts there" in said) is ("--seeds-by" in said) is (equal == 20)
    assert ("column such as title" in " ".join(advice_without_links(links))) is (equal == 20)
