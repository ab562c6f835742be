"""Outside anchors from texts: the same few hundred texts embedded by both models, row i of both the same text.

A model is a sentence-transformers model by its name or folder, or "command:…": a program that reads the texts from its
standard input, one a line, and prints a vector for each, as JSON lines or as one .npy array.
"""

from __future__ import annotations

import io
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError, VeclinkError, named, needed, plural
from veclink.files.atomic import flush, flush_folder, written_whole

COMMAND = "command:"
NPY = b"\x93NUMPY"
MIN_TEXTS = 30  # fewer anchors than this place hardly any row
REACHED_WITHIN = 10  # seconds
FIELDS = ("vector", "embedding")  # of a JSON line that is an object


def read_texts(path: str | Path) -> list[str]:
    """The texts of a file, one a line; empty lines and repetitions are left out."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 ({error.reason}); give a text on each line.") from error
    texts = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if len(texts) < MIN_TEXTS:
        raise InputError(f"{path} has {plural(len(texts), 'text')}; give at least {MIN_TEXTS}, better a few hundred.")
    return texts


def embed(texts: list[str], model: str | Path) -> np.ndarray:
    """The vectors of texts by a model, (n, d) float32, in their order."""
    model = str(model)
    if model.startswith(COMMAND):
        vectors = _by_command(texts, model.removeprefix(COMMAND))
    else:
        vectors = _by_sentence_transformers(texts, model)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise InputError(
            f"{model} gave an array of shape {vectors.shape} for {plural(len(texts), 'text')}; it must give one vector "
            "for each, in their order."
        )
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        raise InputError(f"{model} gave NaN or infinity for text {named(broken)}; leave those texts out.")
    return vectors.astype(np.float32)


def write_anchors(prefix: Path, left: np.ndarray, right: np.ndarray) -> tuple[Path, Path]:
    """Write PREFIX-a.npy and PREFIX-b.npy, both or neither, and say where they are.

    An older PREFIX-a.npy goes away before the first of the two is put in place: a run that is killed in between leaves
    one file, and never the anchors of two runs.
    """
    paths = anchor_files(prefix)
    with written_whole(paths[0]) as of_a, written_whole(paths[1]) as of_b:
        for path, vectors in ((of_a, left), (of_b, right)):
            with path.open("wb") as file:
                np.save(file, vectors)
            flush(path)  # a full disk is told before the older ones are gone
        paths[0].unlink(missing_ok=True)
        flush_folder(prefix.parent)
    return paths


def anchor_files(prefix: Path) -> tuple[Path, Path]:
    """Where the vectors of the two models go."""
    return prefix.with_name(f"{prefix.name}-a.npy"), prefix.with_name(f"{prefix.name}-b.npy")


def _by_sentence_transformers(texts: list[str], name: str) -> np.ndarray:
    package: Any = needed("sentence_transformers", f"The model {name}", "sentence-transformers")
    try:
        model = _model(package, name)
    except (OSError, ValueError) as error:
        if isinstance(error, VeclinkError):
            raise
        first = str(error).strip().splitlines()[0]
        raise InputError(
            f"The model {name} cannot be loaded ({first}); give a name or a folder that sentence-transformers knows, "
            f'or "{COMMAND} …".'
        ) from error
    return np.asarray(model.encode(texts, show_progress_bar=False))


def _model(package: Any, name: str) -> Any:
    """The model on this machine, else the one that is downloaded under this name."""
    if (Path(name).is_absolute() or name.startswith(".")) and not Path(name).exists():
        raise InputError(f"The model {name} cannot be loaded, as there is no such folder; check the name.")
    try:
        return package.SentenceTransformer(name, local_files_only=True)
    except (OSError, ValueError):
        if Path(name).exists():
            raise
    _check_reachable(name)
    return package.SentenceTransformer(name)


def _check_reachable(name: str) -> None:
    """Ask once whether models can be downloaded: where there is no network, the library asks for minutes."""
    hub: Any = needed("huggingface_hub", f"The model {name}", "sentence-transformers")
    place = hub.constants.ENDPOINT
    try:
        hub.get_session().head(place, timeout=REACHED_WITHIN)
    except Exception as error:  # of whichever client the library uses
        raise InputError(
            f"The model {name} is not on this machine, and {place} cannot be reached to download it ({error}); give "
            f'the folder of a model, or "{COMMAND} …", or run this once where there is a network.'
        ) from error


def _by_command(texts: list[str], command: str) -> np.ndarray:
    words = shlex.split(command)
    if not words:
        raise InputError(f'There is no command after "{COMMAND}"; name a program that reads texts and prints vectors.')
    try:
        told = subprocess.run(words, input="\n".join(texts).encode() + b"\n", capture_output=True)
    except (FileNotFoundError, PermissionError) as error:
        raise InputError(f"{words[0]} cannot be run ({error.strerror}); check the command.") from error
    if told.returncode:
        last = told.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        said = last[0] if last else "nothing on stderr"
        raise VeclinkError(f"The command {words[0]} ended with {told.returncode}: {said}.")
    if told.stdout.startswith(NPY):
        return _from_npy(told.stdout, words[0])
    return _from_json_lines(told.stdout, words[0])


def _from_npy(printed: bytes, command: str) -> np.ndarray:
    try:
        return np.load(io.BytesIO(printed), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{command} printed an .npy array that cannot be read ({error}).") from error


def _from_json_lines(printed: bytes, command: str) -> np.ndarray:
    try:
        rows = [_vector(json.loads(line)) for line in printed.splitlines() if line.strip()]
        return np.array(rows, np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{command} printed something that is no vector ({error}); print a JSON list of numbers for each text, "
            "or one .npy array."
        ) from error


def _vector(line: Any) -> Any:
    """A JSON line: a list of numbers, or an object that holds one."""
    if isinstance(line, dict):
        return next((line[name] for name in FIELDS if name in line), None)
    return line
