"""The words of a run that could not tell what is shared: a linker says them, and pages and terminals put them first."""

from __future__ import annotations

# The first reason where no start converged, which pages and terminals put on top.
NO_LINKS_WITHOUT_SEEDS = "No links found without seeds. That does not mean that nothing is shared."
NO_LINKS_FROM_GIVEN = (
    "No links found, neither from what was given nor without it. The plainest reasons are that nothing is shared, or "
    "too little, or that several of the given pairs are wrong."
)
TOO_FEW_ROWS = "Too few rows"
FEW_AMONG_MANY = (
    "The smaller collection has {rows:,} rows only. Where the other has thousands, known pairs are often not enough to "
    "find links between so few; a few hundred anchors of the same kind (--anchors) can be."
)
# What to do next, in one sentence; it is the last reason there.
NEXT_WITHOUT_SEEDS = (
    "Next: give 8 to 15 known pairs (--seeds); or, where both carry a column such as title or url, take pairs from it "
    "(--seeds-by title, for bare .npy files with --payload-a and --payload-b); or embed some texts with both models "
    "(veclink anchors) and give those (--anchors)."
)
NEXT_FROM_GIVEN = (
    "Next: if you know that something is shared, check what was given, leave out pairs that may be wrong, and give "
    "more right ones: 15 are usually enough, 60 for hard data; anchors should be a few hundred, of the same kind as "
    "the data."
)


def no_start_converged(reasons: tuple[str, ...]) -> bool:
    """Whether these are the reasons of a run that found no start, so that nothing is known of what is shared."""
    return bool(reasons) and reasons[0] in (NO_LINKS_WITHOUT_SEEDS, NO_LINKS_FROM_GIVEN)


def too_few_rows(reasons: tuple[str, ...]) -> bool:
    """Whether these are the reasons of a run with too few rows to judge any link."""
    return bool(reasons) and reasons[0].startswith(TOO_FEW_ROWS)
