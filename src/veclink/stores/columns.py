"""Which columns hold the vectors and the ids, which make a table of links, and which rows a filter keeps."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veclink.errors import InputError, named

_VECTORS = ("vector", "embedding", "vectors", "embeddings")
IDS = ("id", "ids")
LINK_COLUMNS = ("a", "b", "probability")
_PARTS = re.compile(r"(?P<field>.+?)(?P<sign><=|>=|=|<|>)(?P<value>.*)", re.DOTALL)
_MORE = re.compile(r"\b(and|or)\b.*[<>=]", re.IGNORECASE | re.DOTALL)  # a condition in what is to be a value


def vector_field(names: Sequence[str], candidates: Sequence[str], name: str) -> str:
    """The field of the vectors: by its name, or else the only one that could be (`candidates`)."""
    for known in _VECTORS:
        if known in names:
            return known
    if len(candidates) == 1:
        return candidates[0]
    _check_any(candidates, names, name)
    raise InputError(
        f"{name} has {len(candidates)} fields that could be the vectors among {named(list(names))}; "
        "call the right one `vector` or `embedding`."
    )


def id_field(names: Sequence[str]) -> str | None:
    """The field of the ids, if there is one."""
    return next((known for known in IDS if known in names), None)


def choose_vector(wanted: str | None, names: Sequence[str], candidates: Sequence[str], name: str) -> str:
    """The field of the vectors in a store: the one that the URL names, the only one, or else a usual name."""
    _check_any(candidates, names, name)
    if wanted is not None:
        if wanted not in candidates:
            raise InputError(f"{name} has no vectors in {wanted!r}; it has some in {named(list(candidates))}.")
        return wanted
    usual = [known for known in _VECTORS if known in candidates]
    if len(candidates) == 1 or len(usual) == 1:
        return candidates[0] if len(candidates) == 1 else usual[0]
    raise InputError(
        f"{name} has {len(candidates)} fields that could be the vectors, {named(list(candidates))}, among "
        f"{named(list(names))}; name one: ?vector=…"
    )


def choose_id(wanted: str | None, names: Sequence[str], name: str) -> str | None:
    """The field of the ids in a store: the one that the URL names, or one with a usual name, or None."""
    if wanted is not None and wanted not in names:
        raise InputError(f"{name} has no field {wanted!r} for its ids; it has {named(list(names)) or 'none'}.")
    return wanted or id_field(names)


def _check_any(candidates: Sequence[str], names: Sequence[str], name: str) -> None:
    if not candidates:
        held = f"its fields are {named(list(names))}" if names else "it has no fields"
        raise InputError(f"{name} holds no vectors: {held}, and none is a list of numbers; is it the right table?")


def check_link_columns(names: Sequence[str], store: str) -> None:
    """Refuse to take a table of something else for a table of links."""
    if sorted(names) != sorted(LINK_COLUMNS):
        raise InputError(
            f"{store} is there and is no table of links: it has {named(list(names))}, links have a, b and "
            "probability; choose another name."
        )


@dataclass(frozen=True)
class Condition:
    """A filter of a URL, `?where=year>=2020`, the same for every store; rows without the field do not satisfy it."""

    field: str
    sign: str  # one of = < <= > >=
    value: str | int | float | bool


def parse_condition(text: str) -> Condition:
    """`year>=2020`, `venue=ACL`, `title="2020"`: a number, true, false or text in quotes is what JSON makes of it."""
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise InputError(f"The filter {text!r} has no comparison; write it like where=year>=2020 or where=venue=ACL.")
    if parts["field"].endswith("!") or parts["value"][:1] in ("<", ">", "="):
        raise InputError(f"The filter {text!r} has a comparison that is not known; known are =, <, <=, > and >=.")
    if not parts["value"].startswith('"') and _MORE.search(parts["value"]):
        raise InputError(f"The filter {text!r} is two in one; give where= for each, all of which must hold.")
    try:
        value = json.loads(parts["value"])
    except ValueError:
        value = parts["value"]
    if not isinstance(value, (str, int, float)):
        value = parts["value"]
    if isinstance(value, bool) and parts["sign"] != "=":
        raise InputError(f"The filter {text!r} orders true and false; compare them with = only.")
    return Condition(parts["field"].strip(), parts["sign"], value)


def check_known(conditions: Sequence[Condition], fields: Sequence[str], name: str) -> None:
    """Refuse a filter by a field that is not there."""
    missing = [each.field for each in conditions if each.field not in fields]
    if missing:
        raise InputError(
            f"{name} has no field {named(missing)} to filter by; it has {named(list(fields)) or 'no payload'}."
        )


def matching(table: pa.Table | None, conditions: Sequence[Condition], name: str) -> Any:
    """Which rows of a payload satisfy all conditions, as a numpy array of booleans."""
    functions = {"=": "equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
    check_known(conditions, [] if table is None else table.column_names, name)
    assert table is not None
    kept: Any = None
    for condition in conditions:
        try:
            holds = getattr(pc, functions[condition.sign])(table.column(condition.field), condition.value)
        except Exception as error:  # Arrow's errors of type have no common kind
            raise InputError(
                f"{name} cannot compare {condition.field!r} with {condition.value!r} "
                f"({table.schema.field(condition.field).type}); give a value of its kind."
            ) from error
        holds = pc.fill_null(holds, False)
        kept = holds if kept is None else pc.and_(kept, holds)
    return kept.to_numpy()
