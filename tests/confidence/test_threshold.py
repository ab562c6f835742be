"""The threshold: where the expected F1 is largest, and how cautious a wanted precision is."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.confidence.threshold import Threshold, best_threshold, thresholds
from veclink.data.links import Links
from veclink.data.summary import Summary


def test_the_best_threshold_has_the_largest_expected_f1() -> None:
    probability = np.array([1.0, 0.9, 0.8, 0.4, 0.3, 0.1])
    expected = [2 * probability[:n].sum() / (n + 3.0) for n in range(1, 7)]
    assert best_threshold(probability, 3.0) == int(np.argmax(expected)) + 1 == 3


def test_of_no_pairs_none_are_kept() -> None:
    assert best_threshold(np.empty(0), 3.0) == 0


def test_the_table_of_wanted_precisions_has_what_is_kept_and_its_recall() -> None:
    probability = np.array([1.0, 1.0, 0.96, 0.9, 0.5])
    pairs = np.column_stack([np.arange(5), np.arange(5)])
    summary = Summary("span", 9, 9, 5, precision=0.872, recall=0.545, overlap=8.0)
    found = thresholds(Links(pairs, probability, summary))
    assert [(line.precision, line.n_links) for line in found] == [(0.99, 2), (0.95, 4), (0.9, 4)]
    assert found[0].recall == pytest.approx(2 / 8) and found[1].recall == pytest.approx(3.86 / 8)
    assert isinstance(found[0], Threshold)


def test_there_is_no_such_table_where_precision_is_not_estimated() -> None:
    assert thresholds(Links(np.array([[0, 0]]), np.ones(1), Summary("geh", 5, 5, 1))) == ()


def test_where_less_than_one_object_seems_shared_one_is_taken_to_be() -> None:
    assert best_threshold(np.array([0.5, 0.3]), 0.0) == 2
    assert best_threshold(np.array([0.5, 0.2]), 0.0) == 1
