"""Scratch folders: where they lie, whose they are, who is using them, and when they are removed.

All of them lie in one folder of veclink's own, in $VECLINK_SCRATCH or among the temporary files. That folder and each
folder in it carries a mark. Nothing without the mark is ever removed, nothing of another user is ever used, and no
link is followed. The mark of a folder is also its lock: whoever uses the folder holds it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from veclink.errors import OutputError, readable_size
from veclink.files.locks import locked

MARK = ".veclink-scratch"
"""The file that says that a folder is veclink's, and that is locked while the folder is in use."""
KEPT_SECONDS = 7 * 24 * 3600
"""How long what an interrupted run left waits for the run that resumes it."""


@dataclass
class ScratchFolder:
    """A folder that nobody else uses until it is released.

    Attributes
    ----------
    path : Path
        The folder, readable by its owner only.
    resumable : bool
        Whether a later run that asks for the same name finds what is left here.
    """

    path: Path
    resumable: bool
    _lock: int | None

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        remove_marked(self.path)

    def release(self) -> None:
        """Let others use or sweep the folder; releasing twice does no harm."""
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None


def hold(name: str) -> ScratchFolder:
    """Give the scratch folder of this name, or one of its own where somebody uses that one right now."""
    home = open_home()
    sweep(home)
    try:
        return _named(home / name) or _private(home, name)
    except OSError as error:
        raise OutputError(
            f"No scratch folder could be made in {home} ({error.strerror or error}); "
            "make room there, or name another folder in VECLINK_SCRATCH."
        ) from error


def left_behind(name: str) -> Path | None:
    """The folder that an earlier run left under this name; looking for it makes nothing."""
    home = home_path()
    folder = home / name
    if _is_private(home) and is_marked(home) and is_marked(folder):
        return folder
    return None


def check_room(folder: Path, needs: int, what: str) -> None:
    """Refuse to begin what needs more bytes than there are."""
    free = shutil.disk_usage(folder).free
    if needs > free:
        raise OutputError(
            f"The {what} need {readable_size(needs)} in {folder} and there are {readable_size(free)}; "
            "make room, or name another folder in VECLINK_SCRATCH."
        )


def home_path() -> Path:
    """Where all scratch folders of this user lie."""
    base = os.environ.get("VECLINK_SCRATCH") or tempfile.gettempdir()
    return Path(base) / f"veclink-scratch-{_user()}"


def open_home() -> Path:
    """Make the folder of all scratch folders, or check that the one that is there is ours, and give it."""
    home = home_path()
    _make_base(home.parent)
    try:
        home.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{home} cannot be made ({error.strerror}); name a folder of your own in VECLINK_SCRATCH."
        ) from error
    if not _is_private(home):
        raise OutputError(
            f"{home} is a link, belongs to somebody else, or is open to others; "
            "remove it, or name a folder of your own in VECLINK_SCRATCH."
        )
    _mark_home(home)
    return home


def sweep(home: Path) -> None:
    """Remove the marked folders in `home` that nobody uses and that nobody came back for in a week."""
    for folder in home.iterdir():
        with suppress(OSError):  # another run may sweep at the same time
            if is_marked(folder) and _age(folder) > KEPT_SECONDS:
                remove_unless_held(folder)


def is_marked(folder: Path) -> bool:
    """Whether this is a real folder of this user, with the mark of this user in it."""
    return _is_own(folder, stat.S_ISDIR) and _is_own(folder / MARK, stat.S_ISREG)


def remove_unless_held(folder: Path) -> None:
    """Remove a marked folder whose lock can be had; where there are no locks, it stays."""
    lock = locked(folder / MARK)
    if lock is None:
        return
    try:
        remove_marked(folder)
    finally:
        os.close(lock)


def remove_marked(folder: Path) -> None:
    """Remove a folder, its mark last: what a killed removal leaves is still marked, and swept another time."""
    with suppress(OSError):
        for path in _content(folder):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        if not _content(folder):
            (folder / MARK).unlink(missing_ok=True)
            folder.rmdir()


def _named(folder: Path) -> ScratchFolder | None:
    """The folder, locked; None where it is in use, or is not one that veclink made."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_marked(folder) and not _is_empty_own(folder):
        return None
    try:
        lock = locked(folder / MARK)
    except FileNotFoundError:  # swept at this moment
        return None
    if lock is None:
        return None
    if not _is_file_at(lock, folder / MARK):
        os.close(lock)
        return None
    return ScratchFolder(folder, True, lock)


def _private(home: Path, name: str) -> ScratchFolder:
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=home))
    _mark(folder)
    return ScratchFolder(folder, False, locked(folder / MARK))


def _make_base(base: Path) -> None:
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise OutputError(f"{base} is not a folder; name one in VECLINK_SCRATCH.") from error
    except OSError as error:
        raise OutputError(f"{base} cannot be made ({error.strerror}); name another in VECLINK_SCRATCH.") from error


def _mark_home(home: Path) -> None:
    """Mark a new folder; one with something in it and no mark is somebody's own, and stays so."""
    names = os.listdir(home)
    if not names:
        _mark(home)
    elif not is_marked(home):
        raise OutputError(
            f"{home} holds files and is not marked as veclink's; move them away, or name another folder in "
            "VECLINK_SCRATCH."
        )


def _mark(folder: Path) -> None:
    with suppress(FileExistsError):  # another run marked it first
        os.close(os.open(folder / MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _is_private(folder: Path) -> bool:
    """Whether this is a real folder of this user that nobody else can enter."""
    if not _is_own(folder, stat.S_ISDIR):
        return False
    return os.name != "posix" or not folder.lstat().st_mode & 0o077


def _is_own(path: Path, is_kind: Callable[[int], bool]) -> bool:
    """Whether a folder or file of that kind is there, not a link to one, and belongs to this user."""
    try:
        found = path.lstat()
    except OSError:
        return False
    if not is_kind(found.st_mode):
        return False
    return os.name != "posix" or found.st_uid == os.geteuid()


def _is_empty_own(folder: Path) -> bool:
    return _is_own(folder, stat.S_ISDIR) and not os.listdir(folder)


def _is_file_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is still the one of this name: its folder may have been swept and made again."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _content(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name != MARK]


def _age(folder: Path) -> float:
    """Seconds since the folder or a file directly in it changed."""
    return time.time() - max(path.lstat().st_mtime for path in _with_content(folder))


def _with_content(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.iterdir()


def _user() -> str:
    return str(os.geteuid()) if hasattr(os, "geteuid") else os.environ.get("USERNAME", "user")
