"""The answers on disk: a table of SQLite, each answer committed before it counts.

The last answer to a pair is the one that stands; taking an answer back removes its row. Pairs are named by their ids
(rows where there are none), so the answers outlive the links: they hold for every later run over the same collections.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from veclink.data.collection import Collection
from veclink.errors import InputError, OutputError
from veclink.files.atomic import flush
from veclink.stores.engines.clients import NAMES_A_FILE

ANSWERS = ("accept", "reject", "skip")
TABLES = [
    "CREATE TABLE collections (n_a INTEGER, n_b INTEGER)",
    "CREATE TABLE answers (n INTEGER PRIMARY KEY, at TEXT, answer TEXT, a, b, instead_a, instead_b)",
]
NO_JOURNAL = "{} is not a journal of a review; name another with --journal."

Pair = tuple[int, int]


class Answer(NamedTuple):
    """One answer to a pair of rows."""

    pair: Pair
    answer: str
    instead: Pair | None  # the pair that was taken in its place


class Journal:
    """The answers, and the file they are in; one process at a time may have it open."""

    def __init__(self, path: str | Path, a: Collection, b: Collection) -> None:
        """Open or begin the journal at `path`; of a journal X.jsonl of version 0.2, X.sqlite takes over the answers."""
        self.path = Path(path)
        if self.path.suffix == ".jsonl":
            self.path = self.path.with_suffix(".sqlite")
        self._sizes = len(a), len(b)
        self._ids = a.ids, b.ids
        self._given: list[Answer] = []
        with self._told(f"{self.path} cannot be opened"):
            unfinished = self.path.with_name(f"{self.path.name}-journal")
            if unfinished.exists() and unfinished.read_bytes().endswith(NAMES_A_FILE):
                raise InputError(NO_JOURNAL.format(self.path))
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            self._file = sqlite3.connect(self.path.absolute(), timeout=0, isolation_level=None)
        try:
            with self._told(f"{self.path} cannot be read"):
                for setting in ("locking_mode=EXCLUSIVE", "synchronous=EXTRA", "trusted_schema=OFF"):
                    self._file.execute(f"PRAGMA {setting}")
                self._file.execute("BEGIN EXCLUSIVE")
                self._begin()
                self._file.execute("COMMIT")
                self._read()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file, and with it of the lock."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answers(self) -> dict[Pair, Answer]:
        """The answer that stands for each answered pair, in the order they were given."""
        standing: dict[Pair, Answer] = {}
        for each in self._given:
            standing.pop(each.pair, None)
            standing[each.pair] = each
        return standing

    def accepted(self) -> list[Pair]:
        """The pairs that were accepted, or taken instead of another, each once, in the order they were."""
        answers, rejected = self.answers().values(), set(self.rejected())
        taken = [each.pair if each.answer == "accept" else each.instead for each in answers]
        return list(dict.fromkeys(pair for pair in taken if pair is not None and pair not in rejected))

    def rejected(self) -> list[Pair]:
        """The pairs that were rejected, in the order they were."""
        return [each.pair for each in self.answers().values() if each.answer == "reject"]

    def add(self, pair: Pair, answer: str, instead: Pair | None = None) -> None:
        """Write an answer to the disk, then let it stand."""
        with self._told("Nothing was saved"):
            others = (None, None) if instead is None else self.names(instead)
            self._insert(datetime.now(UTC).isoformat(timespec="milliseconds"), answer, *self.names(pair), *others)
        self._given.append(Answer(pair, answer, instead))

    def undo(self) -> Pair | None:
        """Take back the last answer; the pair it was about, None without one."""
        if not self._given:
            return None
        with self._told("Nothing was saved"):
            self._file.execute("DELETE FROM answers WHERE n = (SELECT max(n) FROM answers)")
        return self._given.pop().pair

    def names(self, pair: Pair) -> tuple[Any, ...]:
        """The ids of both rows, or their numbers where there are no ids."""
        both = zip(pair, self._ids, strict=True)
        return tuple(row if ids is None else ids[row : row + 1].tolist()[0] for row, ids in both)

    def _begin(self) -> None:
        """The tables of a new journal, or the check of an old one, whose tables are just these."""
        found = [sql for (sql,) in self._file.execute("SELECT sql FROM sqlite_master")]
        if not found:
            for table in TABLES:
                self._file.execute(table)
            earlier = self.path.with_suffix(".jsonl")
            sizes = self._take_over(earlier) if earlier.exists() else self._sizes
            self._file.execute("INSERT INTO collections VALUES (?, ?)", sizes)
            flush(self.path.parent)
        elif found != TABLES:
            raise InputError(NO_JOURNAL.format(self.path))
        n_a, n_b = self._file.execute("SELECT * FROM collections").fetchone() or (None, None)
        if (n_a, n_b) != self._sizes:
            raise InputError(
                f"{self.path} holds answers about {n_a} and {n_b} vectors, and these are {self._sizes[0]} and "
                f"{self._sizes[1]}; name another with --journal."
            )

    def _take_over(self, earlier: Path) -> tuple[int, int]:
        """The answers of a journal of version 0.2, a JSON object a line, of which some undo others; both sizes."""
        try:
            head, *lines = [json.loads(line) for line in earlier.read_bytes().split(b"\n")[:-1]]
            undone = {line.get("undoes") for line in lines}
            for line in (each for each in lines if "answer" in each and each["n"] not in undone):
                instead = line.get("instead") or {"a": None, "b": None}
                self._insert(line["at"], line["answer"], line["a"], line["b"], instead["a"], instead["b"])
            return int(head["n_a"]), int(head["n_b"])
        except Exception as error:  # whatever is in that file
            raise InputError(f"{earlier} is no sound journal ({error}); name another with --journal.") from error

    def _insert(self, *values: Any) -> None:
        self._file.execute(f"INSERT INTO answers VALUES (NULL{', ?' * 6})", values)

    def _read(self) -> None:
        """Let the answers of the file stand."""
        row_of = [
            {key: row for row, key in enumerate(range(size) if ids is None else ids.tolist())}
            for ids, size in zip(self._ids, self._sizes, strict=True)
        ]
        for n, _, answer, *names in self._file.execute("SELECT * FROM answers ORDER BY n"):
            a, b, *others = (row_of[i % 2].get(name, -1) for i, name in enumerate(names))
            instead = None if names[2:] == [None, None] else (others[0], others[1])
            if answer not in ANSWERS or min(a, b, *(instead or ())) < 0:
                raise InputError(
                    f"{self.path}, answer {n}: {answer!r} to {', '.join(map(repr, names))} is none about these "
                    "collections; repair it, or name another with --journal."
                )
            self._given.append(Answer((a, b), answer, instead))

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Errors of the disk and of SQLite as one sentence."""
        try:
            yield
        except InputError:
            raise
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            if name.startswith("SQLITE_BUSY"):
                other = "end that one first, or name another with --journal."
                raise InputError(f"{self.path} is open in another review; {other}") from error
            if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
                raise OutputError(f"{what} ({error}); make room and repeat.") from error
            raise InputError(NO_JOURNAL.format(self.path)) from error
        except OSError as error:
            raise OutputError(f"{what} ({error.strerror}); name another with --journal.") from error
