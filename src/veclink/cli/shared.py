"""What every command needs: exit codes, options that several have, errors as one sentence, JSON."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import warnings
from collections.abc import Iterator
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
    without_secrets,
)  # fmt: skip

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.data.links import Links
    from veclink.data.summary import Summary

ERROR, NO_TRUSTED_LINKS, INTERRUPTED, TERMINATED = 1, 3, 130, 143  # 2, for wrong usage, is typer's own
option, argument = typer.Option, typer.Argument


def advanced(default: Any, *names: str, **more: Any) -> Any:
    """An option that few runs need, shown below the others."""
    return option(default, *names, rich_help_panel="Advanced", **more)


def flag(name: str, **more: Any) -> Any:
    """An option that is on or off."""
    return option(False, name, **more)


@contextmanager
def wrong_usage() -> Iterator[None]:
    """What is refused is an option that was given."""
    try:
        yield
    except VeclinkError as error:
        raise typer.BadParameter(str(error)) from error


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


def check_payload(path: Path | None) -> Path | None:
    """Refuse a file that no payload can be read of."""
    if path is not None:
        from veclink.stores.opening import check_payload_file

        check_payload_file(path)
    return path


def check_map_file(path: Path | None) -> Path | None:
    """Refuse a file that no map can be written to."""
    if path is not None and path.suffix.lower() != ".safetensors":
        raise typer.BadParameter(f"{path} does not end in .safetensors.")
    return path


def check_side(name: str) -> str:
    """Refuse what is no side."""
    return check_choice("--side", name, ("a", "b"))


def check_map(name: str) -> str:
    """Refuse a kind of map that there is not."""
    from veclink.uses.maps import KINDS

    return check_choice("--map", name, ("auto", *KINDS))


def check_choice(option: str, value: str, known: tuple[str, ...]) -> str:
    """Refuse a value that there is not."""
    if value not in known:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}.", param_hint=option)
    return value


A = argument(..., metavar="A", help="Vectors: a file, or a store's URL.")
B = argument(..., metavar="B", help="Vectors of another model.")
LINKS_FILE = argument(..., metavar="LINKS", help="Links, as veclink link wrote them.")
GIVEN_LINKS = option(..., help="Links of A and B, or any pairs: CSV or Parquet, columns a,b.")
TABLE_FILE = option(..., "--output", "-o", help="Where the result goes: .csv or .parquet.")
PLACE = option(..., "--output", "-o", help="Where the result goes: a file or a store's URL.")
REPORT_FILE = option(None, help="Also write a page for the browser: .html")
SEEDS_FILE = option(None, help="Known pairs, CSV or Parquet with columns a,b: ids, or row numbers without ids.")
PAYLOAD_A = option(
    None,
    callback=check_payload,
    help="Titles and ids of A (or of new rows of A), a line per vector in order: CSV, Parquet, JSONL, or TXT (titles).",
)
PAYLOAD_B = option(None, callback=check_payload, help="The same for B.")
AS_JSON = flag("--json", help="Print the result as one JSON object.")
QUIET = option(False, "--quiet", "-q", help="Print only errors, warnings and what --json asks for.")
REPLACE = flag("--replace", help="Replace an output that already exists.")
COLUMNS = advanced(
    None, metavar="short|all", help="CSV columns: short (what people read), or all (everything that explains a link)."
)
MAP_KIND = advanced(
    "blend",
    "--map",
    callback=check_map,
    help="How vectors are translated: blend, la2m (local affine maps, one per region), procrustes, ridge, or auto:"
    " the best on held-out links.",
)
RANDOM_STATE = advanced(0, metavar="N", min=0, help="Seed of the random generator.")
SKIP_ZERO = advanced(False, "--skip-zero", help="Leave out zero vectors instead of stopping.")
FORCE = advanced(False, "--force", help="Continue even if A and B are not the vectors that were linked.")
MEMORY = advanced(
    None, metavar="SIZE", callback=check_memory, help='Memory to use on top of the input, such as "500MB".'
)
THREADS = advanced(None, metavar="N", min=1, help="CPU threads (default: $VECLINK_THREADS, else all cores).")
DEVICE = advanced("auto", metavar="NAME", callback=check_device, help="auto, cpu, cuda, or one GPU of several: cuda:1.")
SIDE = option("a", metavar="a|b", callback=check_side, help="Which side the new rows belong to.")
AGAINST = advanced(None, metavar="OTHER", help="The other side, if it moved or grew; its --payload file gives its ids.")


def opened(source: str, payload_file: Path | None, *, payload: bool = True, **more: Any) -> Collection:
    """A collection, with the payload of a file where one is given; the rest as in `open_collection`."""
    from veclink.stores.opening import open_collection

    return open_collection(source, payload=payload if payload_file is None else payload_file, **more)


def as_given(**options: Path | None) -> list[str]:
    """The options that were given, as another command takes them."""
    given = ((f"--{name.replace('_', '-')}", str(path)) for name, path in options.items() if path is not None)
    return [part for each in given for part in each]


def tell(words: str, values: dict[str, Any], as_json: bool, quiet: bool = False, **more: Any) -> None:
    """Print a result on stdout: as one JSON object, in the words of a template for `values` and more, or not at all."""
    if as_json:
        print_json(values)
    elif not quiet:
        typer.echo(in_words(words, **{**values, **more}))


def in_words(words: str, **values: Any) -> str:
    """What a person reads of a result: the template `words` of this package, filled with its values."""
    from veclink.data.summary import share_in_words
    from veclink.data.words import templates
    from veclink.report.words import duration

    made = templates("veclink.cli")
    made.globals.update(style=typer.style, width=shutil.get_terminal_size().columns)
    made.filters.update(duration=duration, named=named, quoted=shlex.quote, repr=repr, share=share_in_words)
    return made.get_template(f"{words}.txt").render(values).rstrip("\n")


def print_json(value: dict[str, Any]) -> None:
    """Print one object as JSON, which knows no infinity: a number that is not finite is null there."""
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    typer.echo(json.dumps(finite, indent=2, ensure_ascii=False))


def summary_values(summary: Summary) -> dict[str, Any]:
    """The summary as every command prints it with --json: its own values, and the verdict as a person reads it."""
    return {**summary.to_dict(), "verdict_in_words": summary.verdict_in_words}


def warn(sentence: str) -> None:
    """Say on stderr what a person has to know."""
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


class Terminated(KeyboardInterrupt):
    """SIGTERM, by which batch systems and containers end a process: all that Ctrl-C clears away is cleared away."""


@contextmanager
def one_sentence_errors() -> Iterator[None]:
    """Turn what can go wrong into a sentence on stderr and an exit code; a traceback is for bugs only.

    So are warnings about what was given told without the place in the code.
    """
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, (UnusedIdsWarning, ShuffledPayloadWarning, WrongLinksWarning)):
                warn(f"Warning: {message}")
            else:
                usual(message, category, *place, **more)

        warnings.showwarning = show
        try:
            yield
        except BrokenPipeError:  # nobody reads what is printed, as after `| head`; told by the exit code alone
            raise
        except (VeclinkError, OSError) as error:
            said = str(error)
            if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
                said = f"{error.filename} cannot be used ({error.strerror}); check the name."
            warn(without_secrets(said))
            raise typer.Exit(ERROR) from error
        except UsageError as error:
            error.message = without_secrets(error.message)
            raise
        except MemoryError as error:
            warn("There is not enough memory; give less with --memory.")
            raise typer.Exit(ERROR) from error
        except KeyboardInterrupt as error:
            warn("Stopped; what was not finished was not written.")
            raise typer.Exit(TERMINATED if isinstance(error, Terminated) else INTERRUPTED) from error


# of click, or of the copy of it that newer typer has in itself
UsageError: Any = typer.BadParameter.__base__


# What is refused before the long work starts.


def check_table(
    output: Path, *inputs: object, what: str = "links", endings: tuple[str, ...] = (".csv", ".parquet")
) -> None:
    """Refuse a file that could not be written, or that is one of the inputs (None: was not given)."""
    if re.match(r"\w+:/", str(output)):
        raise InputError(f"The {what} go to a file, and {output} is an address; veclink cut writes links to stores.")
    if output.suffix.lower() not in endings:
        raise InputError(f"{output} does not end in {' or '.join(endings)}, as files of {what} do.")
    check_folder(output)
    if output.is_dir() or not os.access(output.parent, os.W_OK):
        raise InputError(f"{output} cannot be written; choose another place.")
    if any(is_same(output, given) for given in inputs):
        raise InputError(f"{output} is one of the inputs; choose another name for the {what}.")


def check_links_file(output: Path, columns: str | None, *inputs: object) -> None:
    """As `check_table`, of links with these columns."""
    from veclink.data.links import COLUMNS
    from veclink.data.links_files import check_beside

    check_table(output, *inputs)
    check_beside(output)
    check_choice("--columns", columns or "all", COLUMNS)
    if columns == "short" and output.suffix.lower() == ".parquet":
        raise typer.BadParameter("is about CSV; a .parquet file has all columns.", param_hint="--columns")


def check_report(report: Path | None, *inputs: object) -> None:
    """As `check_table`, for a page that may be wanted or not."""
    if report is not None:
        check_table(report, *inputs, what="reports", endings=(".html", ".htm"))


def check_place(output: str, *inputs: object) -> None:
    """Refuse a collection, a path or a URL, in a folder that is not there, or that is one of the inputs."""
    from veclink.stores.opening import address_of
    from veclink.stores.urls import SINGLE_FILES

    if any(is_same(output, given) for given in inputs):
        raise typer.BadParameter("is one of the inputs; choose another place.", param_hint="--output")
    written = address_of(output)
    if written.kind in SINGLE_FILES and written.path is not None:
        check_folder(written.path)
        if written.kind in ("sqlite", "duckdb") and written.table is None and not written.path.exists():
            raise InputError(f"{written.shown} does not say which table; add a name: {written.shown}#papers.")


def check_folder(file: Path) -> None:
    """Refuse a file in a folder that is not there."""
    if not file.parent.is_dir():
        raise InputError(f"The folder {file.parent} for the output does not exist; make it first.")


def check_apart(files: list[Path | None], linker: Path | None, checkpoint: Path | None = None) -> None:
    """Refuse places that cannot all be written: files of a run, and the folders of its linker and its checkpoint."""
    within = [(each, linker) for each in (*files, checkpoint)] + [(checkpoint, file) for file in files]
    for inner, outer in within:
        if inner is not None and outer is not None:
            place = outer.resolve()
            if place in (inner.resolve(), *inner.resolve().parents):
                raise InputError(f"{inner} is in the way of {outer}; choose another place for one of them.")


def is_same(one: object, other: object) -> bool:
    """Whether two files or URLs are one, however they are written (None: was not given)."""
    if one is None or other is None:
        return False
    # a URL of a file names it before its options
    left, right = (
        Path(re.split("[?#]", str(each)[7:])[0] if str(each).lower().startswith("file://") else str(each))
        for each in (one, other)
    )
    return str(one) == str(other) or (left.exists() and right.exists() and left.samefile(right))
