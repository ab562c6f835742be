"""Rows of one cloud that stand for the same object."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import some_papers
from veclink.data.collection import Collection
from veclink.geometry.clouds import Cloud, prepare
from veclink.geometry.nearest import copy_groups, without_copies


def _cloud(vectors: np.ndarray) -> Cloud:
    return prepare(Collection.from_array(vectors), centre=True)


def _with_copies(share: float, turned: float) -> tuple[np.ndarray, np.ndarray]:
    """Papers, the first of them a second time at the end, turned a little; and which row each copy is of."""
    papers = some_papers().a.astype(np.float32)
    papers /= np.linalg.norm(papers, axis=1, keepdims=True)
    count = round(share * len(papers))
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(count, papers.shape[1])).astype(np.float32)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    copies = papers[:count] + turned * noise if turned else papers[:count]
    return np.concatenate([papers, copies]), np.arange(count)


@pytest.mark.parametrize("turned", [0.0, 0.1, 0.2])
def test_copies_are_grouped_with_what_they_are_copies_of(turned: float) -> None:
    vectors, originals = _with_copies(0.2, turned)
    groups = copy_groups(_cloud(vectors))
    count = len(originals)
    assert np.mean(groups.first[-count:] == originals) > 0.98
    assert groups.copies <= count + 3


def test_papers_without_copies_are_not_grouped() -> None:
    assert copy_groups(_cloud(some_papers().a)).copies <= 2


def test_near_neighbours_in_few_dimensions_are_no_copies() -> None:
    plane = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    assert copy_groups(_cloud(plane)).copies <= 2


def test_without_copies_one_row_of_each_group_is_left() -> None:
    vectors, originals = _with_copies(0.2, 0.0)
    cloud = _cloud(vectors)
    left = without_copies(cloud, copy_groups(cloud))
    assert not set(range(len(vectors) - len(originals), len(vectors))) & set(left.rows.tolist())
    assert np.array_equal(left.block(0, 5), cloud.take(left.rows[:5]))
