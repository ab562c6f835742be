"""veclink merge: one collection out of two, or just which of A are in B already."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from veclink.cli.shared import AsJson, Quiet, check_choice, check_output, is_one_of, one_sentence_errors, print_json
from veclink.errors import InputError, WrongLinksWarning, without_secrets
from veclink.uses.merged_rows import AS_THEY_ARE


def merge(
    a: Annotated[str, typer.Argument(metavar="A", help="The collection to bring over: a file or a store's URL.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The collection whose model stays.")],
    links: Annotated[Path, typer.Option(help="Links of A and B, or any pairs: CSV or Parquet, columns a,b.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where the merged collection goes: a file or a store's URL.")
    ],
    map_: Annotated[
        str,
        typer.Option("--map", help="la2m, procrustes, ridge, lowrank, blend, or auto: the best on held-back links."),
    ] = "la2m",
    union_only: Annotated[
        bool, typer.Option("--union-only", help="Translate nothing: A's vectors stay in their own space.")
    ] = False,
    dedupe: Annotated[
        bool, typer.Option("--dedupe", help="Merge nothing: write which of A are in B, to a .csv or .parquet file.")
    ] = False,
    sure: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Links at least this probable make two rows one.")
    ] = 0.5,
    yes: Annotated[bool, typer.Option("--yes", help="Write it. Without this, only say what would be written.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a collection that is there already.")] = False,
    skip_zero: Annotated[bool, typer.Option("--skip-zero", help="Leave out A's zero vectors.")] = False,
    random_state: Annotated[int, typer.Option(min=0, help="The same number gives the same collection.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Merge A into B: linked objects once, the rest of A translated into B's space. A dry run unless --yes."""
    with one_sentence_errors():
        from veclink.cli.terminal import showing_progress
        from veclink.files.tables import write_table
        from veclink.stores import open_store
        from veclink.uses.maps import KINDS
        from veclink.uses.merging import merge as merged_of

        check_choice("--map", map_, ("auto", *KINDS))
        if dedupe:
            check_output(Path(output), a, b, str(links))
        elif is_one_of(output, a, b, str(links)):
            raise typer.BadParameter("is one of the inputs; choose another place.", param_hint="--output")
        else:
            with open_store(output, write=True) as store:  # an unknown kind is told before the long work
                there = store.exists()
            if there and yes and not replace:
                raise InputError(f"{output} is there already; choose another name, or give --replace.")
        with showing_progress(quiet=quiet) as listener, warnings.catch_warnings():
            warnings.simplefilter("ignore", WrongLinksWarning)  # told below, without the place in the code
            merged = merged_of(
                a,
                b,
                links,
                map=map_,
                union_only=union_only or dedupe,
                sure=sure,
                skip_zero=skip_zero,
                random_state=random_state,
                progress=listener,
            )
            told: dict[str, Any] = {
                "output": without_secrets(output),
                "written": dedupe or yes,
                **asdict(merged.summary),
            }
            if dedupe:
                write_table(Path(output), merged.duplicates())
            elif yes:
                merged.write(output, replace=replace, progress=listener)
        if merged.summary.warning is not None:
            typer.echo(f"veclink: Warning: {merged.summary.warning}", err=True)
        if merged.translator is not None:
            told["translator"] = merged.translator.describe()
        if as_json:
            print_json(told)
        elif not quiet:
            for line in _sentences(told, dedupe, len(merged.rows.a), not dedupe and there and not replace):
                typer.echo(line)


def _sentences(told: dict[str, Any], dedupe: bool, n_a: int, in_the_way: bool) -> list[str]:
    if dedupe:
        return [
            f"{told['linked']:,} of the {n_a:,} rows of A are in B already, {n_a - told['linked']:,} are new.",
            f"Written to {told['output']}.",
        ]
    kind = "as they are" if told["space"] == "both" else "translated into B's space"
    new = told["rows"] - told["from_b"]
    lines = [
        f"{told['rows']:,} rows: {told['from_b']:,} of B, {told['linked']:,} of them linked to a row of A, and "
        f"{new:,} of A {kind}."
    ]
    if told["ids_of_a"] != AS_THEY_ARE:
        lines.append(
            f"A's ids are written {told['ids_of_a']}, as B has some of them too; `id_a` holds them as they were."
        )
    if told["unsure"]:
        lines.append(f"{told['unsure']:,} links are too improbable to make two rows one.")
    quality = (told.get("translator") or {}).get("quality")
    if quality:
        lines.append(
            f"On {quality['held_back']:,} links held back, the map {quality['kind']} has a mean cosine of "
            f"{quality['cosine']:.2f} to the true vector and {quality['neighbours']:.0%} of its ten nearest neighbours."
        )
    if told["written"]:
        lines.append(f"Written to {told['output']}.")
    elif in_the_way:
        lines.append(f"Nothing was written: {told['output']} is there already; --replace --yes would replace it.")
    else:
        lines.append(f"Nothing was written to {told['output']}: this was a dry run, and --yes does it.")
    return lines
