"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from veclink.errors import OutputError, VeclinkError


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path in the folder of `path`; what is written there becomes `path` when the block ends.

    On any failure, Ctrl-C included, the temporary file is removed, an older `path` stays as it was, and a failed write
    (no room, no permission) becomes an OutputError. The temporary name has the ending of `path`.
    """
    target = Path(os.path.realpath(path))  # a link to a file keeps pointing at it
    if target.is_dir():
        raise OutputError(f"Could not write {path}: it is a folder; name a file in it.")
    temporary = target.with_name(f".veclink-{secrets.token_hex(6)}{target.suffix}")
    try:
        yield temporary
        _flush(temporary)
        os.replace(temporary, target)
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


def _flush(path: Path) -> None:
    """Have the system say now, not after the move, that there is no room."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
