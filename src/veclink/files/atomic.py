"""Writing a file whole or not at all.

While it is written, a file is called `.veclink-<digest of its name>-<random>` and locked. One that nobody locks is what
a killed writer left, and the next writer of that name removes it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from veclink.errors import OutputError, VeclinkError
from veclink.files.locks import lock_open, locked


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
    temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(6)}{target.suffix}")
    lock = None
    try:
        _clear_leftovers(target)
        lock = _begin(temporary, private=target.exists())
        yield temporary
        give_access_of(target, temporary)
        flush(temporary)
        os.replace(temporary, target)
        flush_folder(target.parent)
    except VeclinkError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(
            f"Could not write {path}: {reason}; make room there or choose another place (nothing was left behind)."
        ) from error
    finally:
        with suppress(OSError):  # the folder itself may be gone, and the first error is the one to tell
            temporary.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


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
    wanted, given = older.stat(), newer.stat()
    mode = stat.S_IMODE(wanted.st_mode)
    if wanted.st_uid != given.st_uid:
        _give(newer, user=wanted.st_uid)
    if wanted.st_gid != given.st_gid and not _give(newer, group=wanted.st_gid):
        mode &= ~stat.S_IRWXG  # what one group may do is not for another
    if mode != stat.S_IMODE(newer.stat().st_mode):
        newer.chmod(mode)


def _give(path: Path, user: int = -1, group: int = -1) -> bool:
    """Give a file to a user or group, and say whether that was allowed: only root gives to others."""
    try:
        os.chown(path, user, group)
    except (OSError, AttributeError):
        return False
    return True


def _begin(temporary: Path, *, private: bool) -> int | None:
    """Make the file, locked before it has the name by which others would remove it; the lock, where there is one.

    A file that replaces another is private from its first byte on, so that nobody reads it while it is written.
    """
    mode = 0o600 if private else 0o666
    nameless = _begin_nameless(temporary, mode)
    if nameless is not None:
        return nameless
    unnamed = temporary.with_name(f".veclink-{secrets.token_hex(6)}{temporary.suffix}")
    descriptor = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    held = lock_open(descriptor)
    try:
        os.rename(unnamed, temporary)
    except BaseException:
        os.close(descriptor)
        unnamed.unlink(missing_ok=True)
        raise
    if held and sys.platform != "win32":
        return descriptor
    os.close(descriptor)  # a lock there keeps the writer itself from the file
    return None


def _begin_nameless(temporary: Path, mode: int) -> int | None:
    """As `_begin`, where Linux and the file system have files without a name: a killed run leaves none of these."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    descriptor = -1
    try:
        descriptor = os.open(temporary.parent, os.O_RDWR | os.O_TMPFILE, mode)
        if lock_open(descriptor):
            # the folder is said so that the link in /proc is followed; an absolute path does not use it
            os.link(f"/proc/self/fd/{descriptor}", temporary, src_dir_fd=descriptor)
            return descriptor
    except OSError:  # no such files here, or no /proc
        pass
    if descriptor >= 0:
        os.close(descriptor)
    return None


def _clear_leftovers(target: Path) -> None:
    """Remove what killed writers of this file left; a live one holds its lock."""
    if sys.platform == "win32":
        return
    for path in target.parent.glob(f"{_prefix(target)}*"):
        with suppress(OSError):
            if path.is_symlink() or not path.is_file():
                continue
            lock = locked(path)
            if lock is not None:
                path.unlink(missing_ok=True)
                os.close(lock)


def _prefix(target: Path) -> str:
    """How the names of a file's temporary files begin; a digest, as the name itself may be as long as names can."""
    return f".veclink-{hashlib.sha256(target.name.encode(errors='surrogateescape')).hexdigest()[:16]}-"
