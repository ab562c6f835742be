"""Links as people handle them in Python: as a sequence, a frame, a card in a notebook, charts, a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from veclink.data.agreement import Agreement, agreement_of, agreement_of_titles
from veclink.data.pairs import read_pairs
from veclink.data.payload_pairs import has_column
from veclink.data.scores import Scores, score
from veclink.data.tabled import FIRST, Tabled, card, share
from veclink.data.titles import TEXTS, PayloadTexts
from veclink.errors import InputError, needed, plural

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.data.links import Links
    from veclink.data.summary import Summary


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


COLUMNS = ("short", "all")
SHORT = ("a", "b", "title_a", "title_b", "probability", "score", "given", "displaces", "rival_id_a", "rival_id_b")
"""What a short table has, where it is known; `given` only where something was."""
QUICKLY_COMPARED = 100_000
"""Links whose titles are compared within a second, for a card in a notebook."""


class ShownLinks(Tabled):
    """What `Links` offers to a person; its data are in `data.links.Links`."""

    if TYPE_CHECKING:
        pairs: np.ndarray
        probability: np.ndarray
        summary: Summary
        evidence: dict[str, np.ndarray]
        ids_a: np.ndarray | None
        ids_b: np.ndarray | None
        texts: PayloadTexts | dict[str, np.ndarray] | None
        trace: dict[str, Any]

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
            titles=self._titles(i),
            evidence={name: _plain(values[i]) for name, values in self.evidence.items()},
            _links=cast("Links", self),
            _rank=int(i),
        )

    def __iter__(self) -> Iterator[Link]:
        return (self[i] for i in range(len(self)))

    def all_columns(self) -> dict[str, np.ndarray]:
        """Every column: those of `columns()`, then the texts that say more than those do."""
        texts = self._texts(slice(None))
        for name in self._rivals_by_row():
            texts.pop(name, None)
        return {**self.columns(), **texts}

    def short_columns(self, *, rows: bool = False) -> dict[str, np.ndarray]:
        """What a person reads: both ids and titles, probability, score, what was given, the ids of the rivals.

        rows: also the rows behind ids, which a file needs to be read again.
        """
        known = {**self.columns(), **self._texts(slice(None))}
        if "given" in known and not known["given"].any():
            del known["given"]
        wanted = (*SHORT, "row_a", "row_b") if rows else SHORT
        return {name: known[name] for name in wanted if name in known}

    def to_pandas(self, columns: str = "short") -> Any:
        """The links as a pandas frame: what a person reads, or with "all" every column there is."""
        needed("pandas", "A pandas frame")
        return self._frame(columns).to_pandas()

    def to_polars(self, columns: str = "short") -> Any:
        """The same as a polars frame."""
        polars: Any = needed("polars", "A polars frame")
        return polars.from_arrow(self._frame(columns))

    def agreement(self) -> Agreement | None:
        """In how many of the links the payload says the same, seeds not counted; None where that is not known.

        As it was counted with the collections; after `at`, by the titles that the links carry.
        """
        if self.summary.agreement is not None or self.texts is None:
            return self.summary.agreement
        texts = self._texts(slice(None))
        return agreement_of_titles(texts, self.evidence.get("given"), self.summary.precision)

    def agreement_with(self, a: Collection, b: Collection) -> Agreement | None:
        """The same by the payload of the two collections, in the column that linking started from, if it did."""
        started_by = self.trace.get("seeds_by", {}).get("columns")
        columns = None
        if started_by is not None and all(map(has_column, (a, b), started_by)):
            columns = started_by[0], started_by[1]  # a list, where it was read from a file
        return agreement_of(
            self.pairs,
            a,
            b,
            given=self.evidence.get("given"),
            columns=columns,
            precision=self.summary.precision,
        )

    def evaluate(self, truth: Any) -> Scores:
        """Precision, recall and F1 against the true pairs.

        Parameters
        ----------
        truth : (m, 2) pairs, or path
            In the terms of the columns a and b: ids where the collections have ids, else rows. Or a CSV or Parquet file
            with these columns.
        """
        if isinstance(truth, (str, Path)):
            truth = np.column_stack(read_pairs(truth, empty_ids=True))
        columns = self.columns()
        found, true = ({(str(a), str(b)) for a, b in zip(*each, strict=True)} for each in (
            (columns["a"], columns["b"]), _two_columns(truth)
        ))  # fmt: skip
        return score(list(found), list(true))

    def report(
        self,
        path: str | Path,
        a: Any = None,
        b: Any = None,
        *,
        truth: Any = None,
        payload_a: Any = True,
        payload_b: Any = True,
    ) -> None:
        """Write the report of these links, one HTML file; `a` and `b` give it titles and a map.

        payload_a, payload_b: the titles of bare vectors, as in `link`.
        """
        from veclink.report import save_report

        save_report(path, cast("Links", self), a, b, truth=truth, payload_a=payload_a, payload_b=payload_b)

    def plot(self) -> Any:
        """The charts of the report as a matplotlib figure, which shows itself in a notebook and has `savefig`."""
        from veclink.report.plotting import plot_links

        return plot_links(cast("Links", self))

    def _repr_html_(self) -> str:
        summary = self.summary
        between = f"{plural(len(self), 'link')} between {summary.n_a:,} and {summary.n_b:,} vectors"
        headline = f"{between}: {summary.verdict_in_words}"
        named = bool(len(self)) and self._titles(0) is not None
        head = ["a", "b", "probability", *(("called in A", "called in B") if named else ())]
        told = [self[place] for place in self._told()]
        rows = [(link.a, link.b, link.probability, *(link.titles or ())) for link in told]
        agreement = self.agreement() if len(self) <= QUICKLY_COMPARED else summary.agreement
        return card(headline, _figures(summary, agreement), head, rows)

    def _told(self) -> list[int]:
        """The surest links that were not given, which say something; given ones where there are no others."""
        given = self.evidence.get("given")
        found = np.arange(len(self)) if given is None else np.flatnonzero(~np.asarray(given, bool))
        return (found if len(found) else np.arange(len(self)))[:FIRST].tolist()

    def _frame(self, columns: str) -> Any:
        check_columns(columns)
        return pa.table(self.all_columns() if columns == "all" else self.short_columns())

    def _texts(self, rows: slice) -> dict[str, np.ndarray]:
        """The texts of these links that are known, in the order of `TEXTS`."""
        pairs = self.pairs[rows]
        evidence = {name: values[rows] for name, values in self.evidence.items()}
        by_row = PayloadTexts().of(pairs, evidence)
        found = {name: by_row[name] for name in self._rivals_by_row() if name in by_row}
        if isinstance(self.texts, dict):
            found |= {name: values[rows] for name, values in self.texts.items()}
        elif self.texts is not None:
            found |= self.texts.of(pairs, evidence)
        return {name: found[name] for name in TEXTS if name in found}

    def rival_names(self, i: int) -> dict[str, str]:
        """The id of the best rival of link `i` on either side, "a" and "b"; empty where there is none."""
        place = i % len(self)
        texts = self._texts(slice(place, place + 1))
        return {side: texts.get(f"rival_id_{side}", [""])[0] for side in "ab"}

    def _rivals_by_row(self) -> list[str]:
        """The rivals of sides without ids, whose names are their rows."""
        return [f"rival_id_{side}" for side, ids in (("a", self.ids_a), ("b", self.ids_b)) if ids is None]

    def _titles(self, i: int) -> tuple[str, str] | None:
        """What the payload calls the two rows of link `i`; None where neither has a title."""
        place = i % len(self)
        texts = self._texts(slice(place, place + 1))
        if "title_a" not in texts and "title_b" not in texts:
            return None
        blank = [""]
        return texts.get("title_a", blank)[0], texts.get("title_b", blank)[0]


def check_columns(columns: str | None, *, also_short: bool = True) -> None:
    """Refuse a choice of columns that there is none of."""
    if columns is not None and columns not in COLUMNS:
        raise InputError(f"The columns {columns!r} are unknown; they are {' or '.join(COLUMNS)}.")
    if columns == "short" and not also_short:
        raise InputError("Parquet files have all columns; write CSV for the short ones.")


def _figures(summary: Summary, agreement: Agreement | None) -> list[tuple[str, str]]:
    """What is estimated, and why the verdict is what it is."""
    figures = []
    if summary.precision is not None and summary.n_links:
        figures.append(("Estimated precision", share(summary.precision, summary.precision_range)))
    if summary.recall is not None and summary.n_links:
        figures.append(("Estimated recall", share(summary.recall, summary.recall_range)))
    if summary.overlap is not None and summary.n_links:
        figures.append(("Shared objects, about", f"{summary.overlap:,.0f}"))
    if agreement is not None:
        figures.append(("Payload", agreement.sentence))
    return figures + [("Note", reason) for reason in summary.reasons]


def _two_columns(truth: Any) -> tuple[Any, Any]:
    if hasattr(truth, "__arrow_c_stream__"):
        columns = pa.table(truth)
        return columns["a"].to_pylist(), columns["b"].to_pylist()
    pairs = truth if isinstance(truth, np.ndarray) else np.array(list(truth), dtype=object)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"The truth has the shape {pairs.shape}; give pairs, one row of a and b each.")
    return pairs[:, 0], pairs[:, 1]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
