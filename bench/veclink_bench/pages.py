"""Figures in prose: filled from the committed results and from the code, never typed.

A page holds marks that no reader sees, and between them what they stand for:

    <!-- = mean main.f1 pair=scifact/minilm/mpnet method=geh -->79.5<!-- /= -->     a number
    <!-- claim NAME -->No pair is lost by mean.<!-- /claim -->                      a sentence that has to hold
    <!-- table NAME N --> … <!-- end -->                                            table N of an experiment
    <!-- constants MODULE … --> … <!-- end -->                                      constants that the page names
    <!-- made NAME --> … <!-- end -->                                               one of `page_parts.PARTS`
    <!-- paper -->72.2<!-- /paper -->                                               the paper's figure, typed

A number is `REDUCE FILE.MEASURE NAME=VALUE … [by=NAME,…] [digits=N]` of the cells of results/experiments/FILE.json
whose settings have these values ("/" joins a list, "_" is a space, "|" means or). REDUCE is one of `REDUCTIONS`; with
`by` the cells are averaged within each group first. `at FILE PATH [digits=N [percent]]` reads one number of any
result file (a path of keys and positions, joined by "."), `code MODULE.NAME … [percent]` a constant of the code or
the product of several, `figure NAME` one of `claims.FIGURES`, and `release FILE` the release that a result file is
of, such as "veclink 0.2, and not since".
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from inspect import getsource
from math import prod
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

from veclink.errors import InputError
from veclink_bench.claims import CLAIMS, FIGURES
from veclink_bench.experiments import EXPERIMENTS, load
from veclink_bench.experiments.tables import Cell, grouped, values
from veclink_bench.page_parts import PARTS
from veclink_bench.places import BENCH, PAGE, ROOT
from veclink_bench.studies.real import last_of_each
from veclink_bench.versions import measured_with, older

RESULTS = BENCH / "results"
VOUCHED = RESULTS / "vouched.json"
PERCENT = "percent"
NUMBER = re.compile(r"<!-- = (.+?) -->(.*?)<!-- /= -->", re.DOTALL)
CLAIM = re.compile(r"<!-- claim ([\w-]+) -->(.*?)<!-- /claim -->", re.DOTALL)
TABLE = re.compile(r"<!-- table ([\w-]+) (\d+) -->\n.*?<!-- end -->", re.DOTALL)
CONSTANTS = re.compile(r"<!-- constants ([\w. ]+) -->\n.*?<!-- end -->", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
MADE = re.compile(r"<!-- made ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)

STUDIES = ("real-report", "catalogues")  # whose trials are lines of results/experiments/NAME.PART.jsonl
USED: set[str] = set()
"""The files whose cells were asked for."""

Numbers = np.ndarray
REDUCTIONS: dict[str, Callable[[Numbers], float]] = {
    "mean": lambda x: float(x.mean()),
    "least": lambda x: float(x.min()),
    "most": lambda x: float(x.max()),
    "deviation": lambda x: float(x.std(ddof=1)),
    "count": lambda x: float(len(x)),
}


def pages() -> list[Path]:
    """Every page that may hold marks."""
    return [ROOT / "README.md", ROOT / "SECURITY.md", PAGE, *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """A page with every number, table and list of constants as the results and the code have them."""
    text = TABLE.sub(lambda mark: _table(mark[1], int(mark[2])), text)
    text = MADE.sub(lambda mark: _made(mark[1]), text)
    text = CONSTANTS.sub(lambda mark: constants_of(mark[1], CONSTANTS.sub("", text)), text)
    return NUMBER.sub(lambda mark: f"<!-- = {mark[1]} -->{number(mark[1])}<!-- /= -->", text)


def broken_claims(text: str) -> list[str]:
    """The sentences of a page that the results contradict, and those that name no check."""
    broken = []
    for name, sentence in CLAIM.findall(text):
        words = " ".join(sentence.split())
        if name not in CLAIMS:
            broken.append(f"no check is called {name!r}: {words}")
        elif not CLAIMS[name](cells_of):
            broken.append(f"the results contradict {name!r}: {words}")
        elif claim_digest(name, sentence) not in vouched()["claims"].get(name, ()):
            broken.append(f"the check {name!r} was written for other words, or is another since: {words}")
    return broken


def claim_digest(name: str, sentence: str) -> str:
    """A digest of the words of a claim and of its check."""
    words = " ".join(COMMENT.sub("", NUMBER.sub("", sentence)).split())
    return sha256(f"{words}\n{getsource(CLAIMS[name])}".encode()).hexdigest()[:12]


@cache
def vouched() -> dict[str, Any]:
    """The typed numbers of strict pages and the digests of claims that somebody has read and found right."""
    return json.loads(VOUCHED.read_text(encoding="utf-8"))


def number(query: str) -> str:
    """The number that a mark stands for, as text."""
    kind, *rest = query.split()
    if kind == "code":
        return _constant(rest)
    if kind == "figure":
        return _figure(FIGURES[rest[0]](cells_of), int(_option(rest, "digits") or 1))
    if kind == "release":
        return measured_with(cells_of(rest[0]))
    if kind == "at":
        return _at(rest[0], rest[1], _option(rest, "digits"), 100 if PERCENT in rest else 1)
    if kind not in REDUCTIONS:
        known = ", ".join((*REDUCTIONS, "at", "code", "figure", "release"))
        raise InputError(f"A mark asks for {kind!r}; it can ask for {known}.")
    file, _, measure = rest[0].rpartition(".")
    wanted = dict(part.split("=", 1) for part in rest[1:])
    digits, by = int(wanted.pop("digits", 1)), wanted.pop("by", None)
    found = [cell for cell in cells_of(file) if all(_has(cell, *item) for item in wanted.items())]
    if by is None:
        numbers = values(found, measure)
    else:
        numbers = np.array([values(group, measure).mean() for group in grouped(found, *by.split(",")).values()])
    if not len(numbers):
        raise InputError(f"No cell of {file} fits the mark {query!r}; correct its settings.")
    value = REDUCTIONS[kind](numbers)
    return f"{value:.0f}" if kind == "count" else f"{value:.{digits}f}"


def _constant(parts: list[str]) -> str:
    """A constant of the code, or the product of several; in percent where that is asked for."""
    found = [resolve_name(part) for part in parts if part != PERCENT]
    if PERCENT in parts:
        return _plain(100 * prod(found))
    return _plain(found[0] if len(found) == 1 else prod(found))


def cells_of(file: str) -> list[Cell]:
    """The cells of a result file, or the trials of a study."""
    USED.add(file)
    return _cells(file)


@cache
def _cells(file: str) -> list[Cell]:
    if file in STUDIES:
        return last_of_each(*sorted((RESULTS / "experiments").glob(f"{file}.*.jsonl")))
    read = _read(f"experiments/{file}")
    if "cells" in read:
        return list(read["cells"].values())
    return [{"version": read["version"], **row} for row in read["rows"]]


def constants_of(modules: str, page: str) -> str:
    """The constants of some modules that a page names, with their values."""
    found, named = [f"<!-- constants {modules} -->"], set(re.findall(r"[A-Z][A-Z_0-9]+", page))
    for module in map(import_module, modules.split()):
        body = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body
        names = [target.id for node in body for target in _targets(node) if isinstance(target, ast.Name)]
        shown = [f"`{name}` {_plain(getattr(module, name))}" for name in names if name in named]
        found.append(f"`{module.__name__.partition('.')[2]}`: {'; '.join(shown)}.")
    return "\n\n".join([*found, "<!-- end -->"])


def _targets(node: ast.stmt) -> list[ast.expr]:
    """What a statement gives a value to."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _made(name: str) -> str:
    if name not in PARTS:
        raise InputError(f"A mark asks for the part {name!r}; there are {', '.join(PARTS)}.")
    return f"<!-- made {name} -->\n\n{PARTS[name](cells_of)}\n\n<!-- end -->"


def _table(name: str, place: int) -> str:
    found = tables_of(name)
    if found:
        cells_of(name)
    if place >= len(found):
        body = "Not measured.\n"
    else:
        body = f"**{found[place].removeprefix('### ')}".replace("\n", "**\n", 1)
        if name in older() and "Measured with" not in body:
            body += f"\nMeasured with {measured_with(cells_of(name))}.\n"
    return f"<!-- table {name} {place} -->\n{body}<!-- end -->"


@cache
def tables_of(name: str) -> list[str]:
    """The tables of an experiment as Markdown; of a former one as it left them."""
    if not (RESULTS / "experiments" / f"{name}.json").exists():
        return []
    if name not in EXPERIMENTS:
        _, *left = (RESULTS / "experiments" / f"{name}.md").read_text(encoding="utf-8").split("\n### ")
        return [f"### {table.rstrip()}\n" for table in left]
    return [table.markdown() for table in load(name).tables(cells_of(name))]


@cache
def _read(file: str) -> Any:
    path = RESULTS / f"{file}.json"
    if not path.exists():
        raise InputError(f"A mark names the results {file!r}, and there is no {path.name}; correct the mark.")
    return json.loads(path.read_text(encoding="utf-8"))


def _at(file: str, path: str, digits: str | None, factor: int) -> str:
    value = _read(file)
    for step in path.split("."):
        value = (
            value[int(step)]
            if isinstance(value, list)
            else value[step.replace("_", " ") if step not in value else step]
        )
    return f"{factor * value:,.{int(digits)}f}" if digits is not None else _plain(value)


def _figure(value: float, digits: int) -> str:
    """A count, a number, or that nothing was measured yet."""
    if math.isnan(value):
        return "(not measured)"
    return str(value) if isinstance(value, int) else f"{value:.{digits}f}"


def _option(parts: list[str], name: str) -> str | None:
    return next((part.split("=", 1)[1] for part in parts if part.startswith(f"{name}=")), None)


def _has(cell: Cell, name: str, value: str) -> bool:
    own = cell.get(name)
    text = "/".join(map(str, own)) if isinstance(own, list) else str(own)
    return text in [each.replace("_", " ") for each in value.split("|")]


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if is_dataclass(value):
        return f"({_plain(tuple(vars(value).values()))})"
    if isinstance(value, (tuple, list)):
        return ", ".join(f"({_plain(each)})" if isinstance(each, tuple) else _plain(each) for each in value)
    return str(value)
