"""What the documentation site makes by itself: the commands, the evidence, and the way out to files beside the pages.

The reference of the Python names is made by mkdocstrings, from the docstrings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from veclink.cli.app import app
from veclink.confidence import evidence

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

DOCS = Path(__file__).parent
ROOT = DOCS.parent
COMMANDS, EVIDENCE, PROMISE = "<!-- the commands -->", "<!-- the evidence -->", "<!-- the promise -->"
NEW_ROWS = "<!-- the new rows -->"
RESULTS = ROOT / "bench" / "results" / "experiments"
STARTS = "<!-- starts without seeds -->"
STARTED_WITHIN = 0.03  # of the F1 from fifteen seeds on the same split
TITLES = ("reddit", "stackexchange")
PROMISED = (0.9, 0.95, 0.99)
OUTSIDE = re.compile(r"(!?)\[([^\]]+)\]\(((?:\.\./)+[^)#]+)\)")
FIGURES = "figures"  # where the site keeps pictures that lie outside docs
RESULTS_PAGE = ROOT / "bench" / "RESULTS.md"  # a page of the site too, as results.md
TO_RESULTS = re.compile(r"\]\((?:\.\./)+bench/RESULTS\.md(#[^)]*)?\)")


def on_files(files: Files, *, config: Any) -> Files:
    """Add the figures that pages show from the committed results."""
    from mkdocs.structure.files import File

    for page in DOCS.rglob("*.md"):
        for is_image, _, link in OUTSIDE.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            if is_image and _is_outside(target):
                files.append(File.generated(config, f"{FIGURES}/{target.name}", abs_src_path=str(target)))
    files.append(File.generated(config, "results.md", content=results_page()))
    return files


def results_page() -> str:
    """The page of results as a page of the site: pages of docs are beside it, other files become names."""
    text = RESULTS_PAGE.read_text(encoding="utf-8")
    text = re.sub(r"\]\(\.\./docs/", "](", text)
    return re.sub(r"\[([^\]]+)\]\((results/[^)]+)\)", r"\1 (`bench/\2`)", text)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """List commands and evidence; show figures from the site's copy; files of the source tree become names."""
    markdown = filled(markdown)
    folder = (DOCS / page.file.src_uri).parent
    up = "../" * page.file.src_uri.count("/")
    markdown = TO_RESULTS.sub(lambda found: f"]({up}results.md{found[1] or ''})", markdown)

    def within_the_site(match: re.Match[str]) -> str:
        is_image, text, link = match.groups()
        target = (folder / link).resolve()
        if not _is_outside(target):
            return match[0]
        if is_image:
            return f"![{text}]({up}{FIGURES}/{target.name})"
        return f"{text} (`{target.relative_to(ROOT)}`)"

    return OUTSIDE.sub(within_the_site, markdown)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Take the part that the search needs on pages from the disk out of the site itself, and not from a network."""
    return _with_own_worker(output, up="../" * page.file.dest_uri.count("/"))


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for the page that says that there is none."""
    return _with_own_worker(output_content, up="")


def filled(markdown: str) -> str:
    """The page with its lists of commands and of evidence, and with what was measured."""
    for place, made in (
        (COMMANDS, commands),
        (EVIDENCE, evidence_table),
        (PROMISE, promise),
        (NEW_ROWS, new_rows),
        (STARTS, starts),
    ):
        if place in markdown:
            markdown = markdown.replace(place, made())
    return markdown


def commands() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    parts = []
    for name, command in every_command(typer.main.get_command(app)):
        context = command.context_class(command, info_name=f"veclink {name}")
        usage = " ".join(command.collect_usage_pieces(context))
        parts.append(f"## veclink {name}\n\n{command.help}\n\n```\nveclink {name} {usage}\n```\n")
        rows = [_row(each, context) for each in command.get_params(context)]
        if rows:
            parts.append("| | |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def every_command(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """The commands of a group by name, and those of the groups in it: `bench main`."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from every_command(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def evidence_table() -> str:
    """Every kind of evidence in the registry: its name, whether it is a column, and what it is."""
    lines = ["| evidence | a column | |", "|---|---|---|"]
    for entry in evidence.REGISTRY:
        column = "yes" if entry.is_column else "no"
        lines.append(f"| `{entry.name}` | {column} | {entry.help} |")
    return "\n".join(lines)


def promise(results: Path = RESULTS) -> str:
    """For each wanted precision, in how many of 100 measured cases the true one was at least that.

    results: a folder with the trials of `veclink bench real`. Trials in which nothing was kept are left out: no link
    breaks no promise.
    """
    trials = _real_trials(results)
    lines = ["| wanted precision | the true precision was at least that | measured cases |", "|---|---|---|"]
    for wanted in PROMISED:
        kept = [trial["at"][str(wanted)] for trial in trials]
        true = [each["precision"] for each in kept if each["links"]]
        if true:
            reached = sum(precision >= wanted for precision in true)
            # Rounded down: a promise is not rounded up.
            lines.append(f"| {wanted:g} | in {100 * reached // len(true)} of 100 | {len(true):,} |")
        else:
            lines.append(f"| {wanted:g} | not measured | 0 |")
    return "\n".join(lines)


def starts(results: Path = RESULTS) -> str:
    """How often linking started, by kind of data and by what it began from: the trials of `veclink bench no-seeds`.

    results: a folder with no_seeds.json.
    """
    measured: dict[tuple[str, str, int], list[tuple[dict[str, Any], dict[str, Any] | None]]] = {}
    for trial in json.loads((results / "no_seeds.json").read_text(encoding="utf-8"))["rows"]:
        reference = trial["from"].get("15")
        for count in sorted(int(each) for each in trial["from"] if each != "15"):
            key = (*_kind_of_data(trial), count)
            measured.setdefault(key, []).append((trial["from"][str(count)], reference))
    lines = ["| data | in common | from | started | mean F1 | from 15 seeds |", "|---|---|---|---|---|---|"]
    lines += [_starts_line(*key, runs) for key, runs in sorted(measured.items())]
    return "\n".join(lines)


def _kind_of_data(trial: dict[str, Any]) -> tuple[str, str]:
    """The kind of texts and models of a trial, and what its two sides have in common."""
    corpus, models = trial["data"].split()
    case = trial["case"]
    if case.startswith("nothing shared"):
        return "nothing shared", "nothing"
    if corpus in TITLES:
        return ("short titles, e5 on one side" if "e5" in models else "short titles, other models"), case
    return ("films" if corpus == "movies" else "abstracts"), case


def _starts_line(kind: str, case: str, count: int, runs: list[tuple[dict[str, Any], dict[str, Any] | None]]) -> str:
    begun = f"{count} seeds" if count else "nothing"
    references = [reference for _, reference in runs if reference is not None]
    if not references:
        wrong = sum(found["verdict"] == "linkable" for found, _ in runs)
        return f"| {kind} | {case} | {begun} | called linkable {wrong} of {len(runs)} times | – | – |"
    pairs = [(found["f1"], reference["f1"]) for found, reference in runs if reference is not None]
    started = sum(f1 >= seeded - STARTED_WITHIN for f1, seeded in pairs)
    mean, seeded = (100 * sum(each) / len(pairs) for each in zip(*pairs, strict=True))
    return f"| {kind} | {case} | {begun} | {started} of {len(pairs)} | {mean:.1f} | {seeded:.1f} |"


def new_rows(results: Path = RESULTS) -> str:
    """What `veclink bench living` measured, as a list; what was not measured is not in it."""
    file = results / "living.json"
    told = json.loads(file.read_text(encoding="utf-8"))["summary"] if file.is_file() else {}
    lines = []
    if "batch" in told:
        batch = told["batch"]
        mean, worst = _points(-batch["mean_behind"]), _points(-batch["worst_behind"])
        off, most_off = batch["mean_absolute_single_error"], abs(batch["worst_single_error"])
        lines += [
            f"- 100 new rows, 70 of them shared, in {batch['cases']} cases: the F1 of linking everything again is "
            f"missed by {mean} on average, by {worst} in the worst case.",
            f"- 200 rows, one at a time: the mean probability is off by {off:.1f} points on average, by "
            f"{most_off:.1f} in the worst case.",
        ]
    if "days" in told:
        worst = _points(-told["days"]["worst_behind"])
        lines.append(f"- Ten days of `update`: the F1 of one run at the end is missed by {worst} in the worst case.")
    if "cost" in told:
        products = told["cost"]["products"]
        lines.append(f"- 1,000 new rows against 200,000 take as long as {products:.2f} products of that size.")
    lines.append("\n`veclink bench living --data DIR` measures it again (bench/results/experiments/living.json).")
    return "\n".join(lines)


def _points(difference: float) -> str:
    """How much an F1 is missed by, in words."""
    return f"{max(-difference, 0):.1f} points" if difference < 0 else f"nothing ({difference:.1f} points more)"


def _real_trials(results: Path) -> list[dict[str, Any]]:
    """The trials on the half of the data that nothing was chosen on, the last of each case.

    From `real.json` ({"cells": {case: trial}}), else from the lines of `real-report.*.jsonl`.
    """
    whole = results / "real.json"
    if whole.is_file():
        return list(json.loads(whole.read_text(encoding="utf-8"))["cells"].values())
    trials = {}
    for part in sorted(results.glob("real-report.*.jsonl")):
        for line in part.read_text(encoding="utf-8").splitlines():
            trial = json.loads(line)
            trials[trial["case"]] = trial
    return list(trials.values())


def _with_own_worker(page: str, up: str) -> str:
    return re.sub(r"https://[^\"']+/iframe-worker/shim", f"{up}scripts/iframe-worker.js", page)


def _is_outside(target: Path) -> bool:
    return target.exists() and not target.is_relative_to(DOCS)


def _row(each: Any, context: Any) -> str:
    if each.param_type_name == "argument":
        return f"| `{each.metavar or each.name.upper()}` | {getattr(each, 'help', None) or ''} |"
    names, text = each.get_help_record(context) or ("", "")
    return f"| `{names}` | {text.replace('|', '&#124;')} |"
