"""veclink link: find the links between two collections and write them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import (
    NOT_LINKABLE,
    AsJson,
    Memory,
    Quiet,
    check_choice,
    check_output,
    check_report,
    one_sentence_errors,
    print_json,
)


def link(
    a: Annotated[
        str, typer.Argument(metavar="A", help="Vectors: .npy .npz .parquet .safetensors .jsonl, or a store's URL.")
    ],
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
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Keep the surest links that reach this precision by a cautious estimate: for each wrong link that the "
            "probabilities expect, one to four are reckoned with, so what is kept is usually better than asked for.",
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report to look at, too: .html")] = None,
    memory: Memory = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep a long run's stages in this folder; the same command goes on from there.")
    ] = None,
    approximate: Annotated[bool, typer.Option("--approximate", hidden=True)] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help='Run on this Ray cluster ("auto": the one we are part of).')
    ] = None,
    random_state: Annotated[int, typer.Option(min=0, help="The same number gives the same links.")] = 0,
    skip_zero: Annotated[bool, typer.Option("--skip-zero", help="Leave out zero vectors instead of stopping.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Link the vectors of A with the vectors of B."""
    with one_sentence_errors():
        from veclink.cli.terminal import print_summary, showing_progress
        from veclink.linkers.linking import DEVICES, METHODS
        from veclink.linkers.linking import link as find_links

        check_choice("--method", method, METHODS)
        check_choice("--device", device, DEVICES)
        inputs = (a, b, *([str(seeds)] if seeds else []), *(anchors or ()))
        check_output(output, *inputs)
        check_report(report, *inputs)
        if approximate:
            from veclink.linkers.span.linker import APPROXIMATE_IS_GONE

            typer.echo(APPROXIMATE_IS_GONE, err=True)

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
                checkpoint=checkpoint,
                cluster=cluster,
                skip_zero=skip_zero,
                progress=listener,
            )
        if precision is not None:
            links = links.at(precision=precision)
        links.save(output)
        if report is not None:
            from veclink.report import save_report

            save_report(report, links, a, b)
        if as_json:
            written = {"output": str(output)} | ({} if report is None else {"report": str(report)})
            print_json({**written, **links.summary.to_dict()})
        elif not quiet:
            print_summary(links.summary)
            typer.echo(f"Written to {output}.")
            if report is not None:
                typer.echo(f"The report is {report}; open it in a browser.")
    if links.summary.verdict == "not linkable":
        raise typer.Exit(NOT_LINKABLE)
