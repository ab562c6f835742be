"""Which options of a links file are used again, and which are not."""

from __future__ import annotations

from dataclasses import fields

import pytest

from veclink.linkers.options import OPTIONS
from veclink.review.recalled import recalled


@pytest.mark.parametrize(
    ("method", "good", "bad"),
    [
        ("span", {"random_state": 7, "one_to_one": False, "k": 3, "schedule": {"views": 4}},
         {"random_state": True, "one_to_one": 1, "k": 10**9, "schedule": {"views": 10**9}, "cluster": "auto"}),
        ("geh", {"growth": 0.5, "share": 1, "k": 20, "encoding": "raw", "path": "local", "bootstrap": False},
         {"growth": -1, "share": 0, "k": 10**9, "encoding": "other", "path": "/etc", "bootstrap": None}),
        ("geh", {"view_choice": "random", "schedule": "frozen", "views": "single", "neighbours": 5},
         {"view_choice": [], "schedule": {}, "views": 3, "neighbours": 2.5, "max_iterations": 10**9}),
        ("other", {"random_state": 0}, {"one_to_one": True, "growth": float("nan")}),
    ],
)  # fmt: skip
def test_only_the_methods_own_options_within_their_ranges_come_from_a_file(
    method: str, good: dict[str, object], bad: dict[str, object]
) -> None:
    assert recalled(method, good) == (good, "")
    kept, said = recalled(method, bad)
    assert kept == {} and f"'{next(iter(bad))}'" in said and said.endswith("ignored.")


@pytest.mark.parametrize("method", ["span", "geh"])
def test_no_option_of_a_method_says_where_to_connect_or_write(method: str) -> None:
    own = {each.name for each in fields(OPTIONS[method])}
    assert not own & {"cluster", "checkpoint", "progress", "device", "memory", "seeds", "anchors", "skip_zero"}


def test_a_removed_option_of_an_older_file_is_left_out_without_a_word() -> None:
    assert recalled("span", {"approximate": True, "random_state": 1}) == ({"random_state": 1}, "")
