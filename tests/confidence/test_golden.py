"""The calibration says of a small fixed problem what it has always said, to the sixth digit.

Where it is meant to change: `golden_calibration` says how the numbers are made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import golden_calibration as golden
from veclink.confidence.constants import CALIBRATION_VERSION

REMADE = "The calibration has changed; if it was meant to, see tests/golden_calibration.py."


@cache
def stored() -> dict[str, Any]:
    return json.loads(golden.FIXTURE.read_text(encoding="utf-8"))


@cache
def computed() -> dict[str, Any]:
    return golden.plain(golden.numbers(*golden.stored_problem(stored())))


def flat(value: Any, name: str) -> Iterator[tuple[str, list[float]]]:
    """Every list of numbers, by its name."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from flat(each, f"{name} {key}".strip())
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for place, each in enumerate(value):
            yield from flat(each, f"{name} {place}")
    else:
        yield name, value if isinstance(value, list) else [value]


@pytest.mark.parametrize("part", json.loads(golden.FIXTURE.read_text(encoding="utf-8"))["numbers"])
def test_the_numbers_are_the_golden_ones(part: str) -> None:
    now = dict(flat(computed()[part], part))
    then = dict(flat(stored()["numbers"][part], part))
    assert list(now) == list(then), REMADE
    for name, values in then.items():
        assert now[name] == pytest.approx(values, abs=1e-6, rel=1e-6), f"{name}: {REMADE}"


def test_nothing_is_computed_that_is_not_compared() -> None:
    assert list(computed()) == list(stored()["numbers"]), REMADE


def test_the_numbers_are_of_this_version_of_the_calibration() -> None:
    assert stored()["calibration"] == CALIBRATION_VERSION, REMADE


def test_the_sample_gives_the_candidates_that_the_golden_numbers_are_of() -> None:
    """To the fourth digit: the vectors' products differ in the last ones from machine to machine."""
    (then, near_then), (now, near_now) = golden.stored_problem(stored()), golden.problem_from_vectors()
    n_b = len(then.best_b)
    keys_then, keys_now = (each.rows_a * n_b + each.rows_b for each in (then, now))
    both, place_then, place_now = np.intersect1d(keys_then, keys_now, return_indices=True)
    assert len(both) >= 0.998 * max(len(keys_then), len(keys_now)), REMADE
    for name in ("score", "cosine"):
        assert np.allclose(getattr(then, name)[place_then], getattr(now, name)[place_now], atol=1e-4), REMADE
    assert np.allclose(then.single_scores[:, place_then], now.single_scores[:, place_now], atol=1e-4), REMADE
    for name in ("density_a", "density_b"):
        assert np.allclose(getattr(then, name), getattr(now, name), atol=1e-4), REMADE
    for side in ("best_a", "best_b"):
        listed = [np.where(best >= 0, keys[best], -1) for best, keys in (
            (getattr(then, side), keys_then), (getattr(now, side), keys_now),
        )]  # fmt: skip
        assert np.mean(listed[0] == listed[1]) > 0.995, REMADE
    close = np.isclose(near_then[place_then], near_now[place_now], atol=1e-3)
    assert close.mean() > 0.998, REMADE
