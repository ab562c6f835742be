"""A linker as a folder: JSON for what can be read, safetensors for numbers, a links file; nothing in it is ever run."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from veclink import __version__
from veclink.backends.cloud_pair import Projections
from veclink.confidence.constants import CALIBRATION_VERSION
from veclink.data.links import Links
from veclink.errors import InputError, OutputError
from veclink.files.atomic import alone, check_replaceable, folder_written_whole
from veclink.files.fingerprints import digest
from veclink.files.safetensors import read_header, read_tensor, write_tensors
from veclink.uses.new_rows.held import Held
from veclink.uses.new_rows.knowledge import SIDES, Account, Knowledge, KnownSide, Nearby, Part, model_of
from veclink.uses.translating import Translator

FORMAT = 2
"""1 knew rows by a sample of them, and did not seal the links and the translators."""
PLAIN, MAPS, ANCHORS, LINKS = "linker.json", "maps.safetensors", "anchors.safetensors", "links.parquet"
ROWS = ("rows_a.safetensors", "rows_b.safetensors")
TRANSLATORS = ("a_to_b.safetensors", "b_to_a.safetensors")
SEALED = (MAPS, ANCHORS, LINKS, *ROWS, *TRANSLATORS)
FILES = (PLAIN, *SEALED)
OF_SIDE = tuple(each.name for each in fields(KnownSide) if each.name not in ("parts", "marks"))

Translators = tuple[Translator, Translator]
Arrays = dict[str, np.ndarray]


def described(knowledge: Knowledge, held: Held) -> dict[str, Any]:
    """What is known of a linker as a whole, as plain values."""
    sides = {}
    for at, (name, known) in enumerate(zip(SIDES, knowledge.sides, strict=True)):
        sides[name] = {
            "source": held.sources[at],
            "ids_from": held.ids_from[at],
            "dimension": len(known.mean),
            "rows": known.size,
            "parts": [asdict(part) for part in known.parts],
        }
    return {
        "format": FORMAT,
        "version": __version__,
        "calibration": CALIBRATION_VERSION,
        **sides,
        "k": knowledge.k,
        "overlap": knowledge.overlap,
        "fitted_sizes": list(knowledge.fitted_sizes),
        "model": knowledge.model.plain(),
        "options": held.options,
    }


def check_place(path: Path) -> None:
    """Refuse a place where the folder could not be written, or would replace something else."""
    if not path.resolve().parent.is_dir():
        raise InputError(f"The folder {path.resolve().parent} for the linker does not exist; make it first.")
    check_replaceable(path, FILES.__contains__)


def write(path: Path, links: Links, knowledge: Knowledge, translators: Translators, held: Held) -> None:
    """Write the folder, whole or not at all; an older linker there is replaced.

    The linker that was read from there is: one that another run has put there since is not.
    """
    with alone(path), folder_written_whole(path, may_replace=FILES.__contains__) as new:
        check_unchanged(path, held)
        for name, arrays in _tensors(knowledge).items():
            write_tensors(new / name, arrays, {})
        links.save(new / LINKS)
        for name, translator in zip(TRANSLATORS, translators, strict=True):
            translator.save(new / name)
        plain = {**described(knowledge, held), "fingerprint": _seal(new)}
        text = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
        (new / PLAIN).write_text(text, encoding="utf-8")
    held.folders[os.path.realpath(path)] = digest(text)


def check_unchanged(path: Path, held: Held) -> None:
    """Refuse a folder that is not as it was when this linker was read from it, or written to it."""
    known = held.folders.get(os.path.realpath(path))
    if known is not None and path.exists() and known != digest((path / PLAIN).read_text(encoding="utf-8")):
        raise OutputError(
            f"{path} was changed by another run meanwhile, and stays as that left it; run the same command again "
            "(in Python: load it and update it again)."
        )


def read(path: Path) -> tuple[Links, Knowledge, Translators, Held]:
    """All that `write` wrote."""
    try:
        text = (path / PLAIN).read_text(encoding="utf-8")
        plain = json.loads(text)
    except OSError as error:
        raise InputError(
            f"{path} is not a linker, as {PLAIN} cannot be read ({error.strerror}); check the name."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path / PLAIN} is not JSON ({error}); save the linker again.") from error
    _check_versions(plain, path)
    try:
        if plain["fingerprint"] != _seal(path):
            raise ValueError("its files were not written together")
        tensors = {name: _arrays(path / name) for name in (MAPS, ANCHORS, *ROWS)}
        knowledge = _knowledge(plain, tensors)
        sources = [plain["a"]["source"], plain["b"]["source"]]
        ids_from = [plain["a"].get("ids_from"), plain["b"].get("ids_from")]
        folders = {os.path.realpath(path): digest(text)}
        held = Held(sources, options=dict(plain["options"]), folders=folders, ids_from=ids_from)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"{path} is not a sound linker ({error}); save it again.") from error
    links = Links.load(path / LINKS)
    first, second = (Translator.load(path / name) for name in TRANSLATORS)
    return links, knowledge, (first, second), held


def _check_versions(plain: Any, path: Path) -> None:
    """Refuse a folder of another format or calibration, and say how to get one of this."""
    told = plain.get("format") if isinstance(plain, dict) else None
    again = f"link again from its links (veclink link A B --continue {path / LINKS} -o … --save-linker …)"
    if told != FORMAT:
        is_old = isinstance(told, int) and told < FORMAT
        advice = again if is_old else "use a newer veclink"
        raise InputError(f"{path} has the format {told} and this version reads {FORMAT}; {advice}.")
    if plain.get("calibration") != CALIBRATION_VERSION:
        raise InputError(
            f"{path} was fitted with the calibration {plain.get('calibration')}, and this version has "
            f"{CALIBRATION_VERSION}; {again}."
        )


def _tensors(knowledge: Knowledge) -> dict[str, Arrays]:
    """The arrays of each file; vectors and maps as float16, which they were rounded to."""
    maps: Arrays = {}
    every = [*knowledge.maps, *([] if knowledge.whole is None else [knowledge.whole])]
    for place, pair in enumerate(every):
        for side, projection in zip(SIDES, pair, strict=True):
            maps[f"map{place}_{side}"] = projection.astype(np.float16)
    nearby = knowledge.nearby
    vectors = {"left": nearby.left.astype(np.float16), "right": nearby.right.astype(np.float16)}
    files = {MAPS: maps, ANCHORS: {"rows": nearby.rows, **vectors}}
    for name, known in zip(ROWS, knowledge.sides, strict=True):
        files[name] = {each: getattr(known, each) for each in OF_SIDE}
        files[name] |= {"backdrop": known.backdrop.astype(np.float16), "marks": known.marks.view(np.int64)}
    return files


def _knowledge(plain: dict[str, Any], tensors: dict[str, Arrays]) -> Knowledge:
    first, second = (_side(plain[side], tensors[name]) for side, name in zip(SIDES, ROWS, strict=True))
    maps = {name: each.astype(np.float32) for name, each in tensors[MAPS].items()}
    every: list[Projections] = [(maps[f"map{place}_a"], maps[f"map{place}_b"]) for place in range(len(maps) // 2)]
    is_large = len(first.scales) > 0
    anchors = tensors[ANCHORS]
    sizes = plain["fitted_sizes"]
    return Knowledge(
        sides=(first, second),
        maps=every[:-1] if is_large else every,
        whole=every[-1] if is_large else None,
        nearby=Nearby(anchors["rows"], anchors["left"].astype(np.float32), anchors["right"].astype(np.float32)),
        model=model_of(plain["model"]),
        k=int(plain["k"]),
        overlap=float(plain["overlap"]),
        fitted_sizes=(int(sizes[0]), int(sizes[1])),
    )


def _side(plain: dict[str, Any], arrays: Arrays) -> KnownSide:
    known = {name: arrays[name] for name in OF_SIDE} | {"backdrop": arrays["backdrop"].astype(np.float32)}
    marks = arrays.get("marks", np.empty(0, np.int64)).view(np.uint64)
    return KnownSide(parts=tuple(map(_part, plain["parts"])), marks=marks, **known)


def _part(plain: dict[str, Any]) -> Part:
    told = plain.get("account")
    account = None
    if told is not None:
        account = Account(float(told["overlap"]), int(told["copies"]), tuple(map(str, told["reasons"])))
    return Part(int(plain["rows"]), str(plain["fingerprint"]), account)


def _arrays(path: Path) -> Arrays:
    tensors, _ = read_header(path)
    return {name: np.array(read_tensor(path, entry)) for name, entry in tensors.items()}


def _seal(folder: Path) -> str:
    """A digest of all files but the one that holds it: files of two linkers, or one changed, do not make a linker."""
    made = hashlib.sha256()
    for name in SEALED:
        with (folder / name).open("rb") as file:
            made.update(hashlib.file_digest(file, "sha256").digest())
    return made.hexdigest()[:16]
