"""Encoders behind one function: texts in, vectors out, whatever makes them.

A model is named by where it runs and what it is called there:

    st:all-mpnet-base-v2                 sentence-transformers: a name of its hub, or a folder
    openai:text-embedding-3-small        any server that speaks OpenAI's API: OPENAI_API_KEY, OPENAI_BASE_URL
    mistral:mistral-embed                any server that speaks Mistral's: MISTRAL_API_KEY, MISTRAL_BASE_URL

Keys come from the environment only.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from veclink.errors import InputError, VeclinkError, needed

BATCH = 64
RETRIES = 5
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
TIMEOUT = 120.0
BUSY = (408, 409, 425, 429, 500, 502, 503, 504)
SERVICES = {"openai": ("https://api.openai.com/v1", "OPENAI"), "mistral": ("https://api.mistral.ai/v1", "MISTRAL")}


def encode(texts: Sequence[str], model: str) -> np.ndarray:
    """The vectors of the texts by a model, (n, d) float32, in their order; equal texts are encoded once."""
    kind, _, name = model.partition(":")
    if not name or kind not in ("st", *SERVICES):
        raise InputError(f"The model {model!r} is unknown; name it as st:NAME, openai:NAME or mistral:NAME.")
    if not len(texts):
        raise InputError("There are 0 texts to encode; give some.")
    run = partial(_by_sentence_transformers, name) if kind == "st" else partial(_by_http, kind, name)
    place = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    wanted, made = list(place), []
    for start in range(0, len(wanted), BATCH):
        part = wanted[start : start + BATCH]
        made.append(run(part))
        if made[-1].ndim != 2 or len(made[-1]) != len(part) or not np.isfinite(made[-1]).all():
            raise VeclinkError(f"{model} gave an array of shape {made[-1].shape} for {len(part)} texts, or NaN in it.")
    return np.concatenate(made)[[place[text] for text in texts]].astype(np.float32)


@lru_cache(maxsize=1)
def _sentence_transformer(name: str) -> Any:
    package: Any = needed("sentence_transformers", "Encoding with sentence-transformers", "sentence-transformers")
    return package.SentenceTransformer(name)


def _by_sentence_transformers(name: str, texts: list[str]) -> np.ndarray:
    return np.asarray(_sentence_transformer(name).encode(texts, batch_size=len(texts), show_progress_bar=False))


def _by_http(kind: str, name: str, texts: list[str]) -> np.ndarray:
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
    try:
        rows = sorted(_asked(request, f"{kind} ({base})")["data"], key=lambda row: row["index"])
        if [row["index"] for row in rows] != list(range(len(texts))):
            raise ValueError(f"{len(rows)} vectors for {len(texts)} texts")
        return np.array([row["embedding"] for row in rows], np.float32)
    except (KeyError, TypeError, ValueError) as error:
        raise VeclinkError(f"{kind} ({base}) gave an answer that is no list of embeddings: {error}.") from error


def _asked(request: urllib.request.Request, server: str) -> dict[str, Any]:
    """The JSON that a server answers; a busy one is asked again, after as long as it wants."""
    for attempt in range(RETRIES + 1):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            said = error.read(300).decode("utf-8", "replace").strip()
            if error.code not in BUSY or attempt == RETRIES:
                raise VeclinkError(
                    f"{server} answered {error.code} {error.reason}: {said or 'nothing more'}."
                ) from error
            wanted = error.headers.get("Retry-After") or ""  # seconds, or a date
            wait = float(wanted) if wanted.isdigit() else None
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            if attempt == RETRIES:
                raise VeclinkError(f"{server} could not be reached: {getattr(error, 'reason', error)}.") from error
            wait = None
        time.sleep(min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt if wait is None else wait))
    raise AssertionError("the last attempt returns or raises")
