"""Encoders behind one function: texts in, vectors out, whatever makes them.

A model is named by where it runs and what it is called there:

    st:all-mpnet-base-v2                 sentence-transformers: a name of its hub, or a folder
    openai:text-embedding-3-small        any server that speaks OpenAI's API: OPENAI_API_KEY, OPENAI_BASE_URL
    mistral:mistral-embed                any server that speaks Mistral's: MISTRAL_API_KEY, MISTRAL_BASE_URL

Keys come from the environment only. What was encoded once is kept in a cache on disk, if one is named, so that a run
that was cut off does not pay twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError, VeclinkError, needed

BATCH = 64
RETRIES = 5
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
TIMEOUT = 120.0
BUSY = (408, 409, 425, 429, 500, 502, 503, 504)
SERVICES = {
    "openai": ("https://api.openai.com/v1", "OPENAI"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL"),
}


def encode(
    texts: Sequence[str],
    model: str,
    *,
    batch: int = BATCH,
    cache: str | Path | None = None,
    retries: int = RETRIES,
    pause: float = FIRST_PAUSE,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """The vectors of the texts by a model, (n, d) float32, in their order; equal texts are encoded once.

    cache: an SQLite file that is asked first and then filled, batch by batch. retries, pause: how often a busy server
    is asked again, and the seconds before the first time, doubled each time. progress: told (done, of all).
    """
    kind, _, name = model.partition(":")
    if not name or kind not in ("st", *SERVICES):
        raise InputError(f"The model {model!r} is unknown; name it as st:NAME, openai:NAME or mistral:NAME.")
    if not len(texts):
        raise InputError("There are 0 texts to encode; give some.")
    run = partial(_by_sentence_transformers, name) if kind == "st" else partial(_by_http, kind, name, retries, pause)
    keys = [hashlib.sha256(f"{model}\0{text}".encode()).digest() for text in texts]
    wanted = dict(zip(keys, texts, strict=True))
    with closing(_Cache(cache)) as kept:
        found = kept.get(list(wanted))
        missing = [key for key in wanted if key not in found]
        for part in _parts(missing, batch):
            made = run([wanted[key] for key in part])
            if made.shape[0] != len(part) or made.ndim != 2 or not np.isfinite(made).all():
                raise VeclinkError(f"{model} gave an array of shape {made.shape} for {len(part)} texts, or NaN in it.")
            new = dict(zip(part, made.astype(np.float32), strict=True))
            kept.put(new)
            found |= new
            if progress is not None:
                progress(len(found), len(wanted))
    sizes = {len(vector) for vector in found.values()}
    if len(sizes) > 1:
        raise VeclinkError(f"{model} gave vectors of {' and '.join(map(str, sorted(sizes)))} numbers; empty the cache.")
    return np.stack([found[key] for key in keys])


@lru_cache(maxsize=1)
def _sentence_transformer(name: str) -> Any:
    package: Any = needed("sentence_transformers", "Encoding with sentence-transformers", "sentence-transformers")
    return package.SentenceTransformer(name)


def _by_sentence_transformers(name: str, texts: list[str]) -> np.ndarray:
    return np.asarray(_sentence_transformer(name).encode(texts, batch_size=len(texts), show_progress_bar=False))


def _by_http(kind: str, name: str, retries: int, pause: float, texts: list[str]) -> np.ndarray:
    base, prefix = SERVICES[kind]
    base = os.environ.get(f"{prefix}_BASE_URL", base).rstrip("/")
    key = os.environ.get(f"{prefix}_API_KEY")
    if not key:
        raise InputError(f"The key for {kind} is not set; put it into the environment as {prefix}_API_KEY.")
    request = urllib.request.Request(
        f"{base}/embeddings",
        data=json.dumps({"model": name, "input": texts}).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    answer = _asked(request, f"{kind} ({base})", retries, pause)
    try:
        rows = sorted(answer["data"], key=lambda row: row["index"])
        if [row["index"] for row in rows] != list(range(len(texts))):
            raise ValueError(f"{len(rows)} vectors for {len(texts)} texts")
        return np.array([row["embedding"] for row in rows], np.float32)
    except (KeyError, TypeError, ValueError) as error:
        raise VeclinkError(f"{kind} ({base}) gave an answer that is no list of embeddings: {error}.") from error


def _asked(request: urllib.request.Request, server: str, retries: int, pause: float) -> dict[str, Any]:
    """The JSON that a server answers; a busy one is asked again, after as long as it wants."""
    for attempt in range(retries + 1):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            said = error.read(300).decode("utf-8", "replace").strip()
            if error.code not in BUSY or attempt == retries:
                raise VeclinkError(
                    f"{server} answered {error.code} {error.reason}: {said or 'nothing more'}."
                ) from error
            wait = _seconds(error.headers.get("Retry-After"))
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            if attempt == retries:
                raise VeclinkError(f"{server} could not be reached: {getattr(error, 'reason', error)}.") from error
            wait = None
        except json.JSONDecodeError as error:
            raise VeclinkError(f"{server} gave an answer that is not JSON: {error.msg}.") from error
        time.sleep(min(LONGEST_PAUSE, pause * 2**attempt if wait is None else wait))
    raise AssertionError("the last attempt returns or raises")


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:  # a date; the pause of our own will do
        return None


def _parts(keys: list[bytes], size: int) -> Iterator[list[bytes]]:
    return (keys[start : start + size] for start in range(0, len(keys), max(size, 1)))


class _Cache:
    """Vectors by the hash of model and text, in an SQLite file; without one, nothing is kept."""

    def __init__(self, path: str | Path | None) -> None:
        self._base: sqlite3.Connection | None = None
        if path is not None:
            try:
                self._base = sqlite3.connect(path, timeout=60)
                self._base.execute("create table if not exists vectors (key blob primary key, vector blob)")
            except sqlite3.DatabaseError as error:
                raise InputError(f"The cache {path} cannot be used ({error}); name another file.") from error

    def get(self, keys: list[bytes]) -> dict[bytes, np.ndarray]:
        if self._base is None:
            return {}
        found: dict[bytes, np.ndarray] = {}
        for part in _parts(keys, 500):
            marks = ",".join("?" * len(part))
            rows = self._base.execute(f"select key, vector from vectors where key in ({marks})", part)
            found |= {key: np.frombuffer(vector, np.float32) for key, vector in rows}
        return found

    def put(self, new: dict[bytes, np.ndarray]) -> None:
        if self._base is not None:
            with self._base:
                rows = [(key, vector.tobytes()) for key, vector in new.items()]
                self._base.executemany("insert or replace into vectors values (?, ?)", rows)

    def close(self) -> None:
        if self._base is not None:
            self._base.close()
