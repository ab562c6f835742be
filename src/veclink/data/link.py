"""Link: one pair of a result, as a person looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
        What explains the probability, by name.
    """

    a: int | str
    b: int | str
    probability: float
    row_a: int
    row_b: int
    titles: tuple[str, str] | None
    evidence: dict[str, Any]

    def explain(self) -> dict[str, Any]:
        """All that is known of it by name, ready for a table or JSON."""
        pair = {"a": self.a, "b": self.b, "row_a": self.row_a, "row_b": self.row_b}
        return {**pair, "probability": self.probability, **self.evidence}
