"""Summary: what is known of a result as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.agreement import Agreement
from veclink.data.links_checks import check_summary
from veclink.errors import InputError, named

VERDICTS = LINKABLE, DOUBTFUL, NOT_LINKABLE = "linkable", "doubtful", "not linkable"
Range = tuple[float, float]
"""The lowest and the highest value that an estimate may stand for."""
ALL = 0.9995
"""A share that is shown as 100 %: of a range that reaches it, only the low end is known."""


def range_in_words(bounds: Range, digits: int = 1, to: str = "–") -> str:
    """The range of a share in per cent; "at least" where only its low end is known."""
    low, high = (f"{100 * bound:.{digits}f}" for bound in bounds)
    return f"at least {low} %" if bounds[1] >= ALL else f"{low}{to}{high} %"


@dataclass(frozen=True)
class Summary:
    """What is known of a result as a whole.

    Attributes
    ----------
    precision, recall : float or None
        Estimated without labels, from 0 to 1; None where the method does not estimate it.
    overlap : float or None
        The estimated number of shared objects.
    precision_range, recall_range, overlap_range : (float, float) or None
        From where to where the truth lies about nine times in ten (`confidence.intervals`); None where it is not known.
    wrong_seeds : tuple of (int, int)
        Rows of the given pairs that look wrong.
    contradicting_seeds : tuple of (int, int)
        Rows of the given pairs that contradict one another, one row with two partners: none of them was used.
    calibration : str or None
        The version of the calibration that verdict, reasons and estimates follow from
        (`confidence.constants.CALIBRATION_VERSION`); None in files that were written before there was one.
    caution : float
        The false-discovery inflation: how many wrong links `Links.at` counts for each that the probabilities expect
        (`confidence.threshold`). It keeps the name that files have for it.
    copies : (int, int)
        Rows of A and of B that stand for the same object as another row of their side, and were linked with it.
    agreement : Agreement or None
        In how many links a column of the payload says the same; None where there is none to compare.
    vectors : (str, str) or None
        Fingerprints of all vectors of A and of B (`data.collection.fingerprint`); None in files of 0.1 and 0.2.
    found : str or None
        A fingerprint of the pairs as they were found, which links that are chosen among them have, too.
    seconds : float or None
        No part of equality and of saved files, so that the same input gives the same file.
    """

    method: str
    n_a: int
    n_b: int
    n_links: int
    precision: float | None = None
    recall: float | None = None
    overlap: float | None = None
    verdict: str = "linkable"
    reasons: tuple[str, ...] = ()
    wrong_seeds: tuple[tuple[int, int], ...] = ()
    caution: float = 1.0
    iterations: int = 0
    copies: tuple[int, int] = (0, 0)
    agreement: Agreement | None = None
    seconds: float | None = field(default=None, compare=False)
    precision_range: Range | None = None
    recall_range: Range | None = None
    overlap_range: Range | None = None
    contradicting_seeds: tuple[tuple[int, int], ...] = ()
    calibration: str | None = None
    vectors: tuple[str, str] | None = field(default=None, compare=False)
    found: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"The verdict {self.verdict!r} is unknown; it is one of {named(VERDICTS)}.")
        object.__setattr__(self, "reasons", tuple(self.reasons))
        object.__setattr__(self, "copies", (int(self.copies[0]), int(self.copies[1])))
        for name in ("wrong_seeds", "contradicting_seeds"):
            rows = tuple((int(a), int(b)) for a, b in getattr(self, name))
            object.__setattr__(self, name, rows)
        for name in ("precision_range", "recall_range", "overlap_range"):
            object.__setattr__(self, name, _range(name, getattr(self, name)))
        if self.vectors is not None:
            object.__setattr__(self, "vectors", (str(self.vectors[0]), str(self.vectors[1])))
        if isinstance(self.agreement, Mapping):  # as it is saved
            object.__setattr__(self, "agreement", Agreement(**self.agreement))

    @property
    def is_calibrated(self) -> bool:
        """Whether the probabilities are calibrated; those of the paper's method are shares of votes."""
        return self.method != "geh"

    @property
    def verdict_in_words(self) -> str:
        """The verdict; where the payload does not fit, it is one on the vectors alone."""
        if self.verdict == "not linkable" or self.agreement is None or not self.agreement.note:
            return self.verdict
        return f"{self.verdict} by the vectors, but the payload does not fit them"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return plain_json(asdict(self))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Summary:
        """The summary that `to_dict` gave; keys that are not known are left out, for files of later versions."""
        check_summary(values)
        known = {each.name for each in fields(cls)}
        try:
            return cls(**{key: value for key, value in values.items() if key in known})
        except (TypeError, AttributeError) as error:
            raise InputError(f"The summary of the links is incomplete ({error}); save the links again.") from error


def shares_in_words(summary: Summary) -> Iterator[tuple[str, str]]:
    """The names of precision and recall, where they are estimated, and "0.951 (0.930–0.972)" of each."""
    for name in ("precision", "recall"):
        share, bounds = getattr(summary, name), getattr(summary, f"{name}_range")
        if share is not None:
            yield name, f"{share:.3f}" if bounds is None else f"{share:.3f} ({bounds[0]:.3f}–{bounds[1]:.3f})"


def plain_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of `values` after a trip through JSON, numpy's numbers and paths included."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return value.tolist()
        if isinstance(value, Path):
            return str(value)
        raise InputError(
            f"An option holds a {type(value).__name__}, which cannot be saved; give numbers, text or lists."
        )

    return json.loads(json.dumps(values, default=plain))


def _range(name: str, values: Any) -> Range | None:
    """Two numbers, the lower first, as JSON or a caller gave them."""
    if values is None:
        return None
    try:
        low, high = map(float, values)
    except (TypeError, ValueError) as error:
        raise InputError(f"The {name} is {values!r}; it is two numbers, the lower first.") from error
    if not low <= high:
        raise InputError(f"The {name} goes from {low:g} to {high:g}; give the lower number first.")
    return low, high


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
