"""veclink cluster: clusters that span two collections of different models."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from veclink.cli.shared import Computing, LinksFile, Payloads, Printing, check_output, command, opened


@dataclass(frozen=True)
class Leiden:
    """Options of `veclink.cluster`, named as it names them."""

    clusters: Annotated[int | None, typer.Option(min=1, help="How many clusters to look for.")] = None
    resolution: Annotated[float | None, typer.Option(help="Or the resolution: higher gives more clusters.")] = None
    neighbours: Annotated[int | None, typer.Option(min=1, help="Near neighbours of each row in the graph.")] = None

    def __post_init__(self) -> None:
        if self.clusters is not None and self.resolution is not None:
            raise typer.BadParameter("is not given together with --clusters.", param_hint="--resolution")


@dataclass(frozen=True)
class Showing(Payloads):
    """What is shown of the clusters, and what names their members."""

    examples: Annotated[int, typer.Option(min=0, help="Members of each cluster to show.")] = 3


@command
def cluster(
    a: Annotated[str, typer.Argument(metavar="A", help="A collection: a file or a store's URL.")],
    b: Annotated[str, typer.Argument(metavar="B", help="A collection of another model.")],
    links: LinksFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the clusters go: .csv or .parquet")],
    leiden: Leiden,
    showing: Showing,
    computing: Computing,
    printing: Printing,
) -> None:
    """Cluster two collections at once, each linked pair being one object."""
    from veclink.uses.clustering import cluster as clusters_of

    check_output(output, a, b, str(links), *showing.files())
    with printing.progress() as listener:
        left, right = (
            opened(each, file, payload=False, memory=computing.memory, progress=listener)
            for each, file in ((a, showing.payload_a), (b, showing.payload_b))
        )
        found = clusters_of(left, right, links, progress=listener, **asdict(leiden), **asdict(computing))
    found.save(output)
    told = {"output": str(output), **found.describe(showing.examples)}
    printing.result(told, lambda: typer.echo("\n".join(_lines(told))))


def _lines(told: dict[str, Any]) -> list[str]:
    lines = [f"{told['clusters']:,} clusters of {told['nodes']:,} objects, resolution {told['resolution']:.3g}."]
    for each in told["largest"]:
        shown = ", ".join(map(str, [*each["examples"]["a"], *each["examples"]["b"]]))
        sizes = f"{each['sizes']['a']:,} of A, {each['sizes']['b']:,} of B"
        lines.append(f"  {each['cluster']}: {sizes}" + (f"; {shown}" if shown else ""))
    smaller = told["clusters"] - len(told["largest"])
    if smaller:
        lines.append(f"  and {smaller:,} smaller ones")
    return [*lines, f"Written to {told['output']}."]
