"""The options of a study or a measurement that has a page of help of its own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from veclink.errors import InputError
from veclink_bench.places import data_folder


def parser(doc: str | None, *, data: bool = False) -> argparse.ArgumentParser:
    """A parser whose help is the module's docstring.

    Parameters
    ----------
    doc : str
        The docstring of the module.
    data : bool
        Whether it reads a folder of corpora: adds `--data`, whose value is a folder that exists.
    """
    made = argparse.ArgumentParser(
        prog=Path(sys.argv[0]).name, description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if data:
        # The default is a text and not None: argparse hands texts to `type`, which then looks at $VECLINK_DATA.
        about = "a folder per corpus, MODEL.npy in each; else $VECLINK_DATA"
        made.add_argument("--data", metavar="DIR", type=_data, default="", help=about)
    return made


class PrintKeptResults(argparse.Action):
    """An option that prints what was measured before, and so needs no folder of data."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, default=False, help=help)

    def __call__(self, _parser: object, options: argparse.Namespace, *_: object) -> None:
        setattr(options, self.dest, True)
        options.data = options.data or None  # the default, a text, would be looked up


def _data(given: str) -> Path:
    try:
        return data_folder(given)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
