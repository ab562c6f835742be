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
from veclink.geometry.sides import both
from veclink.geometry.signatures import SAME, SMALLEST_NORM
from veclink.linkers.options import GehOptions
from veclink.matching.rankings import densities
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
        self.clouds = both(self._whole, clouds)
        self.samples = both(self._placed, samples)

    @staticmethod
    def can_hold(n_a: int, n_b: int) -> bool:
        """Whether the cosines of one view are few enough."""
        return 8 * n_a * n_b <= LARGEST

    def distances(self, points: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """`signatures.distances`, computed there."""
        apart = _distances(
            self._vectors(points),
            self._vectors(anchors),
        )
        return apart.cpu().numpy()

    def mutual(
        self,
        ends: tuple[np.ndarray, np.ndarray],
        views: list[np.ndarray],
    ) -> Iterator[Mutual]:
        """What each view proposes.

        ends: vectors of all anchors, (l, d1) in A and (l, d2) in B. views: positions of equally many of them.
        """
        apart_a, apart_b = both(self._from_anchors, self.clouds, ends)
        sample_a, sample_b = self.samples
        for start, stop in tiles(len(views), self._at_once()):
            anchors = self._placed(np.stack(views[start:stop]))
            left = self._hashes(apart_a, sample_a, anchors)
            right = self._hashes(apart_b, sample_b, anchors)
            cosine = left @ right.transpose(1, 2)
            yield from _mutual(cosine.float(), self.options.k)

    def _at_once(self) -> int:
        """How many views are matched at once."""
        left, right = self.clouds
        bytes_of_view = 8 * len(left) * len(right)
        return max(1, MOST_BYTES // bytes_of_view)

    def _from_anchors(self, cloud: torch.Tensor, ends: np.ndarray) -> torch.Tensor:
        """Distances (n, l) of a cloud's rows to all anchors."""
        return _distances(cloud, self._vectors(ends))

    def _hashes(
        self,
        apart: torch.Tensor,
        sample: torch.Tensor,
        anchors: torch.Tensor,
    ) -> torch.Tensor:
        """Signatures (v, n, s) of all rows for views (v, s), in float64, of the precision of float32.

        apart: distances (n, l) of the rows to all anchors.
        """
        signature = apart[:, anchors].transpose(0, 1)
        if self.options.encoding != "raw":
            widths = kernel_widths(signature[:, sample])
            scale = (-1.0 / widths).float()
            signature = torch.exp(signature * scale[:, None, None])
        square = signature.double().square()
        length = square.sum(dim=2, keepdim=True).sqrt()
        bounded = length.clip(SMALLEST_NORM).float()
        return (signature / bounded).double()

    def _whole(self, cloud: Cloud) -> torch.Tensor:
        return self._vectors(cloud.block(0, len(cloud)))

    def _vectors(self, array: np.ndarray) -> torch.Tensor:
        return self._placed(array).double()

    def _placed(self, array: np.ndarray) -> torch.Tensor:
        whole = np.ascontiguousarray(array)
        return torch.from_numpy(whole).to(self.place)


def kernel_widths(distances: torch.Tensor) -> torch.Tensor:
    """`signatures.kernel_width` of the distances (v, m, s) of each view: (v,) float64."""
    gaps, least = _squared_gaps(distances.double())
    differ = gaps > least
    count = differ.sum(dim=1)
    finite = torch.where(differ, gaps, torch.inf)
    ordered = finite.sort(dim=1).values
    last = ordered.shape[1] - 1
    lower = (count - 1).clip(0) // 2
    upper = (count // 2).clip(max=last)
    middle = torch.stack([lower, upper], dim=1)
    median = ordered.gather(1, middle).mean(dim=1)
    return torch.where(count > 0, median.sqrt(), 1.0)


def _squared_gaps(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Squared distances of each two of m rows (v, m, s), and those up to which two rows are the same, (v, 1)."""
    m = rows.shape[1]
    squares = rows.square().sum(dim=2)
    products = rows @ rows.transpose(1, 2)
    sums = squares[:, :, None] + squares[:, None, :]
    gaps = sums - 2.0 * products
    first, second = torch.triu_indices(m, m, 1, device=rows.device)
    largest = squares.amax(dim=1, keepdim=True)
    return gaps[:, first, second], SAME * (1.0 + largest)


def _distances(points: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
    cosine = points @ anchors.T
    return (1.0 - cosine).clip(0.0).float()


def _mutual(cosine: torch.Tensor, k: int) -> Iterator[Mutual]:
    """Pairs that are each other's best by csls in each of v matrices (v, n1, n2), ties to the lower row."""
    density_a = densities(cosine, k)
    density_b = densities(cosine.transpose(1, 2), k)
    of_a = (2.0 * cosine).sub_(density_b[:, None, :])
    best_a = of_a.argmax(dim=2)
    highest = of_a.gather(2, best_a[:, :, None])
    score = highest[:, :, 0] - density_a
    del of_a
    of_b = (2.0 * cosine).sub_(density_a[:, :, None])
    best_b = of_b.argmax(dim=1)
    every_row = torch.arange(cosine.shape[1], device=cosine.device)
    agrees = best_b.gather(1, best_a) == every_row
    views = zip(
        agrees.cpu().numpy(),
        best_a.cpu().numpy(),
        score.cpu().numpy(),
        strict=True,
    )
    for agreed, partner, scores in views:
        rows = np.flatnonzero(agreed)
        pairs = np.column_stack([rows, partner[rows]])
        yield pairs, scores[rows]
