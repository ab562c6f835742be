"""A probe as a person reads it in a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from veclink.errors import named
from veclink.probing import Probe
from veclink.report.words import duration, percent


def print_probe(probe: Probe, step: str | None = None, report: str | None = None) -> None:
    """The verdict in one line, then what both collections are like, what the seeds say, and the forecast.

    step: the command that links them. report: where the page of the probe was written, if it was.
    """
    console = Console(highlight=False)
    console.print(escape(probe.sentence))
    for remark in probe.remarks:
        console.print(Padding(escape(remark), (0, 0, 0, 2)))
    sides = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("", "A", "B"):
        sides.add_column(heading, justify="right" if heading else "left")
    for name, of_a in probe.a.told().items():
        sides.add_row(name, of_a, probe.b.told()[name])
    console.print(sides)
    console.print(f"Same space? {probe.same_space.told(probe.a.rows)}")
    if probe.seeds is not None:
        _print_seeds(console, probe)
    if probe.start is not None:
        console.print(f"Trial: {probe.start.sentence} It took {duration(probe.start.seconds)}.")
    if probe.forecast is not None:
        _print_forecast(console, probe)
    if report is not None:
        console.print(f"The page is {escape(report)}; open it in a browser.", soft_wrap=True)
    if step is not None and probe.verdict not in ("same space", "not linkable"):
        console.print(f"{_what_linking_adds(probe)}\n  {escape(step)}", soft_wrap=True)


def _what_linking_adds(probe: Probe) -> str:
    """Why to link now, though a trial may have linked already."""
    if probe.forecast is not None and probe.forecast.whole:
        return "Next, the same run once more, which writes the links; of so few rows it can be the first command:"
    return "Next, link them: that gives the links, and a verdict on all of them:"


def _print_seeds(console: Console, probe: Probe) -> None:
    seeds = probe.seeds
    assert seeds is not None
    console.print(
        f"Seeds: {seeds.count:,}. Projected on the others, {percent(seeds.typical)} of the other collection is nearer "
        "to a seed than its partner is (wrong pairs: about 40 %)."
    )
    if seeds.correlation is not None:
        curve = ", ".join(f"{value:.2f}" for _, value, _ in seeds.curve)
        console.print(f"  Distances between seeds correlate by {seeds.correlation:.2f}; from near to far: {curve}.")
    if seeds.neighbours:
        near = ", ".join(f"{share:.2f} of {k} (chance {chance:.2f})" for k, share, chance in seeds.neighbours)
        console.print(f"  Neighbours that both models share: {near}.")
    if seeds.suspects:
        console.print(f"  Seeds that look wrong, by row: {named(seeds.suspects)}.")
    elif seeds.suspects is None:
        console.print("  Whether single seeds are wrong could not be told: that takes a trial that finds links.")


def _print_forecast(console: Console, probe: Probe) -> None:
    ahead = probe.forecast
    assert ahead is not None
    low, high = ahead.seconds_range
    if ahead.whole:
        console.print(f"Forecast, from linking everything, which took {duration(ahead.seconds)}: {ahead.verdict}.")
    else:
        where = f"{ahead.rows[0]:,} x {ahead.rows[1]:,} vectors near the seeds"
        console.print(
            f"Forecast, from linking {where}: {ahead.verdict}. Linking everything should take about "
            f"{duration(ahead.seconds)} here ({duration(low)} to {duration(high)})."
        )
    for reason in (each for each in ahead.reasons if each not in (probe.sentence, *probe.remarks)):
        console.print(Padding(escape(reason), (0, 0, 0, 2)))
    for name, value, spread in (
        ("precision", ahead.precision, ahead.precision_range),
        ("recall", ahead.recall, ahead.recall_range),
    ):
        if value is not None and spread is not None:
            console.print(f"  {name} about {percent(value)}, likely {percent(spread[0])} to {percent(spread[1])}")
