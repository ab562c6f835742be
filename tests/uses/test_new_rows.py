"""The one pass over a large side lists what a plain product of projected rows lists, whatever rows are stored as."""

from __future__ import annotations

import numpy as np
import pytest

from grown_papers import fitted_anew, grown_papers
from veclink.confidence import candidates
from veclink.data.collection import Collection
from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import unit_rows
from veclink.uses import new_rows
from veclink.uses.known_rows import scales_of
from veclink.uses.linker import Linker


@pytest.fixture(scope="module")
def large() -> Linker:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "FULL_FOLDS", 100)
        return fitted_anew()


@pytest.mark.parametrize("kind", ["unit", "other lengths", "float16", "int8"])
def test_the_pass_over_stored_rows_has_the_cosines_of_projected_ones(
    large: Linker, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_rows, "OTHERS", 128)  # several tiles, the last one not full
    grown, knowledge = grown_papers(), large.knowledge
    assert knowledge.whole is not None
    known = knowledge.sides[1]
    lengths = np.random.default_rng(0).uniform(0.5, 3, (len(grown.b), 1)).astype(np.float32)
    factors = np.linspace(1, 2, grown.b.shape[1], dtype=np.float32)
    stored = {
        "unit": Collection.from_array(grown.b),
        "other lengths": Collection.from_array(grown.b * lengths),
        "float16": Collection.from_array(grown.b.astype(np.float16)),
        "int8": Collection.from_array((grown.b * 120).astype(np.int8), scale=factors),
    }[kind]
    other = Cloud(stored, known.rows, known.mean)
    scales = scales_of(other, knowledge.whole[1])
    new = Cloud(Collection.from_array(grown.new), np.arange(60), knowledge.sides[0].mean).block(0, 60)
    queries = new_rows._pulled_back(knowledge, 0, new)
    cosine, place = new_rows._nearest(queries, scales, other)
    plain = unit_rows(new @ knowledge.whole[0]) @ unit_rows(other.block(0, len(other)) @ knowledge.whole[1]).T
    np.testing.assert_allclose(np.sort(cosine, axis=1), np.sort(plain, axis=1)[:, -cosine.shape[1] :], atol=2e-5)
    np.testing.assert_allclose(np.take_along_axis(plain, place.astype(int), axis=1), cosine, atol=2e-5)
