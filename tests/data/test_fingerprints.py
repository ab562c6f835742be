"""A fingerprint is the same for the same parts, and differs where one of them does."""

from __future__ import annotations

import numpy as np

from veclink.data.collection import digest


def test_every_part_counts() -> None:
    numbers = np.arange(6, dtype=np.float32)
    parts = [
        ("ab", "c"),
        ("a", "bc"),
        ("abc",),
        ({"k": 50},),
        ({"k": 51},),
        (None,),
        (numbers,),
        (numbers.reshape(2, 3),),
        (numbers.astype(np.float64),),
        (numbers[::-1],),
    ]
    assert len({digest(*each) for each in parts}) == len(parts)
    assert digest({"a": 1, "b": 2}, numbers) == digest({"b": 2, "a": 1}, numbers.copy())
