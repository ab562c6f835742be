"""The backends that every matching test runs on, and the comparison with the brute-force reference."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from veclink.matching import Matches, cpu, numba_kernels, reference
from veclink.matching.certify import Ranks

Match = Callable[..., Matches]


SHARDS = {"torch": "cpu", "torch on two devices": "cpu,cpu"}


@pytest.fixture(params=["numba", "numpy", *(pytest.param(name, marks=pytest.mark.extras) for name in SHARDS)])
def match(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Match:
    """One backend's match(left, right, k=…, depth=…, memory=…)."""
    monkeypatch.setattr(cpu, "kernels", numba_kernels if request.param == "numba" else None)
    backend: Any = cpu.match
    if request.param in SHARDS:
        from veclink.matching import torch_backend

        backend = partial(torch_backend.match, device=SHARDS[request.param])

    def on_backend(left: Any, right: Any, *, k: int = 10, depth: int = 1, memory: int | None = None) -> Matches:
        return backend(left, right, Ranks(k, depth), memory=memory)

    return on_backend


@pytest.fixture
def agrees(match: Match) -> Callable[..., Matches]:
    """Matches two sides, asserts that the result is the reference's, and returns it."""

    def compare(left: np.ndarray, right: np.ndarray, **options: int) -> Matches:
        found = match(left, right, **options)
        options.pop("memory", None)
        expected = reference.match(left, right, **options)
        for mine, theirs in ((found.forward, expected.forward), (found.backward, expected.backward)):
            np.testing.assert_array_equal(mine.index, theirs.index)
            np.testing.assert_allclose(mine.density, theirs.density, rtol=0, atol=1e-6)
            np.testing.assert_allclose(mine.score, theirs.score, rtol=0, atol=2e-6)
        return found

    return compare
