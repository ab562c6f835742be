"""Collections larger than the memory that may be used: rows are read from their file when they are needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from span_papers import more_papers
from veclink.backends import CloudPair, ProjectedRows, placed_clouds
from veclink.geometry.clouds import Cloud, prepare
from veclink.geometry.signatures import joined_projections
from veclink.stores.opening import open_collection


def _files(folder: Path) -> tuple[Path, Path]:
    papers = more_papers()
    for name, vectors in (("a", papers.a), ("b", papers.b)):
        np.save(folder / f"{name}.npy", vectors)
    return folder / "a.npy", folder / "b.npy"


def _clouds(folder: Path) -> tuple[Cloud, Cloud]:
    a, b = (prepare(open_collection(path)) for path in _files(folder))
    assert isinstance(a.collection.vectors, np.memmap)
    return a, b


def test_a_small_budget_reads_rows_when_asked_and_a_large_one_holds_them(tmp_path: Path) -> None:
    a, b = _clouds(tmp_path)
    assert isinstance(placed_clouds(a, b, "cpu", "1MB", k=10, ridge=0.3).a, Cloud) and a._dense is None
    assert not isinstance(placed_clouds(a, b, "cpu", "100MB", k=10, ridge=0.3).a, Cloud)


def test_signatures_beyond_the_budget_are_made_block_by_block(tmp_path: Path) -> None:
    a, b = _clouds(tmp_path)
    axes = joined_projections(a.take(more_papers().truth[:, 0]), b.take(more_papers().truth[:, 1]))
    small, roomy = CloudPair(a, b, memory=1_000_000), CloudPair(a, b)
    seen = small.signature("a", axes[0])
    assert isinstance(seen, ProjectedRows)
    assert np.allclose(seen.block(100, 200), np.asarray(roomy.signature("a", axes[0]))[100:200], atol=1e-6)
    rows = more_papers().truth[:60, 0], more_papers().truth[:60, 1]
    assert np.allclose(small.cosines(axes, *rows), roomy.cosines(axes, *rows), atol=1e-6)
    pairs, expected = small.matches(axes).mutual()[0], roomy.matches(axes).mutual()[0]
    assert np.array_equal(pairs, expected)
