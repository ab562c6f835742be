"""New rows that their side has already are known as such, wherever its rows are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grown_papers import fitted, grown_papers
from veclink import Collection, Linker
from veclink.geometry.clouds import Cloud
from veclink.uses.new_rows import without_copies

OWN = 10  # new rows that are no copies


@pytest.fixture(scope="module")
def linker() -> Linker:
    """One that keeps only a sixth of A's vectors, as of a large collection."""
    whole = fitted()
    a, b = whole.knowledge.sides
    nearby, (left, right) = whole.knowledge.nearby[:10], whole.knowledge.vectors
    sides = (replace(a, backdrop=a.backdrop[:40]), b)
    whole.knowledge = replace(whole.knowledge, sides=sides, nearby=nearby, vectors=(left[:10], right[:10]))
    return whole


def left(linker: Linker, vectors: np.ndarray) -> list[int]:
    """The rows that are left of these and of some new ones."""
    rows = np.concatenate([vectors, grown_papers().new[:OWN]])
    entered = Cloud(Collection.from_array(rows), np.arange(len(rows)), linker.knowledge.sides[0].mean)
    return without_copies(entered, linker.knowledge, 0).rows.tolist()


def test_rows_with_the_numbers_of_known_ones_are_copies_wherever_those_are(linker: Linker, tmp_path: Path) -> None:
    linker.save(tmp_path / "linker")
    for known in (linker, Linker.load(tmp_path / "linker")):
        assert left(known, grown_papers().a.astype(np.float64)) == list(range(240, 240 + OWN))


def test_rounded_rows_are_copies_of_those_that_the_linker_keeps(linker: Linker) -> None:
    found = left(linker, grown_papers().a.astype(np.float16).astype(np.float32))
    assert found[-OWN:] == list(range(240, 240 + OWN)) and 180 <= len(found) - OWN <= 200
