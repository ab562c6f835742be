"""Warnings of the library, as a command tells them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from veclink.errors import ShuffledPayloadWarning, UnusedIdsWarning, WrongLinksWarning

TOLD = UnusedIdsWarning, ShuffledPayloadWarning, WrongLinksWarning


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Tell of payload that names no rows, or does not fit them, in a sentence on stderr, once and without the place."""
    told: set[str] = set()
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, TOLD):
                usual(message, category, *place, **more)
            elif str(message) not in told:
                told.add(str(message))
                before = "veclink: Warning: " if issubclass(category, WrongLinksWarning) else ""
                typer.echo(f"{before}{message}", err=True)

        warnings.showwarning = show
        for each in TOLD:
            warnings.simplefilter("always", each)
        yield
