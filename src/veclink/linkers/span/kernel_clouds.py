"""Clouds whose views compare rows by the paper's kernel hash: what the span signature is measured against."""

from __future__ import annotations

import numpy as np

from veclink.backends import CloudPair, Projections, QuerySample
from veclink.errors import InputError
from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import distances, kernel_hash, kernel_width
from veclink.linkers.options import GehOptions, SpanOptions
from veclink.matching import match


class KernelCloudPair(CloudPair):
    """Two clouds in memory that propose by the kernel hash instead of the span signature."""

    def span_projections(self, left: np.ndarray, right: np.ndarray) -> Projections:
        """The anchors themselves: a kernel hash projects on nothing."""
        return left, right

    def propose(self, axes: Projections, sample: QuerySample | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Mutual csls neighbours by the kernel hashes from paired anchor vectors, and their csls."""
        hash_a = _hashed(self.a.block(0, self.n_a), axes[0])
        hash_b = _hashed(self.b.block(0, self.n_b), axes[1])
        found = match(hash_a, hash_b, k=self.k, memory=self.memory, device=self.device)
        return found.mutual()


def kernel_clouds(a: Cloud, b: Cloud, options: SpanOptions, device: str) -> KernelCloudPair:
    """Two clouds that are compared by the kernel hash; large ones are refused, as every view looks at all rows."""
    clouds = KernelCloudPair(a.dense(), b.dense(), ridge=options.ridge, k=options.k, device=device)
    if clouds.large:
        raise InputError("The kernel signature is for small collections; use signature='span' for this many rows.")
    return clouds


def _hashed(points: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    r = distances(points, anchors)
    sample = r[:: max(1, len(r) // GehOptions.width_rows)][: GehOptions.width_rows]
    return kernel_hash(r, kernel_width(sample))
