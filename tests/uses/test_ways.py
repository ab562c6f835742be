"""Which of the ways to change the model is named: a dearer one has to be clearly better."""

from __future__ import annotations

import pytest

from veclink.uses.advising import Way, choice


@pytest.mark.parametrize(
    ("keep", "documents", "embed", "error", "best"),
    [
        (0.60, 0.58, 0.602, 0.001, "keep"),  # too little to gain
        (0.60, 0.58, 0.65, 0.08, "keep"),  # a forecast that may be chance
        (0.60, 0.58, 0.65, 0.01, "embed"),
        (0.60, 0.64, 0.64, 0.01, "documents"),
    ],
)
def test_a_dearer_way_has_to_be_clearly_better(
    keep: float, documents: float, embed: float, error: float, best: str
) -> None:
    ways = (
        Way("keep", 0.5, keep, 0.0),
        Way("queries", 0.5, 0.5, 0.01),
        Way("documents", 0.6, documents, 0.01),
        Way("embed", 1.0, embed, error),
    )
    assert choice(ways, without_old=False)[0] == best
    assert choice(ways, without_old=True)[0] != "keep"
