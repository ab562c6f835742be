"""Links come back from a file as they were, can be cut at a precision, and explain themselves."""

from __future__ import annotations

import json
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veclink.data.agreement import Agreement
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.data.words import Reason
from veclink.errors import InputError, OutputError, WrongLinksWarning

ENDINGS = [".parquet", ".csv"]


def some_links(n: int = 6, ids: bool = True, **options: Any) -> Links:
    draw = np.random.default_rng(0)
    return Links(
        pairs=np.column_stack([draw.permutation(20)[:n], draw.permutation(30)[:n]]),
        probability=np.round(draw.uniform(size=n), 2),
        summary=Summary(
            "geh", 20, 30, n, precision=0.9, recall=None, overlap=7.5, why=(Reason.of("few seeds"),), iterations=12
        ),
        evidence={
            "score": draw.normal(size=n).astype(np.float32),
            "density": draw.normal(size=n),
            "votes": draw.integers(0, 9, n),
            "seed": draw.uniform(size=n) < 0.5,
        },
        ids_a=np.array([f"é,\n{i}" for i in range(n)], dtype=object) if ids else None,
        options={"k": 50, "encoding": "kernel", **options},
    )


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
integers = st.integers(-(2**63), 2**63 - 1)


@st.composite
def any_links(draw: st.DrawFn) -> Links:
    pairs = draw(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), unique=True, max_size=6))
    n = len(pairs)

    def column(values: st.SearchStrategy[Any], dtype: Any) -> np.ndarray:
        filled = np.empty(n, dtype=dtype)
        filled[:] = draw(st.lists(values, min_size=n, max_size=n))
        return filled

    def ids() -> np.ndarray | None:
        kind = draw(st.sampled_from(["none", "int", "str"]))
        return None if kind == "none" else column(integers, np.int64) if kind == "int" else column(texts, object)

    share = st.none() | st.floats(0, 1)
    ranges = st.none() | st.tuples(st.floats(0, 0.5), st.floats(0.5, 1))
    return Links(
        pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        probability=column(st.floats(0, 1), np.float64),
        summary=Summary(
            draw(texts),
            51,
            51,
            n,
            precision=draw(share),
            recall=draw(share),
            overlap=draw(share),
            verdict=draw(st.sampled_from(["linkable", "doubtful", "not linkable"])),
            why=tuple(map(Reason.of, draw(st.lists(texts, max_size=2)))),
            precision_range=draw(ranges),
            recall_range=draw(ranges),
            overlap_range=draw(ranges),
            wrong_seeds=tuple(draw(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=2))),
            contradicting_seeds=tuple(draw(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=2))),
            calibration=draw(st.none() | texts),
            iterations=draw(st.integers(0, 100)),
            seconds=draw(share),
        ),
        evidence={
            "score": column(st.floats(width=32), np.float32),
            "width": column(st.floats(), np.float64),
            "votes": column(integers, np.int64),
            "seed": column(st.booleans(), bool),
        },
        ids_a=ids(),
        ids_b=ids(),
        options=draw(
            st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts | st.lists(integers), max_size=3)
        ),
    )


@given(links=any_links())
@example(links=some_links())
@example(links=some_links(n=0))
def test_what_is_loaded_equals_what_was_saved(tmp_path_factory: pytest.TempPathFactory, links: Links) -> None:
    folder = tmp_path_factory.mktemp("links")
    for ending in ENDINGS:
        links.save(folder / f"links{ending}", columns="all")
        loaded = Links.load(folder / f"links{ending}")
        assert loaded == links
        loaded.save(folder / f"again{ending}", columns="all")
        assert (folder / f"again{ending}").read_bytes() == (folder / f"links{ending}").read_bytes()


def test_a_file_begins_with_ids_and_probability_and_explains_itself(tmp_path: Path) -> None:
    links = some_links()
    links.save(tmp_path / "links.parquet")
    links.save(tmp_path / "links.csv", columns="all")
    table = pq.read_table(tmp_path / "links.parquet")
    names = ["a", "b", "probability", "score", "density", "votes", "seed", "row_a"]
    assert table.column_names == links.table().column_names == names
    assert table["a"].to_pylist() == links.ids_a.tolist() and table["b"].to_pylist() == links.pairs[:, 1].tolist()
    assert (tmp_path / "links.csv").read_text().splitlines()[0] == ",".join(names)
    inside = json.loads(table.schema.metadata[b"veclink"])
    beside = json.loads((tmp_path / "links.csv.json").read_text())
    assert beside.pop("fingerprint") and inside == beside
    assert inside["method"] == "geh" and inside["options"] == {"k": 50, "encoding": "kernel"} and inside["version"]
    assert inside["sizes"] == {"a": 20, "b": 30, "links": 6} and inside["summary"]["overlap"] == 7.5


def test_links_are_sorted_by_probability_then_row_with_all_that_belongs_to_them() -> None:
    pairs = np.array([[3, 0], [1, 1], [2, 2], [0, 3]])
    links = Links(
        pairs, np.array([0.5, 0.9, 0.5, 0.1]), Summary("geh", 4, 4, 4), {"votes": pairs[:, 0] * 10}, pairs[:, 0] + 100
    )
    assert links.pairs.tolist() == [[1, 1], [2, 2], [3, 0], [0, 3]]
    assert links.probability.tolist() == [0.9, 0.5, 0.5, 0.1]
    assert links.evidence["votes"].tolist() == [10, 20, 30, 0]
    assert links.ids_a is not None and links.ids_a.tolist() == [101, 102, 103, 100]


@given(probability=st.lists(st.floats(0, 1), max_size=20), precision=st.floats(0.01, 1))
def test_at_keeps_the_most_links_whose_mean_probability_is_enough(probability: list[float], precision: float) -> None:
    n = len(probability)
    links = Links(np.column_stack([np.arange(n)] * 2), np.array(probability), Summary("span", 99, 99, n, overlap=10.0))
    kept = links.at(precision=precision)
    means = [np.mean(links.probability[: i + 1]) for i in range(n)]
    assert len(kept) == max((i + 1 for i in range(n) if means[i] >= precision - 1e-9), default=0)
    assert np.array_equal(kept.pairs, links.pairs[: len(kept)]) and kept.summary.n_links == len(kept)
    if len(kept):
        assert kept.summary.precision == pytest.approx(means[len(kept) - 1])
        assert kept.summary.recall == pytest.approx(min(1, kept.probability.sum() / 10))


def test_a_link_is_explained_by_all_that_is_known_of_it() -> None:
    links = some_links()
    known = links.explain(2)
    assert known["rank"] == 2 and known["of"] == 6 and known["a"] == links.ids_a[2]
    assert [known["row_a"], known["row_b"]] == links.pairs[2].tolist() and known["b"] == known["row_b"]
    assert known["probability"] == links.probability[2]
    assert {name: known[name] for name in links.evidence} == {name: v[2].item() for name, v in links.evidence.items()}
    json.dumps(known)
    with pytest.raises(InputError, match="no link 6; there are 6"):
        links.explain(6)


def test_rows_of_a_csv_may_be_sorted_otherwise_and_by_a_spreadsheet(tmp_path: Path) -> None:
    links = some_links(ids=False)
    links.save(tmp_path / "links.csv", columns="all")
    header, *lines = (tmp_path / "links.csv").read_text().splitlines()
    (tmp_path / "links.csv").write_bytes(("\ufeff" + "\r\n".join([header, *lines[::-1]])).encode())
    assert Links.load(tmp_path / "links.csv") == links


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_save_that_runs_out_of_room_leaves_the_older_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"links{ending}"
    some_links().save(path, columns="all")
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    n = 20_000
    large = Links(
        np.random.default_rng(0).permutation(2 * n).reshape(n, 2), np.full(n, 0.5), Summary("geh", 2 * n, 2 * n, n)
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))  # the system itself refuses to write more than this
    try:
        with pytest.raises(OutputError, match=rf"Could not write .*links{ending}: .*File too large"):
            large.save(path, columns="all")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
    assert Links.load(path) == some_links()
    with pytest.raises(OutputError, match="Could not write /proc/links"):  # no file can be made there, nor a lock
        large.save(f"/proc/links{ending}")


def test_at_reaches_into_the_considered_pairs_and_keeps_them() -> None:
    every = some_links()
    kept = every.at(precision=0.8)
    wider = kept.at(precision=0.01)
    assert len(kept) < len(every) and np.array_equal(wider.pairs, every.pairs)
    assert kept.considered == wider and wider.summary.n_links == len(every)
    assert wider.at(precision=0.8) == kept


@pytest.mark.parametrize("ending", ENDINGS)
def test_how_many_titles_agree_is_saved_and_not_kept_for_other_links(tmp_path: Path, ending: str) -> None:
    agreement = Agreement("title", "Name", 4, 5, seeds=1)
    links = some_links()
    links = links.told(replace(links.summary, agreement=agreement))
    links.save(tmp_path / f"links{ending}", columns="all")
    loaded = Links.load(tmp_path / f"links{ending}")
    assert loaded == links and loaded.summary.agreement == agreement
    assert links.summary.to_dict()["agreement"]["agree"] == 4
    with pytest.warns(WrongLinksWarning, match="shares of votes"):
        assert links.at(precision=0.9).summary.agreement is None, "of fewer links it is another number"
