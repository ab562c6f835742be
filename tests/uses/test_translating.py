"""Translators: what they promise of held-back links holds for unlinked rows too, and files bring them back."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from span_papers import all_papers
from veclink import Translator, open_collection, sample
from veclink.geometry.signatures import unit_rows
from veclink.uses.translating import translated_batches

KNOWN = 600


@cache
def fitted() -> Translator:
    """The blend, fitted to 600 of the 900 shared papers."""
    papers = all_papers()
    return Translator.fit(papers.truth[:KNOWN], papers.a, papers.b, map="blend")


def test_papers_that_were_not_linked_land_beside_their_true_vectors() -> None:
    papers = all_papers()
    others = papers.truth[KNOWN:]
    moved = fitted().transform(papers.a[others[:, 0]])
    nearest = np.argmax(moved @ unit_rows(papers.b.copy()).T, axis=1)
    assert np.mean(nearest == others[:, 1]) > 0.95


def test_a_map_is_fitted_without_pairs_of_rows_that_have_no_direction() -> None:
    papers = all_papers()
    a, b, pairs = papers.a[:, :64].copy(), papers.b[:, :64].copy(), papers.truth[:KNOWN]
    a[pairs[:2, 0]] = b[pairs[5, 1]] = 0
    assert Translator.fit(pairs, a, b, map="procrustes", check=False).n_links == KNOWN - 3


def test_the_quality_on_held_back_links_is_what_unseen_papers_show() -> None:
    papers, quality = all_papers(), fitted().quality
    others = papers.truth[KNOWN:]
    true = unit_rows(papers.b[others[:, 1]].copy())
    cosine = float((fitted().transform(papers.a[others[:, 0]]) * true).sum(axis=1).mean())
    assert quality is not None and quality.held_back == KNOWN and quality.among == len(papers.b)
    # the map that is kept saw half as many links again as those that were measured
    assert quality.cosine - 0.01 < cosine < quality.cosine + 0.06
    assert 0.4 < quality.neighbours < 0.9 and quality.partner > 0.9


@pytest.mark.parametrize("kind", ["la2m", "blend"])
def test_wrong_links_are_told_from_right_ones_by_chance(kind: str) -> None:
    papers, rng = all_papers(), np.random.default_rng(0)
    left, right = papers.a[:, :64], papers.b[:, :96]
    wrong = np.column_stack([rng.permutation(len(left))[:300], rng.permutation(len(right))[:300]])
    found = Translator.fit(wrong, left, right, map=kind)
    assert found.quality is not None and found.quality.at_chance
    assert found.warning is not None and "exchanged" in found.warning and "too few" not in found.warning
    half = papers.truth[:300].copy()
    half[:150, 1] = np.roll(half[:150, 1], 1)  # links of which half are wrong still make a map
    for pairs in (papers.truth[:60], half):
        found = Translator.fit(pairs, left, right, map=kind)
        assert found.warning is None and found.quality is not None
        assert found.quality.neighbours > 2 * found.quality.chance


def test_a_loaded_translator_is_the_one_that_was_saved(tmp_path: Path) -> None:
    fitted().save(tmp_path / "ab.safetensors")
    loaded = Translator.load(tmp_path / "ab.safetensors")
    some = all_papers().a[:20]
    np.testing.assert_array_equal(loaded.transform(some), fitted().transform(some))
    assert loaded.describe() == fitted().describe()


def test_batches_carry_ids_and_payload_along() -> None:
    source = open_collection(sample.A)
    batches = list(translated_batches(fitted(), source))
    assert sum(len(batch) for batch in batches) == len(source)
    first = batches[0]
    assert first.ids is not None and first.payload is not None
    assert first.ids[:3].tolist() == source.ids[:3].tolist()
    assert first.payload.column("title")[0] == source.payload.column("title")[0]
    assert first.vectors.shape[1] == 768
