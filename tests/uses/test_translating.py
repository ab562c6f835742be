"""Translators: what they promise of held-back links holds for unlinked rows too, and files bring them back."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from span_papers import all_papers
from veclink import Collection, Links, Translator, open_collection, sample
from veclink.data.summary import Summary
from veclink.errors import InputError
from veclink.geometry.signatures import unit_rows
from veclink.uses.linked_pairs import pairs_of
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


def test_the_quality_on_held_back_links_is_what_unseen_papers_show() -> None:
    papers, quality = all_papers(), fitted().quality
    others = papers.truth[KNOWN:]
    true = unit_rows(papers.b[others[:, 1]].copy())
    cosine = float((fitted().transform(papers.a[others[:, 0]]) * true).sum(axis=1).mean())
    assert quality is not None and quality.held_back == KNOWN and quality.among == len(papers.b)
    # the map that is kept saw half as many links again as those that were measured
    assert quality.cosine - 0.01 < cosine < quality.cosine + 0.06
    assert 0.4 < quality.neighbours < 0.9 and quality.partner > 0.9


def test_wrong_links_show_in_the_quality() -> None:
    papers = all_papers()
    shuffled = papers.truth[:300].copy()
    shuffled[:, 1] = np.roll(shuffled[:, 1], 1)
    wrong = Translator.fit(shuffled, papers.a, papers.b, map="procrustes").quality
    assert wrong is not None and wrong.partner < 0.05 and wrong.neighbours < 0.2


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


def test_exchanged_collections_show_as_chance() -> None:
    """Rows of A and B are in range the other way round too: only the map can tell."""
    papers = all_papers()
    found = Translator.fit(papers.truth[:200, ::-1], papers.a, papers.b, map="procrustes")
    assert found.warning is not None and "A and B are exchanged" in found.warning


def test_the_map_that_measured_best_is_the_default_and_is_asked_for_as_map() -> None:
    papers = all_papers()
    sides = papers.truth[:60], papers.a[:, :64], papers.b[:, :96]
    found = Translator.fit(*sides)
    assert found.kind == "blend" and [each.kind for each in found.tried] == ["blend"]
    with pytest.warns(DeprecationWarning, match="map="):
        assert Translator.fit(*sides, kind="procrustes").kind == "procrustes"
    with pytest.raises(TypeError, match="kinds"):
        Translator.fit(*sides, kinds="procrustes")


def test_auto_tries_every_kind_and_keeps_the_best_neighbours() -> None:
    papers = all_papers()
    found = Translator.fit(papers.truth[:60, :], papers.a[:, :64], papers.b[:, :96], map="auto")
    assert [each.kind for each in found.tried] == ["blend", "la2m", "procrustes", "ridge", "lowrank"]
    assert found.quality is not None
    assert found.quality.neighbours == max(each.neighbours for each in found.tried)
    assert found.kind == found.quality.kind


def test_the_reverse_takes_b_to_a() -> None:
    papers = all_papers()
    back = Translator.fit(papers.truth[:KNOWN], papers.a, papers.b, map="procrustes", reverse=True, check=False)
    others = papers.truth[KNOWN:]
    moved = back.transform(papers.b[others[:, 1]])
    assert back.dimensions == (768, 384) and back.quality is None
    assert np.mean(np.argmax(moved @ unit_rows(papers.a.copy()).T, axis=1) == others[:, 0]) > 0.9


def test_a_loaded_translator_is_the_one_that_was_saved(tmp_path: Path) -> None:
    fitted().save(tmp_path / "ab.safetensors")
    loaded = Translator.load(tmp_path / "ab.safetensors")
    some = all_papers().a[:20]
    np.testing.assert_array_equal(loaded.transform(some), fitted().transform(some))
    assert loaded.describe() == fitted().describe()


@pytest.mark.parametrize("content", [b"", b"\x10\0\0\0\0\0\0\0{}", b"nonsense that is longer than a header"])
def test_a_broken_file_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"t\.safetensors"):
        Translator.load(tmp_path / "t.safetensors")


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.safetensors"
    fitted().save(file)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match="cut off"):
        Translator.load(file)


def test_a_translator_is_saved_as_safetensors_only(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="safetensors"):
        fitted().save(tmp_path / "t.pkl")
    assert not list(tmp_path.iterdir())


def test_vectors_of_another_length_come_out_the_same_and_with_the_length_of_b() -> None:
    papers = all_papers()
    long = Translator.fit(papers.truth[:100], papers.a, 7 * papers.b, map="procrustes", check=False)
    moved = long.transform(papers.a[:5] * np.array([[1], [2], [3], [4], [5]], np.float32))
    np.testing.assert_allclose(moved, long.transform(papers.a[:5]), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 7, rtol=1e-2)


def test_other_vectors_than_the_models_are_refused() -> None:
    with pytest.raises(InputError, match=r"\(3, 10\).*384"):
        fitted().transform(np.ones((3, 10), np.float32))


def test_too_few_links_are_refused_with_their_number() -> None:
    papers = all_papers()
    with pytest.raises(InputError, match=r"9 links.*at least 10"):
        Translator.fit(papers.truth[:9], papers.a, papers.b)


def test_links_of_other_collections_are_refused() -> None:
    links = Links(np.array([[0, 0]]), np.array([1.0]), Summary(method="span", n_a=10, n_b=10, n_links=1))
    ten, five = (Collection.from_array(np.eye(n, 4, dtype=np.float32)) for n in (10, 5))
    with pytest.raises(InputError, match=r"10 and 10.*10 and 5"):
        pairs_of(links, ten, five)


def test_links_whose_ids_moved_to_other_rows_are_refused() -> None:
    summary = Summary(method="span", n_a=3, n_b=3, n_links=1)
    links = Links(np.array([[0, 1]]), np.array([0.9]), summary, ids_a=np.array([7]), ids_b=np.array([5]))
    vectors = np.eye(3, dtype=np.float32)
    a, b = Collection.from_array(vectors, ids=[7, 8, 9]), Collection.from_array(vectors, ids=[4, 5, 6])
    rows, probability = pairs_of(links, a, b)
    assert rows.tolist() == [[0, 1]] and probability.tolist() == [0.9]
    with pytest.raises(InputError, match=r"other ids than A.*as it was"):
        pairs_of(links, Collection.from_array(vectors, ids=[8, 7, 9]), b)
    with pytest.raises(InputError, match=r"other ids than A.*A and B are exchanged"):
        pairs_of(links, b, a)


def test_links_that_fit_the_other_way_round_are_refused_with_that_reason() -> None:
    five, ten = (Collection.from_array(np.eye(n, 4, dtype=np.float32)) for n in (5, 10))
    links = Links(np.array([[4, 9]]), np.array([1.0]), Summary(method="span", n_a=5, n_b=10, n_links=1))
    assert pairs_of(links, five, ten)[0].tolist() == [[4, 9]]
    with pytest.raises(InputError, match=r"10 and 5; A and B are exchanged"):
        pairs_of(links, ten, five)
    with pytest.raises(InputError, match=r"rows that B does not have.*A and B are exchanged"):
        pairs_of(np.array([[4, 9]]), ten, five)
    with pytest.raises(InputError) as told:
        pairs_of(np.array([[4, 99]]), five, ten)
    assert "exchanged" not in str(told.value)


def test_a_plain_table_of_pairs_serves_as_links(tmp_path: Path) -> None:
    papers = all_papers()
    file = tmp_path / "pairs.csv"
    file.write_text("a,b\n" + "".join(f"{x},{y}\n" for x, y in papers.truth[:40].tolist()))
    found = Translator.fit(file, papers.a, papers.b, map="procrustes", check=False)
    assert found.n_links == 40
    by_id = Translator.fit(sample.SEEDS, sample.A, sample.B, map="procrustes", check=False)
    assert by_id.n_links == 15


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_probabilities_of_a_plain_table_count(tmp_path: Path, ending: str) -> None:
    papers = all_papers()
    file = tmp_path / f"pairs.{ending}"
    columns = {"a": papers.truth[:40, 0], "b": papers.truth[:40, 1], "probability": np.linspace(0.3, 1, 40)}
    table = pa.table(columns)
    csv.write_csv(table, file) if ending == "csv" else pq.write_table(table, file)
    rows, probability = pairs_of(file, open_collection(papers.a), open_collection(papers.b))
    assert rows.tolist() == papers.truth[:40].tolist() and np.allclose(probability, columns["probability"])


@pytest.mark.parametrize("wrong", ["7", "hi", "nan"])
def test_a_probability_that_is_none_is_refused(tmp_path: Path, wrong: str) -> None:
    papers = all_papers()
    file = tmp_path / "pairs.csv"
    file.write_text("a,b,probability\n" + "".join(f"{x},{y},{wrong}\n" for x, y in papers.truth[:40].tolist()))
    with pytest.raises(InputError, match="probability"):
        pairs_of(file, open_collection(papers.a), open_collection(papers.b))


def test_batches_carry_ids_and_payload_along() -> None:
    source = open_collection(sample.A)
    batches = list(translated_batches(fitted(), source))
    assert sum(len(batch) for batch in batches) == len(source)
    first = batches[0]
    assert first.ids is not None and first.payload is not None
    assert first.ids[:3].tolist() == source.ids[:3].tolist()
    assert first.payload.column("title")[0] == source.payload.column("title")[0]
    assert first.vectors.shape[1] == 768
