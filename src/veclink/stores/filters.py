"""Filters of a URL, `?where=year>=2020`: a field, a comparison and a value, the same for every store."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veclink.errors import InputError, named, needed

if TYPE_CHECKING:
    import pyarrow as pa

_PARTS = re.compile(r"(?P<field>.+?)(?P<sign><=|>=|=|<|>)(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class Condition:
    """`field sign value`; sign is one of = < <= > >=; rows without the field do not satisfy it."""

    field: str
    sign: str
    value: str | int | float | bool


def parse_condition(text: str) -> Condition:
    """`year>=2020`, `venue=ACL`, `title="2020"`: a number, true, false or text in quotes is what JSON makes of it."""
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise InputError(f"The filter {text!r} has no comparison; write it like where=year>=2020 or where=venue=ACL.")
    if parts["field"].endswith("!") or parts["value"][:1] in ("<", ">", "="):
        raise InputError(f"The filter {text!r} has a comparison that is not known; known are =, <, <=, > and >=.")
    try:
        value = json.loads(parts["value"])
    except ValueError:
        value = parts["value"]
    if not isinstance(value, (str, int, float)):
        value = parts["value"]
    if isinstance(value, bool) and parts["sign"] != "=":
        raise InputError(f"The filter {text!r} orders true and false; compare them with = only.")
    return Condition(parts["field"].strip(), parts["sign"], value)


def matching(table: pa.Table | None, conditions: Sequence[Condition], name: str) -> Any:
    """Which rows of a payload satisfy all conditions, as a numpy array of booleans."""
    compute: Any = needed("pyarrow.compute", "A filter")
    functions = {"=": "equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
    kept: Any = None
    for condition in conditions:
        if table is None or condition.field not in table.column_names:
            fields = [] if table is None else table.column_names
            raise InputError(
                f"{name} has no field {condition.field!r} to filter by; it has {named(fields) or 'no payload'}."
            )
        try:
            holds = getattr(compute, functions[condition.sign])(table.column(condition.field), condition.value)
        except Exception as error:  # Arrow's errors of type have no common kind
            raise InputError(
                f"{name} cannot compare {condition.field!r} with {condition.value!r} "
                f"({table.schema.field(condition.field).type}); give a value of its kind."
            ) from error
        holds = compute.fill_null(holds, False)
        kept = holds if kept is None else compute.and_(kept, holds)
    return kept.to_numpy()
