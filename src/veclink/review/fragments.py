"""The pieces of the page as HTML: what the session tells, put into `templates`, where all text is escaped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import escape

from veclink.review import shown

SAID = {"accept": "Accepted", "reject": "Rejected", "skip": "Skipped"}
SIGN = {"accept": "✓", "reject": "✗", "skip": "↷"}


def moved(link: dict[str, Any] | None, state: dict[str, Any], skipped: bool, said: str, alert: str) -> str:
    """A link (or that none is left) for the middle of the page, and all that stands around it.

    skipped: whether the page goes through the skipped links; said: what a screen reader hears; alert: what went wrong.
    """
    template = _TEMPLATES.get_template("moved.html")
    return template.render(link=link, state=state, skipped=skipped, said=said, alert=alert)


def around(state: dict[str, Any], said: str = "", alert: str = "") -> str:
    """All but the link, which stays."""
    return _TEMPLATES.get_template("state.html").render(link=None, state=state, said=said, alert=alert)


def sentence(text: str) -> str:
    """A text on its own."""
    return str(escape(text))


@dataclass(frozen=True)
class Scale:
    """The bar under the precision: from `low` to 1."""

    low: float

    def at(self, share: float) -> float:
        """Where a share is, in percent of the bar."""
        return 100 * (share - self.low) / (1 - self.low)


def _scale_from(now: dict[str, float], before: dict[str, float]) -> Scale:
    return Scale(min(0.9, math.floor(10 * min(now["low"], before["low"])) / 10))


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


_TEMPLATES = Environment(
    loader=PackageLoader("veclink.review"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(
    differing=shown.differing,
    percent=_percent,
    said=SAID.__getitem__,
    scale_from=_scale_from,
    sign=SIGN.__getitem__,
    thousands="{:,}".format,
)
