"""Inside one HDF5 file: links are followed and datasets taken only where they do not lead to another file.

A file can name others: by an external link, by a dataset whose numbers are stored elsewhere, and by a virtual dataset
that is put together of others. Whoever made the file chose those names, and any file of this machine could be read.
"""

from __future__ import annotations

from typing import Any

from veclink.errors import InputError, needed

MOST_LINKS = 16
"""Soft links that lead to soft links, at most; HDF5 itself stops there."""


def member(group: Any, path: str, name: str, links: int = MOST_LINKS) -> Any:
    """The group or dataset at `path`, None where there is none.

    Parameters
    ----------
    group : h5py.Group
        Where the path begins, unless it begins with a slash.
    path : str
        Names with slashes between them.
    name : str
        What the store is called in the sentence of an error.
    links : int
        How many soft links may still be followed.
    """
    here = group.file if path.startswith("/") else group
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if not hasattr(here, "keys"):  # a dataset has no members
            return None
        here = _one(here, part, name, links)
        if here is None:
            return None
    return here


def _one(group: Any, part: str, name: str, links: int) -> Any:
    h5py: Any = needed("h5py", "HDF5", install="veclink[hdf5]")
    link = group.get(part, getlink=True)
    if isinstance(link, h5py.ExternalLink):
        raise InputError(f"{name} has a link {part!r} to another file, {link.filename}; open that file itself.")
    if isinstance(link, h5py.SoftLink):
        if not links:
            raise InputError(f"{name} has more than {MOST_LINKS} links one after the other at {part!r}; repair it.")
        return member(group, link.path, name, links - 1)
    return group[part] if isinstance(link, h5py.HardLink) else None


def check_dataset(dataset: Any, name: str) -> None:
    """Refuse a dataset whose numbers are in other files, or may be."""
    short = dataset.name.rpartition("/")[2]
    if dataset.external:
        file = dataset.external[0][0]
        raise InputError(f"{name} keeps {short!r} in another file, {file}; copy it into one file (h5repack).")
    if dataset.is_virtual:
        raise InputError(
            f"{name} puts {short!r} together of other datasets, perhaps of other files (a virtual dataset); "
            "copy it into one file."
        )
