"""Links as people handle them in Python: a sequence, a table, a card in a notebook."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from veclink import evaluate
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.data.words import Reason, texts_of
from veclink.errors import InputError

CATS, DOGS = (np.array(["", title, ""], object) for title in ("Cats & dogs", "Dogs"))


def three_links() -> Links:
    return Links(
        pairs=np.array([[4, 0], [2, 5], [7, 1]]),
        probability=np.array([0.6, 0.99, 0.8]),
        summary=Summary("span", 8, 6, 3, precision=0.8, recall=0.5, overlap=4.8, precision_range=(0.7, 0.9),
                        why=(Reason.of("Few <rows>."),)),
        evidence={"votes": np.array([1, 9, 5])},
        ids_a=np.array(["e", "c", "h"], object),
        texts={"title_a": CATS, "title_b": DOGS},
    )  # fmt: skip


def test_links_are_a_sequence_the_surest_first() -> None:
    links = three_links()
    assert [(link.a, link.b, link.probability) for link in links] == [("c", 5, 0.99), ("h", 1, 0.8), ("e", 0, 0.6)]
    assert links[-1] == links[2]
    assert links[0].titles == ("Cats & dogs", "Dogs") and links[1].titles == ("", "")
    assert links[0].evidence == {"votes": 9}


def test_a_link_is_explained_in_words_a_line_each() -> None:
    evidence = {
        "score": np.array([0.62, 0.5, 0.4]),
        "rival_b": np.array([3, -1, -1]),
        "rival_b_score": np.array([0.51, np.nan, np.nan]),
        "shared_neighbours": np.array([0.25, 0.1, np.nan]),
        "votes": np.array([9, 5, 1]),
        "views": np.array([12, 9, 9]),
    }
    links = three_links().some(slice(None), three_links().summary, evidence=evidence)
    assert repr(links[0]) == "Link('c' and 5, probability 0.990: “Cats & dogs” and “Dogs”)"
    assert repr(links[0].explain()).splitlines() == [
        "Probability: 0.990; of 100 pairs like this one, about 99 are right",
        "How alike the two are: 0.62, 0.11 ahead of the nearer rival",
        "The same links are nearby: 25 %",
        "Votes: 9 of 12 views proposed it",
        "Next best in B: 3, with the score 0.51",
    ]
    assert "The same links are nearby" not in links[2].explain()


def test_links_are_an_arrow_table_to_whoever_reads_one() -> None:
    links = three_links()
    read = pa.table(links)
    assert read.column_names == ["a", "b", "probability", "votes", "row_a", "title_a", "title_b"]
    assert read["a"].to_pylist() == ["c", "h", "e"]
    assert links.to_arrow().equals(read)


def test_a_summary_prints_what_the_notebook_shows() -> None:
    ranges = {"precision_range": (0.85, 0.93), "recall_range": (0.7, 0.9999), "overlap_range": (1300.0, 1555.0)}
    estimates = {"precision": 0.9, "recall": 0.8, "overlap": 1400.0}
    why = (Reason.of("Few rows."),)
    told = str(Summary("span", 2_000, 2_000, 1, why=why, wrong_seeds=((4, 17),), **estimates, **ranges))
    assert told.splitlines() == [
        "1 link between 2,000 and 2,000 vectors: linkable.",
        "  Estimated precision: 90.0 % (likely 85.0–93.0 %)",
        "  Estimated recall: 80.0 % (likely at least 70.0 %)",
        "  Estimated objects in both: 1,400 (likely 1,300–1,555)",
        "  Note: Few rows.",
        "  Seeds that look wrong, by row: (4, 17)",
    ]
    for line in str(three_links().summary).splitlines():
        assert escape(line.strip()) in three_links()._repr_html_()


def test_what_is_not_known_is_printed_before_the_verdict() -> None:
    why = Reason("no_links_without_seeds"), Reason.of("Give some.")
    told = str(Summary("span", 90, 80, 0, verdict="not linkable", why=why)).splitlines()
    assert told == [str(why[0]), "  Verdict: not linkable", "  Note: Give some."]


def test_a_card_shows_doubtful_links_too() -> None:
    rows = np.arange(20)
    links = Links(np.stack([rows, rows], axis=1), np.linspace(0.99, 0.4, 20), Summary("span", 20, 20, 20))
    shown = re.findall(r"<tr><td>(\d+)</td>", links._repr_html_())
    assert shown == ["0", "1", "2", "18", "19"]


def test_a_frame_says_which_judged_pairs_are_links() -> None:
    pytest.importorskip("pandas")
    links = three_links().at(links=1)
    assert links.to_pandas()["linked"].tolist() == [True]
    assert links.to_pandas(judged=True)["linked"].tolist() == [True, False, False]
    assert links.to_pandas("all", judged=True).shape == (3, 8)


def test_links_are_scored_by_id(tmp_path: Path) -> None:
    links = three_links()
    (tmp_path / "truth.csv").write_text("a,b\nc,5\ne,1\nh,1\na,2\n")
    scores = evaluate(links, tmp_path / "truth.csv")
    assert scores == links.evaluate(pa.table({"a": list("ceha"), "b": [5, 1, 1, 2]}))
    assert str(scores) == "precision 66.7 %, recall 50.0 %, F1 57.1 %"
    with pytest.raises(InputError, match="no value of a in common"):
        links.evaluate([(2, 5), (4, 0)])


def judged_links() -> Links:
    """Two links and a pair below the threshold, with ids, titles, rivals and what else explains them."""
    collections = [
        Collection.from_array(np.eye(4), ids=[f"{side}{row}" for row in range(4)], payload=titles(side), name=side)
        for side in "ab"
    ]
    every = Links(
        pairs=np.array([[0, 1], [2, 3], [3, 0]]),
        probability=np.array([0.9, 0.8, 0.2]),
        summary=Summary("span", 4, 4, 3, precision=0.6),
        evidence={"score": np.array([0.5, 0.4, 0.3]), "votes": np.array([3, 2, 1]),
                  "rival_a": np.array([3, -1, 0]), "rival_b": np.array([2, 0, -1])},
        ids_a=np.array(["a0", "a2", "a3"], object),
        ids_b=np.array(["b1", "b3", "b0"], object),
        texts=texts_of(*collections),
    )  # fmt: skip
    return every.told(replace(every.summary, n_links=2, precision=0.85))


def table(links: Links) -> dict[str, list]:
    return {name: values.tolist() for name, values in links.short_columns().items()}


def titles(side: str) -> pa.Table:
    return pa.table({"title": [f"{side}: one\ntwo, {row}" for row in range(4)]})


def test_a_csv_file_has_what_people_read_and_the_rest_where_it_is_asked_for(tmp_path: Path) -> None:
    links = judged_links()
    links.save(tmp_path / "short.csv")
    links.save(tmp_path / "all.csv", columns="all")
    header, first, _ = (tmp_path / "short.csv").read_text().splitlines()
    assert header == "a,b,title_a,title_b,probability,score,rival_id_a,rival_id_b,row_a,row_b"
    assert first == 'a0,b1,"a: one two, 0","b: one two, 1",0.9,0.5,a3,b2,0,1'
    whole = (tmp_path / "all.csv").read_text().splitlines()[0].split(",")
    assert {*header.split(","), "votes", "rival_a"} <= {*whole}
    assert {*whole} == {*pa.table(links).column_names}


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_threshold_moves_in_a_file_and_its_titles_and_rivals_stay(tmp_path: Path, ending: str) -> None:
    links = judged_links()
    links.save(tmp_path / f"links{ending}")
    loaded = Links.load(tmp_path / f"links{ending}")
    assert table(loaded) == table(links)
    loaded.at(links=1).save(tmp_path / "cut.csv")
    cut = Links.load(tmp_path / "cut.csv")
    assert cut[0].titles == ("a: one two, 0", "b: one two, 1")
    assert table(cut)["rival_id_b"] == ["b2"]
    more = loaded.at(probability=0.1)
    assert len(more) == (3 if ending == ".parquet" else 2), "only Parquet has the pairs below the threshold"
    assert more[-1].titles == tuple(f"{side}: one two, {row}" for side, row in zip("ab", more.pairs[-1], strict=True))
