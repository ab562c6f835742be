"""The clouds on the CPU, on a GPU or on a Ray cluster; here, which device is meant, and how it reads a collection."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import sys
from functools import partial

from veclink.errors import InputError, named
from veclink.geometry.clouds import Look

DEVICES: tuple[str, ...] = ("auto", "cpu", "cuda")
NUMBERED = re.compile(r"cuda:\d+")


def chosen_device(device: str) -> str:
    """The device meant by `device`: "auto" is "cuda" where torch and an NVIDIA GPU are there, else "cpu"."""
    check_device(device)
    if device != "auto":
        return device
    if not _has_driver() or importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def check_device(device: str) -> None:
    """Refuse a device of an unknown name."""
    if device not in DEVICES and not NUMBERED.fullmatch(device):
        raise InputError(f"The device {device!r} is unknown; it is one of {named(DEVICES)}, or one GPU as in 'cuda:1'.")


def look_on(device: str) -> Look | None:
    """How a pass over a collection is made on a device; None for numpy's."""
    if device == "cpu":
        return None
    from veclink.backends.torch_clouds import unit_vectors

    return partial(unit_vectors, device=device)


def _has_driver() -> bool:
    """Whether there is an NVIDIA driver. Asking torch costs seconds and hundreds of megabytes where there is none."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
