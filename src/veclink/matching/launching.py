"""Triton kernels are launched on the device where their rows lie, one at a time.

Triton launches on the current device, wherever the tensors lie. It compiles a kernel at its first launch, which is not
made for several threads, and neither is its interpreter. A launch does not wait for its kernel, so nothing waits long.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_one_at_a_time = threading.Lock()


@contextmanager
def launching(rows: torch.Tensor) -> Iterator[None]:
    """While it lasts, this thread launches on the device of `rows`, and no other thread launches."""
    with _one_at_a_time, torch.cuda.device_of(rows):
        yield
