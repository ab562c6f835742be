"""Rows on a torch device: whole where they fit, else sent block by block."""

from __future__ import annotations

import numpy as np
import torch

from veclink.geometry.rows import ArrayRows, RowSource, checked, tiles

_SENT = 1 << 16  # rows at a time


class DeviceRows:
    """The rows of one side as float32 tensors on `device`.

    Parameters
    ----------
    source : ndarray or tensor of shape (n, d), or Rows
        A tensor is taken as it is.
    device : torch.device
    budget : int
        Bytes. Rows are held on the device whole if they, and their copy in float16 on CUDA, fit.
    first : int
        What errors call the first row: its number on the whole side, where these are a part of it.
    """

    def __init__(
        self, source: RowSource | torch.Tensor, device: torch.device, budget: int = 0, *, first: int = 0
    ) -> None:
        self.shape: tuple[int, int] = (int(source.shape[0]), int(source.shape[1]))
        self.device = device
        self._first = first
        self.whole: torch.Tensor | None = None
        if isinstance(source, torch.Tensor):
            self.whole = checked(source.to(device, torch.float32), first, "One side")
            return
        on_cpu = device.type == "cpu"
        fits = self.shape[0] * self.shape[1] * (4 if on_cpu else 6) <= budget
        self._rows = ArrayRows(source, budget if on_cpu else 0)
        if on_cpu and self._rows.array is not None:
            self.whole = checked(_tensor(self._rows.array), first, "One side")
        elif fits and isinstance(source, np.ndarray):
            # sent as they are: half the bytes where they are float16
            self.whole = checked(_tensor(source).to(device).float(), first, "One side")
        elif fits:
            self.whole = torch.cat([self.block(start, stop) for start, stop in tiles(len(self), _SENT)])

    def __len__(self) -> int:
        return self.shape[0]

    def block(self, start: int, stop: int) -> torch.Tensor:
        """Rows start…stop−1."""
        if self.whole is not None:
            return self.whole[start:stop]
        return checked(_tensor(self._rows.block(start, stop)).to(self.device), self._first + start, "One side")

    def take(self, rows: np.ndarray | torch.Tensor) -> torch.Tensor:
        """The rows at these positions."""
        if self.whole is not None:
            return self.whole[torch.as_tensor(rows, device=self.device)]
        return _tensor(self._rows.take(torch.as_tensor(rows).cpu().numpy())).to(self.device)

    def halves(self) -> torch.Tensor | None:
        """All rows in float16, or None where they are not held on the device."""
        return None if self.whole is None else self.whole.half()


def _tensor(rows: np.ndarray) -> torch.Tensor:
    # torch warns of read-only arrays, which a cloud hands out; nothing here writes to them.
    return torch.from_numpy(np.ascontiguousarray(rows) if rows.flags.writeable else rows.copy())
