"""veclink translate: vectors of one model as vectors of the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veclink.cli.places import check_folder_of
from veclink.cli.shared import MapKind, Printing, check_choice, check_no_input, command, print_warning
from veclink.errors import InputError, named, without_secrets

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.progress import ProgressListener
    from veclink.uses.translating import Translator


@dataclass(frozen=True)
class Fitting:
    """Where the translator comes from: a file, or a fit to links."""

    with_: Annotated[Path | None, typer.Option("--with", help="A translator that was saved: .safetensors")] = None
    links: Annotated[Path | None, typer.Option(help="Or fit one to these links of A and B.")] = None
    a: Annotated[str | None, typer.Option("--a", help="The collection A of the links.")] = None
    b: Annotated[str | None, typer.Option("--b", help="The collection B of the links.")] = None
    reverse: Annotated[bool, typer.Option("--reverse", help="Fit from B's space to A's.")] = False
    map: MapKind = "blend"
    save: Annotated[Path | None, typer.Option(help="Keep the fitted translator: .safetensors")] = None

    def __post_init__(self) -> None:
        from veclink.uses.maps import KINDS

        check_choice("--map", self.map, ("auto", *KINDS))
        if (self.with_ is None) == (self.links is None):
            raise typer.BadParameter("Give a translator (--with), or links to fit one to (--links --a --b).")
        if self.links is not None and (self.a is None or self.b is None):
            raise typer.BadParameter("Links need the two collections they are of: --a and --b.", param_hint="--links")
        if self.save is not None and self.save.suffix.lower() != ".safetensors":
            raise typer.BadParameter(f"{self.save} does not end in .safetensors.", param_hint="--save")

    def translator(self, opened: dict[str, Collection], progress: ProgressListener | None) -> Translator:
        """The translator; opened: collections that are open already, by their address."""
        from veclink.uses.translating import Translator

        if self.with_ is not None:
            return Translator.load(self.with_)
        assert self.links is not None and self.a is not None and self.b is not None
        a, b = (opened.get(each, each) for each in (self.a, self.b))
        return Translator.fit(self.links, a, b, map=self.map, reverse=self.reverse, progress=progress)


@command
def translate(
    vectors: Annotated[str, typer.Argument(metavar="VECTORS", help="What to translate: a file or a store's URL.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Where it goes: a file or a store's URL.")],
    fitting: Fitting,
    printing: Printing,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an output that is there already.")] = False,
) -> None:
    """Translate vectors (queries, say) from A's space to B's, by a saved translator or one fitted to links."""
    from veclink.stores import open_store
    from veclink.stores.opening import open_collection
    from veclink.uses.already import holds_translated, rows_of
    from veclink.uses.translating import translated_batches

    check_no_input(output, vectors, fitting.a, fitting.b, fitting.links, fitting.with_)
    check_folder_of(output)
    source = open_collection(vectors)
    _check_directions(source)
    with printing.progress() as listener, open_store(output, write=True) as store:
        in_the_way = None if replace else store.in_the_way()
        if in_the_way is not None and rows_of(store) != len(source):
            store.check_free()
        translator = fitting.translator({vectors: source}, listener)
        there = in_the_way is not None and holds_translated(store, source, translator)
        if not there and not replace:
            store.check_free()
        if fitting.save is not None:
            translator.save(fitting.save)
        if not there:
            batches = translated_batches(translator, source, payload=store.keeps_payload)
            store.write(batches, metadata={"translator": translator.describe()}, replace=replace)
    print_warning(translator.warning)
    shown = without_secrets(output)
    told = {"output": shown, "rows": len(source), "warning": translator.warning, **translator.describe()}
    rows = f"{len(source):,} vectors of {translator.dimensions[0]:,} numbers"
    lines = [f"{shown} holds just these {rows}, translated, already." if there else f"{rows} translated to {shown}."]
    if translator.quality is not None:
        lines.append(translator.quality.sentence())
    printing.result(told, lambda: typer.echo("\n".join(lines)))


def _check_directions(source: Collection) -> None:
    from veclink.geometry.clouds import inspected

    zero, _ = inspected(source, source.name)
    if len(zero):
        raise InputError(f"{source.name} has zero vectors, which have no direction, in row {named(zero)}; remove them.")
