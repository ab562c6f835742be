"""Link: one pair of a result, as a person looks at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veclink.data.links import Links


class Explanation(dict[str, str]):
    """What is known of a link in words, by what it is about; shown with one line for each."""

    def __repr__(self) -> str:
        return "\n".join(f"{about}: {words}" for about, words in self.items())


@dataclass(frozen=True)
class Link:
    """One link.

    Attributes
    ----------
    a, b : int or str
        The ids of the two rows, or their numbers where a collection has no ids.
    probability : float
        How probable it is that both are the same object.
    row_a, row_b : int
        The rows.
    titles : (str, str) or None
        What the payload calls the two, where it was read.
    evidence : dict
        What explains the probability: numbers by name.
    """

    a: int | str
    b: int | str
    probability: float
    row_a: int
    row_b: int
    titles: tuple[str, str] | None
    evidence: dict[str, Any]
    _links: Links = field(repr=False, compare=False)
    _rank: int = field(repr=False, compare=False)

    def __repr__(self) -> str:
        called = "" if self.titles is None else f": “{self.titles[0]}” and “{self.titles[1]}”"
        return f"Link({self.a!r} and {self.b!r}, probability {self.probability:.3f}{called})"

    def explain(self) -> Explanation:
        """Why it is a link, and what speaks against it, in words; the numbers behind them are in `evidence`."""
        from veclink.report.words import explanation

        return explanation(self._links, self._rank)
