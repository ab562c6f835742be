"""Links as files: Parquet with its metadata inside, or CSV with its metadata in a JSON file beside it.

The JSON file holds a fingerprint of the links: a run that is killed between the two renames, or a copy of one file
alone, leaves metadata of other links, which are refused. Files of 0.1 have no fingerprint and are taken as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from veclink.data.collection import digest
from veclink.data.summary import PAIRS, fits, wrong_values
from veclink.data.words import TEXTS
from veclink.errors import InputError, named
from veclink.files.atomic import alone, flush, written_whole
from veclink.files.tables import (
    metadata_of,
    read_csv,
    read_parquet,
    readable,
    table_ending,
    with_metadata,
    write_csv,
)

FORMAT, WITH_JUDGED = 1, 2
"""Of files that hold links alone, and of those that hold all judged pairs, which 0.1 would take for links."""
FINGERPRINT = "fingerprint"
"""Where the metadata of a CSV file holds the fingerprint of the links in that file."""
REQUIRED = ("a", "b", "probability")
IS_LINK = "linked"
"""The column that says which of the judged pairs are links; where there is none, all are."""
RESERVED = (*REQUIRED, "row_a", "row_b", IS_LINK, *TEXTS)


def table(columns: dict[str, np.ndarray], metadata: dict[str, Any]) -> pa.Table:
    """The columns as an Arrow table that carries the metadata as JSON under the key `veclink`."""
    texts = {name: pa.array(values, pa.string()) for name, values in columns.items() if values.dtype == object}
    made = pa.table({**columns, **texts})
    return made.cast(with_metadata(made.schema, metadata))


def write(path: str | Path, columns: dict[str, np.ndarray], metadata: dict[str, Any]) -> None:
    """Save by the ending of `path`, whole or not at all."""
    path = Path(path)
    if table_ending(path, "links files are one or the other") == ".parquet":
        content = table(columns, metadata)
        with written_whole(path) as temporary:
            pq.write_table(content, temporary)
        return
    formats = {name: _TEXT[kind] for name, kind in metadata["columns"].items()}
    with alone(path), written_whole(path) as temporary:  # two files: those of two runs would not fit
        check_beside(path)
        write_csv(temporary, columns, formats)
        flush(temporary)  # of the two files this one may fill the disk: find out before either is in place
        text = json.dumps({**metadata, FINGERPRINT: _fingerprint(columns)}, ensure_ascii=False, indent=2)
        with written_whole(_beside(path)) as beside:
            beside.write_text(text + "\n", encoding="utf-8")


def read(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The columns and the metadata of a saved file."""
    path = Path(path)
    ending = table_ending(path, "links files are one or the other")
    if not path.is_file():
        raise InputError(f"{path} does not exist or is not a file; check the name.")
    with readable(f"{path} cannot be read as {ending}", "save the links again"):
        return _read_parquet(path) if ending == ".parquet" else _read_csv(path)


def check_beside(path: str | Path) -> None:
    """Refuse a place for links whose metadata would replace a JSON file of something else."""
    path = Path(path)
    beside = _beside(path)
    if path.suffix.lower() != ".csv" or not beside.exists():
        return
    try:
        held = json.loads(beside.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        held = None
    if not isinstance(held, dict) or not {"format", "columns"} <= held.keys():
        raise InputError(
            f"{beside} is there already and is not about links; {path.name} would replace it: choose another name."
        )


def check_fingerprint(path: str | Path, columns: dict[str, np.ndarray], metadata: dict[str, Any]) -> None:
    """Refuse metadata of other links; it comes after all that can be said of a line that is wrong."""
    beside = _beside(Path(path))
    if FINGERPRINT in metadata and metadata[FINGERPRINT] != _fingerprint(columns):
        raise InputError(
            f"{path} and {beside} were not written together, or one was changed since; link again, or remove "
            f"`{FINGERPRINT}` from {beside.name} if the two do belong together."
        )


def _fingerprint(columns: dict[str, np.ndarray]) -> str:
    """A digest of all links, in whatever order they are: a spreadsheet may have sorted them."""
    a, b, probability = (columns[name] for name in REQUIRED)
    order = np.lexsort((probability, b.astype(str), a.astype(str)))
    return digest(a[order].tolist(), b[order].tolist(), probability[order].tolist())


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _read_parquet(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    content = read_parquet(path)
    stored = metadata_of(content.schema)
    if not stored:
        raise InputError(f"{path} has no veclink metadata; it is not a links file, or another program wrote it again.")
    metadata = _checked(stored, content.column_names, path)
    columns = {}
    for name, kind in metadata["columns"].items():
        column = content.column(name)
        if column.null_count:
            raise InputError(
                f"{path} has {column.null_count:,} missing values in its column {name}; save the links again."
            )
        columns[name] = column.to_numpy().astype(object if kind == "str" else kind, copy=False)
    return columns, metadata


def _read_csv(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    beside = _beside(path)
    if not beside.is_file():
        raise InputError(
            f"{beside} is missing, which says what {path.name} means; keep the two together, or save as .parquet."
        )
    try:
        described = json.loads(beside.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{beside} is not JSON ({error}); save the links again.") from error
    text = read_csv(path, whole=True)
    metadata = _checked(described, text.names, path)
    columns = {}
    for name, kind in metadata["columns"].items():
        values, wrong = [], []
        for value, place in zip(text.values[name], text.places, strict=True):
            try:
                values.append(_VALUE[kind](value))
            except (ValueError, KeyError):
                wrong.append(place)
        if wrong:
            raise InputError(
                f"{path} has something else than {kind} in the column {name} of line {named(wrong)}; repair it."
            )
        columns[name] = np.empty(len(values), dtype=object if kind == "str" else kind)
        columns[name][:] = values
    return columns, metadata


def _checked(metadata: Any, names: list[str], path: Path) -> dict[str, Any]:
    """The metadata, once it is sure that it can be understood and that the columns it names are there."""
    kinds = metadata.get("columns") if isinstance(metadata, dict) else None
    if not isinstance(kinds, dict) or not all(isinstance(kind, str) and kind in _TEXT for kind in kinds.values()):
        raise InputError(f"The metadata of {path} does not describe its columns; save the links again.")
    if metadata.get("format") not in (FORMAT, WITH_JUDGED):
        raise InputError(
            f"{path} has the format {metadata.get('format')} and this version reads up to {WITH_JUDGED}; use a newer "
            "veclink."
        )
    missing = [name for name in dict.fromkeys((*REQUIRED, *kinds)) if name not in names or name not in kinds]
    if missing:
        raise InputError(f"{path} lacks the columns {named(missing)}; it has {named(names) or 'none'}.")
    return metadata


def _int64(text: str) -> int:
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{text} does not fit into 64 bits")
    return number


def _float32_text(value: np.float32) -> str:
    """The shortest text that gives the number back, even when it is read as a float64 first."""
    text = str(value)
    return text if np.float32(float(text)) == value else repr(float(value))


# how each kind of column is written in CSV, and how it is read
_TEXT: dict[str, Callable[[Any], str]] = {
    "str": str,
    "int64": str,
    "float32": _float32_text,
    "float64": lambda value: repr(float(value)),
    "bool": lambda value: "true" if value else "false",
}
_VALUE: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int64": _int64,
    "float32": float,
    "float64": float,
    "bool": {"true": True, "false": False}.__getitem__,
}


BINS = 10
"""The bars of a report's histogram: the decoys are counted in a multiple of them."""
_ROWS = re.compile(r"(?:rival|near\d+)_([ab])")

_MODEL = {"features": [str], "weights": [float], "centre": [float], "scale": [float]}
_TRACE: dict[str, Any] = {
    "growth": PAIRS,
    "starts": [(str, float)],
    "model": {**_MODEL, "base": float},
    "decoys": {"probability": [float]},
}


def check_trace(trace: Mapping[str, Any], n_a: int, n_b: int) -> None:
    """Refuse a trace that a report or a review could not show."""
    wrong = wrong_values(trace, _TRACE)
    model, decoys, hubs = (trace.get(name) for name in ("model", "decoys", "hubs"))
    if model is not None and "model" not in wrong:
        # as many of each as features, and no scale by which is divided in vain
        if len({len(model[name]) for name in _MODEL}) > 1 or 0 in model["scale"]:
            wrong.append("model")
    if decoys is not None and "decoys" not in wrong:
        bins = len(decoys["probability"])
        if not bins or bins % BINS or not fits(decoys.get("made", 0), int):
            wrong.append("decoys")
    sizes = {"a": n_a, "b": n_b}
    if "hubs" in trace and not (
        isinstance(hubs, dict)
        and hubs.keys() <= sizes.keys()
        and all(fits(pairs, PAIRS) and all(row < sizes[side] for row, _ in pairs) for side, pairs in hubs.items())
    ):
        wrong.append("hubs")  # rows that are not there, or no counts of who prefers them
    if wrong:
        raise InputError(
            f"Its trace has something odd for {named(wrong)}; remove `trace` from its metadata, or link again."
        )


def row_evidence(name: str) -> str | None:
    """Of evidence that names rows, −1 for none: "a" or "b" for their side, "" for either; None of other evidence."""
    if name == "displaces":
        return ""
    side = _ROWS.fullmatch(name)
    return None if side is None else side[1]


def check_rows(evidence: Mapping[str, np.ndarray], n_a: int, n_b: int) -> None:
    """Refuse evidence that names rows which a collection does not have."""
    for name, values in evidence.items():
        side = row_evidence(name)
        if side is None:
            continue
        size = {"a": n_a, "b": n_b}.get(side, max(n_a, n_b))
        if values.dtype.kind != "i" or (len(values) and not -1 <= values.min() <= values.max() < size):
            raise InputError(f"Its evidence {name!r} names rows outside the {size:,} there are; link again.")
