"""Which device is meant, or which several."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import sys

from veclink.errors import InputError, named

EVERY_GPU = "cuda:all"
DEVICES: tuple[str, ...] = ("auto", "cpu", "cuda", EVERY_GPU)
NUMBERED = re.compile(r"cuda:\d+(,cuda:\d+)*")


def chosen_device(device: str) -> str:
    """The device meant by `device`, or the devices, separated by commas.

    "auto" is "cuda" where torch and an NVIDIA GPU are there, else "cpu"; "cuda" is one GPU, however many there are;
    "cuda:all" is all of them, "cuda:0,cuda:1" where there are two.
    """
    check_device(device)
    if device == EVERY_GPU:
        return _every_gpu()
    if device != "auto":
        return device
    if not _has_driver() or importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def check_device(device: str) -> None:
    """Refuse a device of an unknown name."""
    if device not in DEVICES and not NUMBERED.fullmatch(device):
        raise InputError(
            f"The device {device!r} is unknown; it is one of {named(DEVICES)}, or GPUs as in 'cuda:0,cuda:1'."
        )


def _every_gpu() -> str:
    """The names of all GPUs; "cuda" where there is one, or none that torch finds: that is said where it is needed."""
    if importlib.util.find_spec("torch") is None:
        return "cuda"
    import torch

    there = torch.cuda.device_count()
    return "cuda" if there < 2 else ",".join(f"cuda:{number}" for number in range(there))


def _has_driver() -> bool:
    """Whether there is an NVIDIA driver. Asking torch costs seconds and hundreds of megabytes where there is none."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
