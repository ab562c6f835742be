"""Ids: what the rows of a collection are called, in the file itself or in a file beside it.

What veclink writes is three files: the vectors `X.npy` (or another ending), `X.ids.txt` with an id a line, and
`X.ids.json` with the fingerprints of both. A run that is killed between their renames, or a copy of one of them alone,
leaves vectors with the ids of others, which the record shows. Files without a record are taken as they are.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError, named
from veclink.files.atomic import flush_folder, written_whole
from veclink.files.fingerprints import file_digest, text_digest
from veclink.files.tables import read_csv, readable


def as_ids(values: Sequence[Any] | np.ndarray, name: str = "ids") -> np.ndarray:
    """`values` as int64, or else as an object array of str.

    Integers stay integers. Strings and UUIDs become str, and so does every id where kinds are mixed or an integer does
    not fit into 64 bits. Missing values, floats and others are refused: they would not be found again.
    """
    if isinstance(values, (list, tuple)) and set(map(type, values)) == {int}:  # the usual case, in one step
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    # not np.asarray of a list: it would turn [1, "x"] and [1, None] into something else
    array = np.asarray(values) if hasattr(values, "__array__") else np.fromiter(values, dtype=object, count=len(values))
    if array.ndim != 1:
        raise InputError(f"The ids of {name} have the shape {array.shape}; give one id per row.")
    if array.dtype.kind == "i" or (array.dtype.kind == "u" and array.dtype.itemsize < 8) or not len(array):
        return array.astype(np.int64, copy=False) if array.dtype.kind in "iu" else np.empty(0, dtype=object)
    ids = array.tolist()
    strange = [row for row, value in enumerate(ids) if isinstance(value, bool) or not isinstance(value, _KINDS)]
    if strange:
        raise InputError(
            f"{name} has ids that are neither integers nor strings ({type(ids[strange[0]]).__name__}) in row "
            f"{named(strange)}; give every row an integer or a string."
        )
    if all(isinstance(value, (int, np.integer)) and -(2**63) <= value < 2**63 for value in ids):
        return np.array(ids, dtype=np.int64)
    text = np.empty(len(ids), dtype=object)
    text[:] = [str(value) for value in ids]
    try:
        "".join(text).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name} has an id that is not valid text ({error.reason}); repair the ids.") from error
    return text


def beside(path: Path) -> Path | None:
    """The file `X.ids.txt` beside `X.npy`, if there is one."""
    ids = _ids_path(path)
    return ids if ids.is_file() else None


def read_ids_beside(path: Path) -> np.ndarray | None:
    """The ids in `X.ids.txt` beside `X.npy`, None where there is no such file; refused are those of other vectors."""
    ids = beside(path)
    if ids is None:
        return None
    record = _read_record(_record_path(path))
    if record is not None:
        same_ids = record.get("ids") == text_digest(ids)
        same_vectors = record.get("vectors") == file_digest(path)
        if same_vectors and record.get("ids") is None:  # left by a run that was killed before it removed them
            return None
        # where both are others, somebody wrote both anew, or a run was killed before it replaced either
        if same_ids != same_vectors:
            raise InputError(
                f"{path} and {ids} were not written together, as {_record_path(path)} shows; write both again, or "
                "remove that file if the ids do belong to the vectors."
            )
    return read_ids(ids)


def ids_in_the_way(path: Path) -> str | None:
    """The ids beside a place without vectors that are not what a killed run left; None where there are none."""
    ids = beside(path)
    return None if ids is None or _read_record(_record_path(path)) is not None else str(ids)


@contextmanager
def written_with_ids(path: Path) -> Iterator[tuple[Path, Callable[[Sequence[str] | None], None]]]:
    """Where to write vectors that are to be at `path`, and what keeps their ids beside them, or says they have none.

    Put in place are first the record of their fingerprints, then the ids, and at last the vectors.
    """
    kept: list[bool] = []
    with ExitStack() as stack:
        vectors = stack.enter_context(written_whole(path))

        def keep(ids: Sequence[str] | None) -> None:
            kept.append(ids is not None)
            if ids is None and beside(path) is None:
                return
            if any(not each or "\n" in each or each.endswith("\r") for each in ids or ()):
                raise InputError(f"{path} cannot keep empty ids or line breaks; write Parquet instead.")
            record = {"vectors": file_digest(vectors), "ids": None}
            if ids is not None:
                file = stack.enter_context(written_whole(_ids_path(path)))
                file.write_text("".join(f"{each}\n" for each in ids), encoding="utf-8")
                record["ids"] = text_digest(file)
            if _record_path(path).exists() and _read_record(_record_path(path)) is None:
                raise InputError(
                    f"{_record_path(path)} is there already and is about something else; choose another name."
                )
            text = json.dumps(record) + "\n"
            stack.enter_context(written_whole(_record_path(path))).write_text(text, encoding="utf-8")

        yield vectors, keep
    if not any(kept):  # the record goes last, as it says that the ids are not theirs
        with suppress(FileNotFoundError):
            _ids_path(path).unlink()
            flush_folder(path.parent)
        if _read_record(_record_path(path)) is not None:
            _record_path(path).unlink()


def table_path(path: Path) -> Path:
    """The table `X.rows.parquet` beside `X.npy`, which says what the rows of a merge are."""
    return path.with_name(f"{path.stem}.rows.parquet")


def _ids_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.ids.txt")


def _record_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.ids.json")


def _read_record(path: Path) -> dict[str, Any] | None:
    """The fingerprints of vectors and ids; None where there are none, or where the file is something else."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and record.keys() >= {"vectors", "ids"} else None


def read_ids(path: str | Path) -> np.ndarray:
    """The ids in a file: .txt with one a line, .csv with a column `id`, or .npy. What is read from text stays text."""
    path = Path(path)
    ending = path.suffix.lower()
    with readable(f"The ids in {path} cannot be read", "give a .txt, .csv or .npy file"):
        if ending == ".npy":
            return as_ids(np.load(path, allow_pickle=False), str(path))
        if ending == ".txt":
            # not splitlines(): it would also split at rarer separators that an id may hold
            text = path.read_text(encoding="utf-8-sig")
            lines = text.removesuffix("\n").split("\n") if text else []
            return _none_empty(lines, range(1, len(lines) + 1), path)
        if ending == ".csv":
            table = read_csv(path, ["id"])
            if "id" not in table.names:
                raise InputError(f"{path} has the columns {named(table.names)}; ids are in a column `id`.")
            return _none_empty(table.values["id"], table.places, path)
    raise InputError(f"{path} does not end in .txt, .csv or .npy, so its ids cannot be read; convert it.")


def _none_empty(ids: Sequence[str | None], lines: Sequence[int], path: Path) -> np.ndarray:
    """The ids, refusing those that are empty: a row without a name could not be found again."""
    empty = [line for each, line in zip(ids, lines, strict=True) if not each]
    if empty:
        raise InputError(f"{path} has an empty id in line {named(empty)}; give every row an id, or remove the line.")
    return as_ids(ids, str(path))


_KINDS = (int, np.integer, str, uuid.UUID)
