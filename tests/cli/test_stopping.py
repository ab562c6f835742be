"""Commands that are stopped from outside: by SIGTERM as by Ctrl-C, and by a reader that goes away."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from own_process import alone
from span_papers import some_papers
from veclink.stores.protocol import Batch


def stopped_while_writing(folder: Path, number: int) -> None:
    """Runs translate, and gets a signal in the middle of the file that it writes."""
    import sys

    from veclink.cli.app import main
    from veclink.uses import translating

    whole = translating.translated_batches

    def batches(*given: Any, **more: Any) -> Iterator[Batch]:
        yield from whole(*given, **more)
        os.kill(os.getpid(), number)

    translating.translated_batches = batches
    given = ("--links", folder / "links.csv", "--a", folder / "a.npy", "--b", folder / "b.npy", "--map", "procrustes")
    sys.argv = list(map(str, ("veclink", "translate", folder / "a.npy", *given, "-o", folder / "out.npy")))
    main()


def print_to_nobody(folder: Path) -> None:
    """Runs inspect, whose output nobody reads."""
    import sys

    from veclink.cli.app import main

    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)
    sys.argv = ["veclink", "inspect", str(folder / "a.npy")]
    main()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    papers = some_papers()
    np.save(tmp_path / "a.npy", papers.a)
    np.save(tmp_path / "b.npy", papers.b)
    (tmp_path / "links.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in papers.truth.tolist()))
    return tmp_path


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_command_with_its_own_code_and_leaves_nothing(folder: Path, number: int, code: int) -> None:
    before = sorted(folder.iterdir())
    ended, said = alone(stopped_while_writing, folder, number)
    assert ended == code and "veclink: Stopped; what was not finished was not written." in said
    assert sorted(folder.iterdir()) == before


def test_output_that_nobody_reads_is_no_traceback(folder: Path) -> None:
    assert alone(print_to_nobody, folder) == (1, "")
