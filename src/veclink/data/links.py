"""Links: the result, a table of pairs with their probability and what explains it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veclink import __version__
from veclink.data import links_files
from veclink.data.agreement import Agreement, agreement_of, agreement_of_titles, has_column
from veclink.data.collection import as_ids
from veclink.data.links_files import FORMAT, IS_LINK, WITH_JUDGED, check_rows, check_trace
from veclink.data.pairs import Scores, evaluate, pair_keys, repeated, surest_first
from veclink.data.summary import (
    Summary,
    count_kept,
    judged_anew,
    plain_json,
    summary_of_first,
)
from veclink.data.words import TEXTS, PayloadTexts, Tabled, card, say
from veclink.errors import InputError, WrongLinksWarning, named, needed, plural

if TYPE_CHECKING:
    from veclink.data.collection import Collection

COLUMNS = ("short", "all")
SHORT = ("a", "b", "title_a", "title_b", "probability", "score", "given", "displaces", "rival_id_a", "rival_id_b")
"""What a short table has, where it is known; `given` only where something was."""
QUICKLY_COMPARED = 100_000
"""Links whose titles are compared within a second, for a card in a notebook."""


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


class Links(Tabled):
    """Pairs of rows that are the same object, the most probable first, equal ones by row.

    All judged pairs stand in one table, the links before those below the threshold, and `summary.n_links` says how many
    are links. What is shown are views of the first so many rows, so that `at` only asks for another number.

    Parameters
    ----------
    pairs : (m, 2) int64
        Rows of the two collections: of the links, then of other judged pairs if there are any. Both are sorted here.
    probability : (m,) float64
        How probable it is that both are the same object.
    summary : Summary
        What is known of the links as a whole.
    evidence : dict of str to (m,) array
        Columns that explain the probability (score, votes, views, …).
    ids_a, ids_b : (m,) array or None
        The ids of the rows, in the order of `pairs`; None where a collection has none.
    options : dict
        Options of the method; plain JSON values.
    trace : dict
        How the links came about, for reports; plain JSON values, no part of equality.
    texts : PayloadTexts, dict of str to (m,) array, or None
        Titles of the rows and ids of the rivals, where they are known; no part of equality.

    Attributes
    ----------
    pairs, probability, evidence, ids_a, ids_b, texts
        As they were given, of the n links alone.
    considered : Links
        All judged pairs as links.
    """

    pairs: np.ndarray
    probability: np.ndarray
    evidence: dict[str, np.ndarray]
    ids_a: np.ndarray | None
    ids_b: np.ndarray | None
    texts: PayloadTexts | dict[str, np.ndarray] | None

    def __init__(  # noqa: PLR0913
        self,
        pairs: np.ndarray,
        probability: np.ndarray,
        summary: Summary,
        evidence: Mapping[str, np.ndarray] | None = None,
        ids_a: np.ndarray | None = None,
        ids_b: np.ndarray | None = None,
        options: Mapping[str, Any] | None = None,
        trace: Mapping[str, Any] | None = None,
        texts: PayloadTexts | dict[str, np.ndarray] | None = None,
    ) -> None:
        pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        probability = np.array(probability, dtype=np.float64)
        n, size = summary.n_links, len(pairs)
        if probability.shape != (size,):
            raise InputError(
                f"There are {plural(size, 'pair')} and probabilities of shape {probability.shape}; give one for each."
            )
        if n > size:
            raise InputError(f"There are {plural(size, 'pair')} but the summary says {n:,}; they must agree.")
        wrong = np.flatnonzero(~((probability >= 0) & (probability <= 1)))
        if len(wrong):
            raise InputError(f"Probabilities are not between 0 and 1 in row {named(wrong)}; correct them.")
        for side, column, rows in (("A", 0, summary.n_a), ("B", 1, summary.n_b)):
            outside = np.flatnonzero((pairs[:, column] < 0) | (pairs[:, column] >= rows))
            if len(outside):
                raise InputError(
                    f"Rows of {side} are outside its {rows:,} in link {named(outside)}; links must be of these "
                    "collections."
                )
        keys = np.sort(pair_keys(pairs, max(summary.n_b, 1)))
        if (keys[1:] == keys[:-1]).any():
            raise InputError(f"Pairs are there more than once, first in link {named(repeated(pairs))}; keep one.")
        judged: dict[str, Any] = {
            "pairs": pairs,
            "probability": probability,
            "evidence": {name: _evidence(name, values, size) for name, values in (evidence or {}).items()},
            "texts": texts,
        }
        for side, given in (("ids_a", ids_a), ("ids_b", ids_b)):
            ids = judged[side] = None if given is None else as_ids(given, side).copy()
            if ids is not None and len(ids) != size:
                raise InputError(f"There are {plural(size, 'link')} and {len(ids):,} {side}; give the id of each row.")
        if not all(surest_first(pairs[part], probability[part]) for part in (slice(n), slice(n, None))):
            is_other = np.arange(size) >= n
            judged = _chosen(judged, np.lexsort((pairs[:, 1], pairs[:, 0], -probability, is_other)))
        self._judged, self.summary = judged, summary
        self.options, self.trace = plain_json(options or {}), plain_json(trace or {})
        self.__dict__.update(_chosen(judged, slice(n)))

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"Links({self.summary.headline})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Links):
            return NotImplemented
        mine, theirs = (
            {**each.evidence, **{name: getattr(each, name) for name in ("pairs", "probability", "ids_a", "ids_b")}}
            for each in (self, other)
        )
        same = self.summary == other.summary and self.options == other.options and list(mine) == list(theirs)
        return same and all(_same(values, theirs[name]) for name, values in mine.items())

    def __getitem__(self, i: int) -> Link:
        """The link with this rank, counted from 0; from the end where `i` is negative."""
        if not isinstance(i, (int, np.integer)):
            raise TypeError(f"{i!r} is no rank; links.at(links=5) gives the most certain, links.to_pandas() a table.")
        rank = range(len(self))[i]
        columns = {name: values[[rank]].tolist()[0] for name, values in self.columns().items()}
        row_a, row_b = self.pairs[rank].tolist()
        texts = self._texts(slice(rank, rank + 1))
        titled = "title_a" in texts or "title_b" in texts
        return Link(
            a=columns["a"],
            b=columns["b"],
            probability=columns["probability"],
            row_a=row_a,
            row_b=row_b,
            titles=(texts.get("title_a", [""])[0], texts.get("title_b", [""])[0]) if titled else None,
            evidence={name: columns[name] for name in self.evidence},
            _links=self,
            _rank=rank,
        )

    def __iter__(self) -> Iterator[Link]:
        return (self[i] for i in range(len(self)))

    def at(
        self,
        precision: float | None = None,
        *,
        probability: float | None = None,
        links: int | None = None,
    ) -> Links:
        """The most certain pairs at another threshold. Give one of the three.

        It chooses among all judged pairs, also those below the default threshold. Links from a CSV file have no others,
        so they can only become fewer. The estimates in the summary are those of the chosen links.

        Parameters
        ----------
        precision : float, optional
            Keep the most certain links with an estimated precision of at least this. The estimate is conservative:
            each expected wrong link counts as `summary.caution` wrong links. It is no guarantee for a single result:
            the page "Choose a threshold" (docs/how-to/threshold.md) says how often it held. Of `method="geh"`, whose
            probabilities are shares of votes, it promises nothing, and warns.
        probability : float, optional
            Keep each link that is at least this probable.
        links : int, optional
            Keep this many.
        """
        judged = self._judged["probability"]
        wanted = {"precision": precision, "probability": probability, "links": links}
        kept = count_kept(judged, self.summary.caution, wanted)
        if precision is not None and not self.summary.is_calibrated:
            warnings.warn(say("shares_of_votes"), WrongLinksWarning, stacklevel=2)
        summary = judged_anew(summary_of_first(self.summary, judged[:kept]))
        return self.told(summary, trace={**self.trace, "chosen": True})  # a merge keeps what a person chose

    @property
    def considered(self) -> Links:
        """All judged pairs as links, those below the threshold too; Parquet files keep them."""
        judged = self._judged["probability"]
        if len(judged) == len(self):
            return self
        return self.told(summary_of_first(self.summary, judged, ranges=False))

    def told(self, summary: Summary, **changes: Any) -> Links:
        """The same judged pairs with another summary, which says how many are links, or with another trace."""
        other = copy(self)
        other.__dict__.update(_chosen(self._judged, slice(summary.n_links)), summary=summary, **changes)
        return other

    def none(self) -> Links:
        """No links and no judged pairs, with the verdict and the reasons: what exit code 3 means."""
        return self.some(slice(0), summary_of_first(self.summary, np.empty(0)))

    def some(self, rows: slice | np.ndarray, summary: Summary, **changes: Any) -> Links:
        """The links of these rows alone, with the summary that is true of them, and other changes of single fields.

        Parameters
        ----------
        rows : slice or (m,) array
            Positions among these links, or a mask of them.
        summary : Summary
            What is known of the chosen links; its `n_links` must be their number.
        **changes
            Parameters of `Links` that are given instead of being chosen by `rows`.
        """
        mine = {name: getattr(self, name) for name in self._judged}
        known = {"options": self.options, "trace": self.trace}
        return Links(**{**_chosen(mine, rows), **known, "summary": summary, **changes})

    def explain(self, i: int) -> dict[str, Any]:
        """The numbers of link `i`: its rank, ids and rows, its probability, and every column of evidence.

        `links[i].explain()` says in words what they mean.
        """
        try:
            link = self[i]
        except (TypeError, IndexError) as error:
            raise InputError(f"There is no link {i!r}; there are {len(self):,}, counted from 0.") from error
        known = {name: getattr(link, name) for name in ("a", "b", "row_a", "row_b", "probability")}
        return {"rank": link._rank, "of": len(self), **known, **link.evidence}

    def columns(self) -> dict[str, np.ndarray]:
        """What is computed with: a, b (ids, else rows), probability, evidence, and the rows behind ids."""
        rows = {"a": self.pairs[:, 0], "b": self.pairs[:, 1]}
        ids = {side: values for side, values in (("a", self.ids_a), ("b", self.ids_b)) if values is not None}
        behind = {f"row_{side}": rows[side] for side in ids}
        return {**rows, **ids, "probability": self.probability, **self.evidence, **behind}

    def all_columns(self) -> dict[str, np.ndarray]:
        """Every column: those of `columns()`, then the texts that say more than those do."""
        by_row = self._rivals_by_row()
        texts = {name: values for name, values in self._texts(slice(None)).items() if name not in by_row}
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

    def table(self, columns: str | None = None, *, judged: bool = False) -> pa.Table:
        """All columns as an Arrow table, with the metadata of a saved file; or those that `to_pandas` names."""
        check_columns(columns)
        if columns is None:
            every_column = self.all_columns()
            return links_files.table(every_column, self._metadata(every_column))
        every = self.considered if judged else self
        values = every.all_columns() if columns == "all" else every.short_columns()
        return pa.table({**values, IS_LINK: np.arange(len(every)) < len(self)})

    def to_pandas(self, columns: str = "short", *, judged: bool = False) -> Any:
        """The links as a pandas frame.

        Parameters
        ----------
        columns : {"short", "all"}
            What a person reads, or every column.
        judged : bool
            Also the pairs below the threshold. The column `linked` says which pairs are links.
        """
        needed("pandas", "A pandas frame")
        return self.table(columns, judged=judged).to_pandas()

    def to_polars(self, columns: str = "short", *, judged: bool = False) -> Any:
        """The same as a polars frame."""
        return needed("polars", "A polars frame").from_arrow(self.table(columns, judged=judged))

    def _texts(self, rows: slice) -> dict[str, np.ndarray]:
        """The texts of these links that are known, in the order of `TEXTS`."""
        written = {} if self.texts is None else self.texts
        known = PayloadTexts() if isinstance(written, dict) else written
        found = known.of(self.pairs[rows], {name: values[rows] for name, values in self.evidence.items()})
        if isinstance(written, dict):
            found = {name: found[name] for name in self._rivals_by_row() if name in found}
            found |= {name: values[rows] for name, values in written.items()}
        return {name: found[name] for name in TEXTS if name in found}

    def rival_names(self, i: int) -> dict[str, str]:
        """The id of the best rival of link `i` on either side, "a" and "b"; empty where there is none."""
        texts = self._texts(slice(i % len(self), i % len(self) + 1))
        return {side: texts.get(f"rival_id_{side}", [""])[0] for side in "ab"}

    def _rivals_by_row(self) -> list[str]:
        """The rivals of sides without ids, whose names are their rows."""
        return [f"rival_id_{side}" for side, ids in (("a", self.ids_a), ("b", self.ids_b)) if ids is None]

    def agreement(self) -> Agreement | None:
        """In how many of the links the payload says the same, seeds not counted; None where that is not known.

        As it was counted with the collections; after `at`, by the titles that the links carry.
        """
        if self.summary.agreement is not None or self.texts is None:
            return self.summary.agreement
        return agreement_of_titles(self._texts(slice(None)), self.evidence.get("given"), self.summary.precision)

    def agreement_with(self, a: Collection, b: Collection) -> Agreement | None:
        """The same by the payload of the two collections, in the column that linking started from, if it did."""
        started_by = self.trace.get("seeds_by", {}).get("columns")
        known = started_by is not None and all(map(has_column, (a, b), started_by))
        columns = (started_by[0], started_by[1]) if known else None  # a list, where it was read from a file
        given, precision = self.evidence.get("given"), self.summary.precision
        return agreement_of(self.pairs, a, b, given=given, columns=columns, precision=precision)

    def evaluate(self, truth: Any) -> Scores:
        """Precision, recall and F1 against known pairs: `veclink.evaluate(links, truth)`.

        Parameters
        ----------
        truth : (m, 2) pairs, frame with the columns a and b, or path
            Ids where the collections have ids, else row numbers.
        """
        columns = self.columns()
        return evaluate((columns["a"], columns["b"]), truth)

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

        save_report(path, self, a, b, truth=truth, payload_a=payload_a, payload_b=payload_b)

    def plot(self) -> Any:
        """The charts of the report as a matplotlib figure, which shows itself in a notebook and has `savefig`."""
        from veclink.report.plotting import plot_links

        return plot_links(self)

    def _repr_html_(self) -> str:
        # the most certain and the most doubtful links that were not given; given ones, where there are no others
        given = self.evidence.get("given", np.zeros(len(self), bool))
        found = np.flatnonzero(~given) if not given.all() else np.arange(len(self))
        told = [self[place] for place in (*found[:3].tolist(), *found[3:][-2:].tolist())]
        head = ["a", "b", "probability", *(("called in A", "called in B") if told and told[0].titles else ())]
        rows = [(link.a, link.b, link.probability, *(link.titles or ())) for link in told]
        summary = self.summary
        if len(self) <= QUICKLY_COMPARED:
            summary = replace(summary, agreement=self.agreement())
        return card(summary.headline, summary.figures(), head, rows)

    def save(self, path: str | Path, columns: str | None = None) -> None:
        """Write `path` whole or not at all: .parquet with its metadata inside, or .csv with a .csv.json beside it.

        Parquet holds all judged pairs, and its column `linked` says which are links; CSV holds the links alone.

        Parameters
        ----------
        path : str or Path
            The file; its ending says which of the two it is.
        columns : {"short", "all"}, optional
            Of CSV: "short" (the default) is what a person reads, "all" also what explains the probabilities, which the
            report and the review page show. Parquet always has all.
        """
        check_columns(columns)
        if Path(path).suffix.lower() == ".parquet":
            if columns == "short":
                raise InputError("Parquet files have all columns; write CSV for the short ones.")
            every = self.considered
            written = every.all_columns()
            if len(every) > len(self):
                first = {name: written[name] for name in ("a", "b", "probability")}
                written = {**first, IS_LINK: np.arange(len(every)) < len(self), **written}
        else:
            written = self.all_columns() if columns == "all" else self.short_columns(rows=True)
        links_files.write(path, written, self._metadata(written))

    @classmethod
    def load(cls, path: str | Path) -> Links:
        """The links saved in `path`, equal to what was saved."""
        if not isinstance(path, (str, Path)):
            raise InputError(f"Links are loaded from a file, and {type(path).__name__} names none; give its path.")
        columns, metadata = links_files.read(path)
        try:
            links = cls._from_saved(dict(columns), metadata)
            links_files.check_fingerprint(path, columns, metadata)
            return links
        except (ValueError, TypeError) as error:  # an InputError is a ValueError
            raise InputError(f"{path} is not a sound links file: {error}") from error

    @classmethod
    def _from_saved(cls, columns: dict[str, np.ndarray], metadata: dict[str, Any]) -> Links:
        options, trace = (metadata.get(name, {}) for name in ("options", "trace"))
        if not isinstance(options, dict) or not isinstance(trace, dict):
            raise InputError("Its options and its trace have to be named values; save the links again.")
        summary = Summary.from_dict(metadata.get("summary", {}))
        linked = columns.pop(IS_LINK, np.ones(len(columns["a"]), bool))
        if linked.sum() != summary.n_links:
            found = plural(int(linked.sum()), "pair")
            raise InputError(f"There are {found} but the summary says {summary.n_links:,}; they must agree.")
        order = np.argsort(~linked, kind="stable")  # the links first
        columns = {name: values[order] for name, values in columns.items()}
        left, right, probability = (columns.pop(name) for name in ("a", "b", "probability"))
        row_a, row_b = columns.pop("row_a", None), columns.pop("row_b", None)
        texts = {name: columns.pop(name) for name in TEXTS if name in columns and columns[name].dtype == object}
        check_trace(trace, summary.n_a, summary.n_b)
        check_rows(columns, summary.n_a, summary.n_b)
        return cls(
            pairs=np.column_stack([left if row_a is None else row_a, right if row_b is None else row_b]),
            probability=probability,
            summary=summary,
            evidence=columns,
            ids_a=None if row_a is None else left,
            ids_b=None if row_b is None else right,
            options=options,
            trace=trace,
            texts=texts or None,
        )

    def _metadata(self, columns: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """What a file or a table of these columns says of the links as a whole, and of the kind of each column."""
        summary = self.summary.to_dict()
        del summary["seconds"]
        return {
            "format": WITH_JUDGED if IS_LINK in columns else FORMAT,
            "version": __version__,
            "method": self.summary.method,
            "options": self.options,
            "summary": summary,
            **({"trace": self.trace} if self.trace else {}),
            "sizes": {"a": self.summary.n_a, "b": self.summary.n_b, "links": len(self)},
            "columns": {name: "str" if each.dtype == object else each.dtype.name for name, each in columns.items()},
        }


def check_columns(columns: str | None) -> None:
    """Refuse a choice of columns that there is none of."""
    if columns is not None and columns not in COLUMNS:
        raise InputError(f"The columns {columns!r} are unknown; they are {' or '.join(COLUMNS)}.")


def _chosen(judged: dict[str, Any], rows: slice | np.ndarray) -> dict[str, Any]:
    """Everything that has a value for each judged pair, of these ones."""
    chosen: dict[str, Any] = {}
    for name, values in judged.items():
        if isinstance(values, dict):
            chosen[name] = {each: column[rows] for each, column in values.items()}
        else:
            chosen[name] = values[rows] if isinstance(values, np.ndarray) else values  # texts are looked up by row
    return chosen


def _same(mine: np.ndarray | None, theirs: np.ndarray | None) -> bool:
    """Whether two columns have the same type and values, missing ones (NaN) being alike; or neither is there."""
    if mine is None or theirs is None:
        return mine is theirs
    return mine.dtype == theirs.dtype and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")


def _evidence(name: str, values: Any, n: int) -> np.ndarray:
    """A column as int64, float32, float64 or bool: the kinds that every kind of file gives back as they were."""
    if name in links_files.RESERVED:
        raise InputError(
            f"A column of evidence cannot be called {name!r}; that name has its own meaning in links files."
        )
    column = np.asarray(values)
    if column.shape != (n,):
        raise InputError(
            f"The evidence {name!r} has the shape {column.shape} for {plural(n, 'link')}; give one value each."
        )
    if column.dtype.kind in "iu":
        return column.astype(np.int64, copy=False)
    if column.dtype.kind == "f":
        return column.astype(np.float32 if column.dtype.itemsize <= 4 else np.float64, copy=False)
    if column.dtype.kind == "b":
        return column
    raise InputError(f"The evidence {name!r} holds {column.dtype}; it must be integers, floats or booleans.")
