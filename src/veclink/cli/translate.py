"""veclink translate: vectors of one model as vectors of the other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import AsJson, Quiet, check_choice, is_one_of, one_sentence_errors, print_json
from veclink.errors import InputError, named, without_secrets


def translate(
    vectors: Annotated[str, typer.Argument(metavar="VECTORS", help="What to translate: a file or a store's URL.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Where it goes: a file or a store's URL.")],
    with_: Annotated[Path | None, typer.Option("--with", help="A translator that was saved: .safetensors")] = None,
    links: Annotated[Path | None, typer.Option(help="Or fit one to these links of A and B.")] = None,
    a: Annotated[str | None, typer.Option("--a", help="The collection A of the links.")] = None,
    b: Annotated[str | None, typer.Option("--b", help="The collection B of the links.")] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="Fit from B's space to A's.")] = False,
    map_: Annotated[
        str,
        typer.Option("--map", help="la2m, procrustes, ridge, lowrank, blend, or auto: the best on held-back links."),
    ] = "la2m",
    save: Annotated[Path | None, typer.Option(help="Keep the fitted translator: .safetensors")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an output that is there already.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Translate vectors (queries, say) from A's space to B's, by a saved translator or one fitted to links."""
    with one_sentence_errors():
        from veclink.cli.terminal import showing_progress
        from veclink.geometry.clouds import inspected
        from veclink.stores import open_store
        from veclink.stores.opening import open_collection
        from veclink.uses.maps import KINDS
        from veclink.uses.translating import Translator, translated_batches

        check_choice("--map", map_, ("auto", *KINDS))
        if (with_ is None) == (links is None):
            raise typer.BadParameter("Give a translator (--with), or links to fit one to (--links --a --b).")
        if links is not None and (a is None or b is None):
            raise typer.BadParameter("Links need the two collections they are of: --a and --b.", param_hint="--links")
        if save is not None and save.suffix.lower() != ".safetensors":
            raise typer.BadParameter(f"{save} does not end in .safetensors.", param_hint="--save")
        if is_one_of(output, *(str(each) for each in (vectors, a, b, links, with_) if each is not None)):
            raise typer.BadParameter("is one of the inputs; choose another place.", param_hint="--output")
        source = open_collection(vectors)
        zero, _ = inspected(source, source.name)
        if len(zero):
            raise InputError(
                f"{source.name} has zero vectors, which have no direction, in row {named(zero)}; remove them."
            )
        with showing_progress(quiet=quiet) as listener, open_store(output, write=True) as store:
            if store.exists() and not replace:
                raise InputError(f"{store.name} is there already; choose another name, or give --replace.")
            if with_ is not None:
                translator = Translator.load(with_)
            else:
                assert links is not None and a is not None and b is not None
                translator = Translator.fit(links, a, b, kind=map_, reverse=reverse, progress=listener)
            batches = translated_batches(translator, source, payload=store.keeps_payload)
            rows = store.write(batches, metadata={"translator": translator.describe()}, replace=replace)
            if save is not None:
                translator.save(save)
        if translator.warning is not None:
            typer.echo(f"veclink: Warning: {translator.warning}", err=True)
        shown = without_secrets(output)
        if as_json:
            print_json({"output": shown, "rows": rows, "warning": translator.warning, **translator.describe()})
        elif not quiet:
            typer.echo(f"{rows:,} vectors of {translator.dimensions[0]:,} numbers translated to {shown}.")
            quality = translator.quality
            if quality is not None:
                typer.echo(
                    f"On {quality.held_back:,} links held back, the map {quality.kind} has a mean cosine of "
                    f"{quality.cosine:.2f} to the linked vector and {quality.neighbours:.0%} of its ten nearest "
                    "neighbours."
                )
