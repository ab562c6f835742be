"""What all figures share: matplotlib without a screen, one style, one colour for each method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from veclink.errors import needed
from veclink_bench.experiments.tables import Cell, grouped, values

COLOURS = {
    "span": "#1f5fa8", "geh": "#d1783a", "geh tuned": "#a8481c", "self-learning tuned": "#3a8f6d",
    "self-learning": "#8cc3ab",
}  # fmt: skip
OTHERS = ("#7d6bb0", "#a8576b", "#6f7f8c", "#b5a14b", "#4fa3b5", "#946b4a")
STYLE = {
    "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 110, "font.size": 9, "axes.titlesize": 8,
    "legend.frameon": False,    "svg.fonttype": "none", "svg.hashsalt": "veclink",
}  # fmt: skip


def new_figure(rows: int = 1, columns: int = 1, width: float = 6.4, height: float = 3.6) -> tuple[Any, Any]:
    """A figure and its axes (rows, columns)."""
    matplotlib: Any = needed("matplotlib", "Drawing a figure", "veclink[bench]")
    drawing: Any = needed("matplotlib.figure", "Drawing a figure", "veclink[bench]")
    matplotlib.rcParams |= STYLE
    figure = drawing.Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def colour(name: str, others: Sequence[str] = ()) -> str:
    """The colour of a method; those without one of their own take the next of a few."""
    return COLOURS.get(name) or OTHERS[(list(others).index(name) if name in others else 0) % len(OTHERS)]


def curve(axes: Any, cells: Iterable[Cell], x: str, *, label: str, measure: str = "f1", **style: Any) -> None:
    """Means of a measurement over the values of a setting, with a band of one standard deviation."""
    groups = sorted(grouped(cells, x).items(), key=lambda item: item[0])
    places = [place[0] for place, _ in groups]
    numbers = [values(group, measure) for _, group in groups]
    mean = np.array([each.mean() if len(each) else np.nan for each in numbers])
    std = np.array([each.std(ddof=1) if len(each) > 1 else 0.0 for each in numbers])
    line = axes.plot(places, mean, marker="o", ms=3.5, label=label, **style)[0]
    axes.fill_between(places, mean - std, mean + std, color=line.get_color(), alpha=0.15, lw=0)


def heat(axes: Any, numbers: np.ndarray, rows: Sequence[str], columns: Sequence[str], *, most: float = 100.0) -> None:
    """A table as colours, with the numbers in it."""
    axes.imshow(numbers, cmap="Blues", vmin=0, vmax=most, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=30, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    for row, line in enumerate(numbers):
        for column, number in enumerate(line):
            if np.isfinite(number):
                shade = "white" if number > 0.6 * most else "black"
                axes.annotate(f"{number:.0f}", (column, row), ha="center", va="center", color=shade, fontsize=8)
