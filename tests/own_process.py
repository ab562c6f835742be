"""Commands in processes of their own, forked from one that has imported veclink already, which takes a second."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PRELOADED = ["veclink.cli.app", "veclink.linkers.linking", "veclink.stores.opening", "veclink.uses.linker"]
PRELOADED += ["pyarrow.parquet", "pyarrow.compute", "pandas", "pydantic", "typer.rich_utils", "typer.testing"]
"""What is not installed is left out."""

SERVERS = multiprocessing.get_context("forkserver")
SERVERS.set_forkserver_preload(PRELOADED)


def command_alone(*arguments: object) -> tuple[int, str]:
    """The exit code of a veclink command and all that it prints; a signal that ends it is negative."""
    return alone(_command, [str(each) for each in arguments])


def alone(function: Callable[..., Any], *arguments: Any, kill_after: float | None = None) -> tuple[int, str]:
    """The exit code of a process that calls a function of a module, and all that it prints.

    kill_after: seconds after which it is killed, unless it has ended by then.
    """
    with TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        process = SERVERS.Process(target=_called, args=(said, dict(os.environ), os.getcwd(), function, arguments))
        process.start()
        process.join(kill_after)
        process.kill()
        process.join()
        assert process.exitcode is not None
        return process.exitcode, said.read_text(errors="replace") if said.exists() else ""


def _called(said: Path, variables: dict[str, str], folder: str, function: Callable[..., Any], given: Any) -> None:
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    file = os.open(said, os.O_WRONLY | os.O_CREAT)
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    function(*given)


def _command(arguments: list[str]) -> None:
    from veclink.cli.app import main

    sys.argv = ["veclink", *arguments]
    main()
