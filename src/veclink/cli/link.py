"""veclink link: find the links between two collections and write them."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from veclink.cli.places import check_apart
from veclink.cli.shared import (
    NO_TRUSTED_LINKS,
    Columns,
    Computing,
    Payloads,
    Printing,
    SeedsFile,
    check_choice,
    check_columns,
    check_linker_folder,
    check_output,
    check_report,
    check_two,
    command,
    opened,
)
from veclink.cli.summarised import summary_values, warn_of_payload
from veclink.errors import without_secrets

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.data.links import Links


CSV_IS_SHORT = (
    "A .parquet file also keeps what speaks for each link, its rivals, and the pairs below the threshold: for the "
    "report, the review page, and a threshold that moves both ways."
)
VOTES_ARE_ELSEWHERE = "A .parquet file also keeps the votes for each link: for the report and the review page."


SURE = 0.95
"""The precision that is proposed where it keeps fewer links than there are."""


@dataclass(frozen=True)
class Wanted:
    """What most runs say."""

    output: Annotated[Path, typer.Option("--output", "-o", help="Where the links go: .csv or .parquet")]
    seeds: SeedsFile = None
    report: Annotated[Path | None, typer.Option(help="Write a report to look at, too: .html")] = None
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.0,
            max=1.0,
            help="Keep the surest links, as many as are together right to this share, 0.95 for example, by a cautious "
            "estimate. Without this, the estimated F1 is made as large as possible.",
        ),
    ] = None


@dataclass(frozen=True)
class Start:
    """What else linking can start from."""

    PANEL: ClassVar[str] = "Other ways to start"
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse seeds that repeat or contradict one another, instead of going on."),
    ] = False
    seeds_by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Start from rows with equal values in this column, such as title (A's=B's where the names differ); "
            "they may be wrong, the vectors decide. auto looks for one.",
        ),
    ] = None
    anchors: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="FA FB", help="Two vector files; row i of both is the same object, in neither A nor B."),
    ] = None
    continued: Annotated[
        Path | None,
        typer.Option("--continue", metavar="LINKS", help="Start from earlier links of A and B, which may have grown."),
    ] = None


@dataclass(frozen=True)
class Method:
    """How links are looked for."""

    PANEL: ClassVar[str] = "The method"
    method: Annotated[str, typer.Option(metavar="NAME", help="The linker: span, or geh as in the paper.")] = "span"
    one_to_one: Annotated[
        bool, typer.Option("--one-to-one/--many", help="Whether a row has at most one partner; --many for duplicates.")
    ] = True


@dataclass(frozen=True)
class Running(Computing):
    """What linking runs on, and how a run that was stopped goes on."""

    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep a long run's stages in this folder; the same command goes on from there.")
    ] = None
    cluster: Annotated[
        str | None,
        # --cluster is what it was called before `veclink cluster` was there
        typer.Option("--ray", "--cluster", metavar="ADDRESS", help='Run on this Ray cluster ("auto": the one here).'),
    ] = None


@dataclass(frozen=True)
class Written(Payloads):
    """What else is written, and what is told there of the objects."""

    columns: Columns = None
    save_linker: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep what veclink match needs to link new rows later, in this folder."),
    ] = None


@command
def link(
    a: Annotated[
        str, typer.Argument(metavar="A", help="Vectors: .npy .npz .parquet .safetensors .jsonl, or a store's URL.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Vectors of another model, in the same formats.")],
    wanted: Wanted,
    printing: Printing,
    start: Start,
    written: Written,
    method: Method,
    running: Running,
) -> None:
    """Link the vectors of A with the vectors of B, and say how far to trust the links.

    Known pairs help (--seeds), but are optional. Exit code 3 says that no trustworthy links were found.
    """
    from veclink.confidence.threshold import thresholds
    from veclink.data.links_files import check_beside
    from veclink.linkers.linking import METHODS, with_agreement
    from veclink.linkers.linking import link as find_links

    output = wanted.output
    check_choice("--method", method.method, METHODS)
    given = map(str, filter(None, (wanted.seeds, start.continued)))
    inputs = (a, b, *given, *(start.anchors or ()), *written.files())
    check_two(a, b)
    check_output(output, *inputs)
    check_beside(output)
    check_columns(written.columns, output)
    check_report(wanted.report, *inputs)
    if written.save_linker is not None:
        check_linker_folder(written.save_linker, method.method, one_to_one=method.one_to_one)
    check_apart([output, wanted.report], written.save_linker, running.checkpoint)
    options = {"seeds": wanted.seeds, **asdict(start), **asdict(method), **asdict(running)}
    if options.pop("one_to_one") is False:
        options["one_to_one"] = False  # told only where it is asked for: method geh does not know it
    with printing.progress() as listener:
        # opened once, for the linker and for the report; a store's payload is read where one of them looks at it
        payload = wanted.report is not None or start.seeds_by is not None
        left = opened(a, written.payload_a, payload=payload, memory=running.memory, progress=listener)
        right = opened(b, written.payload_b, payload=payload, memory=running.memory, progress=listener)
        links = find_links(left, right, progress=listener, **options)
    if wanted.precision is not None:
        links = with_agreement(links.at(precision=wanted.precision), left, right)
    if links.summary.verdict == "not linkable":
        links = links.none()
    links.save(output, written.columns)
    if wanted.report is not None:
        from veclink.report import save_report

        save_report(wanted.report, links, left, right)
    folder = None if links.summary.verdict == "not linkable" else written.save_linker
    if folder is not None:
        _save_linker(folder, links, left, right, (a, b), running)
    places = {"output": output, "report": wanted.report, "linker": folder}
    files = {name: str(path) for name, path in places.items() if path is not None}
    table = [asdict(line) for line in thresholds(links)]
    names = [without_secrets(a), without_secrets(b)]
    is_cut = wanted.precision is not None
    steps = _next_steps(links, names, written.options(), is_cut=is_cut, skip_zero=running.skip_zero, **files)
    ids_from = {side: each.ids_from for side, each in (("a", left), ("b", right)) if each.ids_from is not None}
    told = files | summary_values(links.summary) | {"thresholds": table, "ids_from": ids_from}
    warn_of_payload(links.summary, printing)
    printing.result(told, lambda: _print(links, steps, str(output), wanted.report, ids_from))
    if links.summary.verdict == "not linkable":
        raise typer.Exit(NO_TRUSTED_LINKS)


def _save_linker(
    folder: Path,
    links: Links,
    left: Collection,
    right: Collection,
    sources: tuple[str, str],
    running: Running,
) -> None:
    from veclink.uses.linker import Linker

    computing = {each.name: getattr(running, each.name) for each in fields(Computing)}
    linker = Linker.learned(links, left, right, sources, **computing)
    linker.save(folder)


def _print(links: Links, steps: list[str], output: str, report: Path | None, ids_from: dict[str, str]) -> None:
    from veclink.cli.terminal import print_summary, print_thresholds
    from veclink.confidence.threshold import thresholds

    print_summary(links.summary)
    print_thresholds(thresholds(links), links.summary.caution)
    for side, file in ids_from.items():
        typer.echo(f"The ids of {side.upper()} are those of {file}.")
    typer.echo(f"Written to {output}.")
    if output.lower().endswith(".csv") and len(links):
        typer.echo(CSV_IS_SHORT if links.summary.is_calibrated else VOTES_ARE_ELSEWHERE)
    if report is not None:
        typer.echo(f"The report is {report}; open it in a browser.")
    if len(links):
        typer.echo("\n".join(["Next:", *steps]))


def _next_steps(
    links: Links,
    names: list[str],
    payloads: list[str],
    *,
    is_cut: bool,
    skip_zero: bool,
    output: str,
    report: str | None = None,
    linker: str | None = None,
) -> list[str]:
    """What to do with the links, or about them; what is in the way is said in the reasons above."""
    shown, output = shlex.join([*names, *payloads]), shlex.quote(output)
    prepared = f"{shown} --skip-zero" if skip_zero else shown  # for commands that would stop at a zero vector too
    steps = [] if report is not None else [f"  see them:        veclink report {output} {shown} -o links.html"]
    steps.append(f"  check by eye:    veclink review {output} {prepared}")
    if links.summary.is_calibrated and not is_cut and 0 < len(links.at(precision=SURE)) < len(links):
        steps.append(f"  keep sure ones:  veclink cut {output} --precision {SURE} -o sure.csv")
    if linker is not None:
        names_of_new = " --payload-a NEW.csv" if "--payload-a" in payloads else ""
        steps.append(f"  link new rows:   veclink match NEW{names_of_new} --linker {shlex.quote(linker)} -o new.csv")
    if links.summary.verdict_in_words == "linkable":
        steps.append(f"  make one store:  veclink merge {prepared} --links {output} -o merged.parquet --yes")
    return steps
