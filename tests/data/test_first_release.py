"""Links that veclink 0.1 wrote load: the bundled sample, linked from its seeds, as Parquet and as CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veclink import Links

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILES = [FIXTURES / "links-0.1.parquet", FIXTURES / "links-0.1.csv"]
OWN = ("a", "b", "probability", "row_a", "row_b")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.suffix)
def test_a_file_of_the_first_release_holds_what_it_held(file: Path) -> None:
    written = {name: column.to_numpy() for name, column in _columns().items()}
    links = Links.load(file)
    assert len(links) == 916
    assert np.array_equal(links.pairs, np.column_stack([written["row_a"], written["row_b"]]))
    assert np.array_equal(links.probability, written["probability"])
    assert list(links.ids_a) == list(written["a"]) and list(links.ids_b) == list(written["b"])
    assert links.summary.verdict == "linkable" and links.summary.n_links == 916
    assert (links.summary.n_a, links.summary.n_b, links.summary.iterations) == (1950, 1950, 7)
    assert links.summary.precision == 0.9715339919224202
    assert links.options == {"random_state": 0}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.suffix)
def test_what_the_first_release_did_not_know_is_not_made_up(file: Path) -> None:
    summary = Links.load(file).summary
    assert summary.calibration is None and summary.contradicting_seeds == ()
    assert summary.precision_range is summary.recall_range is summary.overlap_range is None


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.suffix)
def test_its_evidence_is_read_under_the_names_it_was_written_by(file: Path) -> None:
    links = Links.load(file)
    for name, column in _columns().items():
        if name not in OWN:
            assert np.array_equal(links.evidence[name], column.to_numpy(), equal_nan=True), name


def test_both_kinds_of_file_are_the_same_links_and_can_be_used() -> None:
    first, second = map(Links.load, FILES)
    assert first == second
    sure = first.at(precision=0.99)
    assert 0 < len(sure) < len(first)
    told = first.explain(0)
    assert (told["row_a"], told["row_b"], told["votes"], told["views"]) == (19, 1131, 6, 6)


def _columns() -> dict[str, pa.ChunkedArray]:
    table = pq.read_table(FILES[0])
    return dict(zip(table.column_names, table.columns, strict=True))
