"""What a person sees of a result, on stdout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
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


SURE_ONES, DOUBTFUL_ONES = 3, 3  # links of the sample that are shown


def print_thresholds(lines: Sequence[Threshold], caution: float = 1.0) -> None:
    """Print what each wanted precision costs, and how cautiously; nothing where there are no lines.

    caution: the false-discovery inflation of the summary, by which fewer links are kept than the estimates allow.
    """
    if not lines:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("wanted precision", "links kept", "estimated recall"):
        table.add_column(heading, justify="right")
    for line in lines:
        recall = "–" if line.recall is None else share_in_words(line.recall)
        table.add_row(f"{line.precision:.2f}", f"{line.n_links:,}", recall)
    console = Console(highlight=False)
    console.print(table)
    if caution_in_words(caution):
        console.print(caution_in_words(caution))


def caution_in_words(caution: float) -> str:
    """Why fewer links are kept for a wanted precision than the estimates allow; empty where that is not so."""
    if f"{caution:.1f}" == "1.0":
        return ""
    return f"Conservative: each expected wrong link counts as {caution:.1f}."


def print_scores(scores: Scores, *, right: int, found: int, true: int) -> None:
    """Print precision, recall and F1 with the counts behind them."""
    console = Console(highlight=False)
    if not found:
        console.print(f"There are no links, so no precision; the truth has {plural(true, 'pair')}.")
        return
    console.print(_shares(scores))
    are = "is" if right == 1 else "are"
    console.print(f"{right:,} of {plural(found, 'link')} {are} right; the truth has {plural(true, 'pair')}.")


def print_column_scores(found: ColumnScores) -> None:
    """Print the same as far as a column tells."""
    console = Console(highlight=False)
    if found.agreement.compared:
        console.print(f"As far as {escape(found.matches.name)} tell: {_shares(found.scores)}")
        console.print(escape(found.agreement.sentence))
    else:
        console.print(f"There are no links with {escape(found.matches.name)} on both sides, so no precision.")
    console.print(
        f"{found.linked:,} of the {plural(len(found.matches), 'pair')} of rows with equal "
        f"{escape(found.matches.name)} are linked."
    )


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
    shown = examples(links, a, b, truth, sure=SURE_ONES, doubtful=DOUBTFUL_ONES)
    n_seeds = len(resolve_pairs(sample.SEEDS, a, b))
    return Demo(links, score(links.pairs, truth), len(truth), n_seeds, shown, report)


def print_demo(demo: Demo) -> None:
    """Print some links by title, the scores by truth next to the estimate, and what to do next."""
    from veclink.confidence.threshold import thresholds

    console = Console(highlight=False)
    summary = demo.links.summary
    console.print(
        f"A: {summary.n_a:,} papers embedded by all-MiniLM-L6-v2. B: {summary.n_b:,} papers embedded by "
        f"all-mpnet-base-v2. {demo.n_shared:,} papers are in both; {demo.n_seeds} of them were given as seeds.\n"
        f"Verdict: {summary.verdict}. “Right” and “wrong” below are from the sample's truth, which no linker sees.\n"
    )
    heads = {
        "sure": "Some sure links:",
        "doubtful": "Doubtful links, and what makes them so:",
        "left out": "The pair that came closest to being a link, and was left out:",
    }
    for kind, head in heads.items():
        shown = [each for each in demo.shown if each.kind == kind]
        if shown:
            console.print(f"[bold]{head}[/]")
        for each in shown:
            _print_pair(console, each)
    console.print(escape(str(summary)))
    console.print(f"By the truth: {_shares(demo.scores)}, {demo.n_shared:,} shared papers.")
    print_thresholds(thresholds(demo.links), summary.caution)
    if demo.report is not None:
        console.print("Whether to trust these links, and why: open the report in a browser.")
        # as a link of its own line, which a terminal can open and a script can read
        console.print(f"  {demo.report.resolve().as_uri()}\n", soft_wrap=True)
    console.print(
        "Next, with your own vectors; known pairs (columns a,b) help, but are optional:\n"
        "  veclink link A.npy B.npy --seeds seeds.csv -o links.csv --report links.html\n"
        "  veclink link --help"
    )


def _print_pair(console: Console, pair: Example) -> None:
    """Both titles in full, one below the other, with what the sample's truth says."""
    verdict = "[green]right[/]" if pair.right else "[red]wrong[/]"
    same = pair.title_a == pair.title_b
    titles = (
        [f"A and B: {escape(pair.title_a)}"] if same else [f"A: {escape(pair.title_a)}", f"B: {escape(pair.title_b)}"]
    )
    console.print(Padding("\n".join(titles), (0, 0, 0, 2)))
    told = f"probability {pair.probability:.2f}; {'would have been ' if pair.kind == 'left out' else ''}{verdict}"
    console.print(Padding(f"{told}\n{escape(pair.doubt)}" if pair.doubt else told, (0, 0, 1, 4)), style="dim")


def print_probe(probe: Probe, step: str | None = None, report: str | None = None) -> None:
    """The verdict in one line, then what both collections are like, what the seeds say, and the forecast.

    step: the command that links them. report: where the page of the probe was written, if it was.
    """
    from veclink.report.words import duration

    console = Console(highlight=False)

    def say(lines: Sequence[str]) -> None:
        """The first line, and those below it a little to the right."""
        for place, line in enumerate(lines):
            console.print(Padding(escape(line), (0, 0, 0, 2 * (place > 0))))

    say([probe.sentence, *probe.remarks])
    sides = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("", "A", "B"):
        sides.add_column(heading, justify="right" if heading else "left")
    for name, of_a in probe.a.told().items():
        sides.add_row(name, of_a, probe.b.told()[name])
    console.print(sides)
    say([f"Same space? {probe.same_space.told()}"])
    say([] if probe.seeds is None else _seen_of_seeds(probe.seeds))
    if probe.start is not None:
        say([f"Trial: {probe.start.sentence} It took {duration(probe.start.seconds)}."])
    say([] if probe.forecast is None else _ahead(probe.forecast, (probe.sentence, *probe.remarks)))
    if report is not None:
        console.print(f"The page is {escape(report)}; open it in a browser.", soft_wrap=True)
    if step is not None and probe.verdict not in ("same space", "not linkable"):
        following = "Next, link them: that gives the links, and a verdict on all of them:"
        if probe.forecast is not None and probe.forecast.whole:  # a trial has linked all of them already
            following = "Next, the same run once more, which writes the links:"
        console.print(f"{following}\n  {escape(step)}", soft_wrap=True)


def _seen_of_seeds(seeds: SeedCheck) -> list[str]:
    from veclink.report.words import percent

    lines = [
        f"Seeds: {seeds.count:,}. Projected on the others, {percent(seeds.typical)} of the other collection is nearer "
        "to a seed than its partner is (wrong pairs: about 40 %)."
    ]
    if seeds.correlation is not None:
        lines.append(f"Distances between seeds correlate by {seeds.correlation:.2f}.")
    for k, share, chance in seeds.neighbours:
        lines.append(f"Of {k} neighbours both models share {share:.2f} (by chance {chance:.2f}).")
    if seeds.suspects:
        lines.append(f"Seeds that look wrong, by row: {named(seeds.suspects)}.")
    elif seeds.suspects is None:
        lines.append("Whether single seeds are wrong could not be told: that takes a trial that finds links.")
    return lines


def _ahead(forecast: Forecast, known: Sequence[str]) -> list[str]:
    """What is forecast, without what is said already."""
    from veclink.report.words import duration

    low, high = forecast.seconds_range
    if forecast.whole:
        said = f"Forecast, from linking everything, which took {duration(forecast.seconds)}: {forecast.verdict}."
    else:
        where = f"{forecast.rows[0]:,} x {forecast.rows[1]:,} vectors near the seeds"
        said = (
            f"Forecast, from linking {where}: {forecast.verdict}. Linking everything should take about "
            f"{duration(forecast.seconds)} here ({duration(low)} to {duration(high)})."
        )
    estimates = []
    for name in ("precision", "recall"):
        share, spread = getattr(forecast, name), getattr(forecast, f"{name}_range")
        if share is not None:
            estimates.append(f"{name} about {share_in_words(share, spread)}")
    return [said, *(reason for reason in forecast.reasons if reason not in known), *estimates]


def _shares(scores: Scores) -> str:
    return "precision {}, recall {}, F1 {}".format(*map(share_in_words, (scores.precision, scores.recall, scores.f1)))
