"""What a person reads of a result on stdout, line by line."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from veclink.data.summary import share_in_words
from veclink.errors import named, plural

if TYPE_CHECKING:
    from veclink.confidence.threshold import Threshold
    from veclink.data.agreement import ColumnScores
    from veclink.data.links import Links
    from veclink.data.pairs import Scores
    from veclink.probing import Forecast, Probe, SeedCheck
    from veclink.progress import ProgressListener
    from veclink.report.content import Example

def told_thresholds(lines: Sequence[Threshold], caution: float = 1.0) -> list[str]:
    """What each wanted precision costs, and how cautiously; nothing where there are no lines.

    caution: the false-discovery inflation of the summary, by which fewer links are kept than the estimates allow.
    """
    if not lines:
        return []
    recalls = ("–" if line.recall is None else share_in_words(line.recall) for line in lines)
    rows = [(f"{line.precision:.2f}", f"{line.n_links:,}", recall) for line, recall in zip(lines, recalls, strict=True)]
    return [_table(("wanted precision", "links kept", "estimated recall"), rows), *told_caution(caution)]


def told_caution(caution: float) -> list[str]:
    """Why fewer links are kept for a wanted precision than the estimates allow; nothing where that is not so."""
    said = f"{caution:.1f}"
    return [] if said == "1.0" else [f"Conservative: each expected wrong link counts as {said}."]


def told_column_scores(found: ColumnScores) -> list[str]:
    """The same as far as a column tells."""
    name = found.matches.name
    lines = [f"There are no links with {name} on both sides, so no precision."]
    if found.agreement.compared:
        lines = [f"As far as {name} tell: {found.scores}", found.agreement.sentence]
    pairs = plural(len(found.matches), "pair")
    return [*lines, f"{found.linked:,} of the {pairs} of rows with equal {name} are linked."]


@dataclass(frozen=True)
class Demo:
    """The links of the sample, what the truth says about them, and some pairs with titles, the surest first."""

    links: Links
    scores: Scores
    n_shared: int
    n_seeds: int
    shown: list[Example]
    report: Path | None = None


def run_demo(*, progress: ProgressListener | None = None, report: Path | None = None, **options: Any) -> Demo:
    """Link the sample from its 15 seeds (`options` go to `link`), compare the result with its truth, write a report."""
    from veclink import sample
    from veclink.data.pairs import resolve_pairs, score
    from veclink.linkers.linking import link
    from veclink.report import save_report
    from veclink.report.content import examples
    from veclink.stores.opening import open_collection

    a, b = open_collection(sample.A), open_collection(sample.B)
    links = link(a, b, seeds=sample.SEEDS, progress=progress, **options)
    truth = resolve_pairs(sample.TRUTH, a, b, what="truth")
    if report is not None:
        save_report(report, links, a, b, truth=sample.TRUTH)
    shown = examples(links, a, b, truth, sure=3, doubtful=3)
    n_seeds = len(resolve_pairs(sample.SEEDS, a, b))
    return Demo(links, score(links.pairs, truth), len(truth), n_seeds, shown, report)


def told_demo(demo: Demo) -> list[str]:
    """Some links by title, the scores by truth next to the estimate, and what to do next."""
    from veclink.confidence.threshold import thresholds

    summary = demo.links.summary
    lines = [
        f"A: {summary.n_a:,} papers embedded by all-MiniLM-L6-v2. B: {summary.n_b:,} papers embedded by "
        f"all-mpnet-base-v2. {demo.n_shared:,} papers are in both; {demo.n_seeds} of them were given as seeds.",
        "",
        "“Right” and “wrong” below are from the sample's truth, which no linker sees.",
        "",
    ]
    heads = {
        "sure": "Some sure links:",
        "doubtful": "Doubtful links, and what makes them so:",
        "left out": "The pair that came closest to being a link, and was left out:",
    }
    for kind, head in heads.items():
        shown = [each for each in demo.shown if each.kind == kind]
        lines += [head] if shown else []
        for pair in shown:
            same = pair.title_a == pair.title_b
            lines += [f"  A and B: {pair.title_a}"] if same else [f"  A: {pair.title_a}", f"  B: {pair.title_b}"]
            right = typer.style("right", fg="green") if pair.right else typer.style("wrong", fg="red")
            would = "would have been " if kind == "left out" else ""
            lines.append(f"    probability {pair.probability:.2f}; {would}{right}")
            lines += [f"    {pair.doubt}", ""] if pair.doubt else [""]
    lines += [*str(summary).splitlines(), f"By the truth: {demo.scores}, {demo.n_shared:,} shared papers."]
    lines = [*map(_wrapped, lines), *told_thresholds(thresholds(demo.links), summary.caution)]
    if demo.report is not None:
        lines.append("Whether to trust these links, and why: open the report in a browser.")
        # as a link of its own line, which a terminal can open and a script can read
        lines += [f"  {demo.report.resolve().as_uri()}", ""]
    return [
        *lines,
        "Next, with your own vectors; known pairs (columns a,b) help, but are optional:",
        "  veclink link A.npy B.npy --seeds seeds.csv -o links.csv --report links.html",
        "  veclink link --help",
    ]


def told_probe(probe: Probe, step: str, report: str | None = None) -> list[str]:
    """The verdict in one line, then what both collections are like, what the seeds say, and the forecast.

    step: the command that links them. report: where the page of the probe was written, if it was.
    """
    from veclink.report.words import duration

    of_b = probe.b.told()
    lines = [probe.sentence, *(f"  {remark}" for remark in probe.remarks)]
    lines.append(_table(("", "A", "B"), [(name, value, of_b[name]) for name, value in probe.a.told().items()]))
    lines.append(f"Same space? {probe.same_space.told()}")
    if probe.seeds is not None:
        lines += _seen_of_seeds(probe.seeds)
    if probe.start is not None:
        lines.append(f"Trial: {probe.start.sentence} It took {duration(probe.start.seconds)}.")
    if probe.forecast is not None:
        lines += _ahead(probe.forecast, (probe.sentence, *probe.remarks))
    if report is not None:
        lines.append(f"The page is {report}; open it in a browser.")
    if probe.verdict not in ("same space", "not linkable"):
        following = "Next, link them: that gives the links, and a verdict on all of them:"
        if probe.forecast is not None and probe.forecast.whole:  # a trial has linked all of them already
            following = "Next, the same run once more, which writes the links:"
        lines += [following, f"  {step}"]
    return lines


def _seen_of_seeds(seeds: SeedCheck) -> list[str]:
    lines = [
        f"Seeds: {seeds.count:,}. Projected on the others, {share_in_words(seeds.typical)} of the other collection is "
        "nearer to a seed than its partner is (wrong pairs: about 40 %)."
    ]
    if seeds.correlation is not None:
        lines.append(f"  Distances between seeds correlate by {seeds.correlation:.2f}.")
    for k, share, chance in seeds.neighbours:
        lines.append(f"  Of {k} neighbours both models share {share:.2f} (by chance {chance:.2f}).")
    if seeds.suspects:
        lines.append(f"  Seeds that look wrong, by row: {named(seeds.suspects)}.")
    elif seeds.suspects is None:
        lines.append("  Whether single seeds are wrong could not be told: that takes a trial that finds links.")
    return lines


def _ahead(forecast: Forecast, known: Sequence[str]) -> list[str]:
    """What is forecast, without what is said already."""
    from veclink.report.words import duration

    took, (low, high) = duration(forecast.seconds), map(duration, forecast.seconds_range)
    said = f"Forecast, from linking everything, which took {took}: {forecast.verdict}."
    if not forecast.whole:
        where = f"{forecast.rows[0]:,} x {forecast.rows[1]:,} vectors near the seeds"
        said = (
            f"Forecast, from linking {where}: {forecast.verdict}. Linking everything should take about {took} here "
            f"({low} to {high})."
        )
    lines = [reason for reason in forecast.reasons if reason not in known]
    for name in ("precision", "recall"):
        share, spread = getattr(forecast, name), getattr(forecast, f"{name}_range")
        if share is not None:
            lines.append(f"{name} about {share_in_words(share, spread)}")
    return [said, *(f"  {line}" for line in lines)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text below their headings."""
    table, text = Table(box=box.SIMPLE_HEAD, pad_edge=False), StringIO()
    for name in head:
        table.add_column(name, justify="right" if name else "left")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, file=text).print(table)
    return text.getvalue().removesuffix("\n")


def _wrapped(line: str) -> str:
    """A line at the width of the terminal; what follows is indented as it is."""
    indent = line[: len(line) - len(line.lstrip())]
    width = shutil.get_terminal_size().columns
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
