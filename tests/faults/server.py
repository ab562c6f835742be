"""A real PostgreSQL server with pgvector, for as long as it is needed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a server. As root it runs under a user of its own, who cannot enter pytest's folder."""
    import pgserver
    import psycopg

    folder = Path(tempfile.mkdtemp(prefix="veclink-pg-"))
    server = pgserver.get_server(folder, cleanup_mode="stop")
    try:
        with psycopg.connect(server.get_uri()) as connection:
            connection.execute("create extension if not exists vector")
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
