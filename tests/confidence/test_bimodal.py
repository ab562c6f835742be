"""The count of wrong candidates by the shape of their log odds."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.confidence.bimodal import Bimodal, bimodal
from veclink.confidence.logistic import sigmoid


def _probabilities(n_wrong: int, n_right: int, apart: float) -> np.ndarray:
    """Of two normal components of log odds, around −apart/2 and apart/2."""
    rng = np.random.default_rng(0)
    wrong = rng.normal(-apart / 2, 1.0, n_wrong)
    right = rng.normal(apart / 2, 1.0, n_right)
    return sigmoid(np.r_[wrong, right])


@pytest.mark.parametrize(("n_wrong", "n_right"), [(800, 1500), (1500, 800), (300, 2000)])
def test_components_that_are_far_apart_are_counted_to_a_few_in_a_hundred(n_wrong: int, n_right: int) -> None:
    found = bimodal(_probabilities(n_wrong, n_right, apart=5.0))
    assert found.wrong == pytest.approx(n_wrong, rel=0.05)
    assert found.apart == pytest.approx(5.0, rel=0.1)


def test_golden_weights() -> None:
    """Relative errors of both counts, by hand: (0.05 + e^{−2·(d′−2)} + 1.5/√W) against hypot(0.15, 0.5·|log ratio|)."""
    far = Bimodal(wrong=832.0, apart=5.0)
    error = 0.05 + np.exp(-6.0) + 1.5 / np.sqrt(832)
    other = np.hypot(0.15, 0.5 * np.log(832 / 120))
    assert far.weight(120.0) == pytest.approx(1 / (1 + (error / other) ** 2))
    assert far.weight(120.0) == pytest.approx(0.98875, abs=1e-5)
    near = Bimodal(wrong=832.0, apart=2.0)
    assert near.weight(700.0) == pytest.approx(0.02408, abs=1e-5)
