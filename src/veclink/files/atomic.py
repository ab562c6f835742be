"""Writing a file or a folder whole or not at all, whenever the process is killed.

While it is written it is called `.veclink-<digest of its name>-<random>`, and locked. One that nobody locks is what a
killed writer left, and the next writer of that name removes it.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from veclink.errors import InputError, OutputError, VeclinkError, named
from veclink.files.locks import locked


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path in the folder of `path`; what is written there becomes `path` when the block ends.

    On any failure, Ctrl-C included, the temporary file is removed, an older `path` stays as it was, and a failed write
    (no room, no permission) becomes an OutputError. The temporary name has the ending of `path`. A file that replaces
    another can be read and written by the same people as that one.
    """
    target = Path(os.path.realpath(path))  # a link to a file keeps pointing at it
    if target.is_dir():
        raise OutputError(f"Could not write {path}: it is a folder; name a file in it.")
    with _told(path), _beside(target) as temporary:
        yield temporary
        give_access_of(target, temporary)
        flush(temporary)
        os.replace(temporary, target)
        flush_folder(target.parent)


@contextmanager
def folder_written_whole(target: Path, *, may_replace: Callable[[str], bool]) -> Iterator[Path]:
    """Give a new folder that becomes `target` when the block ends; an older one goes away then.

    `may_replace` says whether a file of this name in the older folder may go away with it. One that may not is refused:
    a folder with somebody's other files in it is never replaced.
    """
    target = Path(os.path.realpath(target))  # a link to a folder keeps pointing there
    check_replaceable(target, may_replace)
    with _told(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _beside(target, folder=True) as new:
            yield new
            for place, _, names in os.walk(new, topdown=False):
                for name in names:
                    flush(Path(place) / name)
                flush_folder(Path(place))
            give_access_of(target, new)
            check_replaceable(target, may_replace)  # a long write: files may have come there
            if not os.path.lexists(target):
                os.rename(new, target)
            elif not _exchanged(new, target):
                # killed between these two, the older folder lies beside the new one's place
                older = target.with_name(f"{target.name}.older-{secrets.token_hex(4)}")
                os.rename(target, older)
                os.rename(new, target)
                os.rename(older, new)
            flush_folder(target.parent)


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


def flush(path: Path) -> None:
    """Have a file on disk now, and the system say now, not after a rename, that there is no room."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_folder(folder: Path) -> None:
    """Have the names in a folder on disk; some systems and file systems cannot be asked to."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def give_access_of(older: Path, newer: Path) -> None:
    """Let those who can read and write `older`, if it is there, do so with `newer`, and nobody else."""
    if not older.exists():
        return
    wanted = older.stat()
    mode = stat.S_IMODE(wanted.st_mode)
    for user, group in ((wanted.st_uid, -1), (-1, wanted.st_gid)):
        with suppress(OSError, AttributeError):  # only root gives to others
            os.chown(newer, user, group)
    if newer.stat().st_gid != wanted.st_gid:
        mode &= ~stat.S_IRWXG  # what one group may do is not for another
    if mode != stat.S_IMODE(newer.stat().st_mode):
        newer.chmod(mode)


@contextmanager
def _told(path: str | os.PathLike[str]) -> Iterator[None]:
    """A write that fails becomes a sentence."""
    try:
        yield
    except VeclinkError:
        raise
    except OSError as error:
        raise OutputError(
            f"Could not write {path}: {error.strerror or error}; make room there or choose another place (nothing was "
            "left behind)."
        ) from error


@contextmanager
def _beside(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """An empty file or folder beside the target, locked before it has the name by which others would remove it.

    What replaces something is private from its first byte on, so that nobody reads it while it is written.
    """
    prefix = f".veclink-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}-"
    for left in target.parent.glob(f"{prefix}*"):
        free = None if left.is_symlink() else locked(left)
        if free is not None:
            _remove(left)
            os.close(free)
    token = secrets.token_hex(6)
    unnamed = target.with_name(f".veclink-{token}")
    if folder:
        unnamed.mkdir(0o700 if target.exists() else 0o777)
    else:
        os.close(os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if target.exists() else 0o666))
    temporary = target.with_name(f"{prefix}{token}{'' if folder else target.suffix}")
    lock = locked(unnamed)
    try:
        os.rename(unnamed, temporary)
        yield temporary
    finally:
        _remove(unnamed)
        _remove(temporary)  # after an exchange, the older folder
        if lock is not None:
            os.close(lock)


def _remove(path: Path) -> None:
    with suppress(OSError):  # the folder itself may be gone, and the first error is the one to tell
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two paths in one step; False, and nothing changed, where the system or the file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # an older C library
        return False
    return not rename(here, ctypes.c_char_p(os.fsencode(one)), here, ctypes.c_char_p(os.fsencode(other)), exchange)
