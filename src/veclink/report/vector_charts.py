"""Two small charts as SVG, for pages that need no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 480, 240, 44, 40, 10


def line(points: Sequence[tuple[float, float]], x_name: str, label: str) -> str:
    """Points (x, y) with y from −1 to 1, joined by a line."""
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    floor = min(0.0, min(y for _, y in points))
    placed = [(_x((x - low) / max(high - low, 1e-9)), _y((y - floor) / (1 - floor))) for x, y in points]
    drawn = f'<polyline class="curve" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in placed)}"/>'
    drawn += "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in placed)
    ticks = [(_x(0.0), f"{low:.2f}"), (_x(1.0), f"{high:.2f}")]
    return _chart(drawn, ticks, [(_y((v - floor) / (1 - floor)), f"{v:g}") for v in (0, 0.5, 1)], x_name, label)


def bars(groups: Sequence[tuple[str, float, float]], x_name: str, label: str) -> str:
    """A bar from 0 to 1 for each (name, height, reference), the reference as a line across it."""
    step = 1 / len(groups)
    drawn, ticks = "", []
    for i, (name, height, reference) in enumerate(groups):
        x, wide = _x(step * (i + 0.2)), (WIDTH - LEFT - 12) * step * 0.6
        tall = _y(0) - _y(height)
        drawn += f'<rect class="bar-fill" x="{x:.1f}" y="{_y(height):.1f}" width="{wide:.1f}" height="{tall:.1f}"/>'
        drawn += f'<path class="reference" d="M{x - 4:.1f} {_y(reference):.1f}h{wide + 8:.1f}"/>'
        ticks.append((x + wide / 2, name))
    return _chart(drawn, ticks, [(_y(v), f"{v:g}") for v in (0, 0.5, 1)], x_name, label)


def _x(share: float) -> float:
    return LEFT + (WIDTH - LEFT - 12) * share


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def _chart(
    drawn: str, ticks_x: list[tuple[float, str]], ticks_y: list[tuple[float, str]], x_name: str, label: str
) -> str:
    rules = "".join(
        f'<path class="rule" d="M{LEFT} {y:.1f}H{WIDTH - 12}"/>'
        f'<text class="tick end" x="{LEFT - 8}" y="{y + 4:.1f}">{text}</text>'
        for y, text in ticks_y
    )
    below = "".join(
        f'<text class="tick middle" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}">{escape(text)}</text>' for x, text in ticks_x
    )
    name = f'<text class="tick end" x="{WIDTH - 12}" y="{HEIGHT - 4}">{escape(x_name)}</text>'
    said = f"{escape(label)}. The numbers are below."
    inside = f"{rules}{drawn}{below}{name}"
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}">{inside}</svg>'
