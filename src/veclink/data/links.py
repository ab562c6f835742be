"""Links: the result, a table of pairs with their probability and what explains it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.data import links_files
from veclink.data.ids import as_ids
from veclink.data.judged import (
    IS_LINK,
    count_kept,
    judged_anew,
    judged_columns,
    same_column,
    summary_of_all,
    summary_of_first,
)
from veclink.data.links_checks import check_rows, check_trace
from veclink.data.links_shown import ShownLinks, check_columns
from veclink.data.pairs import surest_first
from veclink.data.summary import Summary, plain_json, shares_in_words
from veclink.data.titles import TEXTS, PayloadTexts
from veclink.errors import InputError, named, plural

if TYPE_CHECKING:
    import pyarrow as pa

_MARK = " linked"  # while a table is read: no column of evidence has such a name
@dataclass(frozen=True, eq=False)
class Links(ShownLinks):
    """Pairs of rows that are the same object, the most probable first, equal ones by row.

    Whatever the order given, the constructor sorts all of it.

    Attributes
    ----------
    pairs : (n, 2) int64
        Rows of the two collections.
    probability : (n,) float64
        How probable each link is.
    summary : Summary
        What is known of the links as a whole.
    evidence : dict of str to (n,) array
        Columns that explain the probability (score, votes, views, …).
    ids_a, ids_b : (n,) array or None
        The ids of the linked rows, in the order of `pairs`; None where a collection has none.
    options : dict
        What the method was told; plain JSON values.
    considered : Links or None
        All judged pairs, those below the threshold too, for `at`; Parquet files keep them; no part of equality.
    trace : dict
        How the links came about, for reports; plain JSON values, no part of equality.
    texts : PayloadTexts, dict of str to (n,) array, or None
        Titles of the linked rows and ids of the rivals, where they are known; no part of equality.
    """

    pairs: np.ndarray
    probability: np.ndarray
    summary: Summary
    evidence: dict[str, np.ndarray] = field(default_factory=dict)
    ids_a: np.ndarray | None = None
    ids_b: np.ndarray | None = None
    options: dict[str, Any] = field(default_factory=dict)
    considered: Links | None = None
    trace: dict[str, Any] = field(default_factory=dict)
    texts: PayloadTexts | dict[str, np.ndarray] | None = None

    def __post_init__(self) -> None:
        pairs = np.asarray(self.pairs, dtype=np.int64).reshape(-1, 2)
        probability = np.asarray(self.probability, dtype=np.float64)
        _check_pairs(pairs, probability, self.summary)
        columns = {name: _evidence(name, values, len(pairs)) for name, values in self.evidence.items()}
        ids = {side: _linked_ids(side, getattr(self, side), len(pairs)) for side in ("ids_a", "ids_b")}
        checked = {"pairs": pairs.copy(), "probability": probability.copy(), "evidence": columns, **ids}
        self.__dict__.update(checked)  # it is frozen for everybody else
        if not surest_first(pairs, probability):
            self.__dict__.update(self._rows(np.lexsort((pairs[:, 1], pairs[:, 0], -probability))))
        object.__setattr__(self, "options", plain_json(self.options))
        object.__setattr__(self, "trace", plain_json(self.trace))

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        shares = "".join(f", {name} {text}" for name, text in shares_in_words(self.summary))
        return f"Links({len(self):,} of {self.summary.n_a:,} × {self.summary.n_b:,}: {self.summary.verdict}{shares})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Links):
            return NotImplemented
        return (
            self.summary == other.summary
            and self.options == other.options
            and list(self.evidence) == list(other.evidence)
            and all(same_column(mine, theirs) for mine, theirs in zip(self._arrays(), other._arrays(), strict=True))
        )

    def at(
        self,
        precision: float | None = None,
        *,
        probability: float | None = None,
        links: int | None = None,
    ) -> Links:
        """The surest pairs, as many as one of three wishes says; the threshold moves up or down.

        All judged pairs are chosen from, those below the default threshold too: right after linking, and of links that
        were loaded from a Parquet file. A CSV file holds the links alone, which can only become fewer.

        The estimates in the summary and their ranges are those of the chosen links. In how many of them the payload
        agrees is not counted before `agreement()` is asked.

        Parameters
        ----------
        precision : float, optional
            As many as have an expected precision of at least this. The share of wrong ones that the probabilities
            expect is taken times `summary.caution`: the more of the judged pairs are wrong, the less is known of the
            surest ones among those, and a wanted precision is to be kept.

            The promise is one about many results, and no guarantee of a single one: in N of 100 measured cases the true
            precision was at least `precision`. The page "Choose a threshold" (docs/how-to/threshold.md) has N for 0.9,
            0.95 and 0.99 from the committed measurements, or says that it was not measured.
        probability : float, optional
            All that are at least this probable.
        links : int, optional
            So many.
        """
        source = self if self.considered is None else self.considered
        wanted = {"precision": precision, "probability": probability, "links": links}
        kept = count_kept(source.probability, self.summary.caution, wanted)
        summary = judged_anew(summary_of_first(self.summary, source.probability[:kept]))
        return source.some(slice(kept), summary, considered=source)

    def none(self) -> Links:
        """No pair of them, not even among the judged ones, with the verdict and the reasons: what exit code 3 means."""
        return self.some(slice(0), summary_of_first(self.summary, np.empty(0)), considered=None)

    def some(self, rows: slice | np.ndarray, summary: Summary, **changes: Any) -> Links:
        """The links of these rows, with the summary that is true of them, and other changes of single fields.

        Parameters
        ----------
        rows : slice or (m,) array
            Positions among these links, or a mask of them.
        summary : Summary
            What is known of the chosen links; its `n_links` must be their number.
        **changes
            Fields that are given instead of being chosen by `rows`.
        """
        return replace(self, summary=summary, **{**self._rows(rows), **changes})

    def _rows(self, rows: slice | np.ndarray) -> dict[str, Any]:
        """Everything that has a value for each link, of these ones."""
        several = {"evidence": self.evidence, "texts": self.texts}
        single = {name: getattr(self, name) for name in ("pairs", "probability", "ids_a", "ids_b")}
        return {name: None if values is None else values[rows] for name, values in single.items()} | {
            name: {each: values[rows] for each, values in columns.items()}
            for name, columns in several.items()
            if isinstance(columns, dict)
        }

    def explain(self, i: int) -> dict[str, Any]:
        """The numbers of link `i`: its rank, ids and rows, its probability, and every column of evidence.

        `links[i].explain()` says in words what they mean.
        """
        if not isinstance(i, (int, np.integer)) or not -len(self) <= i < len(self):
            raise InputError(f"There is no link {i!r}; there are {len(self):,}, counted from 0.")
        link = self[i]
        known = {name: getattr(link, name) for name in ("a", "b", "row_a", "row_b", "probability")}
        return {"rank": i % len(self), "of": len(self), **known, **link.evidence}

    def columns(self) -> dict[str, np.ndarray]:
        """What is computed with: a, b (ids, else rows), probability, evidence, and the rows behind ids."""
        table = {
            "a": self.pairs[:, 0] if self.ids_a is None else self.ids_a,
            "b": self.pairs[:, 1] if self.ids_b is None else self.ids_b,
            "probability": self.probability,
            **self.evidence,
        }
        if self.ids_a is not None:
            table["row_a"] = self.pairs[:, 0]
        if self.ids_b is not None:
            table["row_b"] = self.pairs[:, 1]
        return table

    def table(self) -> pa.Table:
        """All columns as an Arrow table, with the metadata of a saved file."""
        return links_files.table(self.all_columns(), self._metadata())

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
        is_parquet = Path(path).suffix.lower() == ".parquet"
        check_columns(columns, also_short=not is_parquet)
        if is_parquet:
            written = judged_columns(self)
        else:
            written = self.all_columns() if columns == "all" else self.short_columns(rows=True)
        links_files.write(path, written, self._metadata())

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
        summary = Summary.from_dict(metadata.get("summary", {}))
        linked = columns.pop(IS_LINK, None)
        left, right, probability = (columns.pop(name) for name in ("a", "b", "probability"))
        row_a, row_b = columns.pop("row_a", None), columns.pop("row_b", None)
        texts = {name: columns.pop(name) for name in TEXTS if name in columns and columns[name].dtype == object}
        trace = _table_of(metadata, "trace")
        check_trace(trace, summary.n_a, summary.n_b)
        check_rows(columns, summary.n_a, summary.n_b)
        pairs = np.column_stack([left if row_a is None else row_a, right if row_b is None else row_b])
        if linked is not None:  # it is sorted with the others, and taken out again
            columns[_MARK] = linked
        every = cls(
            pairs=pairs,
            probability=probability,
            summary=summary if linked is None else summary_of_all(summary, probability),
            evidence=columns,
            ids_a=None if row_a is None else left,
            ids_b=None if row_b is None else right,
            options=_table_of(metadata, "options"),
            trace=trace,
            texts=texts or None,
        )
        if linked is None:
            return every
        linked = every.evidence.pop(_MARK)
        return every.some(linked, summary, considered=every)

    def _metadata(self) -> dict[str, Any]:
        summary = self.summary.to_dict()
        del summary["seconds"]
        return {
            "method": self.summary.method,
            "options": self.options,
            "summary": summary,
            **({"trace": self.trace} if self.trace else {}),
            "sizes": {"a": self.summary.n_a, "b": self.summary.n_b, "links": len(self)},
        }

    def _arrays(self) -> list[np.ndarray | None]:
        return [self.pairs, self.probability, self.ids_a, self.ids_b, *self.evidence.values()]


def _table_of(metadata: dict[str, Any], name: str) -> dict[str, Any]:
    table = metadata.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"Its {name} are a {type(table).__name__}, and have to be named values; save the links again.")
    return table


def _check_pairs(pairs: np.ndarray, probability: np.ndarray, summary: Summary) -> None:
    n = len(pairs)
    if probability.shape != (n,):
        raise InputError(
            f"There are {plural(n, 'pair')} and probabilities of shape {probability.shape}; give one for each."
        )
    if summary.n_links != n:
        raise InputError(f"There are {plural(n, 'pair')} but the summary says {summary.n_links:,}; they must agree.")
    wrong = np.flatnonzero(~((probability >= 0) & (probability <= 1)))
    if len(wrong):
        raise InputError(f"Probabilities are not between 0 and 1 in row {named(wrong)}; correct them.")
    for side, column, size in (("A", 0, summary.n_a), ("B", 1, summary.n_b)):
        outside = np.flatnonzero((pairs[:, column] < 0) | (pairs[:, column] >= size))
        if len(outside):
            raise InputError(
                f"Rows of {side} are outside its {size:,} in link {named(outside)}; links must be of these collections."
            )
    keys = np.sort(pairs[:, 0] * max(summary.n_b, 1) + pairs[:, 1])
    if (keys[1:] == keys[:-1]).any():
        _, first, counts = np.unique(pairs, axis=0, return_index=True, return_counts=True)
        raise InputError(
            f"Pairs are there more than once, first in link {named(np.sort(first[counts > 1]))}; keep one."
        )


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


def _linked_ids(side: str, ids: Any, n: int) -> np.ndarray | None:
    if ids is None:
        return None
    ids = as_ids(ids, side)
    if len(ids) != n:
        raise InputError(f"There are {plural(n, 'link')} and {len(ids):,} {side}; give the id of each linked row.")
    return ids.copy()
