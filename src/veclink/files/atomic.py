"""Writing a file or a folder whole or not at all, whenever the process is killed.

While it is written it is called `.veclink-<digest of its name>-<random>`, and locked. One that nobody locks is what a
killed writer left, and the next writer of that name removes it.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, gettempdir
from typing import Any

from veclink.errors import InputError, OutputError, StoreError, VeclinkError, named, readable_size

MORE_ROOM = "make room, or name another folder in VECLINK_SCRATCH"


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
        flush(target.parent)


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
                flush(Path(place))
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
            flush(target.parent)


@contextmanager
def unchanged(*paths: Path) -> Iterator[None]:
    """Refuse what is read in the block where another process replaces one of these: it may be of both."""

    def state() -> list[tuple[int, int]]:
        return [(each.st_ino, each.st_mtime_ns) for each in (path.stat() for path in paths if path.exists())]

    before = state()
    yield
    if state() != before:
        raise StoreError(f"{paths[0]} changed while it was read; read again.")


def check_replaceable(target: Path, may_replace: Callable[[str], bool]) -> None:
    """Refuse a file where a folder is to be, and a folder with a file that may not go away."""
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError(f"{target} is a file; name a folder, or remove it first.")
    others = [name for _, _, names in os.walk(target) for name in names if not may_replace(name)]
    if others:
        raise InputError(
            f"{target} holds other files, which would be lost: {named(sorted(others))}; choose another folder."
        )


def flush(path: Path) -> None:
    """Have a file on disk now, and the system say now, not after a rename, that there is no room.

    Of a folder, the names in it; some systems and file systems cannot be asked to.
    """
    is_folder = path.is_dir()
    with suppress(OSError) if is_folder else nullcontext():
        descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
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
            f"Could not write {path}: {error.strerror or error}; make room, or choose another place (nothing is left)."
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


def locked(path: Path, *, shared: bool = False) -> int | None:
    """A descriptor that holds the lock on a file or folder until it is closed; None where it cannot be had now.

    No link is followed, which somebody else could have put in the file's place.
    """
    if sys.platform == "win32":  # a lock there keeps others from reading, too
        return None
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        if lock_open(descriptor, shared=shared):
            return descriptor
        os.close(descriptor)
    return None


@contextmanager
def alone(target: Path) -> Iterator[None]:
    """Keep other processes that would write `target` waiting until the block ends.

    What is locked is a file beside it, which goes when the block ends: the target itself may be replaced meanwhile. A
    folder in one that may not be written to cannot, and is locked itself.
    """
    folder = next(each for each in target.absolute().parents if each.is_dir())
    lock = folder / f".veclink-{hashlib.sha256(os.fsencode(os.path.realpath(target))).hexdigest()[:16]}.lock"
    if target.is_dir() and not os.access(folder, os.W_OK):
        lock = target
    with _told(target):
        while True:
            how = os.O_RDWR if sys.platform == "win32" else os.O_RDONLY | os.O_NOFOLLOW
            if not lock.exists():  # another user's may be there, who may have been killed
                os.close(os.open(lock, how | os.O_CREAT, 0o666))
            with suppress(FileNotFoundError):  # whoever held it took the file away
                held = os.open(lock, how)
                while not lock_open(held, wait=True) and sys.platform == "win32":  # which waits for ten seconds
                    pass  # others wait as long as need be, but on network file systems without locks
                if os.path.samestat(os.fstat(held), os.stat(lock)):
                    break
                os.close(held)
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()
        os.close(held)


def lock_open(descriptor: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file until its descriptor is closed; False where another process holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def scratch_file(needs: int, what: str) -> Any:
    """A file without a name, open for reading and writing, that may grow to `needs` bytes."""
    return TemporaryFile(dir=scratch_home(needs, what))


@contextmanager
def scratch_folder(needs: int, what: str) -> Iterator[Path]:
    """A new folder that is removed at the end."""
    with TemporaryDirectory(prefix="veclink-", dir=scratch_home(needs, what), ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def scratch_home(needs: int = 0, what: str = "") -> Path:
    """The folder for scratch space, if it has room for so many bytes; that of the system where there is no cache."""
    given = os.environ.get("VECLINK_SCRATCH")
    try:
        home = Path(given or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "veclink")
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(home, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, RuntimeError) as error:  # RuntimeError: nobody knows where home is
        if given:
            reason = getattr(error, "strerror", None) or error
            raise OutputError(f"VECLINK_SCRATCH={given} cannot be written to ({reason}); name another.") from error
        home = Path(gettempdir())
    free = shutil.disk_usage(home).free
    if needs > free:
        there = f"{readable_size(free)} in {home}"
        raise OutputError(f"The {what} need {readable_size(needs)}, and there are {there}; {MORE_ROOM}.")
    return home
