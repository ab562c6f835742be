"""The threshold: where the expected F1 is largest, and how cautious a wanted precision is."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.confidence.threshold import best_threshold, false_discovery_inflation


def test_the_best_threshold_has_the_largest_expected_f1() -> None:
    probability = np.array([1.0, 0.9, 0.8, 0.4, 0.3, 0.1])
    expected = [2 * probability[:n].sum() / (n + 3.0) for n in range(1, 7)]
    assert best_threshold(probability, 3.0) == int(np.argmax(expected)) + 1 == 3


def test_of_no_pairs_none_are_kept() -> None:
    assert best_threshold(np.empty(0), 3.0) == 0


def test_more_wrong_links_are_counted_where_more_pairs_look_wrong() -> None:
    assert false_discovery_inflation(np.ones(5)) == 1.0
    assert false_discovery_inflation(np.full(5, 0.75)) == pytest.approx(1.75)
    assert false_discovery_inflation(np.empty(0)) == 1.0
