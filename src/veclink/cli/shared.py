"""What every command needs: exit codes, options in groups, errors as one sentence, JSON."""

from __future__ import annotations

import copy
import functools
import inspect
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_type_hints

import typer

from veclink.cli.warned import plain_warnings
from veclink.errors import InputError, VeclinkError, without_secrets
from veclink.files.memory import LEAST, parse_memory
from veclink.progress import ProgressListener, showing_progress

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.data.links import Links

ERROR, NO_TRUSTED_LINKS, INTERRUPTED, TERMINATED = 1, 3, 130, 143  # 2, for wrong usage, is typer's own
ENDINGS = (".csv", ".parquet")
PAGE_ENDINGS = (".html", ".htm")
IDS_BESIDE = (".npy", ".faiss")
"""Collections whose ids are written to a file beside them."""

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary: errors, warnings, --json only.")]
LinksFile = Annotated[Path, typer.Option(help="Links of A and B, or any pairs: CSV or Parquet, columns a,b.")]
SeedsFile = Annotated[
    Path | None, typer.Option(help="Known pairs, CSV or Parquet with columns a,b: ids, or rows without ids.")
]
MapKind = Annotated[
    str, typer.Option("--map", help="blend, la2m, procrustes, ridge, lowrank, or auto: the best on held-back links.")
]
RandomState = Annotated[int, typer.Option(metavar="N", min=0, help="The same number gives the same result.")]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="short|all", help="Of CSV: what people read (short, the default), or all that explains a link."
    ),
]
SkipZero = Annotated[bool, typer.Option("--skip-zero", help="Leave out zero vectors instead of stopping.")]

Force = Annotated[
    bool, typer.Option("--force", help="Go on where A and B are not the vectors that were linked, but as many.")
]


def check_memory(text: str | None) -> str | None:
    """Refuse an amount of memory that cannot be understood, or that is too little."""
    if text is not None:
        try:
            parse_memory(text, least=LEAST)
        except VeclinkError as error:
            raise typer.BadParameter(str(error)) from error
    return text


def check_device(name: str) -> str:
    """Refuse an unknown device."""
    from veclink import backends as devices

    try:
        devices.check_device(name)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--device") from error
    return name


Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", callback=check_memory, help='How much memory to use on top of the input, like "500MB".'
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Threads on the CPU; else $VECLINK_THREADS, or one for each core."),
]
Device = Annotated[
    str,
    typer.Option(
        metavar="NAME", callback=check_device, help="auto, cpu, cuda, or one GPU of several: cuda:1."
    ),
]


@dataclass(frozen=True)
class Computing:
    """What a computation runs on; named as the Python functions name it."""

    PANEL: ClassVar[str] = "Machine and memory"
    memory: Memory = None
    device: Device = "auto"
    threads: Threads = None
    random_state: RandomState = 0
    skip_zero: SkipZero = False


@dataclass(frozen=True)
class Payloads:
    """What is told of the objects, where a collection does not carry it itself."""

    PANEL: ClassVar[str] = "What is written and shown"
    payload_a: Annotated[
        Path | None,
        typer.Option(help="Columns of A's objects: CSV, Parquet or JSONL, a line each, in A's order; `id` names them."),
    ] = None
    payload_b: Annotated[Path | None, typer.Option(help="The same for B.")] = None

    def __post_init__(self) -> None:
        from veclink.stores.payloads import check_payload_file

        for file in self.files():
            check_payload_file(Path(file))

    def files(self) -> list[str]:
        """Those that were given."""
        return [str(each) for each in (self.payload_a, self.payload_b) if each is not None]

    def options(self) -> list[str]:
        """Those that were given, as another command takes them."""
        given = {"--payload-a": self.payload_a, "--payload-b": self.payload_b}
        return [part for name, path in given.items() if path is not None for part in (name, str(path))]


def opened(
    source: str,
    payload_file: Path | None,
    *,
    payload: bool = True,
    memory: str | None = None,
    progress: ProgressListener | None = None,
) -> Collection:
    """A collection, with the payload of a file where one is given; the rest as in `open_collection`."""
    from veclink.stores.opening import open_collection

    chosen = payload if payload_file is None else payload_file
    return open_collection(source, payload=chosen, memory=memory, progress=progress)


@dataclass(frozen=True)
class Printing:
    """How a command talks: results on stdout, as text or JSON, and progress on stderr."""

    as_json: AsJson = False
    quiet: Quiet = False

    def progress(self) -> AbstractContextManager[ProgressListener | None]:
        """A listener that shows how far the work is, while the context lasts."""
        return showing_progress(quiet=self.quiet)

    def result(self, values: dict[str, Any], print_text: Callable[[], None]) -> None:
        """Print the result in the way that was asked for."""
        if self.as_json:
            print_json(values)
        elif not self.quiet:
            print_text()


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command as typer takes it: groups of options are laid flat, and errors are told as one sentence.

    A parameter whose type is a dataclass stands for the options that its fields describe, in the panel of the
    help that its `PANEL` names.
    """
    hints = get_type_hints(function, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters += inspect.signature(groups[name]).parameters.values()
        else:
            parameters.append(parameter)
    for group in groups.values():
        told = get_type_hints(group, include_extras=True)
        hints |= {each.name: _in_panel(told[each.name], getattr(group, "PANEL", None)) for each in fields(group)}

    @functools.wraps(function)
    def run(**given: Any) -> None:
        with one_sentence_errors(), plain_warnings():
            for name, group in groups.items():
                given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
            function(**given)

    options = [each.replace(kind=each.KEYWORD_ONLY, annotation=hints[each.name]) for each in parameters]
    flat: Any = run
    flat.__signature__ = inspect.Signature(options)
    flat.__annotations__ = {each.name: each.annotation for each in options}
    return run


def _in_panel(hint: Any, panel: str | None) -> Any:
    """The type of an option that is shown in this panel of the help."""
    if panel is None:
        return hint
    kind, option, *_ = get_args(hint)
    placed = copy.copy(option)
    placed.rich_help_panel = panel
    return Annotated[kind, placed]


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
        typer.echo(f"veclink: {without_secrets(said)}", err=True)
        raise typer.Exit(ERROR) from error
    except typer.BadParameter as error:
        error.message = without_secrets(error.message)
        raise
    except MemoryError as error:
        typer.echo("veclink: There is not enough memory; give less with --memory.", err=True)
        raise typer.Exit(ERROR) from error
    except KeyboardInterrupt as interrupt:
        typer.echo("veclink: Stopped; what was not finished was not written.", err=True)
        raise typer.Exit(exit_code(interrupt)) from interrupt


class Terminated(KeyboardInterrupt):
    """SIGTERM, by which batch systems and containers end a process: all that Ctrl-C clears away is cleared away."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """What a process that was interrupted so ends with."""
    return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED


def terminate(number: int, frame: object) -> None:
    """Handle SIGTERM."""
    raise Terminated


def check_choice(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}.", param_hint=option)


def check_output(output: Path, *inputs: str, what: str = "links", endings: tuple[str, ...] = ENDINGS) -> None:
    """Refuse, before the long work starts, an output that could not be written after it."""
    if re.match(r"\w+:/", str(output)):
        raise InputError(f"The {what} go to a file, and {output} is an address; veclink export writes to stores.")
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
    if output.exists() and any(given.exists() and output.samefile(given) for given in map(_file_of, inputs)):
        raise InputError(f"{output} is one of the inputs; choose another name for the {what}.")


def _file_of(given: str) -> Path:
    """The file that an input is, where it is one; a URL of a file names it before its options."""
    return Path(re.split("[?#]", given[7:])[0] if given.lower().startswith("file://") else given)


def check_columns(columns: str | None, output: Path) -> None:
    """Refuse columns that there are none of, and short ones of Parquet, which has all."""
    from veclink.data.links_shown import COLUMNS

    if columns is not None:
        check_choice("--columns", columns, COLUMNS)
    if columns == "short" and output.suffix.lower() == ".parquet":
        raise typer.BadParameter("is about CSV; a .parquet file has all columns.", param_hint="--columns")


def note_short_columns(links: Links, source: Path) -> None:
    """Say on stderr that a CSV file with the short columns explains nothing, where a page is made of it."""
    if links.summary.method == "span" and len(links) and "rival_a" not in links.evidence:
        typer.echo(
            f"veclink: {source} has the short columns: the page cannot show what speaks for a link and what against, "
            "or its rivals. A .parquet file has all of that, and so has CSV with --columns all.",
            err=True,
        )


def check_two(a: str, b: str) -> None:
    """Refuse to link a file with itself: every row would find itself, which says nothing."""
    if a == b or (Path(a).exists() and Path(b).exists() and os.path.samefile(a, b)):
        raise typer.BadParameter(
            f"A and B are the same collection, {without_secrets(a)}. Give two collections; copies inside one are "
            "listed by veclink inspect."
        )


def check_report(report: Path | None, *inputs: str) -> None:
    """As `check_output`, for a page that may be wanted or not."""
    if report is not None:
        check_output(report, *inputs, what="reports", endings=PAGE_ENDINGS)


def check_linker_folder(folder: Path, method: str, *, one_to_one: bool) -> None:
    """Refuse, before the long work starts, a place where no linker could be written after it."""
    from veclink.uses.new_rows.folder import check_place

    if method != "span" or not one_to_one:
        raise typer.BadParameter("needs --method span and one-to-one links.", param_hint="--save-linker")
    check_place(folder)


def check_no_input(output: str, *inputs: str | Path | None) -> None:
    """Refuse an output, a path or a URL, that is one of the inputs, however it is spelled."""
    place = Path(output.removeprefix("file://"))
    for given in map(str, filter(None, inputs)):
        path = Path(given.removeprefix("file://"))
        if output == given or (path.exists() and place.exists() and path.samefile(place)):
            raise typer.BadParameter("is one of the inputs; choose another place.", param_hint="--output")
        if _ids_that_both_use(output, given):
            raise typer.BadParameter(
                f"would replace the ids of the input {without_secrets(given)}; choose another name.",
                param_hint="--output",
            )


def _ids_that_both_use(output: str, given: str) -> bool:
    """Whether an output would write the file of ids that an input has beside it."""
    from veclink.data.ids import beside
    from veclink.stores.opening import address_of

    written, read = address_of(output).path, address_of(given).path
    if written is None or read is None or written.suffix.lower() not in IDS_BESIDE:
        return False
    ids, others = beside(written), beside(read)
    return ids is not None and others is not None and ids.samefile(others)


def print_warning(sentence: str | None) -> None:
    """Say on stderr what a person has to know, if there is anything."""
    if sentence is not None:
        typer.echo(f"veclink: Warning: {sentence}", err=True)


def print_json(value: dict[str, Any]) -> None:
    """Print one object as JSON, which knows no infinity: a number that is not finite is null there."""
    typer.echo(json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
