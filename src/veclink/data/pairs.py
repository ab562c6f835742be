"""Pairs of rows: read from files, looked up in two collections, as single numbers, and chosen one-to-one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.data.collection import Collection
from veclink.errors import InputError, named, plural
from veclink.files.tables import Columns, read_columns, readable, table_ending


def pair_keys(pairs: np.ndarray, n_b: int) -> np.ndarray:
    """One number for each pair (p, 2) of rows: `row_a · n_b + row_b`."""
    return pairs[:, 0].astype(np.int64) * n_b + pairs[:, 1]


def lookup(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each of the wanted keys (m,) stands among ascending keys (n,); −1 where it does not."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[position] == wanted, position, -1)


def positions_of(wanted: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Where each of the wanted keys (m,) stands among distinct keys (n,), in any order; −1 where it does not."""
    order = np.argsort(keys)
    spot = lookup(keys[order], wanted)
    return np.where(spot >= 0, order[spot], -1) if len(keys) else spot


def repeated(values: np.ndarray) -> np.ndarray:
    """Where the rows (or numbers) that stand in an array more than once stand first, ascending."""
    _, first, counts = np.unique(values, axis=0, return_index=True, return_counts=True)
    return np.sort(first[counts > 1])


def sharing_no_row(pairs: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of the pairs (p, 2) share no row, on either side, with the others (q, 2); (p,) bool."""
    in_a = np.isin(pairs[:, 0], others[:, 0])
    in_b = np.isin(pairs[:, 1], others[:, 1])
    return ~(in_a | in_b)


def one_to_one(pairs: np.ndarray, *weights: np.ndarray) -> np.ndarray:
    """Greedy one-to-one choice: positions of the chosen pairs, best first.

    Pairs are taken by decreasing weight (later weights break the ties of earlier ones, the lower rows those of all) if
    both their rows are still free.
    """
    order = np.arange(len(pairs))
    if len(weights) > 1 or not surest_first(pairs, weights[0]):
        order = np.lexsort((pairs[:, 1], pairs[:, 0], *(-w for w in reversed(weights))))
    # A pair that shares no row is chosen in any case.
    alone = [np.bincount(side)[side] == 1 for side in pairs.T]
    chosen = alone[0] & alone[1]
    contested = order[~chosen[order]]
    taken_a: set[int] = set()
    taken_b: set[int] = set()
    for position, (row_a, row_b) in zip(contested.tolist(), pairs[contested].tolist(), strict=True):
        if row_a not in taken_a and row_b not in taken_b:
            taken_a.add(row_a)
            taken_b.add(row_b)
            chosen[position] = True
    return order[chosen[order]]


def surest_first(pairs: np.ndarray, probability: np.ndarray) -> bool:
    """Whether the pairs (n, 2) fall by probability and, where that is the same, ascend by row of A, then of B."""
    falls = probability[:-1] > probability[1:]
    ties = probability[:-1] == probability[1:]
    lower_a = pairs[:-1, 0] < pairs[1:, 0]
    same_a = pairs[:-1, 0] == pairs[1:, 0]
    lower_b = pairs[:-1, 1] <= pairs[1:, 1]
    return bool((falls | (ties & (lower_a | (same_a & lower_b)))).all())


def read_pairs(path: str | Path, *, empty_ids: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The columns `a` and `b` of a CSV or Parquet file; what comes from CSV is text until a collection says more.

    Of a file with all judged pairs (column `linked`), the links alone. An empty text is refused as a value that was
    forgotten, unless `empty_ids` says that an object may be called so.
    """
    path = Path(path)
    table_ending(path, "pairs come in such a file with the columns a,b")
    with readable(f"The pairs in {path} cannot be read", "check the file"):
        table = _read_links(path, "a", "b")
    if not {"a", "b"} <= table.values.keys():
        names = named(table.names) or "none"
        raise InputError(f"{path} has the columns {names}; pairs are in two columns called a and b.")
    left, right = table.values["a"], table.values["b"]
    rows = zip(table.places, left, right, strict=True)
    lacking = [place for place, *pair in rows if None in pair or ("" in pair and not empty_ids)]
    if lacking:
        raise InputError(
            f"{path} lacks a value for a or b in {table.unit} {named(lacking)}; fill or remove those {table.unit}s."
        )
    return _objects(left), _objects(right)


def _read_links(path: Path, *wanted: str) -> Columns:
    """Columns of a file of pairs; of a Parquet file that says which of them are links, the links alone."""
    table = read_columns(path, (*wanted, "linked") if path.suffix.lower() == ".parquet" else wanted)
    linked = table.values.pop("linked", None)
    if linked is None:
        return table
    kept = [value is True for value in linked]
    values = {name: list(compress(column, kept)) for name, column in table.values.items()}
    return replace(table, values=values, places=list(compress(table.places, kept)))


def read_probabilities(path: str | Path, count: int) -> np.ndarray:
    """The column `probability` of a file of pairs; ones where it has none."""
    values = _read_links(Path(path), "probability").values.get("probability")
    if not values:
        return np.ones(count)
    try:
        probabilities = np.array([float(value) for value in values])
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} has a probability that is no number ({error}); mend it.") from error
    wrong = np.flatnonzero(~((probabilities >= 0) & (probabilities <= 1)))
    if len(wrong):
        raise InputError(f"{path} has a probability of {values[wrong[0]]} in row {wrong[0]}; they are from 0 to 1.")
    return probabilities


def resolve_pairs(pairs: Any, a: Collection, b: Collection, *, what: str = "seeds", unique: bool = True) -> np.ndarray:
    """The pairs as (m, 2) int64 rows of the two collections, in the order given.

    Refused are: no pairs, values that are unknown or out of range, and, if `unique`, a pair given twice and a row with
    two partners.

    Parameters
    ----------
    pairs : path, (m, 2) values, frame with the columns a and b, or two (m,) columns
        A value is an id where its collection has ids, else a row number.
    a, b : Collection
        The two sides.
    what : str
        What the pairs are called in the sentence of an error.
    """
    rows, written = _rows_as_written(pairs, a, b, what)
    twice = repeated(rows)
    if unique and len(twice):
        raise InputError(
            f"The {what} give pairs more than once: {named([written[place] for place in twice])}; keep each pair once."
        )
    for side in (0, 1) if unique else ():
        torn = [written[place][side] for place in repeated(rows[:, side])]
        if torn:
            raise InputError(
                f"The {what} contradict themselves, with more than one partner in {'BA'[side]} for {named(torn)} of "
                f"{'AB'[side]}; keep one pair for each."
            )
    return rows


def resolve_seeds(pairs: Any, a: Collection, b: Collection, *, strict: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Known pairs that can be used (m, 2), and those that contradict one another (c, 2): nobody knows which is right.

    Both are pairs of rows in rising order, so that what is drawn from them does not depend on the order of a file.

    A pair that is given twice counts once. Whatever else `resolve_pairs` refuses is refused, and so are pairs that
    all contradict one another; with `strict`, repeated and contradicting pairs too.
    """
    if strict:
        return np.unique(resolve_pairs(pairs, a, b), axis=0), np.empty((0, 2), np.int64)
    rows, written = _rows_as_written(pairs, a, b, "seeds")
    once = np.unique(rows, axis=0)
    is_torn = np.any([np.isin(side, side[repeated(side)]) for side in once.T], axis=0)
    if is_torn.all():
        raise InputError(
            f"All of the {len(once):,} seeds contradict one another: {named(written)}; keep one pair for each row."
        )
    return once[~is_torn], once[is_torn]


def _rows_as_written(pairs: Any, a: Collection, b: Collection, what: str) -> tuple[np.ndarray, list[tuple[Any, Any]]]:
    """Rows of the two collections (m, 2), and the same pairs in the words of whoever gave them."""
    left, right = columns_of_pairs(pairs, what)
    if not len(left):
        raise InputError(f"The {what} hold 0 pairs; give some, or none at all.")
    rows = np.column_stack([_rows_of(left, a, "A", what), _rows_of(right, b, "B", what)])
    return rows, list(zip(left.tolist(), right.tolist(), strict=True))


def columns_of_pairs(pairs: Any, what: str, *, empty_ids: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The values (m,) of both sides of pairs: a file, a frame with the columns a and b, (m, 2) values, two columns."""
    if isinstance(pairs, (str, Path)):
        return read_pairs(pairs, empty_ids=empty_ids)
    if isinstance(pairs, tuple) and len(pairs) == 2 and all(isinstance(x, np.ndarray) and x.ndim == 1 for x in pairs):
        if len(pairs[0]) != len(pairs[1]):
            raise InputError(f"The {what} have {len(pairs[0]):,} values for A and {len(pairs[1]):,} for B; give pairs.")
        return pairs
    if hasattr(pairs, "__arrow_c_stream__"):
        table = pa.table(pairs)
        if not {"a", "b"} <= set(table.column_names):
            raise InputError(f"The {what} have the columns {named(table.column_names)}; rename two to a and b.")
        return _objects(table.column("a").to_pylist()), _objects(table.column("b").to_pylist())
    if isinstance(pairs, np.ndarray) and (not pairs.size or (pairs.ndim == 2 and pairs.shape[1] == 2)):
        left, right = pairs.reshape(-1, 2).T
        return left, right
    try:
        listed = [tuple(pair) for pair in pairs]
    except TypeError as error:
        raise InputError(f"The {what} are not pairs; give (m, 2) row numbers or ids, or a file.") from error
    wrong = next((len(pair) for pair in listed if len(pair) != 2), 0)
    if wrong:
        raise InputError(
            f"The {what} hold something of {plural(wrong, 'value')} where a pair has 2; give (m, 2) values."
        )
    return _objects([x for x, _ in listed]), _objects([y for _, y in listed])


def _rows_of(values: np.ndarray, collection: Collection, side: str, what: str) -> np.ndarray:
    """The row of each value in a collection."""
    n, ids = len(collection), collection.ids
    if ids is None:
        way = (
            f"give row numbers, or {side}'s ids: in NAME.ids.txt beside NAME.npy, or in the column `id` of its payload "
            f"(--payload-{side.lower()} FILE), or of the table with its vectors (another: TABLE.parquet?id=COLUMN)"
        )
        strange = f"The {what} name things in {side} that are not row numbers, as it has no ids"
        rows = _whole_numbers(values, strange, way)
        unknown = (rows < 0) | (rows >= n)
    else:
        keys = {key: row for row, key in enumerate(ids.tolist())}
        integers = ids.dtype == np.int64
        strange = f"The {what} name things in {side} that are not integer ids"
        wanted = (
            _whole_numbers(values, strange, f"check the {what}").tolist() if integers else map(str, values.tolist())
        )
        rows = np.array([keys.get(value, -1) for value in wanted], dtype=np.int64)
        unknown = rows < 0
    if unknown.any():
        lost = values[unknown].tolist()
        if ids is None:
            raise InputError(
                f"The {what} name rows that {side} does not have, as it has {n:,}: {named(lost)}; rows count from 0."
            )
        source = collection.ids_from
        way = "check the ids" if source is None else f"its ids are those of {source}, so name these, and no row numbers"
        raise InputError(f"The {what} name ids that {side} does not have among its {n:,}: {named(lost)}; {way}.")
    return rows


def _whole_numbers(values: np.ndarray, problem: str, remedy: str) -> np.ndarray:
    """The values as integers; `problem` says what is wrong where some are none, `remedy` what to do."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    numbers, strange = np.full(len(values), -1, np.int64), []
    for place, value in enumerate(values.tolist()):
        try:
            whole = int(value)
            if isinstance(value, bool) or (isinstance(value, float) and whole != value):
                raise ValueError
            numbers[place] = whole
        except (ValueError, TypeError, OverflowError):
            strange.append(value)
    if strange:
        raise InputError(f"{problem}: {named(strange)}; {remedy}.")
    return numbers


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = [value.item() if isinstance(value, np.generic) else value for value in values]
    return array


@dataclass(frozen=True)
class Scores:
    """Precision, recall and their harmonic mean, each from 0 to 1."""

    precision: float
    recall: float
    f1: float

    def __str__(self) -> str:
        return f"precision {self.precision:.1%}, recall {self.recall:.1%}, F1 {self.f1:.1%}".replace("%", " %")


def score(pairs: Any, truth: Any) -> Scores:
    """Precision, recall and F1 of `pairs` against `truth`, both (n, 2) rows or ids; 0 where nothing is to divide."""
    found, true = ({tuple(pair) for pair in np.asarray(each).reshape(-1, 2).tolist()} for each in (pairs, truth))
    hits = len(found & true)
    return Scores(
        precision=hits / len(found) if found else 0.0,
        recall=hits / len(true) if true else 0.0,
        f1=2 * hits / (len(found) + len(true)) if found or true else 0.0,
    )


def evaluate(links: Any, truth: Any) -> Scores:
    """Precision, recall and F1 of links against known pairs.

    Parameters
    ----------
    links, truth : Links, (m, 2) pairs, frame with the columns a and b, or path
        Both in ids, or both in row numbers.
    """
    found, true = named_pairs(links, "links"), named_pairs(truth, "truth")
    if found and not {a for a, _ in found} & {a for a, _ in true}:
        raise InputError("The links and the truth have no value of a in common; give both in ids, or both in rows.")
    return score(list(found), list(true))


def named_pairs(pairs: Any, what: str) -> set[tuple[str, str]]:
    """Pairs as text: what a CSV file holds as text, a Parquet file may hold as integers."""
    return {(str(a), str(b)) for a, b in zip(*columns_of_pairs(pairs, what, empty_ids=True), strict=True)}
