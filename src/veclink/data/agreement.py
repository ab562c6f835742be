"""How far links agree with what the payload says: a check that a person can follow."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
        best = most_matches(a, b)
        return None if best is None or len(best) < MIN_MATCHES else best
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
            others = comparable_columns(a, b)
            asked = [each for each in others if columns[0] == each[0] or columns[1] == each[1]]
            fitting = "".join(
                f": --seeds-by {_option(each)} (for eval: --by {_option(each)})" for each in (asked or others)[:1]
            )
            raise InputError(f"{side} has no column {name!r}: {there}; name a column of both, or A's=B's{fitting}.")
        if not _is_comparable(kinds[name]):
            raise InputError(f"The column {name!r} of {side} holds {kinds[name]}; only text and integers are compared.")
    return columns[0], columns[1]


def _option(columns: Columns) -> str:
    """What an option calls the columns: "title", or "name=title"."""
    column_a, column_b = columns
    return column_a if column_a == column_b else f"{column_a}={column_b}"


def comparable_columns(a: Collection, b: Collection) -> list[Columns]:
    """Columns whose names say that they hold the same, the most telling first: equal names before similar ones."""
    of_a, of_b = (
        {_plain(name): name for name, kind in _column_kinds(each).items() if _is_comparable(kind)} for each in (a, b)
    )
    found = [(of_a[x], of_b[y]) for kind in KINDS for x in kind if x in of_a for y in kind if y in of_b]
    return sorted(found, key=lambda each: not same_name(*each))


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


def score_by_column(column: str | Columns, pairs: np.ndarray, a: Collection, b: Collection) -> ColumnScores:
    """Pairs of rows (m, 2) held against a column of both collections, named as in `match_column`."""
    matches = match_column(column, a, b)
    if matches is None:
        raise InputError("A and B have no columns to compare with enough equal values; name the column.")
    found = np.isin(pair_keys(matches.pairs, len(b)), pair_keys(pairs, len(b)))
    return ColumnScores(matches, _told(matches.columns, pairs, a, b, None).found, int(found.sum()))


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
    told = [_told(each, pairs, a, b, given) for each in chosen]
    # Columns whose names only resemble one another may hold different things: those have to agree somewhere.
    telling = [
        each
        for each in told
        if each.found.compared and (each.found.agree or columns is not None or same_name(*each.columns))
    ]
    best = max(telling, key=lambda each: each.found.agree, default=None)
    if best is None or best.found.is_next_to_none:
        best = next((each for each in told if each.found.is_next_to_none and each.shuffled().note), best)
    if best is None:
        return None
    found = best.noted(precision)
    return replace(found, possible=best.possible(given)) if found.seeds and found.is_low else found


def agreement_of_titles(
    titles: Mapping[str, np.ndarray], given: np.ndarray | None, precision: float | None = None
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
    texts = titles["title_a"].tolist(), titles["title_b"].tolist()
    # as far as they are known, so that they can be compared across links, whatever their partners are
    whole = [[normalised(text.removesuffix(CUT)) for text in side] for side in texts]
    left, right = [], []
    for (x, y), both in zip(zip(*whole, strict=True), zip(*texts, strict=True), strict=True):
        # where one was shortened, both as far as it goes
        shortened = [len(value) for value, text in zip((x, y), both, strict=True) if is_shortened(text)]
        reach = min(shortened, default=None)
        left.append(x[:reach])
        right.append(y[:reach])
    themselves = np.column_stack([np.arange(len(left))] * 2)
    found = _Told(("title", "title"), (left, right), given, themselves, lambda: whole).noted(precision)
    return found if found.compared and (found.note or not found.is_low) else None


def _told(columns: Columns, pairs: np.ndarray, a: Collection, b: Collection, given: np.ndarray | None) -> _Told:
    sides = list(zip((a, b), columns, strict=True))
    of_links = [column_values(each, name, rows) for (each, name), rows in zip(sides, pairs.T, strict=True)]
    return _Told(columns, of_links, given, pairs, lambda: [column_values(*each) for each in sides])


class _Told:
    """What two columns say of links.

    of_links: the normalised values (m,) of either side of the links. pairs: their rows (m, 2). of_rows: the values
    of all rows of either side.
    """

    def __init__(
        self,
        columns: Columns,
        of_links: Sequence[list[str]],
        given: np.ndarray | None,
        pairs: np.ndarray,
        of_rows: Callable[[], Sequence[list[str]]],
    ) -> None:
        self.columns, self._of_links, self._pairs, self._of_rows = columns, of_links, pairs, of_rows
        self.found = self._counted(given)

    def _counted(self, given: np.ndarray | None) -> Agreement:
        """How many of the values are equal, of those that are there on both sides, without what was given."""
        counted = np.ones(len(self._pairs), bool) if given is None else ~given
        links = compress(zip(*self._of_links, strict=True), counted)
        both = [(x, y) for x, y in links if x and y]
        return Agreement(*self.columns, sum(x == y for x, y in both), len(both), int((~counted).sum()))

    def possible(self, given: np.ndarray | None = None) -> int:
        """How many rows of A, without those of what was given, have a value that such a row of B has."""
        seeds = self._pairs[:0] if given is None else self._pairs[given]
        left, right = (
            [value for row, value in enumerate(values) if row not in gone]
            for values, gone in zip(self._of_rows(), map(set, seeds.T.tolist()), strict=True)
        )
        there = set(right) - {""}
        return sum(value in there for value in left)

    def noted(self, precision: float | None) -> Agreement:
        """What was found, with a note where the payload looks shuffled, or a part of it displaced."""
        found = self.shuffled() if self.found.is_next_to_none else self.found
        if found.note or precision is None or not _is_doubted(found, precision):
            return found
        return self._displaced(precision)

    def shuffled(self) -> Agreement:
        """With a note where the payload looks shuffled.

        Where the seeds agree, as where they were taken by the column, the order is right.
        """
        of_all, possible = self._counted(None), self.possible()
        could = min(possible, of_all.compared)
        if possible < max(MIN_MATCHES, COULD_AGREE * of_all.compared) or of_all.agree > NEXT_TO_NONE * could:
            return self.found
        note = (
            f"If they should ({plural(possible, 'row')} of A have one that B has too), the payload is not in the order "
            "of the vectors, and its ids and titles stand at the wrong rows; or the links are wrong."
        )
        return replace(self.found, note=note)

    def _displaced(self, precision: float) -> Agreement:
        """With a note where a part of the payload looks displaced.

        Rows whose value stands once in A and once in B have their partner by it; where that is clearly less often the
        one that they are linked with than links are right, something is wrong. Titles that were only put in other words
        do not count.
        """
        rows_a, rows_b = map(rows_by_value, self._of_rows())
        linked, asked = set(map(tuple, self._pairs.tolist())), set(self._pairs[:, 0].tolist())
        known = [(row, rows_b[value]) for value, row in rows_a.items() if value in rows_b and row in asked]
        elsewhere = len(set(known) - linked)
        told = replace(self.found, agree=len(known) - elsewhere, compared=len(known))
        enough = elsewhere >= MIN_MATCHES and len(known) >= COMPARABLE * self.found.compared
        if not enough or not _is_doubted(told, precision):
            return self.found
        note = (
            f"Of {plural(len(known), 'link')} of rows whose value stands once in A and once in B, {elsewhere:,} lead "
            f"to another row, and about {100 * precision:.0f} of 100 should be right: a part of the payload is not in "
            "the order of the vectors, and its ids and titles stand at the wrong rows; or these links are wrong."
        )
        return replace(self.found, note=note)


def _is_doubted(found: Agreement, precision: float) -> bool:
    """Whether clearly fewer of the values are equal than links are right, by this estimate."""
    return found.agree < (precision - CLEARLY) * found.compared
