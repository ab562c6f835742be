"""Links as people handle them in Python: as a sequence, a frame, a card in a notebook, charts, a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.data.link import Link
from veclink.data.notebook import FIRST, card, share
from veclink.data.pairs import read_pairs
from veclink.data.scores import Scores, score
from veclink.data.tabled import Tabled
from veclink.data.views import view
from veclink.errors import InputError

if TYPE_CHECKING:
    from veclink.data.summary import Summary

Titles = Mapping[tuple[int, int], tuple[str, str]]


class ShownLinks(Tabled):
    """What `Links` offers to a person; its data are in `data.links.Links`."""

    if TYPE_CHECKING:
        pairs: np.ndarray
        probability: np.ndarray
        summary: Summary
        evidence: dict[str, np.ndarray]
        ids_a: np.ndarray | None
        ids_b: np.ndarray | None
        titles: Titles

        def __len__(self) -> int: ...
        def columns(self) -> dict[str, np.ndarray]: ...

    def __getitem__(self, i: int) -> Link:
        """The link with this rank, counted from 0; from the end where `i` is negative."""
        if not isinstance(i, (int, np.integer)):
            raise TypeError(f"Links are asked for by their rank, and {i!r} is none; at() gives a better part of them.")
        if not -len(self) <= i < len(self):
            raise IndexError(f"There is no link {i}; there are {len(self):,}, counted from 0.")
        row_a, row_b = self.pairs[i].tolist()
        return Link(
            a=row_a if self.ids_a is None else _plain(self.ids_a[i]),
            b=row_b if self.ids_b is None else _plain(self.ids_b[i]),
            probability=float(self.probability[i]),
            row_a=row_a,
            row_b=row_b,
            titles=self.titles.get((row_a, row_b)),
            evidence={name: _plain(values[i]) for name, values in self.evidence.items()},
        )

    def __iter__(self) -> Iterator[Link]:
        return (self[i] for i in range(len(self)))

    def evaluate(self, truth: Any) -> Scores:
        """Precision, recall and F1 against the true pairs.

        Parameters
        ----------
        truth : (m, 2) pairs, or path
            In the terms of the columns a and b: ids where the collections have ids, else rows. Or a CSV or Parquet file
            with these columns.
        """
        if isinstance(truth, (str, Path)):
            truth = np.column_stack(read_pairs(truth))
        columns = self.columns()
        found, true = ({(str(a), str(b)) for a, b in zip(*each, strict=True)} for each in (
            (columns["a"], columns["b"]), _two_columns(truth)
        ))  # fmt: skip
        return score(list(found), list(true))

    def report(self, path: str | Path, a: Any = None, b: Any = None, *, truth: Any = None) -> None:
        """Write the report of these links, one HTML file; `a` and `b` give it titles and a map."""
        view("report")(path, self, a, b, truth=truth)

    def plot(self) -> Any:
        """The charts of the report as a matplotlib figure, which shows itself in a notebook and has `savefig`."""
        return view("plot")(self)

    def _repr_html_(self) -> str:
        summary = self.summary
        headline = f"{len(self):,} links between {summary.n_a:,} and {summary.n_b:,} vectors: {summary.verdict}"
        head = ["a", "b", "probability", *(("called in A", "called in B") if self.titles else ())]
        rows = [self._row(link) for link in islice(self, FIRST)]
        return card(headline, _figures(summary), head, rows)

    def _row(self, link: Link) -> tuple[Any, ...]:
        shown = (link.a, link.b, link.probability)
        return shown if not self.titles else (*shown, *(link.titles or ("", "")))


def _figures(summary: Summary) -> list[tuple[str, str]]:
    """What is estimated, and why the verdict is what it is."""
    figures = []
    if summary.precision is not None and summary.n_links:
        figures.append(("Estimated precision", share(summary.precision, summary.precision_range)))
    if summary.recall is not None and summary.n_links:
        figures.append(("Estimated recall", share(summary.recall, summary.recall_range)))
    if summary.overlap is not None and summary.n_links:
        figures.append(("Shared objects, about", f"{summary.overlap:,.0f}"))
    if summary.agreement is not None:
        figures.append(("Payload", summary.agreement.sentence))
    return figures + [("Note", reason) for reason in summary.reasons]


def _two_columns(truth: Any) -> tuple[Any, Any]:
    pairs = truth if isinstance(truth, np.ndarray) else np.array(list(truth), dtype=object)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"The truth has the shape {pairs.shape}; give pairs, one row of a and b each.")
    return pairs[:, 0], pairs[:, 1]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
