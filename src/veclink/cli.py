"""The command line: parse, call, print. Progress goes to stderr, results to stdout.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 the collections do not link, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from veclink import __version__
from veclink.errors import InputError, VeclinkError
from veclink.memory import parse_memory

ERROR, USAGE, NOT_LINKABLE, INTERRUPTED = 1, 2, 3, 130
ENDINGS = (".csv", ".parquet")

app = typer.Typer(
    name="veclink",
    help="Link the same objects across two vector collections made by different embedding models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary; errors (and --json) only.")]


def main() -> None:
    """Run the command line; Ctrl-C before or after a command's own work ends it as quietly as during it."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"veclink {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Link the same objects across two vector collections made by different embedding models."""


def _check_memory(text: str | None) -> str | None:
    if text is not None:
        try:
            parse_memory(text)
        except VeclinkError as error:
            raise typer.BadParameter(str(error)) from error
    return text


@app.command()
def link(
    a: Annotated[str, typer.Argument(metavar="A", help="Vectors: .npy .npz .parquet .safetensors .jsonl")],
    b: Annotated[str, typer.Argument(metavar="B", help="Vectors of another model, in the same formats.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the links go: .csv or .parquet")],
    seeds: Annotated[
        Path | None, typer.Option(help="Known pairs, CSV or Parquet with columns a,b: ids, or rows without ids.")
    ] = None,
    anchors: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="FA FB", help="Two vector files; row i of both is the same object, in neither A nor B."),
    ] = None,
    method: Annotated[str, typer.Option(help="The linker: span, or geh as in the paper.")] = "span",
    precision: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Keep the surest links whose estimated precision is this.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(callback=_check_memory, help='What may be used beside the input, like "500MB".')
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    random_state: Annotated[int, typer.Option(help="The same number gives the same links.")] = 0,
    skip_zero: Annotated[bool, typer.Option("--skip-zero", help="Leave out zero vectors instead of stopping.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Link the vectors of A with the vectors of B."""
    with _one_sentence_errors():
        from veclink.linking import DEVICES, METHODS
        from veclink.linking import link as find_links
        from veclink.terminal import print_summary, showing_progress

        _check_choice("--method", method, METHODS)
        _check_choice("--device", device, DEVICES)
        _check_output(output, a, b, *([str(seeds)] if seeds else []), *(anchors or ()))

        with showing_progress(quiet=quiet) as listener:
            links = find_links(
                a,
                b,
                seeds=seeds,
                anchors=anchors,
                method=method,
                device=device,
                random_state=random_state,
                memory=memory,
                skip_zero=skip_zero,
                progress=listener,
            )
        if precision is not None:
            links = links.at(precision=precision)
        links.save(output)
        if as_json:
            _print_json({"output": str(output), **links.summary.to_dict()})
        elif not quiet:
            print_summary(links.summary)
            typer.echo(f"Written to {output}.")
    if links.summary.verdict == "not linkable":
        raise typer.Exit(NOT_LINKABLE)


@app.command("eval")
def evaluate(
    links: Annotated[Path, typer.Argument(metavar="LINKS", help="Links, or any pairs: CSV or Parquet, columns a,b.")],
    truth: Annotated[Path, typer.Option(help="The true pairs, in the same terms: CSV or Parquet, columns a,b.")],
    as_json: AsJson = False,
) -> None:
    """Say how right the links are: precision, recall and F1 against known pairs."""
    with _one_sentence_errors():
        from veclink.anchors import read_pairs
        from veclink.evaluation import score
        from veclink.terminal import print_scores

        # As text: what a CSV file holds as text, a Parquet file may hold as integers.
        found, true = ({(str(a), str(b)) for a, b in zip(*read_pairs(file), strict=True)} for file in (links, truth))
        if found and not {a for a, _ in found} & {a for a, _ in true}:
            raise InputError(
                f"{links} and {truth} have no value of a in common; give both in ids, or both in row numbers."
            )
        scores = score(list(found), list(true))
        counts = {"right": len(found & true), "found": len(found), "true": len(true)}
        if as_json:
            _print_json({**asdict(scores), **counts})
        else:
            print_scores(scores, **counts)


@app.command()
def demo(as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Link the bundled sample, 3,000 papers embedded by two models, and check the result."""
    with _one_sentence_errors():
        from veclink.demo import run_demo
        from veclink.terminal import print_demo, showing_progress

        with showing_progress(quiet=quiet) as listener:
            result = run_demo(progress=listener)
        if as_json:
            shown = [asdict(each) for each in result.shown]
            _print_json({"scores": asdict(result.scores), "summary": result.links.summary.to_dict(), "links": shown})
        elif not quiet:
            print_demo(result)


@contextmanager
def _one_sentence_errors() -> Iterator[None]:
    """Turn what can go wrong into a sentence on stderr and an exit code; a traceback is for bugs only."""
    try:
        yield
    except (VeclinkError, OSError) as error:
        typer.echo(f"veclink: {error}", err=True)
        raise typer.Exit(ERROR) from error
    except MemoryError as error:
        typer.echo("veclink: There is not enough memory; give less with --memory.", err=True)
        raise typer.Exit(ERROR) from error
    except KeyboardInterrupt as interrupt:
        typer.echo("veclink: Stopped; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from interrupt


def _check_choice(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}.", param_hint=option)


def _check_output(output: Path, *inputs: str) -> None:
    """Refuse, before the long work starts, an output that could not be written after it."""
    if output.suffix.lower() not in ENDINGS:
        raise InputError(f"{output} does not end in {' or '.join(ENDINGS)}; links are written as one of these.")
    folder = output.parent
    if not folder.is_dir():
        raise InputError(f"The folder {folder} for the output does not exist; make it first.")
    if output.is_dir():
        raise InputError(f"{output} is a folder; name a file in it.")
    if not os.access(output if output.exists() else folder, os.W_OK) or not os.access(folder, os.W_OK):
        raise InputError(f"{output} cannot be written: permission denied; choose another place.")
    if any(output.exists() and Path(given).exists() and output.samefile(given) for given in inputs):
        raise InputError(f"{output} is one of the inputs; choose another name for the links.")


def _print_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
