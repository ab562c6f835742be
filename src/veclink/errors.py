"""The errors a user can meet. Every message is one sentence: what is wrong, with the numbers, and what to do."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

SHOWN = 5


class VeclinkError(Exception):
    """Anything veclink refuses to do, or could not do, said in one sentence, and without the password of any URL."""

    def __init__(self, *told: object) -> None:
        super().__init__(*(without_secrets(each) if isinstance(each, str) else each for each in told))


class InputError(VeclinkError, ValueError):
    """What was given cannot be used as it is."""


class OutputError(VeclinkError, OSError):
    """A result could not be written; nothing half-written was left behind."""


class StoreError(VeclinkError, OSError):
    """A store could not be reached, or went away in the middle; nothing half-written was left behind."""


class WrongLinksWarning(UserWarning):
    """Many of the links may be wrong: they are no better than chance, or nothing is known of their precision."""


class UnusedIdsWarning(UserWarning):
    """The payload has a column of ids that name no rows: some stand twice, or are missing, or it is not called `id`."""


class ShuffledPayloadWarning(UserWarning):
    """Titles of linked rows do not agree though they could: the payload is not in the order of the vectors."""


class MissingExtra(VeclinkError, ImportError):
    """An optional package is needed and not installed."""


def named(values: Sequence[Any] | np.ndarray, total: int | None = None) -> str:
    """The first few of `values` for an error sentence: '3, 8, 12, 15, 20 and 7 more (12 in all)'.

    `total` is the true count where only the first few were kept.
    """
    total = len(values) if total is None else total
    # a number of numpy as Python's own; numpy itself is not imported, so that the command line starts quickly
    shown = [value.item() if hasattr(value, "item") else value for value in values[:SHOWN]]
    text = ", ".join(repr(value) for value in shown)
    return text if total <= len(shown) else f"{text} and {total - len(shown):,} more ({total:,} in all)"


def plural(count: int, noun: str) -> str:
    """'1 row', '1,234 rows'."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def readable_size(size: int) -> str:
    """'12 kB', '3.4 MB', '1,200.0 GB': in the unit in which there is something to read."""
    for unit, bytes_of_unit in (("GB", 10**9), ("MB", 10**6)):
        if size >= bytes_of_unit:
            return f"{size / bytes_of_unit:,.1f} {unit}"
    return f"{size / 1000:,.0f} kB" if size >= 1000 else f"{size:,} bytes"


def needed(package: str, what: str, install: str | None = None) -> ModuleType:
    """The optional module `package`, imported now, or a MissingExtra that says what wants it and how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        install = install or package.split(".")[0]
        raise MissingExtra(
            f'{what} needs the package {package.split(".")[0]}, which is not installed: pip install "{install}".'
        ) from error


# What a URL keeps to itself: users and passwords, tokens and keys, hidden wherever a URL is told or kept.
HIDDEN = "***"
# two letters at least, as "C:/" is a drive; three slashes begin a path, which has neither user nor password
_BEFORE_HOST = re.compile(r"([A-Za-z][\w+.-]+:/{1,2})[^\s/@][^\s@]*@(?:\S*@)?")
_WITHOUT_SCHEME = re.compile(r"([\w.+-]*:)[^\s/@][^\s@]*@")
_OPTION = re.compile(
    r"([?&][\w.-]*(?:pass|pwd|secret|token|key|auth|credential|signature)[\w.-]*="
    r"|\b(?:password|passwd|pwd|secret|token|api_?key)=)[^\s&]+",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """The text with what stands in any URL as user and password, or as an option like ?token=, hidden.

    Also in a URL that was made a path, where `//` has become `/`. A password may hold any mark but a space.
    """
    text = _BEFORE_HOST.sub(rf"\1{HIDDEN}@", text)
    return _OPTION.sub(rf"\1{HIDDEN}", _WITHOUT_SCHEME.sub(rf"\1{HIDDEN}@", text))
