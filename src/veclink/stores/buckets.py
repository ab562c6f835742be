"""S3-like storage through pyarrow: where it is, what lies below a name, and files that appear there whole.

Keys come from where AWS's own clients have them (AWS_ACCESS_KEY_ID and so on); AWS_ENDPOINT_URL names a server that is
not Amazon's.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from veclink.errors import InputError, needed

TRIES, CONNECTING_SECONDS = 3, 10


def endpoint() -> str | None:
    """The URL of a server that is not Amazon's, if there is one."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def region() -> str:
    """The region of the buckets."""
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


class Bucket:
    """One bucket; names are those of objects in it."""

    def __init__(self, name: str) -> None:
        fs: Any = needed("pyarrow.fs", "S3")
        options: dict[str, Any] = {"region": region(), "connect_timeout": CONNECTING_SECONDS}
        if endpoint() is not None:
            scheme, mark, host = (endpoint() or "").partition("://")
            if not mark or scheme not in ("http", "https"):
                raise InputError("AWS_ENDPOINT_URL is no URL of a server; write it like https://storage.example.org.")
            options |= {"endpoint_override": host.rstrip("/"), "scheme": scheme}
        self._fs = fs
        self._name = name
        self._system = fs.S3FileSystem(**options, retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=TRIES))

    def is_file(self, name: str) -> bool:
        """Whether there is an object of this name."""
        return self._info(name).type == self._fs.FileType.File

    def below(self, name: str, ending: str) -> list[str]:
        """The objects below a name that end so, in the order of names; those that are hidden there are left out."""
        if self._info(name).type != self._fs.FileType.Directory:
            return []
        found = self._system.get_file_info(self._fs.FileSelector(f"{self._name}/{name}", recursive=True))
        names = (each.path.partition("/")[2] for each in found if each.type == self._fs.FileType.File)
        kept = (each for each in names if each.endswith(ending))
        return sorted(each for each in kept if "/." not in each.removeprefix(name.rstrip("/")))

    def open(self, name: str) -> Any:
        """An object as pyarrow reads it, in any order."""
        return self._system.open_input_file(f"{self._name}/{name}")

    def text(self, name: str) -> str:
        """The text in an object."""
        with self.open(name) as file:
            return file.read().decode("utf-8")

    def upload(self, file: Path, name: str) -> None:
        """Put a local file there; it is there when all of it is, and a killed run leaves nothing that can be seen."""
        local = self._fs.LocalFileSystem()
        place = f"{self._name}/{name}"
        self._fs.copy_files(str(file), place, source_filesystem=local, destination_filesystem=self._system)

    def remove(self, name: str) -> None:
        """Remove one object."""
        self._system.delete_file(f"{self._name}/{name}")

    def _info(self, name: str) -> Any:
        (found,) = self._system.get_file_info([f"{self._name}/{name}"])
        return found
