"""Outputs of one command that would be in one another's way, refused before the long work starts."""

from __future__ import annotations

from pathlib import Path

from veclink.errors import InputError


def check_folder_of(output: str) -> None:
    """Refuse a collection, a path or a URL, that is to be one file in a folder that is not there."""
    from veclink.stores.kinds import SINGLE_FILES
    from veclink.stores.opening import address_of

    address = address_of(output)
    if address.kind in SINGLE_FILES and address.path is not None and not address.path.parent.is_dir():
        raise InputError(f"The folder {address.path.parent} for the output does not exist; make it first.")


def check_outside(output: Path, linker: Path) -> None:
    """Refuse an output that is the folder of a linker, or a file in it."""
    if _is_in(output, linker):
        raise InputError(f"{output} is in the folder of the linker, {linker}; choose another place for one of the two.")


def check_apart(files: list[Path | None], linker: Path | None, checkpoint: Path | None) -> None:
    """Refuse places that cannot all be written: files of a run, and the folders of its linker and its checkpoint."""
    for file in filter(None, files):
        if linker is not None:
            check_outside(file, linker)
        if checkpoint is not None and _is_in(checkpoint, file):
            raise InputError(f"{file} cannot be an output and the folder of --checkpoint; choose another folder.")
    if linker is not None and checkpoint is not None and _is_in(checkpoint, linker):
        raise InputError(f"{checkpoint} is in the folder of the linker, {linker}; choose another --checkpoint.")


def _is_in(path: Path, folder: Path) -> bool:
    """Whether a path is this folder, or below it, however the two are spelled."""
    place = folder.resolve()
    return place in (path.resolve(), *path.resolve().parents)
