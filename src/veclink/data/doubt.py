"""Whether links that would be trusted are doubtful, because half of them may be wrong."""

from __future__ import annotations

from veclink.data.summary import VERDICTS

LINKABLE, DOUBTFUL, NOT_LINKABLE = VERDICTS

LEAST_RIGHT = 0.5
"""Links of which fewer than this share may be right, by the range of the estimate, are doubtful.

Of 100–600 rows among 2,700 (scifact, reddit and movies) 18 of the 19 runs with a precision below 65 % are called so,
and 15 of the 42 others; of nfcorpus, papers and stackexchange 5 of 5, 5 of 26 (few_candidates.json of bench/results).
"""

UNCERTAIN = "How many of these links are right is uncertain"
WHAT_TO_DO = "Look at them before use, ask for a higher precision, or give more known pairs."


def heeding_range(verdict: str, reasons: tuple[str, ...], least: float) -> tuple[str, tuple[str, ...]]:
    """The verdict and its reasons for links of which at least this share seems to be right.

    What an earlier range made doubtful is judged anew: other links of the same run may be surer, or less sure.
    """
    others = tuple(reason for reason in reasons if not reason.startswith(UNCERTAIN))
    if len(others) < len(reasons) and verdict == DOUBTFUL:
        verdict = LINKABLE
    if verdict != LINKABLE or least >= LEAST_RIGHT:
        return verdict, others
    return DOUBTFUL, (*others, f"{UNCERTAIN}: it may be as few as {least:.0%}. {WHAT_TO_DO}")
