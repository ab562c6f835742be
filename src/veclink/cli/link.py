"""veclink link: find the links between two collections and write them."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veclink.cli.shared import (
    NO_TRUSTED_LINKS,
    Computing,
    Payloads,
    Printing,
    SeedsFile,
    check_choice,
    check_linker_folder,
    check_output,
    check_report,
    check_two,
    command,
    opened,
)
from veclink.errors import without_secrets

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.data.links import Links


@dataclass(frozen=True)
class Start:
    """What linking starts from."""

    seeds: SeedsFile = None
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
    """How links are looked for, where, and how a run that was stopped goes on."""

    method: Annotated[str, typer.Option(help="The linker: span, or geh as in the paper.")] = "span"
    approximate: Annotated[bool, typer.Option("--approximate", hidden=True)] = False
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep a long run's stages in this folder; the same command goes on from there.")
    ] = None
    cluster: Annotated[
        str | None,
        # --cluster is what it was called before `veclink cluster` was there
        typer.Option("--ray", "--cluster", metavar="ADDRESS", help='Run on this Ray cluster ("auto": the one here).'),
    ] = None
    one_to_one: Annotated[
        bool, typer.Option("--one-to-one/--many", help="Whether a row has at most one partner; --many for duplicates.")
    ] = True


@dataclass(frozen=True)
class Written(Payloads):
    """Which links are written, whether a report is, and what is told there of the objects."""

    precision: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Keep the surest links that reach this precision by a cautious estimate: it counts one to five wrong "
            "links for each that the probabilities expect, so what is kept is usually better than asked for.",
        ),
    ] = None
    report: Annotated[Path | None, typer.Option(help="Write a report to look at, too: .html")] = None
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
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the links go: .csv or .parquet")],
    start: Start,
    method: Method,
    written: Written,
    computing: Computing,
    printing: Printing,
) -> None:
    """Link the vectors of A with the vectors of B, and say how far to trust the links.

    Known pairs help (--seeds), but are optional. Exit code 3 says that no trustworthy links were found.
    """
    from veclink.confidence.intervals import with_ranges
    from veclink.confidence.threshold import thresholds
    from veclink.data.links_files import check_beside
    from veclink.linkers.linking import METHODS, with_agreement
    from veclink.linkers.linking import link as find_links

    check_choice("--method", method.method, METHODS)
    given = map(str, filter(None, (start.seeds, start.continued)))
    inputs = (a, b, *given, *(start.anchors or ()), *written.files())
    check_two(a, b)
    check_output(output, *inputs)
    check_beside(output)
    check_report(written.report, *inputs)
    if written.save_linker is not None:
        check_linker_folder(written.save_linker, method.method, one_to_one=method.one_to_one)
    options = {**asdict(start), **asdict(method), **asdict(computing)}
    if options.pop("one_to_one") is False:
        options["one_to_one"] = False  # told only where it is asked for: method geh does not know it
    if options.pop("approximate"):
        from veclink.linkers.options import APPROXIMATE_IS_GONE

        typer.echo(APPROXIMATE_IS_GONE, err=True)
    with printing.progress() as listener:
        # opened once, for the linker and for the report; a store's payload is read where one of them looks at it
        payload = written.report is not None or start.seeds_by is not None
        left = opened(a, written.payload_a, payload=payload, memory=computing.memory, progress=listener)
        right = opened(b, written.payload_b, payload=payload, memory=computing.memory, progress=listener)
        links = find_links(left, right, progress=listener, **options)
    if written.precision is not None:
        links = with_agreement(with_ranges(links.at(precision=written.precision)), left, right)
    links.save(output)
    if written.report is not None:
        from veclink.report import save_report

        save_report(written.report, links, left, right)
    folder = None if links.summary.verdict == "not linkable" else written.save_linker
    if folder is not None:
        _save_linker(folder, links, left, right, (a, b), computing)
    wanted = {"output": output, "report": written.report, "linker": folder}
    files = {name: str(path) for name, path in wanted.items() if path is not None}
    table = [asdict(line) for line in thresholds(links)]
    names = shlex.join([without_secrets(a), without_secrets(b)])
    printing.result(files | links.summary.to_dict() | {"thresholds": table}, lambda: _print(links, names, **files))
    if links.summary.verdict == "not linkable":
        raise typer.Exit(NO_TRUSTED_LINKS)


def _save_linker(
    folder: Path,
    links: Links,
    left: Collection,
    right: Collection,
    sources: tuple[str, str],
    computing: Computing,
) -> None:
    from veclink.uses.linker import Linker

    linker = Linker.learned(links, left, right, sources, **asdict(computing))
    linker.save(folder)


def _print(links: Links, names: str, output: str, report: str | None = None, linker: str | None = None) -> None:
    from veclink.cli.terminal import print_summary, print_thresholds
    from veclink.confidence.threshold import thresholds

    print_summary(links.summary)
    print_thresholds(thresholds(links))
    typer.echo(f"Written to {output}.")
    if report is not None:
        typer.echo(f"The report is {report}; open it in a browser.")
    if len(links):
        typer.echo("\n".join(["Next:", *_next_steps(links, names, shlex.quote(output), report, linker)]))


def _next_steps(links: Links, names: str, output: str, report: str | None, linker: str | None) -> list[str]:
    """What to do with the links, or about them; what is in the way is said in the reasons above."""
    steps = [] if report is not None else [f"  see them:        veclink report {output} {names} -o links.html"]
    steps.append(f"  check by eye:    veclink review {output} {names}")
    steps.append(f"  keep sure ones:  veclink cut {output} --precision 0.95 -o sure.csv")
    if linker is not None:
        steps.append(f"  link new rows:   veclink match NEW --linker {shlex.quote(linker)} -o new.csv")
    if links.summary.verdict == "linkable":
        steps.append(f"  make one store:  veclink merge {names} --links {output} -o merged.parquet --yes")
    return steps
