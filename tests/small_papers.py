"""A small piece of the bundled sample, real vectors of two models, for tests that need structure but little time."""

from __future__ import annotations

from functools import cache

import numpy as np

from veclink import sample
from veclink.data.pairs import resolve_pairs
from veclink.stores.opening import open_collection

N_SHARED, N_ALONE, N_SEEDS = 150, 50, 20


@cache
def small_papers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors of A (200, 384) and B (200, 768), and the true pairs (150, 2): object i is row i on both sides."""
    a, b = open_collection(sample.A), open_collection(sample.B)
    truth = resolve_pairs(sample.TRUTH, a, b, what="truth")
    shared = truth[:N_SHARED]
    alone_a = np.setdiff1d(np.arange(len(a)), truth[:, 0])[:N_ALONE]
    alone_b = np.setdiff1d(np.arange(len(b)), truth[:, 1])[:N_ALONE]
    vectors_a = np.asarray(a.vectors[np.concatenate([shared[:, 0], alone_a])], np.float32)
    vectors_b = np.asarray(b.vectors[np.concatenate([shared[:, 1], alone_b])], np.float32)
    return vectors_a, vectors_b, np.stack([np.arange(N_SHARED)] * 2, axis=1)
