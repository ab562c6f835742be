"""Writing a folder whole or not at all, whenever the process is killed.

The new folder is written inside a marked and locked working folder beside the target:

    .veclink-<digest of the target's name>-<random>/
        .veclink-scratch    the mark and lock, see `scratch_folders`
        new/                what is being written; all of it is on disk before it becomes the target
        old/                the folder that it replaces, where the two cannot be exchanged in one step

Both names are there only while the target is missing: `new` is whole by then, and `restore` makes it the target.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from veclink.errors import InputError, OutputError, VeclinkError, named
from veclink.files.atomic import flush, flush_folder, give_access_of
from veclink.files.exchange import exchanged
from veclink.files.fingerprints import digest
from veclink.files.locks import locked
from veclink.files.scratch_folders import MARK, is_marked, remove_marked


@contextmanager
def folder_written_whole(target: Path, *, may_replace: Callable[[str], bool]) -> Iterator[Path]:
    """Give a new folder that becomes `target` when the block ends; an older one goes away then.

    Parameters
    ----------
    target : Path
        Where the folder will be. A link to a folder keeps pointing there.
    may_replace : callable
        Whether a file of this name in the older folder may go away with it. One that may not is refused: a folder with
        somebody's other files in it is never replaced.

    Yields
    ------
    Path
        The empty folder to write to.
    """
    target = Path(os.path.realpath(target))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        restore(target)
        _clear_leftovers(target)
        check_replaceable(target, may_replace)
        with _working_folder(target) as work:
            new = work / "new"
            new.mkdir()
            yield new
            _flush_tree(new)
            give_access_of(target, new)
            check_replaceable(target, may_replace)  # a long write: files may have come there
            _put_in_place(new, target)
    except VeclinkError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"Could not write {target}: {reason}; make room there or choose another place.") from error


def restore(target: Path) -> None:
    """Finish a replacement of `target` that was killed while neither the older nor the new folder was there.

    Nothing happens where `target` is there, or where no such replacement is left. It needs no lock: a writer that is
    alive and between the same two steps finds its work done.
    """
    try:
        target = Path(os.path.realpath(target))
    except ValueError:  # no path can have such a name
        return
    if os.path.lexists(target):
        return
    for work in _leftovers(target):
        if (work / "old").is_dir() and (work / "new").is_dir():
            _finish(work, target)
            return


def _finish(work: Path, target: Path) -> None:
    try:
        os.rename(work / "new", target)
        flush_folder(target.parent)
    except OSError as error:
        if target.is_dir():  # another process finished it
            return
        raise OutputError(
            f"{target} was being replaced when a run was stopped, and is whole in {work / 'new'}; "
            f"it cannot be moved to its place ({error.strerror}), do that by hand."
        ) from error


@contextmanager
def _working_folder(target: Path) -> Iterator[Path]:
    """A marked folder beside `target`, locked before it has the name by which others would clear it away."""
    token = secrets.token_hex(6)
    unnamed = target.with_name(f".veclink-{token}")
    work = target.with_name(f"{_prefix(target)}{token}")
    unnamed.mkdir(mode=0o700)
    lock = locked(unnamed / MARK)
    (unnamed / MARK).touch(mode=0o600)  # where there are no locks
    os.rename(unnamed, work)
    try:
        yield work
    finally:
        _clear(work, target)
        if lock is not None:
            os.close(lock)


def _put_in_place(new: Path, target: Path) -> None:
    """Make `new` the target; what was there before is then `new`, or `old` beside it."""
    flush_folder(new.parent)
    if not os.path.lexists(target):
        os.rename(new, target)
    elif not exchanged(new, target):
        _swap(new, target)
    flush_folder(target.parent)
    flush_folder(new.parent)


def _swap(new: Path, target: Path) -> None:
    """Two renames. A process that is killed between them leaves `old` and `new` for `restore`."""
    old = new.with_name("old")
    os.rename(target, old)
    try:
        os.rename(new, target)
    except OSError:
        if not new.exists() and target.is_dir():  # a reader found the target missing and restored it
            return
        os.rename(old, target)
        raise


def _clear_leftovers(target: Path) -> None:
    """Remove what killed writers of this target left; a live one holds its lock."""
    for work in _leftovers(target):
        lock = locked(work / MARK)
        if lock is not None:
            _clear(work, target)
            os.close(lock)


def _clear(work: Path, target: Path) -> None:
    """Remove a working folder, unless it holds the only copy of the target."""
    if (work / "old").exists() and not target.exists():
        return
    # `old` before `new`: one that is half removed must never look like a replacement to be finished
    shutil.rmtree(work / "old", ignore_errors=True)
    remove_marked(work)


def _leftovers(target: Path) -> list[Path]:
    """The working folders of this target: marked, and of this user."""
    with suppress(OSError):
        beside = target.parent.iterdir()
        return sorted(path for path in beside if path.name.startswith(_prefix(target)) and is_marked(path))
    return []


def _prefix(target: Path) -> str:
    """How the names of a target's working folders begin; a digest, as the name itself may be as long as names can."""
    return f".veclink-{digest(target.name)}-"


def check_replaceable(target: Path, may_replace: Callable[[str], bool]) -> None:
    """Refuse a file where a folder is to be, and a folder with a file that may not go away."""
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError(f"{target} is a file; name a folder, or remove it first.")
    others = [name for _, _, names in os.walk(target) for name in names if not may_replace(name)]
    if others:
        raise InputError(
            f"{target} holds other files, which would be lost: {named(sorted(others))}; "
            "choose another folder, or move them away first."
        )


def _flush_tree(folder: Path) -> None:
    """Have all files and folders on disk before the names change."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            flush(Path(place) / name)
        flush_folder(Path(place))
