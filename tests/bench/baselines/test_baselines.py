"""Every baseline on a case where it must succeed, and what all of them promise."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from small_papers import small_papers
from veclink.data.links import Links
from veclink_bench.baselines import BASELINES, link_by

# A rotated copy of 150 real vectors on their 24 leading axes, in another order, with 100 of the pairs as seeds: more
# seeds than dimensions, so that every map is determined, and full overlap.
N, AXES, SEEDS = 150, 24, 100
LIGHT: dict[str, dict[str, Any]] = {
    "linear": {"epochs": 600},  # the paper's 100 epochs are too few to get from the random start to the map
    "ao": {"steps": 20, "extra": 20},
    "ao tuned": {"steps": 20, "extra": 20},
    # So few rows have no clear clusters: without many tries the two sides are clustered differently.
    "centroids": {"clusters": 12, "tries": 10, "runs": 10, "refinements": 10, "neighbours": 3, "random_state": 1},
    "ugw": {"rounds": 10, "inner_rounds": 30},
    "ugw tuned": {"rounds": 5, "inner_rounds": 30},
}


@cache
def rotated_copy() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, its rotated and shuffled copy B, and the true pairs."""
    rng = np.random.default_rng(0)
    vectors = small_papers()[0][:N]
    centred = vectors - vectors.mean(axis=0)
    a = centred @ np.linalg.svd(centred, full_matrices=False)[2][:AXES].T
    turn = np.linalg.qr(rng.standard_normal((AXES, AXES)))[0].astype(np.float32)
    order = rng.permutation(N)
    return a, (a @ turn)[order], np.column_stack([order, np.arange(N)])


def linked(name: str, **options: Any) -> Links:
    a, b, truth = rotated_copy()
    return link_by(name, a, b, seeds=truth[:SEEDS], overlap=N, **(LIGHT.get(name, {}) | {"k": 5} | options))


@pytest.mark.parametrize("name", BASELINES)
def test_a_rotated_copy_is_found_again(name: str) -> None:
    a, b, truth = rotated_copy()
    options = LIGHT.get(name, {}) | ({} if name.startswith("ugw") else {"k": 5})
    links = link_by(name, a, b, seeds=truth[:SEEDS], overlap=N, **options)
    right = {tuple(pair) for pair in truth.tolist()}
    new = [tuple(pair) for pair in links.pairs.tolist() if tuple(pair) not in set(map(tuple, truth[:SEEDS].tolist()))]
    found = sum(pair in right for pair in new)
    # Otsu's cut leaves some of the right ones out even here: it always divides.
    least = 0.3 if name == "self-learning cut" else 0.9
    assert found >= least * (N - SEEDS), f"{found} of {N - SEEDS} that were no seeds"
    assert found >= 0.9 * len(new), "most of what is new is right"


def test_seeds_stay_come_first_and_nothing_shares_a_row_with_them() -> None:
    a, b, truth = small_papers()
    wrong = truth[:20].copy()
    wrong[:, 1] = np.roll(wrong[:, 1], 1)
    links = link_by("procrustes tuned", a, b, seeds=wrong)
    assert {tuple(pair) for pair in wrong.tolist()} == {tuple(pair) for pair in links.pairs[:20].tolist()}
    assert links.evidence["given"][:20].all() and not links.evidence["given"][20:].any()
    assert len(np.unique(links.pairs[:, 0])) == len(np.unique(links.pairs[:, 1])) == len(links)
    assert np.all(np.diff(links.evidence["score"][20:]) <= 0)
