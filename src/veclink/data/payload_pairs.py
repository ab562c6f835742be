"""Pairs of rows whose payload says the same: one column of each collection, compared by normalised text.

Equal titles are no proof: series and editions share them, and the same object may be titled twice. So such pairs are
seeds that may be wrong, and a check that a person can follow; which rows are linked is left to the vectors.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import InputError, named

AUTO = "auto"
MIN_MATCHES = 8  # equal values that a column needs before it is chosen unasked: fewer make no safe start
LAST_PUNCTUATION = 0x20000  # the planes beyond hold ideographs
# Names of columns that say what an object is, the most telling first; names in one group may be compared.
KINDS = (
    ("doi",),
    ("isbn", "isbn13", "isbn10"),
    ("sku", "gtin", "ean", "upc", "asin", "mpn"),
    ("url", "uri", "link", "href", "permalink"),
    ("title", "headline", "name", "label", "subject"),
    ("question", "query"),
    ("text", "content", "document", "body", "abstract", "description"),
)

Columns = tuple[str, str]  # the name of a column of A, and of one of B


@dataclass(frozen=True, eq=False)
class ColumnMatches:
    """Rows of two collections with equal values in a column.

    Attributes
    ----------
    columns : (str, str)
        The column of A and that of B.
    pairs : ndarray of shape (m, 2), int64
        Rows whose value is unique in either collection.
    """

    columns: Columns
    pairs: np.ndarray

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def name(self) -> str:
        """What sentences call the columns: "titles"."""
        return called(*self.columns)

    @property
    def hint(self) -> str:
        """Whether linking can start from them, in a sentence for runs that found nothing without."""
        if not len(self):
            return f"A and B have no equal {self.name}; values that stand twice on a side do not count."
        if len(self) < MIN_MATCHES:
            return f"Rows with equal {self.name}, unique on both sides: {len(self):,}, too few to start from alone."
        start = f"--seeds-by {_option(self.columns)} starts there"
        return f"Rows with equal {self.name}, unique on both sides: {len(self):,}; {start}."


def match_column(column: str | Columns, a: Collection, b: Collection) -> ColumnMatches | None:
    """The rows with equal values in a column; None where none was named and none is good enough.

    Parameters
    ----------
    column : str or (str, str)
        The name of the column in both, "title=name" or two names where they differ, or "auto": the one with the most
        matches, of those whose names say that they can be compared.
    a, b : Collection
        The two sides, with their payload.
    """
    if column == AUTO:
        return _best_match(a, b)
    columns = named_columns(column, a, b)
    matches = _matches(columns, a, b)
    if not len(matches):
        raise InputError(
            f"No value of the column {columns[0]!r} stands once in A and once as {columns[1]!r} in B; name another "
            "column, or link without."
        )
    return matches


def named_columns(column: str | Columns, a: Collection, b: Collection) -> Columns:
    """The columns that a person named, if both are there."""
    if not isinstance(column, str):
        columns = tuple(column)
    elif "=" in column and column not in _column_kinds(a):
        columns = tuple(column.split("=", 1))
    else:
        columns = (column, column)
    if len(columns) != 2 or not all(isinstance(each, str) for each in columns):
        raise InputError(f"The columns to compare are {column!r}; give one name, or one for A and one for B.")
    for side, collection, name in (("A", a, columns[0]), ("B", b, columns[1])):
        kinds = _column_kinds(collection)
        if name not in kinds:
            there = f"it has {named(list(kinds))}" if kinds else "it has no payload (--payload-a, --payload-b)"
            fitting = _fitting(columns, a, b)
            raise InputError(f"{side} has no column {name!r}: {there}; name a column of both, or A's=B's{fitting}.")
        if not _is_comparable(kinds[name]):
            raise InputError(f"The column {name!r} of {side} holds {kinds[name]}; only text and integers are compared.")
    return columns[0], columns[1]


def _fitting(wanted: Columns, a: Collection, b: Collection) -> str:
    """Columns that can be compared instead, as an option names them: ": --seeds-by name=title"; empty for none."""
    there = comparable_columns(a, b)
    asked = [each for each in there if wanted[0] == each[0] or wanted[1] == each[1]]
    if not there:
        return ""
    option = _option((asked or there)[0])
    return f": --seeds-by {option} (for eval: --by {option})"


def _option(columns: Columns) -> str:
    """What an option calls the columns: "title", or "name=title"."""
    column_a, column_b = columns
    return column_a if column_a == column_b else f"{column_a}={column_b}"


def comparable_columns(a: Collection, b: Collection) -> list[Columns]:
    """Columns whose names say that they hold the same, the most telling first: equal names before similar ones."""
    of_a = _plain_names(a)
    of_b = _plain_names(b)
    equal = []
    similar = []
    for kind in KINDS:
        for name in (each for each in kind if each in of_a):
            others = [each for each in kind if each in of_b and each != name]
            if name in of_b:
                equal.append((of_a[name], of_b[name]))
            similar += [(of_a[name], of_b[other]) for other in others]
    return equal + similar


def may_be_compared(column_a: str, column_b: str) -> bool:
    """Whether the names of two columns say that they hold the same."""
    return any(_plain(column_a) in kind and _plain(column_b) in kind for kind in KINDS)


def called(column_a: str, column_b: str) -> str:
    """What sentences call two columns: "titles", or "values of 'title' and 'name'"."""
    if not same_name(column_a, column_b):
        return f"values of {column_a!r} and {column_b!r}"
    if column_a.isascii() and column_a.isalpha() and not column_a.endswith("s"):
        return f"{column_a.lower()}s"
    return f"values of {column_a!r}"


def normalised(value: object) -> str:
    """A value as text without what differs between systems: Unicode form (NFKC), case, punctuation, white space.

    Marks of punctuation count as spaces, so that "12-3" and "1-23" stay two; "" where nothing is left.
    """
    if value is None:
        return ""
    text = unicodedata.normalize("NFKC", str(value)).casefold()
    text = unicodedata.normalize("NFKC", text).translate(_punctuation())
    return " ".join(text.split())


@cache
def _punctuation() -> dict[int, str | None]:
    """What `str.translate` takes: punctuation becomes a space, and characters that only format are left out."""
    table: dict[int, str | None] = {}
    for point in range(LAST_PUNCTUATION):
        category = unicodedata.category(chr(point))
        if category == "Cf":
            table[point] = None
        elif category[0] == "P":
            table[point] = " "
    return table


def most_matches(a: Collection, b: Collection) -> ColumnMatches | None:
    """The rows with equal values in the column that has most of them, however few; None where none can be compared."""
    found = [_matches(columns, a, b) for columns in comparable_columns(a, b)]
    return max(found, key=len, default=None)


def _best_match(a: Collection, b: Collection) -> ColumnMatches | None:
    best = most_matches(a, b)
    if best is None or len(best) < MIN_MATCHES:
        return None
    return best


def _matches(columns: Columns, a: Collection, b: Collection) -> ColumnMatches:
    rows_a = rows_by_value(column_values(a, columns[0]))
    rows_b = rows_by_value(column_values(b, columns[1]))
    pairs = [(row, rows_b[value]) for value, row in rows_a.items() if value in rows_b]
    return ColumnMatches(columns, np.array(pairs, np.int64).reshape(-1, 2))


def rows_by_value(values: list[str]) -> dict[str, int]:
    """The row of each of the values (n,) that stands in one row only."""
    counts = Counter(values)
    return {value: row for row, value in enumerate(values) if value and counts[value] == 1}


def has_column(collection: Collection, column: str) -> bool:
    """Whether a collection carries a column of that name."""
    return collection.payload is not None and column in collection.payload.column_names


def column_values(
    collection: Collection,
    column: str,
    rows: np.ndarray | None = None,
) -> list[str]:
    """The normalised values of a column, of all rows or of some."""
    assert collection.payload is not None, "the column was found in it"
    values = collection.payload.column(column)
    if rows is not None:
        values = values.take(rows)
    return [normalised(value) for value in values.to_pylist()]


def _plain_names(collection: Collection) -> dict[str, str]:
    """Columns that can be compared, by their names in lower case and without separators."""
    kinds = _column_kinds(collection)
    return {_plain(name): name for name, kind in kinds.items() if _is_comparable(kind)}


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def same_name(column_a: str, column_b: str) -> bool:
    return _plain(column_a) == _plain(column_b)


def _column_kinds(collection: Collection) -> dict[str, str]:
    """The type of each column of the payload, by its name."""
    if collection.payload is None:
        return {}
    return {field.name: str(field.type) for field in collection.payload.schema}


def _is_comparable(kind: str) -> bool:
    text = kind in ("string", "large_string", "string_view") or kind.startswith("dictionary<values=string")
    return text or kind.startswith(("int", "uint"))
