"""How far links agree with what the payload says: a check that a person can follow."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.pairs import Scores, pair_keys
from veclink.data.words import CUT, Reason, is_shortened, say
from veclink.errors import InputError, named

AUTO = "auto"
MIN_MATCHES = 8  # equal values that a column needs before it is chosen unasked: fewer make no safe start
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
# When a column speaks against the order of the payload. All four are choices.
NEXT_TO_NONE = 0.05  # the share of equal values up to which a payload looks shuffled
COULD_AGREE = 0.1  # values that stand once on either side, for each link: with fewer, nothing follows
COMPARABLE = 0.5  # and with fewer than this, as where many titles are worded differently, only a shuffled payload shows
CLEARLY = 0.05  # how far below the estimated precision the share of equal values has to be
WORDED = 1000  # links of which the words are compared, at most

Columns = tuple[str, str]  # the name of a column of A, and of one of B


@dataclass(frozen=True, eq=False)
class ColumnMatches:
    """Rows of two collections with equal values in a column."""

    columns: Columns
    pairs: np.ndarray  # (m, 2) rows whose value is unique in either collection

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def name(self) -> str:
        """What sentences call the columns: "titles"."""
        return called(*self.columns)

    @property
    def is_enough(self) -> bool:
        """Whether linking can start from them."""
        return len(self) >= MIN_MATCHES

    @property
    def hint(self) -> Reason:
        """Whether linking can start from them, for runs that found nothing without."""
        columns = _option(self.columns)
        return Reason("equal_values", values=self.name, rows=len(self), columns=columns, enough=self.is_enough)


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
        return best if best is not None and best.is_enough else None
    columns = _named_columns(column, a, b)
    matches = _matches(columns, a, b)
    if not len(matches):
        raise InputError(
            f"No {' or '.join(dict.fromkeys(columns))} is equal on both sides (values that repeat on a side do not "
            "count), so there is nothing to start from; name another column, or give --seeds."
        )
    return matches


def _named_columns(column: str | Columns, a: Collection, b: Collection) -> Columns:
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
            likely = sorted(comparable_columns(a, b), key=lambda each: columns[0] != each[0] and columns[1] != each[1])
            fitting = "".join(f": --seeds-by {each} (for eval: --by {each})" for each in map(_option, likely[:1]))
            raise InputError(f"{side} has no column {name!r}: {there}; name a column of both, or A's=B's{fitting}.")
        if not _is_comparable(kinds[name]):
            raise InputError(f"The column {name!r} of {side} holds {kinds[name]}; only text and integers are compared.")
    return columns[0], columns[1]


def _option(columns: Columns) -> str:
    """What an option calls the columns: "title", or "name=title"."""
    return "=".join(dict.fromkeys(columns))


def comparable_columns(a: Collection, b: Collection) -> list[Columns]:
    """Columns whose names say that they hold the same, the most telling first: equal names before similar ones."""
    of_a, of_b = (
        {_plain(name): name for name, kind in _column_kinds(each).items() if _is_comparable(kind)} for each in (a, b)
    )
    found = [(of_a[x], of_b[y]) for kind in KINDS for x in kind if x in of_a for y in kind if y in of_b]
    return sorted(found, key=lambda each: not _same_name(*each))


def may_be_compared(column_a: str, column_b: str) -> bool:
    """Whether the names of two columns say that they hold the same."""
    return any(_plain(column_a) in kind and _plain(column_b) in kind for kind in KINDS)


def called(column_a: str, column_b: str) -> str:
    """What sentences call two columns: "titles", or "values of 'title' and 'name'"."""
    if not _same_name(column_a, column_b):
        return f"values of {column_a!r} and {column_b!r}"
    if column_a.isascii() and column_a.isalpha() and not column_a.endswith("s"):
        return f"{column_a.lower()}s"
    return f"values of {column_a!r}"


class _Written(dict[int, str | None]):
    """What `str.translate` takes: punctuation becomes a space, and characters that only format are left out."""

    def __missing__(self, point: int) -> str | None:
        category = unicodedata.category(chr(point))
        self[point] = None if category == "Cf" else " " if category[0] == "P" else chr(point)
        return self[point]


_WRITTEN = _Written()


def normalised(value: object) -> str:
    """A value as text without what differs between systems: Unicode form (NFKC), case, punctuation, white space.

    Marks of punctuation count as spaces, so that "12-3" and "1-23" stay two; "" where nothing is left.
    """
    if value is None:
        return ""
    text = unicodedata.normalize("NFKC", str(value)).casefold()
    return " ".join(unicodedata.normalize("NFKC", text).translate(_WRITTEN).split())


def most_matches(a: Collection, b: Collection) -> ColumnMatches | None:
    """The rows with equal values in the column that has most of them, however few; None where none can be compared."""
    return max((_matches(columns, a, b) for columns in comparable_columns(a, b)), key=len, default=None)


def _matches(columns: Columns, a: Collection, b: Collection) -> ColumnMatches:
    values = [_values(each, name) for each, name in zip((a, b), columns, strict=True)]
    return ColumnMatches(columns, np.array(_rows_with_equal(values), np.int64).reshape(-1, 2))


def _rows_with_equal(values: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Rows of either side whose value stands in one row of A and in one of B."""
    counts = [Counter(side) for side in values]
    row_a, row_b = (
        {value: row for row, value in enumerate(side) if value and count[value] == 1}
        for side, count in zip(values, counts, strict=True)
    )
    return [(row, row_b[value]) for value, row in row_a.items() if value in row_b]


def has_column(collection: Collection, column: str) -> bool:
    """Whether a collection carries a column of that name."""
    return column in _column_kinds(collection)


def _values(collection: Collection, column: str, rows: np.ndarray | None = None) -> list[str]:
    """The normalised values of a column, of all rows or of some."""
    assert collection.payload is not None  # the column was found in it
    values = collection.payload.column(column)
    return [normalised(value) for value in (values if rows is None else values.take(rows)).to_pylist()]


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def _same_name(column_a: str, column_b: str) -> bool:
    return _plain(column_a) == _plain(column_b)


def _column_kinds(collection: Collection) -> dict[str, str]:
    """The type of each column of the payload, by its name."""
    return {} if collection.payload is None else {each.name: str(each.type) for each in collection.payload.schema}


def _is_comparable(kind: str) -> bool:
    return kind.startswith(("string", "large_string", "dictionary<values=string", "int", "uint"))


@dataclass(frozen=True)
class Agreement:
    """How many links have equal values in a column. Seeds are not counted: that those agree says nothing."""

    column_a: str
    column_b: str
    agree: int  # links whose normalised values are equal
    compared: int  # links with a value on both sides
    seeds: int = 0  # links that were left out
    note: str = ""  # what to check, where they do not fit
    # Where fewer agree than not:
    can_agree: int | None = None  # links with a value that both sides have; None where only unlinked rows have such
    alike: float | None = None  # mean share of words that linked values have in common (Jaccard)
    by_chance: float | None = None  # and that values of different links have in common
    fits: bool = True  # whether equal values lead to the rows that the links lead to

    @property
    def columns(self) -> Columns:
        """Both names."""
        return self.column_a, self.column_b

    @property
    def is_low(self) -> bool:
        """Whether fewer links agree than not."""
        return 2 * self.agree < self.compared

    @property
    def sentence(self) -> str:
        """Such as "Titles agree in 852 of 901 links, seeds not counted."."""
        return say("agreement", what=called(*self.columns), found=self)


@dataclass(frozen=True, eq=False)
class ColumnScores:
    """Links held against a column."""

    matches: ColumnMatches  # the pairs that the column takes for the same object
    agreement: Agreement
    linked: int  # how many of the matches are among the links

    @property
    def scores(self) -> Scores:
        """Precision over the links with a value on both sides, and recall over the matches."""
        precision = self.agreement.agree / max(self.agreement.compared, 1)
        recall = self.linked / len(self.matches)
        return Scores(precision, recall, 2 * precision * recall / max(precision + recall, 1e-12))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        told = {name: getattr(self.agreement, name) for name in ("column_a", "column_b", "agree", "compared")}
        return {**asdict(self.scores), **told, "matches": len(self.matches), "linked": self.linked}


def score_by_column(column: str | Columns, pairs: np.ndarray, a: Collection, b: Collection) -> ColumnScores:
    """Pairs of rows (m, 2) held against a column of both collections, named as in `match_column`."""
    matches = match_column(column, a, b)
    if matches is None:
        raise InputError("A and B have no columns to compare with enough equal values; name the column.")
    found = np.isin(pair_keys(matches.pairs, len(b)), pair_keys(pairs, len(b)))
    return ColumnScores(matches, _compared_rows(matches.columns, pairs, a, b), int(found.sum()))


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
    told = [_compared_rows(names, pairs, a, b, given, precision) for names in chosen]
    # Columns whose names only resemble one another may hold different things: those have to agree somewhere.
    telling = [each for each in told if each.agree or (each.compared and (columns or _same_name(*each.columns)))]
    best = max(telling, key=lambda each: each.agree, default=None)
    if best is None or best.agree <= NEXT_TO_NONE * best.compared:
        best = next((each for each in told if not each.fits), best)
    return best


def agreement_of_titles(
    titles: Mapping[str, np.ndarray], given: np.ndarray | None, precision: float | None = None
) -> Agreement | None:
    """The same by the titles that links carry, where the collections are not at hand.

    None where fewer agree than not: the titles may be of columns that hold different things, or all have been seeds.
    But where the same titles stand in other links, that is said.
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
    for x, y, *both in zip(*whole, *texts, strict=True):
        # where one was shortened, both as far as it goes
        reach = min((len(value) for value, text in zip((x, y), both, strict=True) if is_shortened(text)), default=None)
        left.append(x[:reach])
        right.append(y[:reach])
    themselves = np.column_stack([np.arange(len(left))] * 2)
    found = _compared(("title", "title"), (left, right), themselves, lambda: whole, given, precision)
    return found if found.compared and (not found.fits or not found.is_low) else None


def _compared_rows(
    columns: Columns,
    pairs: np.ndarray,
    a: Collection,
    b: Collection,
    given: np.ndarray | None = None,
    precision: float | None = None,
) -> Agreement:
    sides = list(zip((a, b), columns, strict=True))
    of_links = [_values(*side, rows) for side, rows in zip(sides, pairs.T, strict=True)]
    return _compared(columns, of_links, pairs, lambda: [_values(*side) for side in sides], given, precision)


def _compared(
    columns: Columns,
    of_links: Sequence[list[str]],
    pairs: np.ndarray,
    of_rows: Callable[[], Sequence[list[str]]],
    given: np.ndarray | None,
    precision: float | None,
) -> Agreement:
    """What two columns say of links, by the normalised values (m,) of either end, their rows (m, 2), and all values."""
    counted = np.ones(len(pairs), bool) if given is None else ~given
    both = [(x, y) for x, y in compress(zip(*of_links, strict=True), counted) if x and y]
    found = Agreement(*columns, sum(x == y for x, y in both), len(both), int((~counted).sum()))
    promised = 0.5 if precision is None else max(precision - CLEARLY, 0.5)
    if found.agree >= promised * len(both):
        return found
    values = of_rows()
    misplaced = _misplaced(values, pairs, len(both), precision)
    if misplaced is not None:
        found = replace(found, fits=False, note=str(misplaced))
    if not found.is_low:
        return found
    seeds = pairs[~counted].T.tolist()
    left, right = (
        {value for row, value in enumerate(side) if row not in gone}
        for side, gone in zip(values, map(set, seeds), strict=True)
    )
    shared = (left & right) - {""}
    can = sum(x in shared or y in shared for x, y in both)
    words = [[set(text.split()) for text in pair] for pair in both[:: len(both) // WORDED + 1]]
    others = zip((x for x, _ in words), (y for _, y in words[1:] + words[:1]), strict=True)
    alike, by_chance = (float(np.mean([len(x & y) / len(x | y) for x, y in each])) for each in (words, others))
    return replace(found, can_agree=can if can or not shared else None, alike=alike, by_chance=by_chance)


def _misplaced(values: Sequence[list[str]], pairs: np.ndarray, compared: int, precision: float | None) -> Reason | None:
    """What to check where equal values lead to other rows than the links do: in a shuffled payload, or in a part of it.

    A value that stands once in A and once in B says where its row leads. Titles that were only put in other words do
    not count. Seeds do: where those agree, as where they were taken by the column, the order is right.
    """
    linked, asked = set(map(tuple, pairs.tolist())), set(pairs[:, 0].tolist())
    known = [pair for pair in _rows_with_equal(values) if pair[0] in asked]
    elsewhere = len(set(known) - linked)
    partly = precision is not None and len(known) >= COMPARABLE * compared
    least = precision - CLEARLY if partly and precision is not None else NEXT_TO_NONE
    if elsewhere < max(MIN_MATCHES, (1 - least) * len(known)) or len(known) < COULD_AGREE * compared:
        return None
    return Reason("misplaced", links=len(known), elsewhere=elsewhere, right=precision)
