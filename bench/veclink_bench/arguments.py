"""The options of a study or a measurement that has a page of help of its own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def parser(doc: str | None, *, data: bool = False) -> argparse.ArgumentParser:
    """A parser whose help is the module's docstring.

    Parameters
    ----------
    doc : str
        The docstring of the module.
    data : bool
        Whether it reads a folder of corpora: adds `--data`, for `places.data_folder`.
    """
    made = argparse.ArgumentParser(
        prog=Path(sys.argv[0]).name, description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if data:
        made.add_argument("--data", metavar="DIR", help="a folder per corpus, MODEL.npy in each; else $VECLINK_DATA")
    return made
