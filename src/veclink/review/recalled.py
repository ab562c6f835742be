"""What a links file may decide when its links are looked for again: the method's own options, and nothing else.

A links file comes from anywhere. Where a run connects to, what it writes, and what it runs on is the user's to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from veclink.errors import named

Check = Callable[[Any], bool]


def _whole(least: int, most: int) -> Check:
    return lambda value: type(value) is int and least <= value <= most


def _number(least: float, most: float) -> Check:
    return lambda value: type(value) in (int, float) and least <= value <= most


def _one_of(*known: str) -> Check:
    return lambda value: isinstance(value, str) and value in known


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


COMMON: dict[str, Check] = {"random_state": _whole(0, 2**63 - 1)}
OPTIONS: dict[str, dict[str, Check]] = {
    "span": {"one_to_one": _truth, "approximate": _truth},
    "geh": {
        "growth": _number(0, 100),
        "share": _number(1e-6, 1),
        "k": _whole(1, 10_000),
        "encoding": _one_of("kernel", "raw"),
        "view_choice": _one_of("fps", "random"),
        "schedule": _one_of("adaptive", "frozen"),
        "views": _one_of("many", "single"),
        "bootstrap": _truth,
        "path": _one_of("auto", "global", "local"),
        "neighbours": _whole(1, 1_000_000),
        "max_iterations": _whole(1, 10_000),
    },
}


def recalled(method: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The options of a links file that a new run may take from it, and a sentence on those that it does not."""
    known = COMMON | OPTIONS.get(method, {})
    kept = {name: value for name, value in options.items() if name in known and known[name](value)}
    ignored = [name for name in options if name not in kept]
    if not ignored:
        return kept, ""
    return kept, (
        f"The links file names {named(ignored)}, which no links file decides or whose value cannot be; "
        "that was ignored."
    )
