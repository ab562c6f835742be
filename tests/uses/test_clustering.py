"""Clusters that span two collections of real vectors."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from span_papers import some_papers
from veclink import cluster
from veclink.uses.clustering import Clusters


@cache
def clusters() -> Clusters:
    """The cut of the sample in eight clusters, joined at all 180 shared papers."""
    papers = some_papers()
    return cluster(papers.a, papers.b, papers.truth, clusters=8, device="cpu")


def test_linked_papers_are_in_one_cluster_and_every_vector_has_one() -> None:
    papers, found = some_papers(), clusters()
    assert found.summary.clusters == 8 and found.summary.nodes == 420 and found.summary.linked == 180
    assert (found.labels_a[papers.truth[:, 0]] == found.labels_b[papers.truth[:, 1]]).all()
    assert len(found.labels_a) == len(found.labels_b) == 300
    assert min(found.labels_a.min(), found.labels_b.min()) == 0
    count_a, count_b = found.sizes()
    assert count_a.sum() == count_b.sum() == 300 and (np.diff(count_a + count_b) <= 60).all()


def test_papers_that_are_not_linked_still_land_with_their_own_kind() -> None:
    """With half of the links, the clusters of the others' two vectors agree far more often than by chance."""
    papers = some_papers()
    found = cluster(papers.a, papers.b, papers.truth[:90], clusters=8, device="cpu")
    rest = papers.truth[90:]
    agree = np.mean(found.labels_a[rest[:, 0]] == found.labels_b[rest[:, 1]])
    share = np.bincount(found.labels_a) / len(found.labels_a)
    assert agree > 2.5 * float((share**2).sum())


def test_wrong_links_are_warned_of_and_few_right_ones_are_not() -> None:
    papers = some_papers()
    assert clusters().summary.warning is None
    wrong = np.column_stack([papers.truth[:, 0], np.roll(papers.truth[:, 1], 7)])
    for pairs in (wrong, papers.truth[:, ::-1]):
        with pytest.warns(UserWarning, match="no more neighbours in common than by chance"):
            found = cluster(papers.a, papers.b, pairs, clusters=8, device="cpu")
        assert found.summary.warning is not None and "A and B are exchanged" in found.summary.warning
    assert cluster(papers.a, papers.b, papers.truth[:15], clusters=8, device="cpu").summary.warning is None


def test_the_same_random_state_gives_the_same_clusters() -> None:
    papers = some_papers()
    again = cluster(papers.a, papers.b, papers.truth, clusters=8, device="cpu")
    np.testing.assert_array_equal(again.labels_a, clusters().labels_a)
    np.testing.assert_array_equal(again.labels_b, clusters().labels_b)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_saved_table_holds_every_row_of_both_sides(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"clusters.{ending}"
    clusters().save(file)
    rows = list(csv.DictReader(file.open())) if ending == "csv" else pyarrow.parquet.read_table(file).to_pylist()
    assert [row["side"] for row in rows] == ["a"] * 300 + ["b"] * 300
    assert [int(row["cluster"]) for row in rows[:300]] == clusters().labels_a.tolist()
    assert [int(row["id"]) for row in rows[300:]] == list(range(300))
