"""Tables of what was measured, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from veclink_bench.versions import measured_with

Cell = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A heading, the names of the columns, and rows of text."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = [f"### {self.heading}", "", _row(self.columns), _row(["---"] + ["--:"] * (len(self.columns) - 1))]
        lines += [_row(row) for row in self.rows]
        return "\n".join(lines) + "\n" + (f"\n{self.note}\n" if self.note else "")

    def show(self, console: Console) -> None:
        """Print the table."""
        table = RichTable(title=escape(self.heading), box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
        for place, name in enumerate(self.columns):
            table.add_column(escape(name), justify="right" if place else "left", no_wrap=not place)
        for row in self.rows:
            table.add_row(*map(escape, row))
        console.print(table)
        if self.note:
            console.print(escape(self.note))


def grouped(cells: Iterable[Cell], *names: str) -> dict[tuple[Any, ...], list[Cell]]:
    """Cells by the values of some settings (None where a cell lacks one), in the order in which they come."""
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        place = tuple(tuple(v) if isinstance(v := cell.get(name), list) else v for name in names)
        groups.setdefault(place, []).append(cell)
    return groups


def values(cells: Iterable[Cell], name: str = "f1") -> np.ndarray:
    """One measurement of all cells that have it."""
    return np.array([cell[name] for cell in cells if cell.get(name) is not None], float)


def mean_std(numbers: np.ndarray, digits: int = 1) -> str:
    """'86.1 ± 0.8', the deviation that of the sample; '86.1' for one number, a dash for none."""
    if not len(numbers):
        return "–"
    mean = f"{numbers.mean():.{digits}f}"
    return mean if len(numbers) == 1 else f"{mean} ± {numbers.std(ddof=1):.{digits}f}"


def ordered(cells: Iterable[Cell], name: str) -> list[Any]:
    """The different values of a setting, in the order in which they come."""
    return list(dict.fromkeys(tuple(v) if isinstance(v := cell[name], list) else v for cell in cells if name in cell))


def common_trials(cells: Iterable[Cell], over: str, *within: str) -> list[Cell]:
    """The cells of the trials that every value of `over` has, group by group, so that a row compares like with like."""
    kept = []
    for group in grouped(cells, *within).values():
        states = [{cell["state"] for cell in each} for each in grouped(group, over).values()]
        kept += [cell for cell in group if cell["state"] in set.intersection(*states)]
    return kept


def pair_name(pair: Sequence[str], between: str = "–") -> str:
    """'scifact minilm–mpnet'."""
    return f"{pair[0]} {between.join(pair[1:])}"


def method_grid(heading: str, cells: list[Cell], row: str, column: str, measure: str = "f1", note: str = "") -> Table:
    """A table of means ± deviations with the values of one setting as rows and of another as columns."""
    rows, columns, cell_of = ordered(cells, row), ordered(cells, column), grouped(cells, row, column)
    lines = [[_text(r), *(mean_std(values(cell_of.get((r, c), []), measure)) for c in columns)] for r in rows]
    return Table(heading, ["", *map(_text, columns)], lines, note)


def trials_note(cells: list[Cell]) -> str:
    """How many trials stand behind the means, and of which version, or that it is an older one."""
    version = measured_with(cells)
    measured = f" Measured with {version}." if version else ""
    text = trials_of(cells)
    if not text:
        return ""
    if text == "1":
        return f"One trial.{measured}"
    return f"Mean ± standard deviation over {text} trials, each of which redraws everything.{measured}"


def trials_of(cells: list[Cell]) -> str:
    """How many trials the means of these cells are over: '5', '1 to 5', or nothing."""
    known = [cell for cell in cells if "state" in cell]
    counts = sorted({len({cell["state"] for cell in group}) for group in grouped(known, *_fixed(known)).values()})
    if not counts:
        return ""
    return f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"


def _fixed(cells: list[Cell]) -> list[str]:
    known = "pair collections overlap seeds anchors method how outside rows variant path links_by target".split()
    return [name for name in known if any(name in cell for cell in cells)]


def _text(value: Any) -> str:
    return pair_name(value) if isinstance(value, tuple) and len(value) == 3 else str(value)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
