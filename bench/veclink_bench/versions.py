"""Which behaviour a result is of, and the refusal to put two of them into one table.

A version is the release and a digest of what small recorded runs of the method find: "0.3.0 1f3a5b7c". It stays where
code is moved, and changes with a changed default. The runs of span and GEH are those of tests/recorded.json, to which
the tests hold the code. Of every other method, results/behaviour.json holds what it measured on the bundled sample
(`veclink_bench.behaviour`). There `same_as` names earlier versions that found the same when they were run again on two
cuts of the sample, pair by pair.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from veclink import __version__
from veclink.errors import InputError
from veclink_bench.places import BENCH, ROOT

BEFORE_VERSIONS = "0.1"
BEHAVIOUR = BENCH / "results" / "behaviour.json"
LINKERS = ("span", "geh")
NOW = "now"


def method_of(cell: dict[str, Any]) -> str:
    """The method that a cell is of: "geh tuned" is GEH too, and where none is named it is span."""
    named = str(cell.get("links_by") or cell.get("method") or "span")
    return next((linker for linker in LINKERS if named.startswith(linker)), named)


def version_of(method: str) -> str:
    """The version of the code as it is now: '0.3.0 1f3a5b7c'."""
    return f"{__version__} {digest_of(method)}"


def recorded_version(cell: dict[str, Any]) -> str:
    """The version that a cell was measured with."""
    return str(cell.get("version", BEFORE_VERSIONS))


def release(version: str) -> str:
    """The release that a version belongs to: '0.2' of '0.2.3 302097e1'."""
    return ".".join(version.split()[0].split(".")[:2])


def is_current(cell: dict[str, Any]) -> bool:
    """Whether a cell was measured with the behaviour that the code has now."""
    return release_of([cell]) == NOW


def release_of(cells: Iterable[dict[str, Any]]) -> str:
    """The release that all cells are of, NOW where the code still behaves so, "" for none; refuses a mixture."""
    found: dict[str, dict[str, set[str]]] = {}  # the releases that behave so, by method and behaviour
    for cell in cells:
        method, version = method_of(cell), recorded_version(cell)
        behaviour = _behaviour(method, version)
        releases = found.setdefault(method, {}).setdefault(behaviour, set())
        releases |= {release(version)} | ({NOW} if behaviour == digest_of(method) else set())
    every = [releases for behaviours in found.values() for releases in behaviours.values()]
    common = set.intersection(*every) if every else {""}
    mixed = [method for method, behaviours in found.items() if len(behaviours) > 1]
    if mixed or not common:
        told = "; ".join(f"{method} {' and '.join(sorted(found[method]))}" for method in mixed or found)
        raise InputError(f"A table would mix versions of the code ({told}); measure its cells again.")
    return NOW if NOW in common else common.pop()


def measured_with(cells: Iterable[dict[str, Any]]) -> str:
    """The same as a page says it: of an older release, or of other behaviour, that it is; "" for none."""
    measured = release_of(cells)
    if measured in ("", NOW):
        return measured and f"veclink {release(__version__)}"
    before = "an earlier state of " if measured == release(__version__) else ""
    return f"{before}veclink {measured}, and not since"


@cache
def digest_of(method: str) -> str:
    """A digest of what the recorded runs of a method find."""
    if method in LINKERS:
        runs = json.loads((ROOT / "tests" / "recorded.json").read_text(encoding="utf-8"))
        found = {name: _rounded(run) for name, run in runs.items() if ("geh" in name) == (method == "geh")}
    elif method in recorded():
        found = recorded()[method]["measured"]
    else:
        raise InputError(f"Of {method!r} no behaviour is recorded; run `veclink bench check --record`.")
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:8]


@cache
def older() -> dict[str, str]:
    """The results that pages show although the code behaves in another way since: by file, the release they are of."""
    return json.loads((BENCH / "results" / "older.json").read_text(encoding="utf-8"))


@cache
def recorded() -> dict[str, Any]:
    """By method: what it measured on the sample, and the earlier versions that its behaviour is the same as."""
    return json.loads(BEHAVIOUR.read_text(encoding="utf-8"))


def _rounded(run: dict[str, Any]) -> list[Any]:
    """What a recorded run found; probabilities to four decimals, as another processor has other last bits."""
    probability = np.frombuffer(zlib.decompress(base64.b64decode(run["probability"])), "<f4")
    return [run["verdict"], run["links"], run["pairs"], np.round(probability.astype(float), 4).tolist()]


def _behaviour(method: str, version: str) -> str:
    """The digest in a version, or today's where that behaves the same; of one that names source files, the release."""
    known = recorded().get(method, {})
    if version in known.get("same_as", ()) and known.get("digest", digest_of(method)) == digest_of(method):
        return digest_of(method)
    return release(version) if "+" in version else version.split()[-1]
