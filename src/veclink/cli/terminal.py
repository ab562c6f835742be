"""What a person sees of a result, on stdout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from veclink.data.no_links import no_start_converged, too_few_rows
from veclink.errors import named, plural

if TYPE_CHECKING:
    from veclink.cli.demo_run import Demo
    from veclink.confidence.threshold import Threshold
    from veclink.data.agreement import ColumnScores
    from veclink.data.scores import Scores
    from veclink.data.summary import Range, Summary
    from veclink.report.content import Example

def print_summary(summary: Summary) -> None:
    """Say how many links there are, how good they are thought to be, why, and which of the seeds look wrong."""
    console = _stdout()
    estimates = estimates_in_words(summary)
    between = f"{plural(summary.n_links, 'link')} between {summary.n_a:,} and {summary.n_b:,} vectors"
    reasons = summary.reasons
    if no_start_converged(reasons) or too_few_rows(reasons):
        # What is not known comes first: "not linkable" alone would be read as "nothing is shared".
        console.print(escape(reasons[0]))
        reasons = (f"{between}; the verdict is “{summary.verdict}”.", *reasons[1:])
    else:
        console.print(f"{between}: {summary.verdict_in_words}.")
    if estimates:
        console.print(estimates)
    if summary.agreement is not None:
        console.print(escape(summary.agreement.sentence))
    for reason in reasons:
        console.print(Padding(escape(reason), (0, 0, 0, 2)))
    if summary.wrong_seeds:
        console.print(f"Seeds that look wrong, by row: {named(summary.wrong_seeds)}.")
    if summary.contradicting_seeds:
        torn = named(summary.contradicting_seeds)
        console.print(f"Seeds that contradict one another, and were not used, by row: {torn}.")


def estimates_in_words(summary: Summary) -> str:
    """Precision, recall and overlap with their ranges, in a sentence; empty where nothing is estimated."""
    found = []
    if summary.precision is not None:
        found.append(f"precision {_percent(summary.precision)}{_likely_percent(summary.precision_range)}")
    if summary.recall is not None:
        found.append(f"recall {_percent(summary.recall)}{_likely_percent(summary.recall_range)}")
    if summary.overlap is not None:
        found.append(f"overlap {summary.overlap:,.0f} objects{_likely_count(summary.overlap_range)}")
    if not found or not summary.n_links:
        return ""
    return f"Estimated without labels: {', '.join(found)}."


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
        recall = "–" if line.recall is None else _percent(line.recall)
        table.add_row(f"{line.precision:.2f}", f"{line.n_links:,}", recall)
    console = _stdout()
    console.print(table)
    if caution_in_words(caution):
        console.print(caution_in_words(caution))


def caution_in_words(caution: float) -> str:
    """Why fewer links are kept for a wanted precision than the estimates allow; empty where that is not so."""
    if f"{caution:.1f}" == "1.0":
        return ""
    return f"To be cautious, each wrong link that the probabilities expect is counted as {caution:.1f}."


def print_scores(scores: Scores, *, right: int, found: int, true: int) -> None:
    """Print precision, recall and F1 with the counts behind them."""
    console = _stdout()
    if not found:
        console.print(f"There are no links, so no precision; the truth has {plural(true, 'pair')}.")
        return
    console.print(_shares(scores))
    are = "is" if right == 1 else "are"
    console.print(f"{right:,} of {plural(found, 'link')} {are} right; the truth has {plural(true, 'pair')}.")


def print_column_scores(found: ColumnScores) -> None:
    """Print the same as far as a column tells."""
    console = _stdout()
    if found.agreement.compared:
        console.print(f"As far as {escape(found.matches.name)} tell: {_shares(found.scores)}")
        console.print(escape(found.agreement.sentence))
    else:
        console.print(f"There are no links with {escape(found.matches.name)} on both sides, so no precision.")
    console.print(
        f"{found.linked:,} of the {plural(len(found.matches), 'pair')} of rows with equal "
        f"{escape(found.matches.name)} are linked."
    )


def print_demo(demo: Demo) -> None:
    """Print some links by title, the scores by truth next to the estimate, and what to do next."""
    from veclink.confidence.threshold import thresholds

    console = _stdout()
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
    scores = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("", "precision", "recall", "F1", "shared papers"):
        scores.add_column(heading, justify="right" if heading else "left")
    truth = demo.scores
    if summary.precision is not None:
        scores.add_row("estimated, no labels", *_estimates(summary))
        scores.add_row("likely from … to", *_ranges(summary))
    shares = (_percent(share) for share in (truth.precision, truth.recall, truth.f1))
    scores.add_row("by the truth", *shares, f"{demo.n_shared:,}")
    console.print(scores)
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


def _stdout() -> Console:
    return Console(highlight=False)


def _estimates(summary: Summary) -> list[str]:
    """Precision, recall, F1 and overlap as the linker estimates them, where it does."""
    precision, recall = summary.precision, summary.recall
    f1 = None if precision is None or recall is None else 2 * precision * recall / max(precision + recall, 1e-12)
    overlap = "–" if summary.overlap is None else f"{summary.overlap:,.0f}"
    return ["–" if share is None else _percent(share) for share in (precision, recall, f1)] + [overlap]


def _ranges(summary: Summary) -> list[str]:
    """The ranges of precision, recall and overlap, each below its estimate; there is none for F1."""
    shares = []
    for bounds in (summary.precision_range, summary.recall_range):
        shares.append("–" if bounds is None else _percents(bounds))
    overlap = summary.overlap_range
    objects = "–" if overlap is None else _counts(overlap)
    return [*shares, "", objects]


def _likely_percent(bounds: Range | None) -> str:
    return "" if bounds is None else f" (likely {_percents(bounds)})"


def _likely_count(bounds: Range | None) -> str:
    return "" if bounds is None else f" (likely {_counts(bounds)})"


def _percents(bounds: Range) -> str:
    from veclink.data.summary import range_in_words

    return range_in_words(bounds)


def _counts(bounds: Range) -> str:
    low, high = bounds
    return f"{low:,.0f}–{high:,.0f}"


def _shares(scores: Scores) -> str:
    return f"precision {_percent(scores.precision)}, recall {_percent(scores.recall)}, F1 {_percent(scores.f1)}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
