"""How far links agree with what the payload says: a check that a person can follow."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import compress
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.pairs import Scores, pair_keys
from veclink.data.titles import CUT, is_shortened
from veclink.errors import InputError, named, plural

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


NEXT_TO_NONE = 0.05
"""The share of links with equal values, of those that could, up to which the payload looks shuffled: a choice."""
COULD_AGREE = 0.1
"""Rows of A with a value of B, for each link: with fewer, as for titles in two languages, nothing follows. A choice."""
COMPARABLE = 0.5
"""Links of rows whose value stands once on either side, for each link: with fewer, as where titles are often worded
otherwise, those that lead elsewhere say nothing of the payload. A choice."""
CLEARLY = 0.05
"""How far below the estimated precision the share of links that equal values bear out has to be: a choice."""


@dataclass(frozen=True)
class Agreement:
    """How many links have equal values in a column.

    Attributes
    ----------
    column_a, column_b : str
        The columns that were compared.
    agree : int
        Links whose normalised values are equal.
    compared : int
        Links with a value on both sides; seeds are not among them.
    seeds : int
        Links that were left out since they were given as seeds: that those agree says nothing.
    possible : int or None
        Where few agree and there were seeds: rows of A, besides the seeds, whose value a row of B has too. Where seeds
        were taken by the column, hardly any other links can agree.
    note : str
        What to check, where next to none agree, seeds included, though many rows have equal values, or clearly fewer
        than the estimated precision says; else "".
    """

    column_a: str
    column_b: str
    agree: int
    compared: int
    seeds: int = 0
    possible: int | None = None
    note: str = ""

    @property
    def columns(self) -> Columns:
        """Both names."""
        return self.column_a, self.column_b

    @property
    def is_low(self) -> bool:
        """Whether fewer links agree than not."""
        return 2 * self.agree < self.compared

    @property
    def is_next_to_none(self) -> bool:
        """Whether hardly any link agrees, of enough to say so."""
        return self.compared >= MIN_MATCHES and self.agree <= NEXT_TO_NONE * self.compared

    @property
    def sentence(self) -> str:
        """Such as "Titles agree in 852 of 901 links, seeds not counted."."""
        what = called(*self.columns)
        begun = f"{what[0].upper()}{what[1:]}"
        if self.possible == 0 and not self.note:
            return f"Besides the seeds, no two rows have equal {what}, so these cannot confirm links."
        left_out = ", seeds not counted" if self.seeds else ""
        most = "" if self.possible is None or self.note else f"; they can in {self.possible:,} at most"
        counts = f"{begun} agree in {self.agree:,} of {plural(self.compared, 'link')}{left_out}{most}."
        return f"{counts} {self.note}".rstrip()


@dataclass(frozen=True, eq=False)
class ColumnScores:
    """Links held against a column.

    Attributes
    ----------
    matches : ColumnMatches
        The pairs that the column takes for the same object.
    agreement : Agreement
        How many of the links have equal values.
    linked : int
        How many of the matches are among the links.
    """

    matches: ColumnMatches
    agreement: Agreement
    linked: int

    @property
    def scores(self) -> Scores:
        """Precision over the links with a value on both sides, and recall over the matches."""
        precision = self.agreement.agree / max(self.agreement.compared, 1)
        recall = self.linked / len(self.matches)
        return Scores(precision, recall, 2 * precision * recall / max(precision + recall, 1e-12))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        column_a, column_b = self.matches.columns
        return {
            **asdict(self.scores),
            "column_a": column_a,
            "column_b": column_b,
            "agree": self.agreement.agree,
            "compared": self.agreement.compared,
            "matches": len(self.matches),
            "linked": self.linked,
        }


def score_by_column(
    column: str | Columns,
    pairs: np.ndarray,
    a: Collection,
    b: Collection,
) -> ColumnScores:
    """Pairs of rows (m, 2) held against a column of both collections, named as in `match_column`."""
    matches = match_column(column, a, b)
    if matches is None:
        raise InputError("A and B have no columns to compare with enough equal values; name the column.")
    agreement = _agreement(pairs, a, b, matches.columns, seeds=0)
    found = np.isin(pair_keys(matches.pairs, len(b)), pair_keys(pairs, len(b)))
    return ColumnScores(matches, agreement, int(found.sum()))


def agreement_of(
    pairs: np.ndarray,
    a: Collection,
    b: Collection,
    *,
    given: np.ndarray | None = None,
    columns: Columns | None = None,
    precision: float | None = None,
) -> Agreement | None:
    """In how many pairs of rows a column says the same; None where the collections have none to compare.

    Parameters
    ----------
    pairs : ndarray of shape (m, 2)
        Rows of the two collections.
    a, b : Collection
        The two sides.
    given : ndarray of shape (m,), bool, optional
        Pairs that are not counted, since they were seeds.
    columns : (str, str), optional
        What to compare; else, of the columns with comparable names, those that agree most often.
    precision : float, optional
        What share of the pairs is right, as it is estimated: where equal values bear out clearly less, a note says so.
    """
    chosen = comparable_columns(a, b) if columns is None else [columns]
    counted = pairs if given is None else pairs[~given]
    seeds = len(pairs) - len(counted)
    found = [_agreement(counted, a, b, each, seeds) for each in chosen]
    best = _most_telling(found, pairs, a, b, named=columns is not None)
    if best is not None and precision is not None and _is_doubted(best, precision):
        values = column_values(a, best.column_a), column_values(b, best.column_b)
        best = _noted_elsewhere(best, pairs, values, precision)
    if best is None or not best.seeds or not best.is_low:
        return best
    return replace(best, possible=_possible(pairs[given], a, b, best.columns))


def agreement_of_titles(
    titles: Mapping[str, np.ndarray],
    given: np.ndarray | None,
    precision: float | None = None,
) -> Agreement | None:
    """The same by the titles that links carry, where the collections are not at hand.

    None where fewer agree than not: the titles may be of columns that hold different things, or all have been seeds.
    But where next to none agree and the same titles stand in other links, that is said.
    A text that was shortened agrees with one that goes on in any way.

    Parameters
    ----------
    titles : mapping of str to (m,) array
        The texts of the links; `title_a` and `title_b` are looked at.
    given, precision
        As in `agreement_of`.
    """
    if "title_a" not in titles or "title_b" not in titles:
        return None
    counted = np.ones(len(titles["title_a"]), bool) if given is None else ~given
    both = [_cut_alike(*texts) for texts in zip(titles["title_a"], titles["title_b"], strict=True)]
    left, right = ([texts[side] for texts in both] for side in (0, 1))
    whole = _uncut(titles["title_a"]), _uncut(titles["title_b"])
    columns = "title", "title"
    some_left, some_right = (list(compress(side, counted)) for side in (left, right))
    found = _counted(columns, some_left, some_right, len(counted) - int(counted.sum()))
    if found.is_next_to_none:
        found = _noted(found, _counted(columns, left, right, 0), _shared(*whole))
    elif precision is not None and _is_doubted(found, precision):
        themselves = np.column_stack([np.arange(len(left))] * 2)
        found = _noted_elsewhere(found, themselves, whole, precision)
    return found if found.compared and (found.note or not found.is_low) else None


def _most_telling(
    found: list[Agreement],
    pairs: np.ndarray,
    a: Collection,
    b: Collection,
    *,
    named: bool,
) -> Agreement | None:
    """Of what columns say of the pairs (m, 2), the one with the most equal values; where that is next to none, a note.

    named: whether a person named the columns.
    """
    # Columns whose names only resemble one another may hold different things: those have to agree somewhere.
    told = [each for each in found if each.compared and (each.agree or named or same_name(*each.columns))]
    best = max(told, key=lambda each: each.agree, default=None)
    if best is not None and not best.is_next_to_none:
        return best
    none = np.empty((0, 2), np.int64)
    for each in filter(lambda each: each.is_next_to_none, found):
        of_all = _agreement(pairs, a, b, each.columns, 0)
        noted = _noted(each, of_all, _possible(none, a, b, each.columns))
        if noted.note:
            return noted
    return best


def _noted(found: Agreement, of_all: Agreement, possible: int) -> Agreement:
    """With a note where the payload looks shuffled.

    of_all: the same with the seeds: where those agree, as where they were taken by the column, the order is right.
    possible: rows of A whose value a row of B has too.
    """
    could = min(possible, of_all.compared)
    if possible < max(MIN_MATCHES, COULD_AGREE * of_all.compared) or of_all.agree > NEXT_TO_NONE * could:
        return found
    note = (
        f"If they should ({plural(possible, 'row')} of A have one that B has too), the payload is not in the order of "
        "the vectors, and its ids and titles stand at the wrong rows; or the links are wrong."
    )
    return replace(found, note=note)


def _is_doubted(found: Agreement, precision: float) -> bool:
    """Whether clearly fewer of the values are equal than links are right, by this estimate."""
    return not found.note and found.agree < (precision - CLEARLY) * found.compared


def _noted_elsewhere(
    found: Agreement,
    pairs: np.ndarray,
    values: tuple[list[str], list[str]],
    precision: float,
) -> Agreement:
    """With a note where a part of the payload looks displaced.

    Rows whose value stands once in A and once in B have their partner by it; where that is clearly less often the one
    that they are linked with (pairs, (m, 2)) than links are right, something is wrong. Titles that were only put in
    other words do not count.
    """
    rows_a, rows_b = (rows_by_value(each) for each in values)
    linked, asked = set(map(tuple, pairs.tolist())), set(pairs[:, 0].tolist())
    known = [(row, rows_b[value]) for value, row in rows_a.items() if value in rows_b and row in asked]
    elsewhere = len(set(known) - linked)
    told = replace(found, agree=len(known) - elsewhere, compared=len(known))
    if elsewhere < MIN_MATCHES or len(known) < COMPARABLE * found.compared or not _is_doubted(told, precision):
        return found
    note = (
        f"Of {plural(len(known), 'link')} of rows whose value stands once in A and once in B, {elsewhere:,} lead to "
        f"another row, and about {100 * precision:.0f} of 100 should be right: a part of the payload is not in the "
        "order of the vectors, and its ids and titles stand at the wrong rows; or these links are wrong."
    )
    return replace(found, note=note)


def _uncut(titles: np.ndarray) -> list[str]:
    """Titles, normalised, as far as they are known: comparable across links, whatever their partners are."""
    return [normalised(text.removesuffix(CUT)) for text in titles]


def _cut_alike(left: str, right: str) -> tuple[str, str]:
    """Two titles, normalised; where one was shortened, both as far as it goes."""
    texts = left, right
    values = [normalised(text.removesuffix(CUT)) for text in texts]
    lengths = [len(value) for value, text in zip(values, texts, strict=True) if is_shortened(text)]
    reach = min(lengths, default=None)
    return values[0][:reach], values[1][:reach]


def _agreement(
    pairs: np.ndarray,
    a: Collection,
    b: Collection,
    columns: Columns,
    seeds: int,
) -> Agreement:
    left = column_values(a, columns[0], pairs[:, 0])
    right = column_values(b, columns[1], pairs[:, 1])
    return _counted(columns, left, right, seeds)


def _counted(columns: Columns, left: list[str], right: list[str], seeds: int) -> Agreement:
    """How many of the values of links, normalised, are equal, of those that are there on both sides."""
    both = [(x, y) for x, y in zip(left, right, strict=True) if x and y]
    agree = sum(x == y for x, y in both)
    return Agreement(*columns, agree, len(both), seeds)


def _possible(
    seeds: np.ndarray,
    a: Collection,
    b: Collection,
    columns: Columns,
) -> int:
    """How many rows of A, without those of the seeds (m, 2), have a value that such a row of B has."""
    rest_a = np.setdiff1d(np.arange(len(a)), seeds[:, 0])
    rest_b = np.setdiff1d(np.arange(len(b)), seeds[:, 1])
    return _shared(column_values(a, columns[0], rest_a), column_values(b, columns[1], rest_b))


def _shared(left: list[str], right: list[str]) -> int:
    """How many values are among the others."""
    there = set(right) - {""}
    return sum(value in there for value in left)
