"""Writing a folder whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from veclink.errors import OutputError, VeclinkError


@contextmanager
def folder_written_whole(target: Path) -> Iterator[Path]:
    """Give a new folder beside `target`; it becomes `target` when the block ends, and an older one goes away then."""
    target = Path(os.path.realpath(target))
    mark = secrets.token_hex(6)
    temporary, old = target.with_name(f".veclink-{mark}"), target.with_name(f".veclink-{mark}-old")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if target.exists():
            os.replace(target, old)
        os.replace(temporary, target)
    except VeclinkError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"Could not write {target}: {reason}; make room there or choose another place.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
