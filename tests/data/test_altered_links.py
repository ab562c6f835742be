"""Links files with one value of their metadata altered: they load and can be used, or are refused in a sentence."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from veclink import Links
from veclink.confidence.explanations import in_words
from veclink.errors import InputError
from veclink.report import save_report
from veclink.review import why

FIXTURE = Path(__file__).parents[1] / "fixtures/links-0.1.csv"
GONE = object()
ODD: list[Any] = [
    *(GONE, None, True, -1, 0, 7, 10**30, 10**400, 1e308, float("nan"), float("inf")),
    *("", "x", "int64", "linkable", [], [1], [[1]], [[1, 2, 3]], [["x", "y"]], [[10**9, 5]], {}, {"a": 1}),
]
MUTANTS = 400
REPORTED = 25
"""How many of the accepted ones are also shown as a whole page, which takes longer."""


def places(values: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value, the first three of each list."""
    parts = values.items() if isinstance(values, dict) else enumerate(values[:3]) if isinstance(values, list) else ()
    for name, part in parts:
        yield (*at, name)
        yield from places(part, (*at, name))


def altered(metadata: dict[str, Any], at: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = deepcopy(metadata)
    holder: Any = changed
    for name in at[:-1]:
        holder = holder[name]
    if value is GONE:
        del holder[at[-1]]
    else:
        holder[at[-1]] = value
    return changed


@pytest.fixture(scope="module")
def mutants() -> list[tuple[str, dict[str, Any]]]:
    """The same ones on every run: half of them in the summary and the trace, which are used most."""
    metadata = json.loads(FIXTURE.with_name("links-0.1.csv.json").read_text())
    ways = list(places(metadata))
    used = [way for way in ways if way[0] in ("summary", "trace")]
    draw = random.Random(0)
    chosen = [(draw.choice(used if number % 2 else ways), draw.choice(ODD)) for number in range(MUTANTS)]
    return [(f"{at}: {value!r}", altered(metadata, at, value)) for at, value in chosen]


def test_altered_metadata_is_refused_in_a_sentence_or_does_no_harm(
    tmp_path: Path, mutants: list[tuple[str, dict[str, Any]]]
) -> None:
    file = tmp_path / "links.csv"
    header, *lines = FIXTURE.read_text().splitlines(keepends=True)
    file.write_text(header + "".join(lines[:60]))
    original = json.loads(FIXTURE.with_name("links-0.1.csv.json").read_text())
    accepted = reported = 0
    for told, metadata in mutants:
        if isinstance(metadata.get("summary"), dict) and metadata["summary"].get("n_links") == 916:
            metadata["summary"]["n_links"] = 60
        file.with_name("links.csv.json").write_text(json.dumps(metadata))
        try:
            links = Links.load(file)
        except InputError as error:
            assert str(file) in str(error) and ";" in str(error), told
            continue
        accepted += 1
        assert repr(links) and links.explain(0) and why(links, 0), told
        assert isinstance(in_words(links, 0), str) and len(links.at(precision=0.9)) <= 60, told
        if reported < REPORTED and metadata != original:
            save_report(tmp_path / "report.html", links)
            reported += 1
    assert reported == REPORTED and MUTANTS * 0.1 < accepted < MUTANTS * 0.9
