"""New rows that their side has already are known as such, wherever its rows are at hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grown_papers import fitted, grown_papers
from veclink import Collection, Linker
from veclink.uses.new_rows.held import Held, new_rows, without_copies

OWN = 10  # new rows that are no copies


@pytest.fixture(scope="module")
def linker() -> Linker:
    """One that keeps only a sixth of A's vectors, as of a large collection."""
    whole = fitted()
    a, b = whole.knowledge.sides
    nearby = whole.knowledge.nearby
    nearby = replace(nearby, rows=nearby.rows[:10], left=nearby.left[:10], right=nearby.right[:10])
    sides = (replace(a, backdrop=a.backdrop[:40]), b)
    whole.knowledge = replace(whole.knowledge, sides=sides, nearby=nearby)
    return whole


def left(linker: Linker, held: Held) -> list[int]:
    """The rows that are left of all of A, rounded, and some new ones."""
    grown = grown_papers()
    rows = np.concatenate([grown.a.astype(np.float16).astype(np.float32), grown.new[:OWN]])
    entered = new_rows(Collection.from_array(rows), linker.knowledge, 0)
    return without_copies(entered, linker.knowledge, 0, held).rows.tolist()


ONLY_NEW = list(range(240, 240 + OWN))


def test_rows_are_found_among_those_in_memory(linker: Linker) -> None:
    assert left(linker, linker.held) == ONLY_NEW


@pytest.mark.parametrize("more", [0, 7])
def test_rows_are_found_in_the_file_they_came_from_also_where_it_has_grown(
    linker: Linker, tmp_path: Path, more: int
) -> None:
    grown = grown_papers()
    np.save(tmp_path / "a.npy", np.concatenate([grown.a, grown.new[:more]]))
    assert left(linker, Held(sources=[str(tmp_path / "a.npy"), None])) == ONLY_NEW


def test_a_file_of_other_rows_is_not_believed(linker: Linker, tmp_path: Path) -> None:
    """A was written anew with the new rows first: they would all be copies of themselves."""
    grown = grown_papers()
    np.save(tmp_path / "a.npy", np.concatenate([grown.new, grown.a]))
    found = left(linker, Held(sources=[str(tmp_path / "a.npy"), None]))
    assert found == left(linker, Held()), "only the rows that the linker keeps count"
    assert found[-OWN:] == ONLY_NEW and 180 <= len(found) - OWN <= 200
