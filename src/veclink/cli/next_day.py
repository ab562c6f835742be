"""veclink match and veclink merge: new rows by what an earlier run learned, and one collection out of two."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from veclink.cli.shared import (
    AGAINST,
    AS_JSON,
    COLUMNS,
    FORCE,
    MAP_KIND,
    PAYLOAD_A,
    PAYLOAD_B,
    PLACE,
    QUIET,
    RANDOM_STATE,
    REPLACE,
    SIDE,
    SKIP_ZERO,
    TABLE_FILE,
    THREADS,
    advanced,
    argument,
    check_apart,
    check_choice,
    check_links_file,
    check_map,
    check_place,
    check_table,
    flag,
    in_words,
    opened,
    option,
    summary_values,
    tell,
    warn,
)  # fmt: skip
from veclink.errors import InputError, without_secrets
from veclink.progress import showing_progress

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.progress import ProgressListener


def match(
    new: str = argument(..., metavar="NEW", help="Vectors of the new rows, in any format that link reads."),
    linker: Path = option(..., metavar="FOLDER", help="What veclink link --save-linker kept."),
    output: Path = TABLE_FILE,
    side: str = SIDE,
    update: bool = flag("--update", "Add the new rows to the linker, too. Running the same command twice is safe."),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    against: str | None = AGAINST,
    columns: str | None = COLUMNS,
    threads: int | None = THREADS,
    skip_zero: bool = SKIP_ZERO,
) -> None:
    """Link new rows by what an earlier run learned.

    They are linked with the other side in one pass, with probabilities.

    Example: veclink match new.npy --linker papers.linker -o new.csv
    """
    from veclink.uses.linker import Linker
    from veclink.uses.linker import check_place as check_linker_place

    payload, payload_other = _payloads(side, against, payload_a, payload_b)
    check_links_file(output, columns, new, against, payload_a, payload_b)
    if update:
        check_linker_place(linker)
    known = Linker.load(linker)
    check_apart([output], linker)
    check_table(output, *known.sources)
    with showing_progress(quiet=quiet) as listener:
        rows = opened(new, payload, payload=False, progress=listener)
        known_before = known.knows(rows, side=side) is not None
        links = (known.match_and_update if update else known.match)(
            rows,
            side=side,
            against=_opened_other(against, payload_other, listener),
            skip_zero=skip_zero,
            threads=threads,
            progress=listener,
        )
    # First the linker: where it is refused, the links of the run that changed it stay. After a kill between the two,
    # the same command finds its rows in the linker, and writes the links that they have there.
    if update:
        known.save(linker)
    links.save(output, columns)
    told = {"output": str(output), "updated": str(linker) if update else None, "known_before": known_before}
    more = {"linker": linker, "summary": links.summary}
    tell("match", told | summary_values(links.summary), as_json, quiet, **more)


def merge(
    a: str = argument(..., metavar="A", help="The collection to bring over, or the new rows to append."),
    output: str = PLACE,
    b: str | None = argument(None, metavar="[B]", help="The collection whose model stays."),
    links: Path | None = option(None, help="Links of A and B, or any pairs: CSV or Parquet, columns a,b."),
    probability: float = option(
        0.95,
        metavar="P",
        min=0.0,
        max=1.0,
        help="Join two rows where their link is at least this probable; less probable ones stay as two rows. This "
        "looks at each link, as --probability of veclink cut does; --precision there looks at all together.",
    ),
    dedupe: bool = flag("--dedupe", "Merge nothing: write which of A are in B, to a .csv or .parquet file."),
    yes: bool = flag("--yes", "Write. Without this, only say what would be written."),
    replace: bool = REPLACE,
    append: bool = flag("--append", "Append new rows (in place of A) to the merged collection in --output."),
    linker: Path | None = option(None, metavar="FOLDER", help="With --append: what veclink link --save-linker kept."),
    side: str = SIDE,
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    against: str | None = AGAINST,
    map: str = MAP_KIND,
    union_only: bool = advanced(False, "--union-only", help="Translate nothing: A's vectors stay in their own space."),
    random_state: int = RANDOM_STATE,
    skip_zero: bool = SKIP_ZERO,
    force: bool = FORCE,
    sure: float | None = option(None, min=0.0, max=1.0, hidden=True),
) -> None:
    """Make one collection of A and B.

    Linked objects stand in it once; the rest of A is translated into B's space. A dry run unless --yes.

    Example: veclink merge a.parquet b.parquet --links links.csv -o merged.parquet --yes
    """
    check_map(map)
    probability = probability if sure is None else sure
    if append != (linker is not None):
        raise typer.BadParameter("--append and --linker belong together; give both or none.")
    if linker is not None:
        if b is not None or links is not None or dedupe or replace or force:
            raise typer.BadParameter("--append takes new rows, --linker and -o; leave B and what it needs out.")
        if (map, union_only, skip_zero, random_state) != ("blend", False, False, 0):
            raise typer.BadParameter(
                "With --append the linker's own map is used; leave --map, --union-only, --skip-zero and --random-state "
                "out."
            )
        payload, payload_other = _payloads(side, against, payload_a, payload_b)
        check_place(output, a, against, payload_a, payload_b)
        with showing_progress(quiet=quiet) as listener:
            other = _opened_other(against, payload_other, listener)
            rows = opened(a, payload, progress=listener)
            asked: dict[str, Any] = {"side": side, "sure": probability, "against": other, "progress": listener}
            told, more = _append(rows, output, linker, asked, yes=yes, quiet=quiet)
        tell("merge", told, as_json, quiet, **more)
        return
    if side != "a" or against is not None:
        raise typer.BadParameter("--side and --against are about --append; leave them out.")
    if b is None or links is None:
        raise typer.BadParameter("Give A, B and --links; or new rows, --append and --linker.")
    inputs = (a, b, links, payload_a, payload_b)
    check_table(Path(output), *inputs) if dedupe else check_place(output, *inputs)
    work = _dedupe if dedupe else _merge
    with showing_progress(quiet=quiet) as listener:
        options: dict[str, Any] = {
            "map": map, "union_only": union_only or dedupe, "sure": probability, "random_state": random_state,
            "skip_zero": skip_zero, "payload_a": payload_a, "payload_b": payload_b, "force": force,
            "progress": listener,
        }  # fmt: skip
        told, more = work((a, b, links), output, options, yes=yes, replace=replace, quiet=quiet)
    tell("merge", told, as_json, quiet, **more)


def _payloads(
    side: str, against: str | None, payload_a: Path | None, payload_b: Path | None
) -> tuple[Path | None, Path | None]:
    """The file about the new rows, and the one about the other side, which is refused where that is not given."""
    check_choice("--side", side, ("a", "b"))
    own, others, other = (payload_a, payload_b, "b") if side == "a" else (payload_b, payload_a, "a")
    if others is not None and against is None:
        raise typer.BadParameter(
            f"The new rows are of {side.upper()} (--side), and --payload-{side} is their file; --payload-{other} names "
            f"the rows of {other.upper()} and needs --against with it."
        )
    return own, others


def _opened_other(
    against: str | None, payload: Path | None, progress: ProgressListener | None
) -> str | Collection | None:
    """The other side, as a linker takes it: opened here only where a file names its rows."""
    return against if against is None or payload is None else opened(against, payload, progress=progress)


Told = tuple[dict[str, Any], dict[str, Any]]  # what --json prints, and what the template needs beside it


def _merge(
    inputs: tuple[str, str, Path], output: str, options: dict[str, Any], *, yes: bool, replace: bool, quiet: bool
) -> Told:
    from veclink.stores.opening import open_target
    from veclink.uses.linked_pairs import are_calibrated, loaded
    from veclink.uses.merged_rows import check_table_beside
    from veclink.uses.merging import merge as merged_of

    a, b, file = inputs
    links, shown = loaded(file), without_secrets(output)
    with open_target(output, write=yes) as store:
        if not store.keeps_payload and store.address.path is not None:  # what is in the way is told before the work
            check_table_beside(store.address.path)
        in_the_way = None if replace else store.in_the_way()
        if yes and not replace:
            store.check_free()
        merged = merged_of(a, b, links, **options)
        cost = in_words("cost", hidden=merged.summary.hidden, is_calibrated=are_calibrated(links))
        if yes:
            warn(cost, quiet=quiet)
            merged.write(store, replace=replace, progress=options["progress"])
    told: dict[str, Any] = {"output": shown, "written": yes, **asdict(merged.summary)}
    if merged.translator is not None:
        told["translator"] = merged.translator.describe()
    fit = None if merged.translator is None else merged.translator.quality
    in_the_way = without_secrets(in_the_way or "")
    return told, {"summary": merged.summary, "cost": cost, "fit": fit, "in_the_way": in_the_way}


def _dedupe(
    inputs: tuple[str, str, Path], output: str, options: dict[str, Any], *, yes: bool, replace: bool, quiet: bool
) -> Told:
    """Write which rows of A are in B."""
    from veclink.files.tables import write_table
    from veclink.uses.linked_pairs import loaded
    from veclink.uses.merging import merge as merged_of

    a, b, file = inputs
    is_there = Path(output).exists() and not replace
    if yes and is_there:
        raise InputError(f"{output} is there already; choose another name, or replace it (--replace).")
    merged = merged_of(a, b, loaded(file), **options)
    if yes:
        write_table(Path(output), merged.columns())
    told = {"output": output, "written": yes, **asdict(merged.summary)}
    return told, {"of_a": len(merged.a), "in_the_way": output if is_there else ""}


def _append(rows: Collection, output: str, folder: Path, asked: dict[str, Any], *, yes: bool, quiet: bool) -> Told:
    """Append new rows to a merged collection, or say what that would do."""
    from veclink.uses.appending import append
    from veclink.uses.linker import Linker

    appended = append(rows, output, Linker.load(folder), **asked)
    summary = appended.summary
    cost = in_words("cost", hidden=summary.hidden if summary.joined else None, is_calibrated=True)
    if yes:
        warn(cost, quiet=quiet)
        appended.write(output)
    told = {"output": without_secrets(output), "written": yes and summary.changes, **asdict(summary)}
    return told, {"summary": summary, "cost": "" if yes else cost, "unchanged": not summary.changes}
