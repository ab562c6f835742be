"""Which code a result is of, and the refusal to put two of them into one table.

A version is the series of the release and a digest of the code that decides what a method finds: the syntax alone, so
that comments, docstrings and line breaks do not count. Cells without a version were measured with 0.1.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import veclink
from veclink.confidence.constants import CALIBRATION_VERSION
from veclink.errors import InputError

BEFORE_VERSIONS = "0.1"
_PRODUCT = Path(veclink.__file__).parent
_BASELINES = Path(__file__).parent / "baselines"
_SHARED = (_PRODUCT / "geometry",)
_SPAN = (*_SHARED, _PRODUCT / "linkers" / "span", _PRODUCT / "linkers" / "votes.py", _PRODUCT / "confidence")
_USES = _PRODUCT / "uses"
_DECIDING: dict[str, tuple[Path, ...]] = {
    "geh": (*_SHARED, _PRODUCT / "linkers" / "geh", _PRODUCT / "linkers" / "votes.py"),
    "span": _SPAN,
    "merge-sure": (*_SPAN, _USES / "maps", _USES / "translating.py", _USES / "merging.py"),
    "advise": (
        *_SPAN,
        *(_USES / name for name in ("maps", "advice", "translating.py", "advising.py", "searching.py")),
    ),
}


def method_of(cell: dict[str, Any]) -> str:
    """The method that a cell is of: "geh tuned" is GEH too, and where none is named it is span."""
    named = str(cell.get("links_by") or cell.get("method") or "span")
    return "geh" if named.startswith("geh") else "span" if named.startswith("span") else named


def version_of(method: str) -> str:
    """The version of the code as it is now: '0.2 1f3a5b7c'."""
    return f"{CALIBRATION_VERSION} {_digest(_DECIDING.get(method, (*_SHARED, _BASELINES)))}"


def recorded_version(cell: dict[str, Any]) -> str:
    """The version that a cell was measured with."""
    return str(cell.get("version", BEFORE_VERSIONS))


def is_current(cell: dict[str, Any]) -> bool:
    """Whether a cell was measured with the code as it is now."""
    return recorded_version(cell) == version_of(method_of(cell))


def one_version(cells: Iterable[dict[str, Any]]) -> str:
    """The series that all cells are of, "" for none; refuses two series, and two versions of one method."""
    found: dict[str, set[str]] = {}
    for cell in cells:
        found.setdefault(method_of(cell), set()).add(recorded_version(cell))
    series = {version.split()[0] for versions in found.values() for version in versions}
    mixed = {method: versions for method, versions in found.items() if len(versions) > 1}
    if len(series) > 1 or mixed:
        told = "; ".join(f"{method} {' and '.join(sorted(v))}" for method, v in (mixed or found).items())
        raise InputError(f"A table would mix versions of the code ({told}); measure its cells again with --again.")
    return series.pop() if series else ""


@cache
def _digest(places: tuple[Path, ...]) -> str:
    files = sorted(file for place in places for file in ([place] if place.is_file() else place.rglob("*.py")))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode())
        tree = _without_docstrings(ast.parse(file.read_text(encoding="utf-8")))
        digest.update(_written(tree).encode())
    return digest.hexdigest()[:8]


def _written(node: Any) -> str:
    """A syntax tree as text, without what is empty: Python 3.12 has fields that 3.11 lacks, and both run the code."""
    if isinstance(node, list):
        return "[" + ", ".join(map(_written, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = [f"{name}={_written(value)}" for name, value in ast.iter_fields(node) if value not in (None, [])]
    return f"{type(node).__name__}({', '.join(parts)})"


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list) or not body:
            continue
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            body[0] = ast.Pass()
    return tree
