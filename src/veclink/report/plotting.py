"""The charts of the report as a matplotlib figure, for notebooks and papers."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.errors import InputError, needed

SIZE = (11.0, 3.4)  # inches
BINS = 20


def plot_links(links: Links) -> Any:
    """How sure the links are, what a threshold keeps, and how the pool grew: as many charts as there is data for."""
    figures: Any = needed("matplotlib.figure", "Drawing charts", "veclink[plot]")
    if not len(links):
        raise InputError("There are no links to draw; the reasons are in links.summary.reasons.")
    charts = [_probabilities]
    if links.summary.precision is not None and links.summary.overlap:
        charts.append(_threshold)
    if len(links.trace.get("growth", [])) > 1:
        charts.append(_growth)
    figure = figures.Figure(figsize=SIZE, layout="constrained")
    # IPython draws figures by itself only where pyplot was imported
    figure._repr_png_ = lambda: _png(figure)
    for axes, draw in zip(np.atleast_1d(figure.subplots(1, len(charts))), charts, strict=True):
        draw(axes, links)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _png(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _probabilities(axes: Any, links: Links) -> None:
    source = links if links.considered is None else links.considered
    edges = np.linspace(0, 1, BINS + 1)
    axes.hist(source.probability, edges, color="0.8", label="considered")
    axes.hist(links.probability, edges, color="C0", label="links")
    axes.set(title="How sure", xlabel="probability", ylabel="pairs")
    axes.legend(frameon=False)


def _threshold(axes: Any, links: Links) -> None:
    source = links if links.considered is None else links.considered
    kept = np.arange(1, len(source) + 1)
    right = np.cumsum(source.probability)
    axes.plot(kept, right / kept, label="estimated precision")
    axes.plot(kept, np.minimum(1.0, right / links.summary.overlap), label="estimated recall")
    axes.axvline(len(links), color="0.5", linestyle=":", label="the threshold")
    axes.set(title="What a threshold keeps", xlabel="links kept", ylim=(0, 1.02))
    axes.legend(frameon=False)


def _growth(axes: Any, links: Links) -> None:
    pool, agreed = np.transpose(links.trace["growth"])
    rounds = np.arange(1, len(pool) + 1)
    axes.plot(rounds, pool, marker="o", label="in the pool")
    axes.plot(rounds, agreed, marker="o", label="agreed")
    axes.set(title="How the links grew", xlabel="round", ylabel="pairs")
    axes.locator_params(axis="x", integer=True)
    axes.legend(frameon=False)
