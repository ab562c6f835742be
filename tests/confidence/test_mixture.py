"""The mixture: how many candidates are wrong, and the log odds of new ones. Its numbers are in `test_golden`."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.confidence.decoys import Decoys
from veclink.confidence.features import Standard
from veclink.confidence.mixture import Sample, count_among_decoys, first_guess


def test_the_first_guess_rises_from_0_to_1_between_two_quantiles_of_the_score() -> None:
    guess = first_guess(np.linspace(0, 1, 101))
    assert guess[30] == pytest.approx(0) and guess[29] == 0
    assert guess[95] == pytest.approx(1) and guess[100] == 1
    assert guess[62] == pytest.approx(((0.62 - 0.3) / 0.65) ** 2)
    assert first_guess(np.ones(5)).tolist() == [0.0] * 5


def sample_of(places: np.ndarray, decoy_places: np.ndarray, sources: np.ndarray) -> Sample:
    """Candidates and decoys with one feature; all decoys are of side A."""
    features, decoy_features = places[:, None], decoy_places[:, None]
    none = np.empty(0, np.int64)
    decoys = Decoys("a", sources, sources, sources, len(places)), Decoys("b", none, none, none, len(places))
    n = float(len(places))
    return Sample(places, Standard.of(features), features, decoys, decoy_features, n, n)


def test_candidates_that_lie_among_the_decoys_are_counted_as_wrong() -> None:
    rng = np.random.default_rng(0)
    places = np.r_[rng.normal(6, 1, 700), rng.normal(0, 1, 300)]
    probability = np.r_[np.ones(700), np.zeros(300)]
    sample = sample_of(places, rng.normal(0, 1, 700), np.arange(700))
    assert count_among_decoys(sample, np.array([0.0, 1.0]), probability) == pytest.approx(300, rel=0.15)
