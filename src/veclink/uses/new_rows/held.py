"""The collections of a linker: in memory, or where they were, or to be given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection, numbers
from veclink.errors import InputError, VeclinkError, without_secrets
from veclink.progress import ProgressListener
from veclink.stores.opening import open_collection
from veclink.stores.payloads import with_payload
from veclink.uses.new_rows.knowledge import SIDES


@dataclass(frozen=True, eq=False)
class Held:
    """Where the collections of a linker are.

    Attributes
    ----------
    sources : (str or None, str or None)
        The path or URL that each side was opened from.
    parts : (list of Collection, list of Collection)
        Each side as it is in memory, batch after batch; empty where it is not.
    options : dict
        How the two were linked, for the next fit: plain values.
    folders : dict
        What tells the content of each folder that the linker was read from or written to, as it was then.
    ids_from : (str or None, str or None)
        The file of payload whose ids name the rows of each side, where the vectors came without ids.
    """

    sources: tuple[str | None, str | None] = (None, None)
    parts: tuple[list[Collection], list[Collection]] = field(default_factory=lambda: ([], []))
    options: dict[str, Any] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    ids_from: tuple[str | None, str | None] = (None, None)

    @property
    def complete(self) -> bool:
        """Whether both sides are in memory."""
        return all(self.parts)

    def with_collection(self, side: int, collection: Collection, source: str | None) -> Held:
        """With the whole of one side in memory."""
        sources, parts, ids_from = list(self.sources), list(self.parts), list(self.ids_from)
        parts[side] = [collection]
        if source is not None:
            sources[side], ids_from[side] = source, ids_file(collection)
        return replace(
            self,
            sources=(sources[0], sources[1]),
            parts=(parts[0], parts[1]),
            ids_from=(ids_from[0], ids_from[1]),
        )

    def grown(self, side: int, batch: Collection) -> Held:
        """With new rows of one side, which follow the others where those are in memory."""
        grown = list(self.parts)
        if grown[side]:
            grown[side] = [*grown[side], batch]
        return replace(self, parts=(grown[0], grown[1]))


def remembered(source: Any) -> str | None:
    """The path or URL of a collection, as it can be kept: without passwords, and a path in full.

    None for what is in memory, unless a file of payload names its rows: then that of its vectors is known, too.
    """
    if isinstance(source, Collection) and ids_file(source) is not None and Path(source.name).is_file():
        source = source.name
    if not isinstance(source, (str, Path)):
        return None
    text = str(source)
    path = Path(text)
    return str(path.resolve()) if path.exists() else without_secrets(text)


def ids_file(collection: Collection) -> str | None:
    """The file that gave a collection its ids, in full; None where its ids are its own, or came from memory."""
    file = collection.ids_from
    return None if file is None or not Path(file).is_file() else remembered(file)


def opened_side(held: Held, side: int, source: Any, progress: ProgressListener | None = None) -> Collection:
    """The collection of one side, with the ids that its rows were known by, and without payload."""
    collection = open_collection(source, payload=False, progress=progress)
    file = held.ids_from[side]
    if file is None or collection.ids is not None:
        return collection
    try:
        return replace(with_payload(collection, file), payload=None)
    except VeclinkError as error:
        name = SIDES[side]
        reason = str(error).partition(";")[0]
        again = "" if Path(file).exists() else "put it back, or "
        raise InputError(
            f"The ids of side {name.upper()} came from {file}, which does not name these rows ({reason}); {again}give "
            f"a file that names all of them, --payload-{name} FILE beside --against (in Python: "
            "against=open_collection(…, payload=FILE)), or a collection that has ids itself."
        ) from error


def whole_of(held: Held, side: int, progress: ProgressListener | None = None) -> Collection:
    """All rows of one side: from memory, or opened where it was; else an error says what is needed."""
    parts, source = held.parts[side], held.sources[side]
    name = SIDES[side].upper()
    if parts:
        return parts[0] if len(parts) == 1 else _joined(parts)
    how = f"give side {name} (against=, or a= and b= of update; --against on the command line)"
    if source is None:
        raise InputError(f"The vectors of side {name} are not part of the linker, and were given as an array; {how}.")
    try:
        return opened_side(held, side, source, progress)
    except VeclinkError as error:
        raise InputError(
            f"The vectors of side {name} were in {source}, which cannot be opened ({error}); {how}."
        ) from error


def _joined(parts: list[Collection]) -> Collection:
    """Batches of one side as one collection; int8 becomes what it means."""
    rows = [
        part.vectors if part.scale is None else numbers(part, slice(0, len(part)))
        for part in parts
    ]  # fmt: skip
    ids = None
    if all(part.ids is not None for part in parts):
        ids = np.concatenate([part.ids for part in parts if part.ids is not None])
    return Collection.from_array(np.concatenate(rows), ids=ids, name=parts[0].name)
