"""veclink merge: one collection out of two, or just which of A are in B already."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from veclink.cli.new_rows import opened_other, payloads_of
from veclink.cli.places import check_folder_of
from veclink.cli.shared import (
    Force,
    MapKind,
    Payloads,
    Printing,
    RandomState,
    SkipZero,
    check_choice,
    check_no_input,
    check_output,
    command,
    opened,
)
from veclink.errors import InputError, named, without_secrets

if TYPE_CHECKING:
    from veclink.uses.linked_pairs import GivenLinks

HIDDEN_IS_UNKNOWN = (
    "How many objects of A wrong links would hide is not known: the probabilities of --method geh are shares of votes "
    "and are not calibrated. Check some of the links by eye (veclink review)."
)
THERE = "Nothing had to be written: {} holds just this already."
"""Of a run whose work an earlier one had done, and was perhaps stopped right after it."""


@dataclass(frozen=True)
class Merging:
    """Options of `veclink.merge`, named as it names them."""

    PANEL: ClassVar[str] = "How vectors are translated"
    map: MapKind = "blend"
    union_only: Annotated[
        bool, typer.Option("--union-only", help="Translate nothing: A's vectors stay in their own space.")
    ] = False
    skip_zero: SkipZero = False
    random_state: RandomState = 0


@dataclass(frozen=True)
class Writing:
    """Which rows become one, what is written, and over what."""

    links: Annotated[
        Path | None, typer.Option(help="Links of A and B, or any pairs: CSV or Parquet, columns a,b.")
    ] = None
    probability: Annotated[
        float,
        # --sure is what it was called before: the same thing as --probability of veclink cut
        typer.Option(
            "--probability",
            "--sure",
            metavar="P",
            min=0.0,
            max=1.0,
            help="Join two rows where their link is at least this probable; what is less probable stays as two rows. "
            "This looks at each link, as --probability of veclink cut does; --precision there looks at all together.",
        ),
    ] = 0.95
    dedupe: Annotated[
        bool, typer.Option("--dedupe", help="Merge nothing: write which of A are in B, to a .csv or .parquet file.")
    ] = False
    yes: Annotated[bool, typer.Option("--yes", help="Write it. Without this, only say what would be written.")] = False
    replace: Annotated[bool, typer.Option("--replace", help="Replace a collection that is there already.")] = False
    force: Force = False


@dataclass(frozen=True)
class Appending:
    """New rows for a collection that was merged before."""

    PANEL: ClassVar[str] = "New rows for a merged collection"
    append: Annotated[
        bool, typer.Option("--append", help="Append new rows (in place of A) to the merged collection in --output.")
    ] = False
    linker: Annotated[Path | None, typer.Option(help="With --append: the folder of a saved linker.")] = None
    side: Annotated[str, typer.Option(help="With --append: a or b, whose model made the new rows.")] = "a"
    against: Annotated[
        str | None,
        typer.Option(help="With --append: the other side, where it moved or grew; its --payload names its rows."),
    ] = None

    def __post_init__(self) -> None:
        check_choice("--side", self.side, ("a", "b"))
        if self.append != (self.linker is not None):
            raise typer.BadParameter("--append and --linker belong together; give both or none.")
        if not self.append and (self.side != "a" or self.against is not None):
            raise typer.BadParameter("--side and --against are about --append; leave them out.")


@command
def merge(
    a: Annotated[str, typer.Argument(metavar="A", help="The collection to bring over, or the new rows to append.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where the merged collection goes: a file or a store's URL.")
    ],
    writing: Writing,
    printing: Printing,
    payloads: Payloads,
    appending: Appending,
    merging: Merging,
    b: Annotated[str | None, typer.Argument(metavar="[B]", help="The collection whose model stays.")] = None,
) -> None:
    """Merge A into B: linked objects once, the rest of A translated into B's space. A dry run unless --yes."""
    from veclink.uses.linked_pairs import loaded
    from veclink.uses.maps import KINDS

    check_choice("--map", merging.map, ("auto", *KINDS))
    options = {**asdict(merging), "sure": writing.probability, "force": writing.force}
    if appending.append:
        _check_append(b, writing, merging)
        payload, payload_other = payloads_of(payloads, appending.side, appending.against)
        check_no_input(output, a, appending.against, *payloads.files())
        _append((a, payload), output, appending, payload_other, writing, printing)
        return
    if b is None or writing.links is None:
        raise typer.BadParameter("Give A, B and --links; or new rows, --append and --linker.")
    options |= {"payload_a": payloads.payload_a, "payload_b": payloads.payload_b}
    if writing.dedupe:
        check_output(Path(output), a, b, str(writing.links), *payloads.files())
        _dedupe((a, b, loaded(writing.links)), Path(output), {**options, "union_only": True}, writing, printing)
    else:
        check_no_input(output, a, b, writing.links, *payloads.files())
        check_folder_of(output)
        _merge((a, b, loaded(writing.links)), output, options, writing, printing)


def _merge(
    inputs: tuple[str, str, GivenLinks], output: str, options: dict[str, Any], writing: Writing, printing: Printing
) -> None:
    from veclink.stores.opening import open_collection, open_target
    from veclink.uses.already import holds_merged, may_hold
    from veclink.uses.merged_rows import check_table_beside
    from veclink.uses.merging import merge as merged_of

    with (
        open_target(output, write=writing.yes) as store,  # an unknown kind is told before the long work
        printing.progress() as listener,
    ):
        if not store.keeps_payload and store.address.path is not None:
            check_table_beside(store.address.path)
        in_the_way = None if writing.replace else store.in_the_way()
        refused = writing.yes and in_the_way is not None
        if refused and not may_hold(store, *(open_collection(each, payload=False) for each in inputs[:2])):
            store.check_free()
        merged = merged_of(*inputs, progress=listener, **options)
        there = refused and holds_merged(store, merged)
        if refused and not there:
            store.check_free()
        if writing.yes and not there:
            _say_before(_cost(merged.summary.hidden, inputs[2]), printing)
            merged.write(store, replace=writing.replace, progress=listener)
    told = {"output": without_secrets(output), "written": writing.yes and not there, **asdict(merged.summary)}
    told["payload_warning"] = merged.rows.payload_warning
    lines = _sentences(told)
    if not told["written"]:
        lines += filter(None, [_cost(told["hidden"], inputs[2])])
    if merged.translator is not None:
        told["translator"] = merged.translator.describe()
        if merged.translator.quality is not None:
            lines.append(merged.translator.quality.sentence())
    way = without_secrets(in_the_way or "")
    lines.append(THERE.format(way) if there else _what_was_written(told["output"], writing.yes, way))
    printing.result(told, lambda: typer.echo("\n".join(lines)))


def _check_append(b: str | None, writing: Writing, merging: Merging) -> None:
    if b is not None or writing.links is not None or writing.dedupe or writing.replace or writing.force:
        raise typer.BadParameter("With --append there are new rows, --linker and -o; leave B and what it needs out.")
    if merging != Merging():
        raise typer.BadParameter(
            "With --append the linker's own map is used; leave --map, --union-only, --skip-zero and --random-state out."
        )


def _append(
    new: tuple[str, Path | None],
    output: str,
    appending: Appending,
    payload_other: Path | None,
    writing: Writing,
    printing: Printing,
) -> None:
    """Append new rows to a merged collection, or say what that would do.

    new: where they are, and their payload; payload_other: that of --against.
    """
    from veclink.uses.appending import append
    from veclink.uses.linker import Linker
    from veclink.uses.merged_rows import AS_THEY_ARE

    assert appending.linker is not None
    yes = writing.yes
    with printing.progress() as listener:
        linker = Linker.load(appending.linker)
        against = opened_other(appending.against, payload_other, listener)
        asked: dict[str, Any] = {"side": appending.side, "sure": writing.probability, "against": against}
        rows = opened(*new, progress=listener)
        appended = append(rows, output, linker, progress=listener, **asked)
        told = appended.summary
        if yes:
            _say_before(hidden_by_wrong_links(told.hidden) if told.joined else "", printing)
            appended.write(output)
    shown = without_secrets(output)
    side = appending.side.upper()
    lines = [
        f"{told.rows:,} rows: {told.new:,} new ones of {side}, {told.joined:,} of {side} joined to rows "
        f"that were there; {told.there:,} were in it already."
    ]
    if told.ids_of_a != AS_THEY_ARE:
        other = "other rows have" if side == "A" else "new rows of B have"
        lines.append(
            f"Rows of A whose ids {other} too are written {told.ids_of_a}; `id_a` holds them as they were."
        )
    if told.filled:
        lines.append(f"{told.filled:,} of those that were in it already get values that they lacked.")
    if told.lacking:
        lines.append(
            f"Rows of {side} there have {named(told.lacking)}, which the new ones lack; the same command with "
            f"--payload-{appending.side} gives them these, now or later."
        )
    if not yes and told.joined:
        lines.append(hidden_by_wrong_links(told.hidden))
    written = yes and told.changes
    if told.changes:
        lines.append(_what_was_written(shown, yes, ""))
    else:
        lines.append(f"Nothing was written: {shown} has all of these rows already.")
    figures = {"output": shown, "written": written, **asdict(told)}
    printing.result(figures, lambda: typer.echo("\n".join(lines)))


def _dedupe(
    inputs: tuple[str, str, GivenLinks], output: Path, options: dict[str, Any], writing: Writing, printing: Printing
) -> None:
    """Write which rows of A are in B."""
    from veclink.files.tables import write_table
    from veclink.uses.already import may_be_table, table_is_there
    from veclink.uses.merging import merge as merged_of

    in_the_way = str(output) if output.exists() and not writing.replace else ""
    refused = InputError(f"{output} is there already; choose another name, or replace it (--replace).")
    if writing.yes and in_the_way and not may_be_table(output, inputs[0]):
        raise refused
    with printing.progress() as listener:
        merged = merged_of(*inputs, progress=listener, **options)
    there = bool(writing.yes and in_the_way) and table_is_there(output, merged.duplicates())
    if writing.yes and in_the_way and not there:
        raise refused
    if writing.yes and not there:
        write_table(output, merged.duplicates())
    rows, linked = len(merged.rows.a), merged.summary.linked
    told = {"output": str(output), "written": writing.yes and not there, **asdict(merged.summary)}
    told["payload_warning"] = merged.rows.payload_warning
    said = f"{linked:,} of the {rows:,} rows of A are in B already, {rows - linked:,} are new."
    lines = [said, THERE.format(output) if there else _what_was_written(str(output), writing.yes, in_the_way)]
    printing.result(told, lambda: typer.echo("\n".join(lines)))


def _sentences(told: dict[str, Any]) -> list[str]:
    from veclink.uses.merged_rows import AS_THEY_ARE

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
    return lines


def _cost(hidden: float | None, links: GivenLinks) -> str:
    """What a merge would cost by these links, as far as their probabilities say it."""
    from veclink.uses.linked_pairs import are_calibrated

    return hidden_by_wrong_links(hidden) if are_calibrated(links) else HIDDEN_IS_UNKNOWN


def hidden_by_wrong_links(hidden: float | None) -> str:
    """What a merge would cost, in a sentence; empty where the links have no probabilities."""
    if hidden is None:
        return ""
    count = max(round(hidden), 1)
    about = "Less than one object" if hidden < 0.5 else f"About {count:,} object{'s' * (count > 1)}"
    return f"{about} of A would be hidden by wrong links; a greater --probability hides fewer and keeps more copies."


def _say_before(sentence: str, printing: Printing) -> None:
    """Say something on stderr before the writing starts."""
    if sentence and not printing.quiet:
        typer.echo(f"veclink: {sentence}", err=True)


def _what_was_written(output: str, written: bool, in_the_way: str) -> str:
    if written:
        return f"Written to {output}."
    if in_the_way:
        return f"Nothing was written: {in_the_way} is there already; --replace --yes would replace it."
    return f"Nothing was written to {output}: this was a dry run, and --yes does it."
