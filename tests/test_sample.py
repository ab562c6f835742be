"""The bundled sample is what the README says it is."""

from __future__ import annotations

import numpy as np

from veclink import open_collection, sample
from veclink.data.pairs import resolve_pairs


def test_sample_has_the_sizes_that_the_demo_tells() -> None:
    a, b = open_collection(sample.A), open_collection(sample.B)
    assert a.vectors.shape == (1_950, 384)
    assert b.vectors.shape == (1_950, 768)
    assert a.vectors.dtype == b.vectors.dtype == np.float16
    assert len(set(a.ids) | set(b.ids)) == 3_000


def test_truth_lists_every_shared_paper_and_seeds_are_true() -> None:
    a, b = open_collection(sample.A), open_collection(sample.B)
    truth = resolve_pairs(sample.TRUTH, a, b)
    seeds = resolve_pairs(sample.SEEDS, a, b)
    assert len(truth) == 900
    assert {a.ids[row] for row in truth[:, 0]} == set(a.ids) & set(b.ids)
    assert len(seeds) == 15
    assert set(map(tuple, seeds.tolist())) <= set(map(tuple, truth.tolist()))


def test_a_true_link_shows_the_same_title_on_both_sides() -> None:
    a, b = open_collection(sample.A), open_collection(sample.B)
    for row_a, row_b in resolve_pairs(sample.TRUTH, a, b).tolist():
        assert a.payload["title"][row_a].as_py() == b.payload["title"][row_b].as_py() != ""


def test_the_sentences_are_300_different_ones_of_6_to_15_words() -> None:
    sentences = sample.SENTENCES.read_text(encoding="utf-8").splitlines()
    assert len(set(sentences)) == len(sentences) == 300
    assert all(6 <= len(sentence.split()) <= 15 and sentence.endswith(".") for sentence in sentences)
