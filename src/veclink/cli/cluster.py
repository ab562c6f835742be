"""veclink cluster: clusters that span two collections of different models."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import AsJson, Memory, Quiet, check_choice, check_output, one_sentence_errors, print_json
from veclink.errors import WrongLinksWarning


def cluster(
    a: Annotated[str, typer.Argument(metavar="A", help="A collection: a file or a store's URL.")],
    b: Annotated[str, typer.Argument(metavar="B", help="A collection of another model.")],
    links: Annotated[Path, typer.Option(help="Links of A and B, or any pairs: CSV or Parquet, columns a,b.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the clusters go: .csv or .parquet")],
    clusters: Annotated[int | None, typer.Option(min=1, help="How many clusters to look for.")] = None,
    resolution: Annotated[float | None, typer.Option(help="Or the resolution: higher gives more clusters.")] = None,
    neighbours: Annotated[int | None, typer.Option(min=1, help="Near neighbours of each row in the graph.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="Members of each cluster to show.")] = 3,
    memory: Memory = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    random_state: Annotated[int, typer.Option(min=0, help="The same number gives the same clusters.")] = 0,
    skip_zero: Annotated[bool, typer.Option("--skip-zero", help="Leave out zero vectors instead of stopping.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Cluster two collections at once, each linked pair being one object."""
    with one_sentence_errors():
        from veclink.cli.terminal import showing_progress
        from veclink.linkers.linking import DEVICES
        from veclink.uses.clustering import cluster as clusters_of

        check_choice("--device", device, DEVICES)
        if clusters is not None and resolution is not None:
            raise typer.BadParameter("is not given together with --clusters.", param_hint="--resolution")
        check_output(output, a, b, str(links))
        with showing_progress(quiet=quiet) as listener, warnings.catch_warnings():
            warnings.simplefilter("ignore", WrongLinksWarning)  # told below, without the place in the code
            found = clusters_of(
                a,
                b,
                links,
                clusters=clusters,
                resolution=resolution,
                neighbours=neighbours,
                skip_zero=skip_zero,
                device=device,
                memory=memory,
                random_state=random_state,
                progress=listener,
            )
        found.save(output)
        if found.summary.warning is not None:
            typer.echo(f"veclink: Warning: {found.summary.warning}", err=True)
        told = found.describe(examples)
        if as_json:
            print_json({"output": str(output), **told})
        elif not quiet:
            typer.echo(
                f"{told['clusters']:,} clusters of {told['nodes']:,} objects, resolution {told['resolution']:.3g}."
            )
            for each in told["largest"]:
                shown = ", ".join(map(str, [*each["examples"]["a"], *each["examples"]["b"]]))
                sizes = f"{each['sizes']['a']:,} of A, {each['sizes']['b']:,} of B"
                typer.echo(f"  {each['cluster']}: {sizes}" + (f"; {shown}" if shown else ""))
            if told["clusters"] > len(told["largest"]):
                typer.echo(f"  and {told['clusters'] - len(told['largest']):,} smaller ones")
            typer.echo(f"Written to {output}.")
