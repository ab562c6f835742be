"""Views of an iteration matched together on a torch device that can hold the cosines of all rows.

One view is little work for a GPU, and many small steps. Here the distances, hashes and cosines of several views are
made at once. Inner products are summed in float64, as on the CPU: what is found differs by the rounding of `exp` and of
csls alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from veclink.geometry.clouds import Cloud
from veclink.geometry.rows import tiles
from veclink.geometry.signatures import SAME, SMALLEST_NORM
from veclink.linkers.options import GehOptions
from veclink.matching.torch_backend import torch_device

MOST_BYTES = 1 << 30  # of the cosines of the views that are matched at once, in float64
LARGEST = 2 << 30  # of those of one view
Mutual = tuple[np.ndarray, np.ndarray]
"""Pairs (p, 2) of rows and their csls (p,)."""


class Together:
    """Two clouds on a device, whole.

    Parameters
    ----------
    clouds : (Cloud, Cloud)
        A and B, of n1 and n2 rows.
    samples : (ndarray, ndarray)
        The rows of each that set the width of its kernel.
    options : GehOptions
        k, and how distances are encoded.
    device : str
        Where all of it happens.
    """

    def __init__(
        self,
        clouds: tuple[Cloud, Cloud],
        samples: tuple[np.ndarray, np.ndarray],
        options: GehOptions,
        device: str,
    ) -> None:
        self.place = torch_device(device)
        self.options = options
        self.clouds = [self._placed(cloud.block(0, len(cloud))).double() for cloud in clouds]
        self.samples = [self._placed(sample) for sample in samples]

    @staticmethod
    def can_hold(n_a: int, n_b: int) -> bool:
        """Whether the cosines of one view are few enough."""
        return 8 * n_a * n_b <= LARGEST

    def distances(self, points: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """`signatures.distances`, computed there."""
        return _distances(self._placed(points).double(), self._placed(anchors).double()).cpu().numpy()

    def mutual(self, ends: tuple[np.ndarray, np.ndarray], views: list[np.ndarray]) -> Iterator[Mutual]:
        """What each view proposes.

        ends: vectors of all anchors, (l, d1) in A and (l, d2) in B. views: positions of equally many of them.
        """
        sides = zip(self.clouds, ends, strict=True)
        apart = [_distances(cloud, self._placed(end).double()) for cloud, end in sides]
        n_a, n_b = (len(cloud) for cloud in self.clouds)
        at_once = max(1, MOST_BYTES // (8 * n_a * n_b))
        for start, stop in tiles(len(views), at_once):
            anchors = self._placed(np.stack(views[start:stop]))
            left, right = (self._hashes(*side, anchors) for side in zip(apart, self.samples, strict=True))
            yield from _mutual((left @ right.transpose(1, 2)).float(), self.options.k)

    def _hashes(self, apart: torch.Tensor, sample: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
        """Signatures (v, n, s) of all rows for views (v, s), in float64, of the precision of float32."""
        r = apart[:, anchors].transpose(0, 1)
        if self.options.encoding != "raw":
            widths = kernel_widths(r[:, sample])
            r = torch.exp(r * (-1.0 / widths).float()[:, None, None])
        length = r.double().square().sum(dim=2, keepdim=True).sqrt()
        return (r / length.clip(SMALLEST_NORM).float()).double()

    def _placed(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.place)


def kernel_widths(r: torch.Tensor) -> torch.Tensor:
    """`signatures.kernel_width` of the distances (v, m, s) of each view: (v,) float64."""
    r = r.double()
    squares = r.square().sum(dim=2)
    gaps = squares[:, :, None] + squares[:, None, :] - 2.0 * (r @ r.transpose(1, 2))
    row, column = torch.triu_indices(r.shape[1], r.shape[1], 1, device=r.device)
    gaps = gaps[:, row, column]
    least = SAME * (1.0 + squares.amax(dim=1, keepdim=True))
    apart = gaps > least
    ordered = torch.where(apart, gaps, torch.inf).sort(dim=1).values
    count = apart.sum(dim=1, keepdim=True)
    middle = torch.cat([(count - 1).clip(0) // 2, count // 2], dim=1).clip(max=ordered.shape[1] - 1)
    median = ordered.gather(1, middle).mean(dim=1)
    return torch.where(count[:, 0] > 0, median.sqrt(), 1.0)


def _distances(points: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
    return (1.0 - points @ anchors.T).clip(0.0).float()


def _mutual(cosine: torch.Tensor, k: int) -> Iterator[Mutual]:
    """Pairs that are each other's best by csls in each of v matrices (v, n1, n2), ties to the lower row."""
    density_a = _density(cosine, k)
    density_b = _density(cosine.transpose(1, 2), k)
    worth = (2.0 * cosine).sub_(density_b[:, None, :])
    best_a = worth.argmax(dim=2)
    score = worth.gather(2, best_a[:, :, None])[:, :, 0] - density_a
    worth = (2.0 * cosine).sub_(density_a[:, :, None])
    best_b = worth.argmax(dim=1)
    both = best_b.gather(1, best_a) == torch.arange(cosine.shape[1], device=cosine.device)
    found = (each.cpu().numpy() for each in (both, best_a, score))
    for agreed, partner, score in zip(*found, strict=True):
        rows = np.flatnonzero(agreed)
        yield np.column_stack([rows, partner[rows]]), score[rows]


def _density(cosine: torch.Tensor, k: int) -> torch.Tensor:
    """Mean of the k largest cosines of each row."""
    largest = cosine.topk(min(k, cosine.shape[2]), dim=2, sorted=False).values
    return largest.double().mean(dim=2).float()
