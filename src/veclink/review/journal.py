"""The answers on disk: a file that only grows, one JSON object a line, each on the disk before it counts.

The first line says which collections the answers are about. Then each line is an answer to one pair, or takes an
earlier one back (`undoes`). Pairs are named by their ids (rows where there are none), so the answers outlive the links:
they hold for every later run over the same collections.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from veclink.data.collection import Collection
from veclink.errors import InputError, OutputError, VeclinkError
from veclink.files.atomic import flush_folder
from veclink.files.locks import lock_open

FORMAT = 1
ANSWERS = ("accept", "reject", "skip")

Pair = tuple[int, int]

_BINARY = getattr(os, "O_BINARY", 0)  # Windows would write other line ends


@dataclass(frozen=True)
class Answer:
    """One answer to a pair of rows. `instead`: the pair that was taken in its place; `tab`: the page that gave it."""

    number: int
    pair: Pair
    answer: str
    instead: Pair | None
    tab: str


class Journal:
    """The answers that stand, and the file they are in; one process at a time may have it open."""

    def __init__(self, path: str | Path, a: Collection, b: Collection) -> None:
        """Open or begin the journal at `path`; a last line that a crash cut short is dropped, as it never counted."""
        self.path = Path(path)
        self._names = (_Names(a, "A"), _Names(b, "B"))
        self._standing: dict[Pair, list[Answer]] = {}
        self._by_number: dict[int, Answer] = {}
        self._found: dict[str, list[Any]] = {}  # what was asked for since the last answer
        self._last = 0
        head = {"veclink_review": FORMAT, "n_a": len(a), "n_b": len(b)}
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o600)
        except OSError as error:
            raise OutputError(
                f"The journal {self.path} cannot be opened ({error.strerror}); name another with --journal."
            ) from error
        try:
            if not lock_open(self._file):
                raise InputError(
                    f"{self.path} is open in another review; end that one first, or name another with --journal."
                )
            whole = self._whole_lines(head)
            for place, line in enumerate(whole[1:], start=2):
                self._replay(line, place)
            if not whole:
                self._write(head)
                flush_folder(self.path.parent)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file, and with it of the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer_to(self, pair: Pair) -> Answer | None:
        """The answer that stands for a pair, if there is one."""
        stack = self._standing.get(pair)
        return stack[-1] if stack else None

    def answers(self) -> list[Answer]:
        """The answers that stand, one for each answered pair, in the order they were given."""
        return list(self._once("answers", self._find_answers))

    def accepted(self) -> list[Pair]:
        """The pairs that were accepted, or taken instead of another, each once, in the order they were."""
        return list(self._once("accepted", self._find_accepted))

    def rejected(self) -> list[Pair]:
        """The pairs that were rejected, in the order they were."""
        return list(self._once("rejected", self._find_rejected))

    def _once(self, what: str, find: Callable[[], list[Any]]) -> list[Any]:
        """What is asked for several times for every answer that is given, found once."""
        if what not in self._found:
            self._found[what] = find()
        return self._found[what]

    def _find_answers(self) -> list[Answer]:
        return sorted((stack[-1] for stack in self._standing.values()), key=lambda each: each.number)

    def _find_accepted(self) -> list[Pair]:
        taken: Iterable[Pair | None] = (
            each.pair if each.answer == "accept" else each.instead for each in self.answers()
        )
        rejected = set(self.rejected())
        return list(dict.fromkeys(pair for pair in taken if pair is not None and pair not in rejected))

    def _find_rejected(self) -> list[Pair]:
        return [each.pair for each in self.answers() if each.answer == "reject"]

    def add(self, pair: Pair, answer: str, *, tab: str, instead: Pair | None = None) -> Answer:
        """Write an answer to the disk, then let it stand."""
        if answer not in ANSWERS:
            raise InputError(f"The answer {answer!r} is unknown; it is one of {', '.join(ANSWERS)}.")
        given = Answer(self._last + 1, pair, answer, instead, tab)
        line = {**self._stamp(tab), "answer": answer, **self._named(pair)}
        if instead is not None:
            line["instead"] = self._named(instead)
        self._write(line)
        self._let_stand(given)
        return given

    def undo(self, tab: str, others: Iterable[str] = ()) -> Answer | None:
        """Take back the last standing answer that no tab among `others` gave; the answer it was, None without one."""
        kept_out = set(others) - {tab}
        for each in reversed(self.answers()):
            if each.tab not in kept_out:
                self._write({**self._stamp(tab), "undoes": each.number})
                self._take_back(each)
                return each
        return None

    def name(self, side: int, row: int) -> Any:
        """The id of a row of A (0) or B (1), or its number where there are no ids."""
        return self._names[side].name(row)

    def _named(self, pair: Pair) -> dict[str, Any]:
        return {"a": self.name(0, pair[0]), "b": self.name(1, pair[1])}

    def _stamp(self, tab: str) -> dict[str, Any]:
        return {"n": self._last + 1, "at": datetime.now(UTC).isoformat(timespec="milliseconds"), "tab": tab}

    def _let_stand(self, given: Answer) -> None:
        self._found.clear()
        self._last = given.number
        self._by_number[given.number] = given
        self._standing.setdefault(given.pair, []).append(given)

    def _take_back(self, given: Answer) -> None:
        self._found.clear()
        self._last += 1
        del self._by_number[given.number]
        stack = self._standing[given.pair]
        stack.remove(given)
        if not stack:
            del self._standing[given.pair]

    def _write(self, line: dict[str, Any]) -> None:
        if self._file < 0:
            raise OutputError(f"{self.path} is closed after a write that failed; start the review again.")
        content = _line(line)
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, content)
            if written < len(content):  # a disk that fills up takes a part
                raise OSError(28, "No space left on device")
            os.fsync(self._file)
        except OSError as error:
            try:
                os.ftruncate(self._file, before)
            except OSError:  # what comes after a half line would be lost with it
                self.close()
            raise OutputError(
                f"The answer was not saved: {self.path} could not be written ({error.strerror}); make room and repeat."
            ) from error

    def _whole_lines(self, head: dict[str, Any]) -> list[bytes]:
        """The lines of the file. What follows the last line that is whole was never acknowledged, and is cut off.

        Not before it is sure that this is a journal: any other file stays as it is.
        """
        content = b"".join(iter(lambda: os.read(self._file, 1 << 20), b""))
        end = content.rfind(b"\n") + 1
        lines = content[:end].split(b"\n")[:-1]
        if lines and _parsed(lines[-1]) is None:
            end -= len(lines.pop()) + 1
        if lines:
            self._check_head(lines[0], head)
        elif not _line(head).startswith(content):
            raise InputError(f"{self.path} is not a journal of a review; name another with --journal.")
        if end < len(content):
            os.ftruncate(self._file, end)
        return lines

    def _check_head(self, line: bytes, head: dict[str, Any]) -> None:
        found = _parsed(line)
        if found is None or found.get("veclink_review") != FORMAT:
            raise InputError(f"{self.path} is not a journal of a review; name another with --journal.")
        if found != head:
            raise InputError(
                f"{self.path} holds answers about {found.get('n_a')} and {found.get('n_b')} vectors, and these are "
                f"{head['n_a']} and {head['n_b']}; name another with --journal."
            )

    def _replay(self, line: bytes, place: int) -> None:
        try:
            found = json.loads(line)
            if found["n"] != self._last + 1:
                raise ValueError(f"number {found['n']} comes after {self._last}")
            if "undoes" in found:
                self._take_back(self._by_number[found["undoes"]])
                return
            instead = self._rows(found["instead"]) if "instead" in found else None
            if found["answer"] not in ANSWERS:
                raise ValueError(f"the answer is {found['answer']!r}")
            self._let_stand(Answer(found["n"], self._rows(found), found["answer"], instead, str(found.get("tab", ""))))
        except VeclinkError as error:
            raise InputError(f"{self.path}, line {place:,}: {error}") from error
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(
                f"{self.path} is damaged in line {place:,} ({error}); repair that line, or name another journal."
            ) from error

    def _rows(self, named: dict[str, Any]) -> Pair:
        return self._names[0].row(named["a"]), self._names[1].row(named["b"])


class _Names:
    """How the rows of a collection are called, both ways."""

    def __init__(self, collection: Collection, side: str) -> None:
        self._ids, self._side, self._count = collection.ids, side, len(collection)
        self._row_of: dict[Any, int] | None = None

    def name(self, row: int) -> Any:
        return row if self._ids is None else self._ids[row : row + 1].tolist()[0]

    def row(self, name: Any) -> int:
        if self._ids is None:
            if not isinstance(name, int) or not 0 <= name < self._count:
                raise InputError(f"{self._side} has no row {name!r} among its {self._count:,}.")
            return name
        if self._row_of is None:
            self._row_of = {key: row for row, key in enumerate(self._ids.tolist())}
        if name not in self._row_of:
            raise InputError(f"{self._side} has no id {name!r} among its {self._count:,}.")
        return self._row_of[name]


def _line(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, ensure_ascii=False) + "\n").encode()


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # not JSON, or not UTF-8
        return None
    return found if isinstance(found, dict) else None
