"""What every command needs: exit codes, options that are the same everywhere, errors as one sentence, JSON."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from veclink.errors import InputError, VeclinkError, without_secrets
from veclink.files.memory import LEAST, parse_memory

ERROR, USAGE, NOT_LINKABLE, INTERRUPTED = 1, 2, 3, 130
ENDINGS = (".csv", ".parquet")
PAGE_ENDINGS = (".html", ".htm")

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary; errors (and --json) only.")]


@contextmanager
def one_sentence_errors() -> Iterator[None]:
    """Turn what can go wrong into a sentence on stderr and an exit code; a traceback is for bugs only."""
    try:
        yield
    except (VeclinkError, OSError) as error:
        typer.echo(f"veclink: {without_secrets(str(error))}", err=True)
        raise typer.Exit(ERROR) from error
    except typer.BadParameter as error:
        error.message = without_secrets(error.message)
        raise
    except MemoryError as error:
        typer.echo("veclink: There is not enough memory; give less with --memory.", err=True)
        raise typer.Exit(ERROR) from error
    except KeyboardInterrupt as interrupt:
        typer.echo("veclink: Stopped; what was not finished was not written.", err=True)
        raise typer.Exit(INTERRUPTED) from interrupt


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
    if any(output.exists() and Path(given).exists() and output.samefile(given) for given in inputs):
        raise InputError(f"{output} is one of the inputs; choose another name for the {what}.")


def check_report(report: Path | None, *inputs: str) -> None:
    """As `check_output`, for a page that may be wanted or not."""
    if report is not None:
        check_output(report, *inputs, what="reports", endings=PAGE_ENDINGS)


def is_one_of(output: str, *inputs: str) -> bool:
    """Whether an output, a path or a URL, is one of the inputs, however it is spelled."""
    places = [Path(each.removeprefix("file://")) for each in (output, *inputs)]
    return any(
        output == given or (place.exists() and places[0].exists() and place.samefile(places[0]))
        for given, place in zip(inputs, places[1:], strict=True)
    )


def print_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def check_memory(text: str | None) -> str | None:
    if text is not None:
        try:
            parse_memory(text, least=LEAST)
        except VeclinkError as error:
            raise typer.BadParameter(str(error)) from error
    return text


Memory = Annotated[
    str | None, typer.Option(callback=check_memory, help='What may be used beside the input, like "500MB".')
]
