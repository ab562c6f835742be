"""What rows are called: texts that were shortened are told from those that end so by themselves."""

from __future__ import annotations

import pytest

from veclink.data.words import LONGEST, clipped, is_shortened


@pytest.mark.parametrize("length", [98, LONGEST - 2])
def test_a_title_that_ends_in_dots_by_itself_was_not_shortened(length: int) -> None:
    title = "t" * (length - 1) + "…"
    assert clipped(title) == title and not is_shortened(title)


@pytest.mark.parametrize("at", [LONGEST - 2, LONGEST - 1, LONGEST])
def test_a_title_that_was_cut_is_known_to_be_even_where_the_cut_is_at_a_space(at: int) -> None:
    assert is_shortened(clipped("t" * at + " " + "t" * LONGEST))
