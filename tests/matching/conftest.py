"""The backends that every matching test runs on, and the comparison with the brute-force oracle."""

from __future__ import annotations

import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # before the kernels are defined

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from veclink.matching import Matches, cpu
from veclink.matching.rankings import Ranks, brute_force

Match = Callable[..., Matches]
ON_TORCH = [
    pytest.param("torch", marks=pytest.mark.extras),
    pytest.param("torch at once", marks=pytest.mark.extras),
    pytest.param("triton", marks=[pytest.mark.extras, pytest.mark.whole]),
]


@pytest.fixture(params=["numba", *ON_TORCH])
def match(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Match:
    """One backend's match(left, right, k=…, depth=…, memory=…)."""
    backend: Any = cpu.match
    if request.param != "numba":
        backend = _on_torch(request.param, monkeypatch)

    def on_backend(left: Any, right: Any, *, k: int = 10, depth: int = 1, memory: int | None = None) -> Matches:
        return backend(left, right, Ranks(k, depth), memory=memory)

    return on_backend


def _on_torch(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    import torch

    from veclink.matching import torch_backend

    if name == "torch at once":

        def at_once(left: Any, right: Any, ranks: Ranks, memory: int | None) -> Matches:
            if memory is not None:  # then all cosines would not fit
                return torch_backend.match(left, right, ranks, memory=memory)
            rows, columns = (torch_backend.DeviceRows(side, torch.device("cpu"), 1 << 30) for side in (left, right))
            return brute_force(rows.block(0, len(rows)), columns.block(0, len(columns)), ranks)

        return at_once
    if name == "triton":
        # by Triton's interpreter, which is slow for each tile, however large it is
        from veclink.matching import triton_kernels

        large = triton_kernels.Tuning(rows=256, columns=512, step=128, warps=4, stages=1, tiles=2)
        monkeypatch.setattr(triton_kernels, "tuning_for", lambda device: large)
        monkeypatch.setattr(torch_backend, "WITH_TRITON", ("cpu",))
    return torch_backend.match


@pytest.fixture
def agrees(match: Match) -> Callable[..., Matches]:
    """Matches two sides, asserts that the result is the oracle's, and returns it."""

    def compare(left: np.ndarray, right: np.ndarray, **options: int) -> Matches:
        found = match(left, right, **options)
        expected = brute_force(left, right, Ranks(options.get("k", 10), options.get("depth", 1)))
        for mine, theirs in ((found.forward, expected.forward), (found.backward, expected.backward)):
            np.testing.assert_array_equal(mine.index, theirs.index)
            np.testing.assert_allclose(mine.density, theirs.density, rtol=0, atol=1e-6)
            np.testing.assert_allclose(mine.score, theirs.score, rtol=0, atol=2e-6)
            assert (mine.index.dtype, mine.score.dtype) == (np.int64, np.float32)
        return found

    return compare
