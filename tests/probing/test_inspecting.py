"""inspect: what a person wants to know of a collection before trusting it, two models in one above all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import veclink
from veclink import sample
from veclink.cli.app import app
from veclink.data.collection import Collection
from veclink.probing.inspecting import inspect_collection


def papers(side: Path) -> np.ndarray:
    return np.asarray(veclink.open_collection(side).vectors[:1200], np.float32)


def test_plain_facts_are_right() -> None:
    vectors = papers(sample.A)[:300].copy()
    vectors[7] = vectors[3]
    vectors[9] = 0
    vectors[11, 2] = np.nan
    vectors[20] *= 5
    found = inspect_collection(Collection.from_array(vectors, ids=np.arange(300) + 50))
    assert (found.count, found.dimension, found.dtype) == (300, 384, "float32")
    assert (found.duplicates, found.zero, found.not_finite) == (1, 1, 1)
    assert found.ids == [50, 51, 52, 53, 54] and not found.unit_length
    assert found.copies == [[53, 57]]
    assert found.norms["least"] > 0 and found.norms["most"] == pytest.approx(5, rel=1e-2)
    unit = vectors[np.isfinite(vectors).all(axis=1) & (np.abs(vectors).sum(axis=1) > 0)]
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    assert found.centring == pytest.approx(np.linalg.norm(unit.mean(axis=0)), rel=1e-4)


@pytest.mark.parametrize("side", [sample.A, sample.B], ids=["minilm", "mpnet"])
def test_papers_of_one_model_are_not_taken_for_two(side: Path) -> None:
    found = inspect_collection(Collection.from_array(papers(side)))
    assert not found.two_models and found.unit_length and found.duplicates == 0


def test_groups_of_copies_are_those_that_linking_groups_and_the_largest_comes_first() -> None:
    vectors = papers(sample.A)[:300].copy()
    vectors[[90, 91, 92]] = vectors[30] + 1e-3 * np.random.default_rng(0).normal(size=(3, 384))
    vectors[7] = vectors[3]
    groups = inspect_collection(Collection.from_array(vectors)).copies
    assert groups == [[30, 90, 91, 92], [3, 7]]
    seeds = [[i, i] for i in range(100, 140)]
    linked = veclink.link(vectors, papers(sample.B)[:300], device="cpu", seeds=seeds, fallbacks=False)
    assert linked.summary.copies[0] == sum(len(group) - 1 for group in groups)


@pytest.mark.parametrize("share", [600, 60])
def test_vectors_of_two_models_in_one_collection_are_noticed(share: int) -> None:
    a, b = papers(sample.A), papers(sample.B)[:, :384]  # cut to the same dimension, as a wrong configuration does
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    mixed = np.concatenate([a[share:], b[:share]])[np.random.default_rng(0).permutation(len(a))]
    found = inspect_collection(Collection.from_array(mixed))
    assert found.two_models
    assert min(found.groups) == pytest.approx(share, rel=0.2)


def test_the_command_says_it_in_words_and_as_json(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", papers(sample.A)[:300])
    result = CliRunner().invoke(app, ["inspect", str(tmp_path / "x.npy")])
    assert result.exit_code == 0
    assert "300 vectors of 384 numbers (float32)" in result.stdout and "One model: " in result.stdout
    result = CliRunner().invoke(app, ["inspect", str(tmp_path / "x.npy"), "--json"])
    assert json.loads(result.stdout)["count"] == 300
