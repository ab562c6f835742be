"""Replacing a collection where an engine renames and drops, but not both in one step.

    NAME…unfinished   being written
    NAME…whole        all of it is there; where there is no NAME, a run was killed, and this is the collection
    NAME…older        what was replaced, to be dropped

So the older or the new collection is there whenever the process is killed: dropping takes many steps, a rename is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol


class Shelf(Protocol):
    """What an engine can do with whole collections."""

    def names(self) -> Collection[str]:
        """The collections that are there."""

    def rename(self, name: str, to: str) -> None:
        """Give a collection another name, in one step."""

    def drop(self, name: str) -> None:
        """Remove a collection."""


@dataclass(frozen=True)
class Replacement:
    """The names of a collection on its way. mark: what stands between its name and the word for its state."""

    name: str
    mark: str

    @property
    def unfinished(self) -> str:
        """Being written."""
        return f"{self.name}{self.mark}unfinished"

    @property
    def whole(self) -> str:
        """Written, and not yet in place."""
        return f"{self.name}{self.mark}whole"

    @property
    def older(self) -> str:
        """Replaced."""
        return f"{self.name}{self.mark}older"

    def held_as(self, names: Collection[str]) -> str:
        """The name that the collection has now, whether or not it is there."""
        return self.whole if self.name not in names and self.whole in names else self.name

    def opened(self, shelf: Shelf, *, writable: bool) -> str:
        """The name to open it by; where it may be changed, what a killed run had written is put in its place first."""
        if writable:
            self.finish(shelf)
        return self.held_as(shelf.names())

    def finish(self, shelf: Shelf) -> None:
        """Put in its place what a killed run had written."""
        if self.held_as(shelf.names()) == self.whole:
            shelf.rename(self.whole, self.name)

    def clear(self, shelf: Shelf) -> None:
        """Remove what killed runs left."""
        left = {self.unfinished, self.whole, self.older} & set(shelf.names())
        for name in sorted(left):
            shelf.drop(name)

    def put_in_place(self, shelf: Shelf) -> None:
        """Make what was written the collection."""
        shelf.rename(self.unfinished, self.whole)
        if self.name in shelf.names():
            shelf.rename(self.name, self.older)
        shelf.rename(self.whole, self.name)
        if self.older in shelf.names():
            shelf.drop(self.older)


def asked_for(names: Iterable[str], mark: str) -> set[str]:
    """The collections that a person could mean: those that are whole, by the name they have or will have."""
    ends = {f"{mark}{state}": state for state in ("unfinished", "whole", "older")}
    found = set()
    for name in names:
        state = next((state for end, state in ends.items() if name.endswith(end)), None)
        if state is None:
            found.add(name)
        elif state == "whole":
            found.add(name.removesuffix(f"{mark}whole"))
    return found
