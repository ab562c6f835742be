"""Given pairs as evidence: which look wrong beside the others."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.linkers.outlier_seeds import outliers


def drawn(n_right: int, n_wrong: int, typical: float, spread: float = 1.0) -> np.ndarray:
    """Shares of right pairs, log-normal around the typical one, and of wrong ones, as of rows drawn at random."""
    rng = np.random.default_rng(0)
    right = np.exp(np.minimum(rng.normal(np.log(typical), spread, n_right), -0.01))
    return np.maximum(np.r_[right, np.sqrt(rng.random(n_wrong) * rng.random(n_wrong))], 1 / 4000)


@pytest.mark.parametrize(("n_right", "n_wrong"), [(15, 15), (48, 12), (12, 48)])
def test_wrong_pairs_stand_out_from_right_ones(n_right: int, n_wrong: int) -> None:
    found = np.flatnonzero(outliers(drawn(n_right, n_wrong, 0.002)))
    assert (found >= n_right).all() and len(found) >= 0.8 * n_wrong


def test_right_pairs_of_two_shops_are_far_apart_and_none_looks_wrong() -> None:
    shares = drawn(100, 0, 0.005, spread=1.8)
    assert (shares > 0.02).mean() > 0.2 and not outliers(shares).any()


@pytest.mark.parametrize("n_wrong", [4, 15, 30, 100])
def test_where_the_typical_pair_is_far_off_all_look_wrong(n_wrong: int) -> None:
    assert outliers(drawn(0, n_wrong, 0.002)).all()
