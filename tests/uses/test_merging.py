"""Merged collections: every object once, ids and payloads of both sides, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_merges import merged_sample, small, weighted
from span_papers import all_papers
from veclink import merge, open_collection, sample
from veclink.data.links import Links
from veclink.errors import InputError
from veclink.geometry.signatures import unit_rows

ROWS = 1950 + 1950 - 900
# most tests merge small made-up collections, whose vectors have nothing to do with one another
pytestmark = pytest.mark.filterwarnings("ignore::veclink.errors.WrongLinksWarning")


def test_every_object_is_there_once_with_both_ids_and_payloads() -> None:
    found = merged_sample().collection()
    a, b = open_collection(sample.A), open_collection(sample.B)
    assert found.vectors.shape == (ROWS, 768) and found.payload is not None and found.ids is not None
    table = found.payload.to_pylist()
    assert [row["origin"] for row in table].count("both") == 900
    titles_a = dict(zip(a.ids.tolist(), a.payload.column("title").to_pylist(), strict=True))
    for row in table:
        if row["origin"] == "both":
            assert row["a_title"] == row["b_title"] == titles_a[row["id_a"]]
        elif row["origin"] == "a":
            assert row["id_b"] is None and row["b_title"] is None and row["a_title"] == titles_a[row["id_a"]]
        else:
            assert row["id_a"] is None and row["a_title"] is None and row["b_title"] is not None
    assert found.ids[:1950].tolist() == b.ids.tolist()
    np.testing.assert_array_equal(found.vectors[:1950], np.asarray(b.vectors))


def test_a_query_in_bs_space_finds_papers_that_only_a_had() -> None:
    """The true vector of a paper that B never held, as if it were embedded by B's model now."""
    papers = all_papers()
    known, unseen = papers.truth[:700], papers.truth[700:]
    b = np.delete(papers.b, unseen[:, 1], axis=0)
    place = np.cumsum(~np.isin(np.arange(len(papers.b)), unseen[:, 1])) - 1
    links = np.column_stack([known[:, 0], place[known[:, 1]]])
    merged = merge(papers.a, b, links, map="blend").collection()
    assert merged.payload is not None
    from_a = np.array([-1 if row is None else row for row in merged.payload.column("id_a").to_pylist()])
    queries = unit_rows(papers.b[unseen[:, 1]].copy())
    top = np.argsort(-(queries @ unit_rows(merged.vectors.astype(np.float32)).T), axis=1)[:, :3]
    assert np.mean([row in from_a[near] for row, near in zip(unseen[:, 0], top, strict=True)]) > 0.9


def test_a_merge_by_wrong_links_is_warned_of_and_by_right_ones_is_not() -> None:
    papers = all_papers()
    wrong = np.column_stack([papers.truth[:300, 0], np.roll(papers.truth[:300, 1], 7)])
    with pytest.warns(UserWarning, match="no better than chance"):
        merged = merge(papers.a, papers.b, wrong, map="procrustes")
    assert merged.summary.warning is not None and "wrong" in merged.summary.warning
    assert merge(papers.a, papers.b, papers.truth[:300], map="procrustes").summary.warning is None


def test_improbable_links_fit_the_map_but_hide_no_row() -> None:
    a, b = small(40, 8, 0), small(40, 8, 1)
    links = weighted([(row, row) for row in range(30)], [0.96] * 20 + [0.3] * 10, 40, 40)
    merged = merge(a, b, links, map="procrustes")
    assert merged.summary.linked == 20 and merged.summary.unsure == 10 and merged.summary.translated == 20
    assert merge(a, b, links, map="procrustes", sure=0.0).summary.linked == 30
    assert merge(a, b, links.at(probability=0.2), map="procrustes").summary.linked == 30, "what somebody chose is kept"
    assert merged.translator is not None and merged.translator.n_links == 30
    assert merged.summary.hidden == pytest.approx(20 * 0.04)


def test_a_column_of_both_payloads_is_bs_value_or_else_as() -> None:
    a = small(3, 4, 0, payload=pa.table({"title": ["A0", "A1", "A2"], "year": [1, 2, 3], "id": ["x", "y", "z"]}))
    b = small(3, 4, 1, payload=pa.table({"title": ["B0", None, "B2"], "year": ["one", "two", None]}))
    table = merge(a, b, _by_rows(np.array([[1, 1], [2, 0]])), union_only=True).collection().payload
    assert table.column("title").to_pylist() == ["B0", "A1", "B2", "A0"]
    assert table.column("a_title").to_pylist() == ["A2", "A1", None, "A0"]
    assert table.column("b_title").to_pylist() == ["B0", None, "B2", None]
    assert table.column("year").to_pylist() == ["one", "two", None, "1"]  # of two kinds: text
    assert "id" not in table.column_names and table.column("a_id").to_pylist() == ["z", "y", None, "x"]


@pytest.mark.parametrize(
    ("ids_a", "ids_b", "expected", "told"),
    [
        (None, None, [0, 1, 2, 3, 4], "counted on from 3"),
        ([7, 8, 9], [1, 2, 3], [1, 2, 3, 8, 9], "as they are"),
        ([1, 2, 3], [1, 2, 3], [1, 2, 3, 4, 5], "counted on from 4"),
        (["x", "y", "z"], ["p", "q", "y"], ["p", "q", "y", "a:y", "a:z"], "with 'a:' before them"),
        (["x", "y", "z"], [1, 2, 3], ["1", "2", "3", "y", "z"], "as they are"),
    ],
)
def test_ids_stay_those_of_b_are_never_taken_twice_and_what_became_of_a_is_told(
    ids_a: object, ids_b: object, expected: list[object], told: str
) -> None:
    a, b = small(3, 4, 0, ids_a), small(3, 4, 1, ids_b)
    pairs = np.array([[0, 0]])
    merged = merge(a, b, _by_rows(pairs), union_only=True)
    assert merged.ids.tolist() == expected and merged.summary.ids_of_a == told


def _by_rows(pairs: np.ndarray) -> Links:
    return weighted([tuple(pair) for pair in pairs.tolist()], [1.0] * len(pairs), 3, 3)


@pytest.mark.parametrize("target", ["merged.parquet", "merged.npy", "lancedb://{}/db#merged", "merged.jsonl"])
def test_what_is_written_is_what_was_planned(tmp_path: Path, target: str) -> None:
    to = target.format(tmp_path) if "://" in target else str(tmp_path / target)
    a = small(60, 8, 0, payload=pa.table({"name": [f"n{row}" for row in range(60)]}))
    b = small(50, 12, 1, ids=[f"b{row}" for row in range(50)])
    pairs = [(row, row) for row in range(30)]
    planned = merge(a, b, weighted(pairs, [1.0] * 30, 60, 50), map="procrustes")
    assert planned.write(to) == 80
    found, expected = open_collection(to), planned.collection()
    np.testing.assert_allclose(np.asarray(found.vectors, np.float32), expected.vectors, atol=1e-6)
    assert found.ids is not None and expected.ids is not None and found.ids.tolist() == expected.ids.tolist()
    beside = tmp_path / "merged.rows.parquet"
    assert beside.exists() == target.endswith(".npy")
    assert expected.payload is not None
    names = expected.payload.column_names
    table = pq.read_table(beside) if beside.exists() else found.payload
    assert table.select(names).to_pylist() == expected.payload.to_pylist()
    assert not beside.exists() or [str(each) for each in table.column("id").to_pylist()] == found.ids.tolist()


def test_a_collection_that_is_there_is_not_replaced_unasked(tmp_path: Path) -> None:
    file = tmp_path / "merged.parquet"
    file.write_bytes(b"precious")
    with pytest.raises(InputError, match="there already"):
        merged_sample().write(file)
    assert file.read_bytes() == b"precious"
    merged_sample().write(file, replace=True)
    assert len(open_collection(file)) == ROWS


def test_zero_vectors_of_a_are_refused_or_left_out() -> None:
    a = small(30, 8, 0)
    a.vectors[25] = 0
    links = weighted([(row, row) for row in range(20)], [1.0] * 20, 30, 30)
    with pytest.raises(InputError, match=r"zero vectors.*25"):
        merge(a, small(30, 8, 1), links, map="procrustes")
    merged = merge(a, small(30, 8, 1), links, map="procrustes", skip_zero=True)
    assert merged.summary.left_out == 1 and merged.summary.rows == 39
    assert 25 not in merged.alone
