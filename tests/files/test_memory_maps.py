"""Forgetting the pages of a memory map takes nothing away but memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from veclink.files.memory import forget_pages


def resident_kilobytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssFile:")[1].split()[0])


def test_numbers_are_the_same_and_memory_is_given_back(tmp_path: Path) -> None:
    expected = np.random.default_rng(0).random((4000, 1000), np.float32)
    np.save(tmp_path / "x.npy", expected)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.array_equal(mapped, expected)
    before = resident_kilobytes()
    forget_pages(mapped[5:])
    assert resident_kilobytes() < before - 10_000
    assert np.array_equal(mapped, expected)
