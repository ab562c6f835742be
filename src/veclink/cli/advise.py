"""veclink advise: change the model, or not?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veclink.cli.shared import LinksFile, MapKind, Printing, RandomState, check_choice, command

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.uses.advising import Advice
    from veclink.uses.searching import Asked


@dataclass(frozen=True)
class Asking:
    """Queries whose answers are known; all three, or none."""

    queries_a: Annotated[str | None, typer.Option(help="Queries by the old model: a file or a store's URL.")] = None
    queries_b: Annotated[str | None, typer.Option(help="The same queries by the new model, row by row.")] = None
    qrels: Annotated[Path | None, typer.Option(help="Answers, CSV or Parquet: query,document,relevance.")] = None

    def __post_init__(self) -> None:
        given = [each is not None for each in (self.queries_a, self.queries_b, self.qrels)]
        if any(given) and not all(given):
            raise typer.BadParameter("Give --queries-a, --queries-b and --qrels, or none of them.")

    def asked(self, a: Collection) -> Asked | None:
        """The queries of both models and their answers among the documents of A."""
        from veclink.data.collection import numbers
        from veclink.errors import InputError
        from veclink.stores.opening import open_collection
        from veclink.uses.searching import Asked, read_answers

        if self.queries_a is None or self.queries_b is None or self.qrels is None:
            return None
        old, new = (open_collection(each, payload=False) for each in (self.queries_a, self.queries_b))
        if len(old) != len(new):
            raise InputError(f"There are {len(old):,} queries by the old model and {len(new):,} by the new one.")
        answers = read_answers(self.qrels, old, a)
        return Asked(numbers(old, slice(None)), numbers(new, slice(None)), answers)


@dataclass(frozen=True)
class Advising:
    """What is asked of the advice."""

    without_old: Annotated[
        bool, typer.Option("--without-old", help="The old model cannot be asked any more, so A cannot stay.")
    ] = False
    adapter: Annotated[
        Path | None, typer.Option(help="Keep the map of queries from the new model to the old: .safetensors")
    ] = None
    map: MapKind = "blend"
    random_state: RandomState = 0

    def __post_init__(self) -> None:
        from veclink.uses.maps import KINDS

        check_choice("--map", self.map, ("auto", *KINDS))
        if self.adapter is not None and self.adapter.suffix.lower() != ".safetensors":
            raise typer.BadParameter(f"{self.adapter} does not end in .safetensors.", param_hint="--adapter")


@command
def advise(
    a: Annotated[str, typer.Argument(metavar="A", help="All documents by the old model.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Some of them by the new model.")],
    links: LinksFile,
    asking: Asking,
    advising: Advising,
    printing: Printing,
) -> None:
    """Change the model? Keep it, translate the queries or the documents, or embed all documents again."""
    from veclink.stores.opening import open_collection
    from veclink.uses.advising import advise as advice_of
    from veclink.uses.translating import Translator

    adapter = advising.adapter
    fitting: dict[str, Any] = {"map": advising.map, "random_state": advising.random_state}
    with printing.progress() as listener:
        left, right = (open_collection(each, payload=False, progress=listener) for each in (a, b))
        given = asking.asked(left)
        gone = advising.without_old
        advice = advice_of(left, right, links, asked=given, without_old=gone, progress=listener, **fitting)
        if adapter is not None:
            Translator.fit(links, left, right, reverse=True, **fitting).save(adapter)
    told = {**asdict(advice), "sentence": advice.sentence(), "adapter": None if adapter is None else str(adapter)}
    printing.result(told, lambda: _print(advice))


def _print(advice: Advice) -> None:
    from veclink.uses.advising import WAYS

    lines = [advice.sentence(), ""]
    for way in advice.ways:
        found = "" if way.ndcg is None else f", NDCG@10 {100 * way.ndcg:.1f}"
        found += " (forecast)" if way.ndcg is not None and way.name == "embed" else ""
        lines.append(f"  {WAYS[way.name]}: {way.neighbours:.0%} of the new model's ten nearest neighbours{found}")
    lines.append("")
    lines.append(
        f"From {advice.n_links:,} links, {advice.share:.0%} of A, each held out of the maps it is measured with."
    )
    typer.echo("\n".join(lines))
