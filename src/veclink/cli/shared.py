"""What every command needs: exit codes, options that several have, errors as one sentence, JSON."""

from __future__ import annotations

import io
import json
import math
import os
import re
import shlex
import shutil
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from veclink.errors import (
    InputError,
    ShuffledPayloadWarning,
    UnusedIdsWarning,
    VeclinkError,
    WrongLinksWarning,
    named,
    plural,
    without_secrets,
)  # fmt: skip

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.data.links import Links
    from veclink.data.summary import Summary

ERROR, NO_TRUSTED_LINKS, INTERRUPTED, TERMINATED = 1, 3, 130, 143  # 2, for wrong usage, is typer's own
ENDINGS = (".csv", ".parquet")
IDS_BESIDE = (".npy", ".faiss")  # collections whose ids are written to a file beside them
TOLD = UnusedIdsWarning, ShuffledPayloadWarning, WrongLinksWarning


option, argument = typer.Option, typer.Argument


def advanced(default: Any, *names: str, **more: Any) -> Any:
    """An option that few runs need, shown below the others."""
    return option(default, *names, rich_help_panel="Advanced", **more)


def flag(name: str, help: str) -> Any:
    """An option that is on or off."""
    return option(False, name, help=help)


def check_memory(text: str | None) -> str | None:
    """Refuse an amount of memory that cannot be understood, or that is too little."""
    from veclink.files.memory import LEAST, parse_memory

    with wrong_usage():
        if text is not None:
            parse_memory(text, least=LEAST)
    return text


def check_device(name: str) -> str:
    """Refuse an unknown device."""
    from veclink import backends

    with wrong_usage():
        backends.check_device(name)
    return name


@contextmanager
def wrong_usage() -> Iterator[None]:
    """What is refused is an option that was given."""
    try:
        yield
    except VeclinkError as error:
        raise typer.BadParameter(str(error)) from error


def check_payload(path: Path | None) -> Path | None:
    """Refuse a file that no payload can be read of."""
    if path is not None:
        from veclink.stores.payloads import check_payload_file

        check_payload_file(path)
    return path


A = argument(..., metavar="A", help="Vectors: a file, or a store's URL.")
B = argument(..., metavar="B", help="Vectors of another model.")
LINKS_FILE = argument(..., metavar="LINKS", help="Links, as veclink link wrote them.")
GIVEN_LINKS = option(..., help="Links of A and B, or any pairs: CSV or Parquet, columns a,b.")
TABLE_FILE = option(..., "--output", "-o", help="Where the result goes: .csv or .parquet.")
PLACE = option(..., "--output", "-o", help="Where the result goes: a file or a store's URL.")
REPORT_FILE = option(None, help="Write a page for the browser, too: .html")
SEEDS_FILE = option(None, help="Known pairs, CSV or Parquet with columns a,b: ids, or row numbers without ids.")
PAYLOAD_A = option(
    None,
    callback=check_payload,
    help="Titles and ids of A: CSV, Parquet, JSONL, or TXT with a title a line; a line per vector, in the same order.",
)
PAYLOAD_B = option(None, callback=check_payload, help="The same for B.")
AS_JSON = flag("--json", "Print the result as one JSON object.")
QUIET = option(False, "--quiet", "-q", help="Print only errors, warnings and what --json asks for.")
REPLACE = flag("--replace", "Replace an output that is there already.")
COLUMNS = advanced(
    None, metavar="short|all", help="Columns of CSV: what people read (short), or all that explains a link."
)
MAP_KIND = advanced(
    "blend",
    "--map",
    help="How vectors are translated: blend, la2m (local affine maps, one per region), procrustes, ridge, lowrank, or"
    " auto: the best on held-out links.",
)
RANDOM_STATE = advanced(0, metavar="N", min=0, help="Seed of the random generator.")
SKIP_ZERO = advanced(False, "--skip-zero", help="Leave out zero vectors instead of stopping.")
FORCE = advanced(False, "--force", help="Go on although A and B are not the vectors that were linked.")
MEMORY = advanced(
    None, metavar="SIZE", callback=check_memory, help='Memory to use on top of the input, such as "500MB".'
)
THREADS = advanced(None, metavar="N", min=1, help="CPU threads (default: $VECLINK_THREADS, else all cores).")
DEVICE = advanced("auto", metavar="NAME", callback=check_device, help="auto, cpu, cuda, or one GPU of several: cuda:1.")
SIDE = option("a", metavar="a|b", help="Which side the new rows belong to.")
AGAINST = advanced(None, metavar="OTHER", help="The other side, if it moved or grew; its --payload names its rows.")


def opened(source: str, payload_file: Path | None, *, payload: bool = True, **more: Any) -> Collection:
    """A collection, with the payload of a file where one is given; the rest as in `open_collection`."""
    from veclink.stores.opening import open_collection

    return open_collection(source, payload=payload if payload_file is None else payload_file, **more)


def opened_pair(
    a: str, b: str, payload_a: Path | None, payload_b: Path | None, **more: Any
) -> tuple[Collection, Collection]:
    """Two collections, as `opened`."""
    return opened(a, payload_a, **more), opened(b, payload_b, **more)


def as_given(**options: Path | None) -> list[str]:
    """The options that were given, as another command takes them."""
    named = ((f"--{name.replace('_', '-')}", path) for name, path in options.items() if path is not None)
    return [str(part) for each in named for part in each]


def tell(words: str, values: dict[str, Any], as_json: bool, quiet: bool = False, **more: Any) -> None:
    """Print a result on stdout: as one JSON object, in the words of a template for `values` and more, or not at all."""
    if as_json:
        print_json(values)
    elif not quiet:
        typer.echo(in_words(words, **{**values, **more}))


def in_words(words: str, **values: Any) -> str:
    """What a person reads of a result: the template `words` of this package, filled with its values."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from veclink.data.summary import share_in_words
    from veclink.report.words import duration

    made = Environment(  # for a terminal, so nothing is escaped
        loader=PackageLoader("veclink.cli"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.globals.update(plural=plural, style=typer.style)
    made.filters.update(
        duration=duration,
        named=named,
        quoted=shlex.quote,
        repr=repr,
        share=share_in_words,
        table=_table,
        thousands="{:,.0f}".format,
        wrapped=_wrapped,
    )
    return made.get_template(f"{words}.txt").render(values).rstrip("\n")


def _table(rows: Iterable[Iterable[str]], *head: str) -> str:
    """Columns of text below their headings."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table, text = Table(box=box.SIMPLE_HEAD, pad_edge=False), io.StringIO()
    for name in head:
        table.add_column(name, justify="right" if name else "left")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, file=text).print(table)
    return text.getvalue()


def _wrapped(text: str) -> str:
    """Each line at the width of the terminal; what follows is indented as it is."""
    width = shutil.get_terminal_size().columns
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines = []
    for line in text.splitlines():
        wrapper.subsequent_indent = line[: len(line) - len(line.lstrip())]
        lines.append(wrapper.fill(line))
    return "\n".join(lines)


def print_json(value: dict[str, Any]) -> None:
    """Print one object as JSON, which knows no infinity: a number that is not finite is null there."""
    typer.echo(json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def summary_values(summary: Summary) -> dict[str, Any]:
    """The summary as every command prints it with --json: its own values, and the verdict as a person reads it."""
    return {**summary.to_dict(), "verdict_in_words": summary.verdict_in_words}


def warn(sentence: str | None, *, quiet: bool = False) -> None:
    """Say on stderr what a person has to know, if there is anything."""
    if sentence and not quiet:
        typer.echo(f"veclink: {sentence}", err=True)


def warn_of_payload(summary: Summary, *, unsaid: bool) -> None:
    """Say on stderr that the payload does not fit the vectors, where no summary is printed that says it."""
    if unsaid and summary.agreement is not None and not summary.agreement.fits:
        warn(f"Warning: {summary.agreement.sentence}")


def note_short_columns(links: Links, source: Path) -> None:
    """Say on stderr that a CSV file with the short columns explains nothing, where a page is made of it."""
    if links.summary.method == "span" and len(links) and "rival_a" not in links.evidence:
        warn(
            f"{source} has the short columns: the page cannot show what speaks for a link and what against, or its "
            "rivals. A .parquet file has all of that, and so has CSV with --columns all."
        )


@contextmanager
def one_sentence_errors() -> Iterator[None]:
    """Turn what can go wrong into a sentence on stderr and an exit code; a traceback is for bugs only."""
    try:
        yield
    except BrokenPipeError:  # nobody reads what is printed, as after `| head`; told by the exit code alone
        raise
    except (VeclinkError, OSError) as error:
        said = str(error)
        if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
            name = str(error.filename)
            said = f"{name if len(name) < 300 else name[:60] + '…'} cannot be used ({error.strerror}); check the name."
        warn(without_secrets(said))
        raise typer.Exit(ERROR) from error
    except typer.BadParameter as error:
        error.message = without_secrets(error.message)
        raise
    except MemoryError as error:
        warn("There is not enough memory; give less with --memory.")
        raise typer.Exit(ERROR) from error
    except KeyboardInterrupt as interrupt:
        warn("Stopped; what was not finished was not written.")
        raise typer.Exit(exit_code(interrupt)) from interrupt


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Tell of payload that names no rows, or does not fit them, in a sentence on stderr, once and without the place."""
    told: set[str] = set()
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, TOLD):
                usual(message, category, *place, **more)
            elif str(message) not in told:
                told.add(str(message))
                before = "veclink: Warning: " if issubclass(category, WrongLinksWarning) else ""
                typer.echo(f"{before}{message}", err=True)

        warnings.showwarning = show
        for each in TOLD:
            warnings.simplefilter("always", each)
        yield


class Terminated(KeyboardInterrupt):
    """SIGTERM, by which batch systems and containers end a process: all that Ctrl-C clears away is cleared away."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """What a process that was interrupted so ends with."""
    return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED


def terminate(*_: object) -> None:
    """What SIGTERM does here."""
    raise Terminated


# What is refused before the long work starts.


def check_choice(option: str, value: str, known: tuple[str, ...]) -> None:
    """Refuse a value that there is not."""
    if value not in known:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}.", param_hint=option)


def check_map(name: str) -> None:
    """Refuse a kind of map that there is not."""
    from veclink.uses.maps import KINDS

    check_choice("--map", name, ("auto", *KINDS))


def check_table(output: Path, *inputs: object, what: str = "links", endings: tuple[str, ...] = ENDINGS) -> None:
    """Refuse a file that could not be written, or that is one of the inputs (None: was not given)."""
    if re.match(r"\w+:/", str(output)):
        raise InputError(f"The {what} go to a file, and {output} is an address; veclink cut writes links to stores.")
    if output.suffix.lower() not in endings:
        one = "one of these" if len(endings) > 1 else "such a file"
        raise InputError(f"{output} does not end in {' or '.join(endings)}; {what} are written as {one}.")
    folder = output.parent
    if not folder.is_dir():
        raise InputError(f"The folder {folder} for the output does not exist; make it first.")
    if output.is_dir():
        raise InputError(f"{output} is a folder; name a file in it.")
    if not os.access(output if output.exists() else folder, os.W_OK) or not os.access(folder, os.W_OK):
        raise InputError(f"{output} cannot be written: permission denied; choose another place.")
    if output.exists() and any(given.exists() and output.samefile(given) for given in _files(inputs)):
        raise InputError(f"{output} is one of the inputs; choose another name for the {what}.")


def check_links_file(output: Path, columns: str | None, *inputs: object) -> None:
    """As `check_table`, of links with these columns."""
    from veclink.data.links import COLUMNS
    from veclink.data.links_files import check_beside

    check_table(output, *inputs)
    check_beside(output)
    if columns is not None:
        check_choice("--columns", columns, COLUMNS)
    if columns == "short" and output.suffix.lower() == ".parquet":
        raise typer.BadParameter("is about CSV; a .parquet file has all columns.", param_hint="--columns")


def check_report(report: Path | None, *inputs: object) -> None:
    """As `check_table`, for a page that may be wanted or not."""
    if report is not None:
        check_table(report, *inputs, what="reports", endings=(".html", ".htm"))


def check_place(output: str, *inputs: object) -> None:
    """Refuse a collection, a path or a URL, in a folder that is not there, or that is one of the inputs."""
    from veclink.stores.files import ids_file
    from veclink.stores.opening import address_of
    from veclink.stores.urls import SINGLE_FILES

    written = address_of(output)
    for given in (str(each) for each in inputs if each is not None):
        (place,), (path,) = _files([output]), _files([given])
        if output == given or (path.exists() and place.exists() and path.samefile(place)):
            raise typer.BadParameter("is one of the inputs; choose another place.", param_hint="--output")
        read = address_of(given).path
        if written.path is not None and read is not None and written.path.suffix.lower() in IDS_BESIDE:
            ids, others = ids_file(written.path), ids_file(read)
            if ids.is_file() and others.is_file() and ids.samefile(others):
                raise typer.BadParameter(
                    f"would replace the ids of the input {without_secrets(given)}; choose another name.",
                    param_hint="--output",
                )
    if written.kind in SINGLE_FILES and written.path is not None and not written.path.parent.is_dir():
        raise InputError(f"The folder {written.path.parent} for the output does not exist; make it first.")


def check_apart(files: list[Path | None], linker: Path | None, checkpoint: Path | None = None) -> None:
    """Refuse places that cannot all be written: files of a run, and the folders of its linker and its checkpoint."""
    for file in filter(None, files):
        if linker is not None and _is_in(file, linker):
            raise InputError(f"{file} is in the folder of the linker, {linker}; choose another place for one of them.")
        if checkpoint is not None and _is_in(checkpoint, file):
            raise InputError(f"{file} cannot be an output and the folder of --checkpoint; choose another folder.")
    if linker is not None and checkpoint is not None and _is_in(checkpoint, linker):
        raise InputError(f"{checkpoint} is in the folder of the linker, {linker}; choose another --checkpoint.")


def _files(given: Iterable[object]) -> list[Path]:
    """The files that inputs are, where they are some; a URL of a file names it before its options."""
    names = (str(each) for each in given if each is not None)
    return [Path(re.split("[?#]", name[7:])[0] if name.lower().startswith("file://") else name) for name in names]


def _is_in(path: Path, folder: Path) -> bool:
    """Whether a path is this folder, or below it, however the two are spelled."""
    place = folder.resolve()
    return place in (path.resolve(), *path.resolve().parents)
