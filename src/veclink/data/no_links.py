"""The words of a run that could not tell what is shared: a linker says them, and pages and terminals put them first."""

from __future__ import annotations

from typing import Final

# The first reason where no start converged, which pages and terminals put on top; from what was given, it goes on with
# the cause.
STILL_POSSIBLE = "That does not mean that nothing is shared."
NO_LINKS_WITHOUT_SEEDS = f"No links found without seeds. {STILL_POSSIBLE}"
NO_LINKS_FROM_GIVEN = "No links found, neither from what was given nor without it."
FROM_NOTHING = "no seeds"
"""The name of a start where nothing was given, in the trace of links."""
NOTHING_SHARED = "nothing is shared, or too little"
TOO_FEW_ROWS = "Too few rows"
ROWS_TO_JUDGE: Final = 30
"""Rows from which links are judged, for messages of packages that know no linker: MIN_POOL of span."""
FEW_AMONG_MANY = (
    "The smaller collection has {rows:,} rows only. Where the other has thousands, known pairs are often not enough to "
    "find links between so few; a few hundred anchors of the same kind (--anchors) can be."
)
# What to do next, in one sentence that begins so.
NEXT = "Next: "
_BY_ANCHORS = "embed some texts with both models and give those (--anchors)."
NEXT_WITHOUT_SEEDS = (
    f"{NEXT}give 8 to 15 known pairs (--seeds); or, where both have a column such as title or url, take pairs from it "
    f"(--seeds-by title, for bare .npy files with --payload-a and --payload-b); or {_BY_ANCHORS}"
)
NEXT_WITHOUT_COLUMN = f"{NEXT}give 8 to 15 known pairs (--seeds); or {_BY_ANCHORS}"
_IF_SHARED = f"{NEXT}if you know that something is shared,"
_ANCHORS_LIKE_DATA = "embed a few hundred texts of the same kind as the data with both models"
_NEXT_FROM_FEW_PAIRS = (
    f"{_IF_SHARED} check what was given, and give more known pairs (--seeds, or --seeds-by title where both have such "
    "a column): 15 are usually enough, 60 for hard data."
)
_NEXT_FROM_PAIRS = f"{_IF_SHARED} give more pairs (--seeds), 60 for hard data; or {_ANCHORS_LIKE_DATA}."
_NEXT_FROM_MANY_PAIRS = f"{_IF_SHARED} {_ANCHORS_LIKE_DATA}, and give those (--anchors)."
_NEXT_FROM_ANCHORS = (
    f"{_IF_SHARED} give anchors of the same kind as the data, a few hundred; or 15 known pairs (--seeds), 60 for hard "
    "data."
)
# Right pairs that are usually enough, and that are enough for hard data: more of them seldom help.
USUALLY_ENOUGH: Final = 15
ENOUGH_FOR_HARD_DATA: Final = 60
MORE_WILL_HARDLY_HELP = (
    "More known pairs will hardly help: most likely, the two models place many objects too differently; where you have "
    "the texts, you can embed one side again with the other's model."
)


def causes_from_pairs(*, other: bool) -> str:
    """Why nothing may have been found from given pairs. other: whether a plainer cause was told before."""
    begun = "It may also be that" if other else "Most likely,"
    return f"{begun} {NOTHING_SHARED}."


def causes_from_anchors(*, other: bool) -> str:
    """Why nothing may have been found from outside anchors; other: as in `causes_from_pairs`."""
    begun = "It may also be that" if other else "Most likely,"
    return f"{begun} {NOTHING_SHARED}, or the anchors are of another kind than the data."


def next_from_given(given: int, *, outside: bool, by_column: bool) -> str:
    """What to do where nothing was found from so many given pairs, or outside anchors.

    by_column: whether the pairs are rows with equal values in a column.
    """
    if outside:
        return _NEXT_FROM_ANCHORS
    if given >= ENOUGH_FOR_HARD_DATA:
        return _NEXT_FROM_MANY_PAIRS
    if by_column or given >= USUALLY_ENOUGH:
        return _NEXT_FROM_PAIRS
    return _NEXT_FROM_FEW_PAIRS


def no_start_converged(reasons: tuple[str, ...]) -> bool:
    """Whether these are the reasons of a run that found no start, so that nothing is known of what is shared."""
    return bool(reasons) and reasons[0].startswith((NO_LINKS_WITHOUT_SEEDS, NO_LINKS_FROM_GIVEN))


def too_few_rows(reasons: tuple[str, ...]) -> bool:
    """Whether these are the reasons of a run with too few rows to judge any link."""
    return bool(reasons) and reasons[0].startswith(TOO_FEW_ROWS)


def next_of(reasons: tuple[str, ...]) -> str:
    """The one of the reasons that says what to do next; empty where none does."""
    return next((each for each in reasons if each.startswith(NEXT)), "")
