"""The charts of the report as a matplotlib figure, for notebooks and papers."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.errors import InputError, needed


def plot_links(links: Links) -> Any:
    """How sure the links are, what a threshold keeps, and how the pool grew: as many charts as there is data for."""
    figures: Any = needed("matplotlib.figure", "Drawing charts", "veclink[plot]")
    if not len(links):
        raise InputError("There are no links to draw; the reasons are in links.summary.reasons.")
    charts: list[Callable[[Any, Links], None]] = [_probabilities]
    if links.summary.precision is not None and links.summary.overlap:
        charts.append(_threshold)
    if len(links.trace.get("growth", [])) > 1:
        charts.append(_growth)
    figure = figures.Figure(figsize=(11, 3.4), layout="constrained")
    for axes, draw in zip(np.atleast_1d(figure.subplots(1, len(charts))), charts, strict=True):
        draw(axes, links)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)

    def as_png() -> bytes:
        file = io.BytesIO()
        figure.savefig(file, format="png")
        return file.getvalue()

    # IPython draws figures by itself only where pyplot was imported
    figure._repr_png_ = as_png
    return figure


def _probabilities(axes: Any, links: Links) -> None:
    edges = np.linspace(0, 1, 21)
    axes.hist(links.considered.probability, edges, color="0.8", label="considered")
    axes.hist(links.probability, edges, color="C0", label="links")
    axes.set(title="How sure", xlabel="probability", ylabel="pairs")


def _threshold(axes: Any, links: Links) -> None:
    right = np.cumsum(links.considered.probability)
    kept = np.arange(1, len(right) + 1)
    axes.plot(kept, right / kept, label="estimated precision")
    axes.plot(kept, np.minimum(1.0, right / links.summary.overlap), label="estimated recall")
    axes.axvline(len(links), color="0.5", linestyle=":", label="the threshold")
    axes.set(title="What a threshold keeps", xlabel="links kept", ylim=(0, 1.02))


def _growth(axes: Any, links: Links) -> None:
    for pairs, label in zip(np.transpose(links.trace["growth"]), ("in the pool", "agreed"), strict=True):
        axes.plot(np.arange(1, len(pairs) + 1), pairs, marker="o", label=label)
    axes.set(title="How the links grew", xlabel="round", ylabel="pairs")
    axes.locator_params(axis="x", integer=True)
