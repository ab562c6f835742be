"""Summary: what is known of a result as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.agreement import Agreement
from veclink.data.words import UNKNOWN, Reason, Told, plain_reasons, read_reasons
from veclink.errors import InputError, named, plural

VERDICTS = LINKABLE, DOUBTFUL, NOT_LINKABLE = "linkable", "doubtful", "not linkable"
Range = tuple[float, float]
"""The lowest and the highest value that an estimate may stand for."""
RANGES = ("precision_range", "recall_range", "overlap_range")
ALL = 0.9995
"""A share that is shown as 100 %: of a range that reaches it, only the low end is known."""


def range_in_words(bounds: Range, to: str = "–") -> str:
    """The range of a share in per cent; "at least" where only its low end is known."""
    low, high = (f"{100 * bound:.1f}" for bound in bounds)
    return f"at least {low} %" if bounds[1] >= ALL else f"{low}{to}{high} %"


def share_in_words(share: float, bounds: Range | None = None) -> str:
    """A share in per cent, with the range that it is likely in."""
    return f"{100 * share:.1f} %" + ("" if bounds is None else f" (likely {range_in_words(bounds)})")


@dataclass(frozen=True)
class Summary(Told):
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
    why : tuple of Reason
        The reasons for the verdict, each a code with values; `reasons` are the same in sentences.
    calibration : str or None
        The version of the calibration that verdict, reasons and estimates follow from
        (`confidence.constants.CALIBRATION_VERSION`); None in files that were written before there was one.
    caution : float
        How many wrong links `Links.at` counts for each that the probabilities expect (`confidence.intervals`).
    copies : (int, int)
        Rows of A and of B that are copies of another row of their side.
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
    why: tuple[Reason, ...] = ()
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
        object.__setattr__(self, "why", tuple(self.why))
        object.__setattr__(self, "copies", (int(self.copies[0]), int(self.copies[1])))
        for name in ("wrong_seeds", "contradicting_seeds"):
            rows = tuple((int(a), int(b)) for a, b in getattr(self, name))
            object.__setattr__(self, name, rows)
        for name in RANGES:
            bounds = getattr(self, name)
            object.__setattr__(self, name, None if bounds is None else (float(bounds[0]), float(bounds[1])))
        if self.vectors is not None:
            object.__setattr__(self, "vectors", tuple(self.vectors))
        if isinstance(self.agreement, Mapping):  # as it is saved
            known = {name: value for name, value in self.agreement.items() if name in Agreement.__dataclass_fields__}
            object.__setattr__(self, "agreement", Agreement(**{"fits": not known.get("note"), **known}))

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons for the verdict, and what else there is to know, in sentences; programs read `why`."""
        return tuple(map(str, self.why))

    @property
    def is_calibrated(self) -> bool:
        """Whether the probabilities are calibrated; those of the paper's method are shares of votes."""
        return self.method != "geh"

    @property
    def verdict_in_words(self) -> str:
        """The verdict; where the payload does not fit, it is one on the vectors alone."""
        if self.verdict == "not linkable" or self.agreement is None or self.agreement.fits:
            return self.verdict
        return f"{self.verdict} by the vectors, but the payload does not fit them"

    @property
    def is_open(self) -> bool:
        """Whether the run could not tell what is shared: then “not linkable” is no finding about the data."""
        return bool(self.why) and self.why[0].code in UNKNOWN

    @property
    def headline(self) -> str:  # type: ignore[override]
        """How many links there are, and the verdict; or that the run could not tell."""
        links = f"{plural(self.n_links, 'link')} between {self.n_a:,} and {self.n_b:,} vectors"
        if self.is_open:
            return self.reasons[0]
        return f"{links}." if self.verdict == LINKABLE and not self.n_links else f"{links}: {self.verdict_in_words}."

    def figures(self) -> list[tuple[str, str]]:
        """What a person is told below the headline, by its name: estimates with their likely ranges, then notes."""
        told = [("Verdict", self.verdict)] if self.is_open else []
        for name in ("precision", "recall"):
            share, likely = getattr(self, name), getattr(self, f"{name}_range")
            if share is not None and self.n_links:
                told.append((f"Estimated {name}", share_in_words(share, likely)))
        if self.overlap is not None and self.n_links:
            likely = "" if self.overlap_range is None else " (likely {:,.0f}–{:,.0f})".format(*self.overlap_range)
            told.append(("Estimated objects in both", f"{self.overlap:,.0f}{likely}"))
        if self.agreement is not None:
            told.append(("Check", self.agreement.sentence))
        told += [("Note", reason) for reason in self.reasons[self.is_open :]]
        if self.wrong_seeds:
            told.append(("Seeds that look wrong, by row", named(self.wrong_seeds)))
        if self.contradicting_seeds:
            told.append(("Seeds that contradict one another, not used, by row", named(self.contradicting_seeds)))
        return told

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: `reasons` for people, `why` for programs."""
        return plain_json(asdict(self) | plain_reasons(self.why))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Summary:
        """The summary that `to_dict` gave; keys that are not known are left out, for files of later versions."""
        if not isinstance(values, Mapping):
            raise InputError("Its summary is not a table of named values; save the links again.")
        wrong = wrong_values(values, _SUMMARY)
        if not wrong and "why" in values and len(values["why"]) != len(values.get("reasons", ())):
            wrong.append("why")
        if wrong:
            raise InputError(f"The summary of the links has something odd for {named(wrong)}; save the links again.")
        known = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        try:
            return cls(**known | {"why": read_reasons(values)})
        except (TypeError, AttributeError) as error:
            raise InputError(f"The summary of the links is incomplete ({error}); save the links again.") from error


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


LEAST_RIGHT = 0.4
"""Links of which fewer than this share may be right, by the range of the estimate, are doubtful. A choice: with it half
of 600 rows among thousands is linkable, 100 rows among 3,000 and a tenth of 2,000 rows are doubtful."""


def summary_of_first(summary: Summary, probability: np.ndarray, *, ranges: bool = True) -> Summary:
    """The summary of other pairs of a run, with these probabilities (n,); `ranges` where they are the surest ones."""
    known = summary.is_calibrated  # else nothing follows from the sum of such probabilities
    precision, recall = shares(probability, summary.overlap) if known else (None, None)
    other = replace(
        summary,
        n_links=len(probability),
        precision=precision,
        recall=recall,
        precision_range=None,
        recall_range=None,
        agreement=None,
    )
    return with_ranges(other, probability) if ranges and known else other


def shares(probability: np.ndarray, overlap: float | None) -> tuple[float | None, float | None]:
    """Precision and recall to expect of links with these probabilities (n,); None for what cannot be said.

    overlap: the estimated number of shared objects, where there is an estimate.
    """
    expected = float(probability.sum())
    precision = expected / len(probability) if len(probability) else None
    recall = min(1.0, expected / overlap) if overlap else None
    return precision, recall


def with_ranges(summary: Summary, probability: np.ndarray) -> Summary:
    """The summary with the ranges of its estimates, for links with these probabilities (n,).

    Where there are no links, the range of the overlap stays: it is one of the collections.
    """
    from veclink.confidence.intervals import estimates

    known = estimates(probability, summary)
    if known is None:
        of_overlap = summary.overlap_range if summary.overlap else None
        return replace(summary, precision_range=None, recall_range=None, overlap_range=of_overlap)
    return replace(
        summary,
        precision_range=known.precision.range,
        recall_range=known.recall.range,
        overlap_range=known.overlap.range,
    )


def judged_anew(summary: Summary) -> Summary:
    """The summary of other links of a run, with the verdict that the range of their precision asks for.

    What an earlier range made doubtful is judged anew: other links of the same run may be surer, or less sure.
    """
    if summary.precision_range is None:
        return summary
    least, verdict = summary.precision_range[0], summary.verdict
    why = tuple(each for each in summary.why if each.code != "uncertain_precision")
    if len(why) < len(summary.why) and verdict == DOUBTFUL:
        verdict = LINKABLE
    if verdict == LINKABLE and least < LEAST_RIGHT:
        verdict, why = DOUBTFUL, (*why, Reason("uncertain_precision", least=least))
    return replace(summary, verdict=verdict, why=why)


def count_kept(probability: np.ndarray, caution: float, wanted: dict[str, Any]) -> int:
    """How many of the judged pairs, the surest first (n,), are kept for what is wanted.

    wanted: precision, probability and links, of which one is not None; caution: see `Summary`.
    """
    given = {name: value for name, value in wanted.items() if value is not None}
    if len(given) != 1:
        raise InputError("Give one of precision, probability and links: that many pairs, or as many as have it.")
    ((name, value),) = given.items()
    is_number = not isinstance(value, bool) and isinstance(value, (int, float, np.number))
    if name == "links":
        if not is_number or value < 0 or value != int(value):
            raise InputError(f"The wanted number of links is {value!r}; it is a whole number from 0.")
        if value > len(probability):
            raise InputError(
                f"{value:,} links are wanted, and {len(probability):,} pairs were judged; ask for at most those."
            )
        return int(value)
    if not is_number or not 0 < value <= 1:
        raise InputError(f"The wanted {name} is {value!r}; it is more than 0 and at most 1, such as 0.95.")
    if name == "probability":
        return int(np.count_nonzero(probability >= value))
    wrong = np.cumsum(1 - probability) / np.arange(1, len(probability) + 1)
    # the mean of rising numbers rises, but for the rounding of the sum
    return int(np.count_nonzero(wrong * caution <= 1 - value + 1e-12))


LARGEST = 1e300
"""Numbers beyond this, which no linker writes, leave the range of floats at the next step."""
MOST_ROWS = 2**40
# What values are of: a type, [kind] for many of a kind, (kind, kind) for two values, {name: kind} for named ones.
PAIRS = [(int, int)]
_SUMMARY: dict[str, Any] = {
    "method": str,
    **dict.fromkeys(("n_a", "n_b", "n_links", "iterations"), int),
    **dict.fromkeys(("precision", "recall", "overlap", "seconds", "caution"), float),
    **dict.fromkeys(RANGES, (float, float)),
    "verdict": str,
    "reasons": [str],
    "why": [{"code": str}],
    **dict.fromkeys(("wrong_seeds", "contradicting_seeds"), PAIRS),
    "copies": (int, int),
    "agreement": Mapping,
    "vectors": (str, str),
    "found": str,
}
_MAY_BE_NONE = (
    *RANGES,
    "precision",
    "recall",
    "overlap",
    "seconds",
    "agreement",
    "vectors",
    "found",
    "model",
    "decoys",
)


def wrong_values(values: Mapping[str, Any], kinds: dict[str, Any]) -> list[str]:
    """The names of values that are not of their kind."""
    given = ((name, values[name], kind) for name, kind in kinds.items() if name in values)
    told = ((name, value, kind) for name, value, kind in given if value is not None or name not in _MAY_BE_NONE)
    return [name for name, value, kind in told if not fits(value, kind)]


def fits(value: Any, kind: Any) -> bool:
    if kind is int:
        return type(value) is int and 0 <= value < MOST_ROWS
    if kind is float:
        return type(value) in (int, float) and not abs(value) > LARGEST
    if isinstance(kind, dict):
        return isinstance(value, Mapping) and all(fits(value.get(name), each) for name, each in kind.items())
    if not isinstance(kind, (list, tuple)):
        return isinstance(value, kind)
    kinds = kind if isinstance(kind, tuple) else kind * len(value) if isinstance(value, (list, tuple)) else ()
    return isinstance(value, (list, tuple)) and len(value) == len(kinds) and all(map(fits, value, kinds))
