"""What a target holds, as one short text: the same text, the same content."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import digest
from veclink.data.links import Links
from veclink.errors import InputError
from veclink.stores.opening import open_collection, open_target
from veclink.uses.translating import Translator

# what differs between two runs of the same command, and only there: seconds, and when a page was made
_TIMES = re.compile(r"\d+(?:\.\d+)? (?:s|seconds)\b|\"seconds\": ?[\d.e-]+|seconds&#34;: [\d.e-]+")


def collection(url: str | Path) -> str:
    """A collection with ids and payload, in whatever order its rows come."""
    read = open_collection(url)
    ids = list(range(len(read))) if read.ids is None else read.ids.tolist()
    order = sorted(range(len(ids)), key=lambda row: str(ids[row]))
    payload: dict[str, list[Any]] = {}
    if read.payload is not None:
        payload = {name: read.payload.column(name).to_pylist() for name in sorted(read.payload.column_names)}
    rows = {name: [values[row] for row in order] for name, values in payload.items()}
    named = "rows" if read.ids is None else "ids"
    vectors = np.ascontiguousarray(np.asarray(read.vectors)[order], np.float32)
    return f"{len(read)} rows {digest(named, [str(ids[row]) for row in order], vectors, repr(rows))}"


def table_of_links(url: str) -> str:
    """A table of links in a store."""
    with open_target(url, write=False) as store:
        held = store.links()
    if held is None:
        raise InputError(f"{url} does not exist.")
    return f"{len(held)} links {digest(sorted((str(a), str(b), p) for (a, b), p in held.items()))}"


def notes(url: str) -> str:
    """The notes on the objects of a collection."""
    with open_target(url, write=False) as store:
        held = store.annotations()
    noted = sum(linked is not None for linked, _ in held.values())
    return f"{noted} notes {digest(sorted((str(each), str(linked), p) for each, (linked, p) in held.items()))}"


def links(path: Path) -> str:
    """A links file with its metadata."""
    read = Links.load(path)
    told = {key: value for key, value in read.summary.to_dict().items() if key != "seconds"}
    columns = [np.asarray(values).astype(str) for values in read.columns().values()]
    return f"{len(read)} links {digest(told, *columns)}"


def page(path: Path) -> str:
    """A page, without the times on it."""
    text = _there(path).read_text(encoding="utf-8")
    return f"page {digest(_TIMES.sub('', text))}"


def text(path: Path) -> str:
    """A file, byte for byte."""
    return f"file {digest(_there(path).read_bytes().hex())}"


def translator(path: Path) -> str:
    """A saved translator."""
    held = Translator.load(_there(path))
    return f"translator {digest(held.describe(), *vars(held.map).values())}"


def _there(path: Path) -> Path:
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    return path
