"""Rows on a torch device: whole where they fit, else sent block by block."""

from __future__ import annotations

import numpy as np
import torch

from veclink.errors import InputError
from veclink.geometry.rows import LARGEST, Rows, RowSource


class DeviceRows:
    """The rows of one side as tensors on `device`, held there whole where that costs at most `budget` bytes.

    On CUDA, products take float16 copies (`operand`) and sum them in float32; everything that counts is computed again
    from the float32 rows.
    """

    def __init__(self, source: RowSource | torch.Tensor, device: torch.device, budget: int) -> None:
        self.shape: tuple[int, int] = (int(source.shape[0]), int(source.shape[1]))
        self.device = device
        self._halved = device.type == "cuda"
        cost = self.shape[0] * self.shape[1] * (6 if self._halved else 4)
        self._whole: torch.Tensor | None = None
        self._half: torch.Tensor | None = None
        if isinstance(source, torch.Tensor):
            self._whole = source.to(device, torch.float32)
        else:
            self._rows = Rows(source, budget, whole=device.type == "cpu")
            if self._rows.dense is not None and device.type == "cpu":
                self._whole = _tensor(self._rows.dense)
            elif isinstance(source, np.ndarray) and cost <= budget:
                self._whole = (
                    _tensor(source).to(device).float()
                )  # sent as they are: half the bytes where they are float16
            elif cost <= budget:
                self._whole = torch.cat(
                    [_tensor(self._rows.block(*tile)).to(device) for tile in self._rows.tiles(1 << 16)]
                )
        if self._whole is not None:
            _check(self._whole)
        if self._whole is not None and self._halved:
            self._half = self._whole.half()

    def __len__(self) -> int:
        return self.shape[0]

    def block(self, start: int, stop: int) -> torch.Tensor:
        """Rows start…stop−1, float32."""
        if self._whole is not None:
            return self._whole[start:stop]
        return _check(_tensor(self._rows.block(start, stop)).to(self.device))

    def operand(self, start: int, stop: int) -> torch.Tensor:
        """Rows start…stop−1 as a product takes them: float16 on CUDA, float32 elsewhere."""
        if self._half is not None:
            return self._half[start:stop]
        block = self.block(start, stop)
        return block.half() if self._halved else block

    def halves(self) -> torch.Tensor | None:
        """All rows in float16, or None where they are not held on the device."""
        return self._half if self._half is not None or self._whole is None else self._whole.half()

    def take(self, rows: torch.Tensor) -> torch.Tensor:
        """The rows at these positions, float32."""
        if self._whole is not None:
            return self._whole[rows]
        return _tensor(self._rows.take(rows.cpu().numpy())).to(self.device)

    def take_operand(self, rows: torch.Tensor) -> torch.Tensor:
        """The rows at these positions as a product takes them."""
        taken = self.take(rows)
        return taken.half() if self._halved else taken


def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """left · rightᵀ in float32."""
    if left.dtype == torch.float16:
        return torch.mm(left, right.T, out_dtype=torch.float32)
    return left @ right.T


def _check(rows: torch.Tensor) -> torch.Tensor:
    """The rows, once it is sure that their cosines are numbers: see `rows.checked`."""
    if rows.numel():
        least, most = torch.aminmax(rows)
        if not (least > -LARGEST and most < LARGEST):
            raise InputError(
                f"Some rows have numbers that are NaN, infinite or above {LARGEST:,.0f}; give rows of unit length."
            )
    return rows


def _tensor(rows: np.ndarray) -> torch.Tensor:
    # torch warns of read-only arrays, which a cloud hands out; nothing here writes to them.
    return torch.from_numpy(np.ascontiguousarray(rows) if rows.flags.writeable else rows.copy())
