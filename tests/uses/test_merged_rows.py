"""The rows of a merged collection: their ids, and the table of them beside a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_merges import small_merge
from veclink.errors import InputError
from veclink.uses.merged_rows import ids_with_b

# some tests merge small made-up collections, whose vectors have nothing to do with one another
pytestmark = pytest.mark.filterwarnings("ignore::veclink.errors.WrongLinksWarning")


@pytest.mark.parametrize(
    ("ids", "of_b", "expected", "told"),
    [
        ([0, 1, 2, 3], [9, 4], [0, 1, 9, 3, 4], "as they are"),
        ([0, 1, 2, 3], [9, 3], [0, 1, 9, 10, 3], "counted on from 10"),
        (["p", "q", "a:x", "y"], ["x", "y"], ["p", "q", "x", "a:y", "y"], "with 'a:' before them"),
        (["p", "q", "r", "7"], [8, 7], ["p", "q", "8", "a:7", "7"], "with 'a:' before them"),
    ],
)
def test_new_rows_of_b_keep_their_ids_and_those_of_a_that_are_the_same_change(
    ids: list[object], of_b: list[object], expected: list[object], told: str
) -> None:
    """The first new row takes over row 2, one of A's alone; the other one follows."""
    before, new = (np.array(some, object if isinstance(some[0], str) else np.int64) for some in (ids, of_b))
    is_of_a = np.array([False, False, True, True])
    written, how = ids_with_b(before, is_of_a, new, np.array([2]))
    assert written.tolist() == expected and how == told


def test_a_table_of_somebody_else_beside_the_output_is_not_written_over(tmp_path: Path) -> None:
    precious = pa.table({"mine": [1]})
    pq.write_table(precious, tmp_path / "merged.rows.parquet")
    with pytest.raises(InputError, match="about something else"):
        small_merge().write(tmp_path / "merged.npy")
    assert pq.read_table(tmp_path / "merged.rows.parquet").equals(precious) and len(list(tmp_path.iterdir())) == 1
    small_merge().write(tmp_path / "other.npy")
    small_merge().write(tmp_path / "other.npy", replace=True)
