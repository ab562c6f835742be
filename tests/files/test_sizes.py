"""Sizes in sentences: in the unit in which there is something to read, never "0.0 GB"."""

from __future__ import annotations

import pytest

from veclink.errors import readable_size


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (1, "1 bytes"),
        (999, "999 bytes"),
        (1_000, "1 kB"),
        (49_999_999, "50.0 MB"),
        (1_000_000, "1.0 MB"),
        (1_200_000_000_000, "1,200.0 GB"),
    ],
)
def test_a_size_is_told_in_its_own_unit(size: int, told: str) -> None:
    assert readable_size(size) == told
