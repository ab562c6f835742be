"""A few pairs that a person can check by eye: sure links, doubtful ones, and the best pair that is no link."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veclink.confidence.explanations import in_words, typical
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import pair_keys
from veclink.data.titles import Names, names

SIDES = ("a", "b")


@dataclass(frozen=True)
class Example:
    """A pair by its titles: "sure", "doubtful" or "left out", its rank among the candidates, the case against it.

    right: whether the truth has it, where the truth is known.
    """

    kind: str
    rank: int
    title_a: str
    title_b: str
    probability: float
    doubt: str
    right: bool | None


def examples(
    links: Links, a: Collection | None, b: Collection | None, truth: np.ndarray | None, *, sure: int, doubtful: int
) -> list[Example]:
    """So many sure and doubtful links, and the pair that came closest to being a link, the surest first."""
    source = candidates(links)
    right = None if truth is None else in_truth(source, truth)
    found = []
    for kind, rank in typical(replace(links, considered=source), sure, doubtful):
        rows = [*source.pairs[rank], *(_rival(source, side, rank) for side in SIDES)]
        left, right_side, rival_a, rival_b = _titles(rows, source, a, b)
        found.append(
            Example(
                kind=kind,
                rank=rank,
                title_a=left,
                title_b=right_side,
                probability=float(source.probability[rank]),
                doubt="" if kind == "sure" else in_words(replace(source, trace=links.trace), rank, rival_a, rival_b),
                right=None if right is None else bool(right[rank]),
            )
        )
    return found


def candidates(links: Links) -> Links:
    """All pairs that the run considered, where they are there and begin with the links."""
    whole = links.considered
    return whole if whole is not None and np.array_equal(whole.pairs[: len(links)], links.pairs) else links


def in_truth(links: Links, truth: np.ndarray) -> np.ndarray:
    """Which of the pairs (n,) are among the true ones (m, 2)."""
    n_b = links.summary.n_b
    return np.isin(pair_keys(links.pairs, n_b), pair_keys(truth, n_b))


def known_ids(links: Links, side: str) -> dict[int, str]:
    """The ids that links themselves carry, by row."""
    ids, column = (links.ids_a, 0) if side == "a" else (links.ids_b, 1)
    return {} if ids is None else dict(zip(links.pairs[:, column].tolist(), map(str, ids.tolist()), strict=True))


def _rival(links: Links, side: str, rank: int) -> int:
    column = links.evidence.get(f"rival_{side}")
    return -1 if column is None else int(column[rank])


def _titles(rows: list[int], links: Links, a: Collection | None, b: Collection | None) -> list[str]:
    """Titles of a row of A, a row of B, another of A, another of B; empty for a row of −1."""
    own = {
        side: names(np.array(rows[i::2]), each, known_ids(links, side))
        for i, (side, each) in enumerate(zip(SIDES, (a, b), strict=True))
    }
    return [_title(own[SIDES[i % 2]], int(row)) for i, row in enumerate(rows)]


def _title(own: Names, row: int) -> str:
    return own.of(row) if row >= 0 else ""
