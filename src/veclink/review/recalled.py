"""What a links file may decide when its links are looked for again: the method's own options, and nothing else.

A links file comes from anywhere. Where a run connects to, what it writes, and what it runs on is the user's to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from veclink.errors import InputError, named
from veclink.linkers.options import OPTIONS, options_of

LARGEST = 1_000_000  # a number that a file may ask for: more would only keep the machine busy
REMOVED = ("approximate",)  # options of 0.1 that do nothing any more


def recalled(method: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The options of a links file that a new run may take from it, and a sentence on those that it does not."""
    kept = {name: value for name, value in options.items() if _may_decide(method, name, value)}
    ignored = [name for name in options if name not in kept and name not in REMOVED]
    if not ignored:
        return kept, ""
    return kept, (
        f"The links file names {named(ignored)}, which no links file decides or whose value cannot be; "
        "that was ignored."
    )


def _may_decide(method: str, name: str, value: Any) -> bool:
    if name == "random_state":
        return type(value) is int and 0 <= value < 2**63
    if method not in OPTIONS or name in REMOVED or not _modest(value):
        return False
    try:
        options_of(method, None, {name: value})
    except InputError:
        return False
    return True


def _modest(value: Any) -> bool:
    """Whether every number in a value is small enough."""
    if isinstance(value, Mapping):
        return all(map(_modest, value.values()))
    return not isinstance(value, (int, float)) or abs(value) <= LARGEST
