"""A server that speaks S3 (moto), as a real process on this machine, for the tests of stores at a distance."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.fs as fs

BUCKET = "papers"
KEYS = {"AWS_ACCESS_KEY_ID": "reader", "AWS_SECRET_ACCESS_KEY": "sesame-97", "AWS_REGION": "us-east-1"}


@contextmanager
def s3_server(log: Path) -> Iterator[str]:
    """The server's URL, with one empty bucket."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with log.open("w") as out:
        server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        url = _address(server, log)
        system = fs.S3FileSystem(
            access_key="reader", secret_key="sesame-97", endpoint_override=url, scheme="http", region="us-east-1",
            allow_bucket_creation=True,
        )  # fmt: skip
        system.create_dir(BUCKET)
        yield url
    finally:
        server.kill()
        server.wait()


def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    """What the server says it listens on."""
    for _ in range(600):
        for line in log.read_text().splitlines():
            if "Running on http://" in line:
                return line.split()[-1]
        assert server.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(f"the server does not start: {log.read_text()}")
