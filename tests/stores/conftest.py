"""One PostgreSQL server for all tests of a session."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from store_kinds import POSTGRES


@pytest.fixture(scope="session", autouse=True)
def postgres_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """A real server with pgvector. As root it runs under a user of its own, who cannot enter pytest's folder."""
    if request.config.getoption("markexpr") == "core":  # none of its tests is among them
        yield ""
        return
    import pgserver
    import psycopg

    folder = Path(tempfile.mkdtemp(prefix="veclink-pg-"))
    server = pgserver.get_server(folder, cleanup_mode="stop")
    try:
        POSTGRES["url"] = server.get_uri()
        with psycopg.connect(POSTGRES["url"]) as connection:
            connection.execute("create extension if not exists vector")
        yield POSTGRES["url"]
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
