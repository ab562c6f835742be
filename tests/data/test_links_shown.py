"""Links as people handle them in Python: a sequence, a table, a card in a notebook."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.errors import InputError


def three_links() -> Links:
    return Links(
        pairs=np.array([[4, 0], [2, 5], [7, 1]]),
        probability=np.array([0.6, 0.99, 0.8]),
        summary=Summary("span", 8, 6, 3, precision=0.8, recall=0.5, overlap=4.8, precision_range=(0.7, 0.9),
                        reasons=("Few <rows>.",)),
        evidence={"votes": np.array([1, 9, 5])},
        ids_a=np.array(["e", "c", "h"], object),
        titles={(2, 5): ("Cats & dogs", "Dogs")},
    )  # fmt: skip


def test_links_are_a_sequence_the_surest_first() -> None:
    links = three_links()
    assert [(link.a, link.b, link.probability) for link in links] == [("c", 5, 0.99), ("h", 1, 0.8), ("e", 0, 0.6)]
    assert links[-1] == links[2]
    assert links[0].titles == ("Cats & dogs", "Dogs") and links[1].titles is None
    assert links[0].explain() == {"a": "c", "b": 5, "row_a": 2, "row_b": 5, "probability": 0.99, "votes": 9}


@pytest.mark.parametrize("rank", [3, -4])
def test_a_rank_that_is_not_there_ends_an_iteration_as_in_any_sequence(rank: int) -> None:
    with pytest.raises(IndexError, match="there are 3"):
        three_links()[rank]


def test_links_are_an_arrow_table_to_whoever_reads_one() -> None:
    links = three_links()
    read = pa.table(links)
    assert read.column_names == ["a", "b", "probability", "votes", "row_a"]
    assert read["a"].to_pylist() == ["c", "h", "e"]
    assert links.to_arrow().equals(read)


def test_a_notebook_shows_verdict_estimates_and_first_links() -> None:
    page = three_links()._repr_html_()
    assert "3 links between 8 and 6 vectors: linkable" in page
    assert "Estimated precision: 80.0 % (70–90 %)" in page and "Estimated recall: 50.0 %" in page
    assert "Few &lt;rows&gt;." in page
    assert "<td>c</td><td>5</td><td>0.990</td><td>Cats &amp; dogs</td><td>Dogs</td>" in page
    assert page.count("<tr>") == 4


def test_a_notebook_shows_links_without_titles_and_none_at_all() -> None:
    links = three_links()
    assert "called in A" not in replace(links, titles={})._repr_html_()
    nothing = links.some(slice(0), replace(links.summary, n_links=0))
    assert "<table>" not in nothing._repr_html_() and "Estimated precision" not in nothing._repr_html_()


def test_links_are_held_against_the_truth_by_id(tmp_path: Path) -> None:
    links = three_links()
    truth = [("c", 5), ("e", 1), ("h", 1), ("a", 2)]
    scores = links.evaluate(truth)
    assert (scores.precision, scores.recall) == (2 / 3, 2 / 4)
    file = tmp_path / "truth.csv"
    file.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in truth))
    assert links.evaluate(file) == scores
    with pytest.raises(InputError, match="give pairs"):
        links.evaluate([1, 2, 3])


def test_the_card_of_links_at_a_precision_keeps_the_titles() -> None:
    links = three_links()
    kept = replace(links, considered=links).at(precision=0.95)
    assert len(kept) == 1 and kept[0].titles == ("Cats & dogs", "Dogs")
