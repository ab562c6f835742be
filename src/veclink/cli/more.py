"""veclink many and veclink translate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from veclink.cli.shared import (
    AS_JSON,
    DEVICE,
    MAP_KIND,
    MEMORY,
    PLACE,
    QUIET,
    RANDOM_STATE,
    REPLACE,
    SKIP_ZERO,
    TABLE_FILE,
    THREADS,
    argument,
    check_map,
    check_place,
    check_table,
    flag,
    option,
    summary_values,
    tell,
    warn,
)  # fmt: skip
from veclink.errors import InputError, named, plural, without_secrets
from veclink.progress import showing_progress


def many(
    collections: list[str] = argument(..., metavar="A B C …", help="Three or more files or store URLs."),
    output: Path = TABLE_FILE,
    seeds: list[str] | None = option(
        None, metavar="I,J=FILE", help="Known pairs of collections I and J, counted from 1; repeatable."
    ),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    memory: str | None = MEMORY,
    device: str = DEVICE,
    threads: int | None = THREADS,
    random_state: int = RANDOM_STATE,
    skip_zero: bool = SKIP_ZERO,
) -> None:
    """Link three or more collections, each made by its own model, into one consistent list of objects."""
    from veclink.uses.many import link_many

    known = dict(map(_seeds, seeds or ()))
    check_table(output, *collections, *known.values(), what="objects")
    with showing_progress(quiet=quiet) as listener:
        found = link_many(
            collections, seeds=known, memory=memory, device=device, threads=threads, random_state=random_state,
            skip_zero=skip_zero, progress=listener,
        )  # fmt: skip
    found.save(output)
    told: dict[str, Any] = {"output": str(output), "objects": len(found), "pairwise": {}}
    lines = [found.sentence]
    for (i, j), links in found.pairwise.items():
        told["pairwise"][f"{i + 1},{j + 1}"] = summary_values(links.summary)
        verdict = links.summary.verdict_in_words
        lines.append(f"  collections {i + 1} and {j + 1}: {plural(len(links), 'link')}, {verdict}")
    tell(told, [*lines, f"Written to {output}."], as_json, quiet)


def _seeds(text: str) -> tuple[tuple[int, int], Path]:
    ends, _, file = text.partition("=")
    first, _, second = ends.partition(",")
    if not (file and first.strip().isdigit() and second.strip().isdigit()):
        raise typer.BadParameter(
            f"{text!r} does not say whose pairs these are; write 1,2=seeds.csv.", param_hint="--seeds"
        )
    return (int(first) - 1, int(second) - 1), Path(file)


def translate(
    vectors: str = argument(..., metavar="VECTORS", help="What to translate: a file or a store's URL."),
    output: str = PLACE,
    with_: Path | None = option(None, "--with", help="A translator that was saved: .safetensors"),
    links: Path | None = option(None, help="Or fit one to these links of A and B."),
    a: str | None = option(None, "--a", help="The collection A of the links."),
    b: str | None = option(None, "--b", help="The collection B of the links."),
    reverse: bool = flag("--reverse", "Translate from model B to model A."),
    save: Path | None = option(None, help="Keep the fitted translator: .safetensors"),
    replace: bool = REPLACE,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    map: str = MAP_KIND,
) -> None:
    """Translate vectors, such as queries, from model A to model B, by a saved translator or one fitted to links."""
    from veclink.geometry.clouds import inspected
    from veclink.stores import open_store
    from veclink.stores.opening import open_collection
    from veclink.uses.translating import Translator, translated_batches

    check_map(map)
    if (with_ is None) == (links is None):
        raise typer.BadParameter("Give a translator (--with), or links to fit one to (--links --a --b).")
    if save is not None and save.suffix.lower() != ".safetensors":
        raise typer.BadParameter(f"{save} does not end in .safetensors.", param_hint="--save")
    check_place(output, vectors, a, b, links, with_)
    source = open_collection(vectors)
    zero, _ = inspected(source, source.name)
    if len(zero):
        raise InputError(f"{source.name} has zero vectors, which have no direction, in row {named(zero)}; remove them.")
    with showing_progress(quiet=quiet) as listener, open_store(output, write=True) as store:
        if not replace:
            store.check_free()
        if with_ is not None:
            translator = Translator.load(with_)
        elif links is None or a is None or b is None:
            raise typer.BadParameter("Links need the two collections they are of: --a and --b.", param_hint="--links")
        else:
            left, right = (source if each == vectors else each for each in (a, b))
            translator = Translator.fit(links, left, right, map=map, reverse=reverse, progress=listener)
        if save is not None:
            translator.save(save)
        batches = translated_batches(translator, source, payload=store.keeps_payload)
        store.write(batches, metadata={"translator": translator.describe()}, replace=replace)
    warn(translator.warning and f"Warning: {translator.warning}")
    shown = without_secrets(output)
    lines = [f"{len(source):,} vectors of {translator.dimensions[0]:,} numbers translated to {shown}."]
    if translator.quality is not None:
        lines.append(translator.quality.sentence())
    told = {"output": shown, "rows": len(source), "warning": translator.warning, **translator.describe()}
    tell(told, lines, as_json, quiet)
