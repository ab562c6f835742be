"""Views of a result that need more than its data: they are known here by name, and loaded when they are asked for.

A package that shows results, or estimates what they are worth, may import the results; the results must not import it.
This table is the one way back, as an entry point is.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

VIEWS = {
    "estimates": "veclink.confidence.intervals:estimates",
    "explanation": "veclink.report.words:explanation",
    "report": "veclink.report:save_report",
    "plot": "veclink.report.plotting:plot_links",
}


def view(name: str) -> Any:
    """The function that makes this view."""
    module, _, function = VIEWS[name].partition(":")
    return getattr(import_module(module), function)
