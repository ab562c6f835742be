"""Links files that keep all judged pairs: the threshold moves up and down after a load."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from veclink import Links
from veclink.data.pairs import read_pairs, read_probabilities
from veclink.data.summary import Summary
from veclink.errors import InputError


def judged(n: int = 40, kept: int = 15, *, ids: bool = False) -> Links:
    """Links of 40 judged pairs, of which 15 are links; two below have the probability of the last one that is."""
    probability = np.linspace(0.99, 0.02, n)
    probability[kept - 1 : kept + 2] = probability[kept - 1]
    names = np.array([f"x{row}" for row in range(n)], dtype=object) if ids else None
    summary = Summary("span", n, n, n, overlap=18.0, caution=1.5)
    return Links(
        np.column_stack([np.arange(n), np.arange(n)[::-1]]),
        probability,
        replace(summary, n_links=kept),
        {"score": np.linspace(1, 0, n).astype(np.float32), "given": np.arange(n) < 2},
        ids_a=names,
    )


@pytest.mark.parametrize("ids", [False, True])
def test_a_parquet_file_gives_back_the_links_and_all_judged_pairs(tmp_path: Path, ids: bool) -> None:
    links = judged(ids=ids)
    links.save(tmp_path / "links.parquet")
    loaded = Links.load(tmp_path / "links.parquet")
    assert loaded == links and len(loaded) == 15
    assert len(loaded.considered) == 40
    np.testing.assert_array_equal(loaded.considered.pairs, links.considered.pairs)
    assert list(loaded.columns()) == list(links.columns())
    again = tmp_path / "again.parquet"
    loaded.save(again)
    assert again.read_bytes() == (tmp_path / "links.parquet").read_bytes()


def test_the_threshold_moves_both_ways_after_a_load(tmp_path: Path) -> None:
    links = judged()
    links.save(tmp_path / "links.parquet")
    loaded = Links.load(tmp_path / "links.parquet")
    for wanted in ({"precision": 0.9}, {"precision": 0.6}, {"probability": 0.3}, {"links": 33}, {"links": 0}):
        assert loaded.at(**wanted) == links.at(**wanted)
    assert len(loaded.at(precision=0.9)) < 15 < len(loaded.at(precision=0.6))
    assert (loaded.at(probability=0.3).probability >= 0.3).all() and len(loaded.at(probability=0.3)) == 28


def test_a_csv_file_holds_the_links_alone_which_can_only_become_fewer(tmp_path: Path) -> None:
    judged().save(tmp_path / "links.csv")
    loaded = Links.load(tmp_path / "links.csv")
    assert loaded.considered is loaded and len(loaded.at(probability=0.01)) == 15
    assert "linked" not in (tmp_path / "links.csv").read_text().splitlines()[0]
    with pytest.raises(InputError, match="16 links are wanted, and 15 pairs were judged"):
        loaded.at(links=16)


def test_whoever_reads_pairs_from_the_file_gets_the_links(tmp_path: Path) -> None:
    links = judged()
    links.save(tmp_path / "links.parquet")
    left, right = read_pairs(tmp_path / "links.parquet")
    assert np.column_stack([left, right]).tolist() == links.pairs.tolist()
    np.testing.assert_array_equal(read_probabilities(tmp_path / "links.parquet", 15), links.probability)
