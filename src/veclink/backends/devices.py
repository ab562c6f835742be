"""Which device is meant."""

from __future__ import annotations

import ctypes
import importlib.util
import sys

from veclink.errors import InputError, named

DEVICES = ("auto", "cpu", "cuda")


def chosen_device(device: str) -> str:
    """The device meant by `device`: "auto" is "cuda" where torch and an NVIDIA GPU are there, else "cpu"."""
    if device not in DEVICES:
        raise InputError(f"The device {device!r} is unknown; it is one of {named(DEVICES)}.")
    if device != "auto":
        return device
    if not _has_driver() or importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _has_driver() -> bool:
    """Whether there is an NVIDIA driver. Asking torch costs seconds and hundreds of megabytes where there is none."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
