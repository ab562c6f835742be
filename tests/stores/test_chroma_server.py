"""Chroma's own server, `chroma run`, as a real process: the client over HTTP gives what the folder gives."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from store_kinds import ids_of, payload_of, rows_of
from veclink.errors import InputError
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("chroma")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("chroma")
    command = [str(program), "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "NO_COLOR": "1"})
    try:
        for _ in range(600):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.1)
        yield f"chroma://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def test_what_is_written_to_a_chroma_server_comes_back(server: str) -> None:
    vectors, ids, payload = rows_of(120), ids_of("str", 120), payload_of(120)
    url = f"{server}/papers"
    with pytest.raises(InputError, match="does not exist"):
        open_store(url)
    with open_store(url, write=True) as store:
        parts = (slice(start, start + 50) for start in range(0, 120, 50))
        batches = (Batch(vectors[part], ids[part], payload.slice(part.start, len(ids[part]))) for part in parts)
        assert store.write(batches, metadata={"model": "minilm"}) == 120
    with open_store(url) as store:
        assert (store.count(), store.dimension(), store.metadata()["model"]) == (120, 8, "minilm")
    read = open_collection(url)
    assert np.array_equal(read.vectors, vectors) and read.ids.tolist() == ids.tolist()
    assert read.payload.select(payload.column_names).to_pydict() == payload.to_pydict()
    assert open_collection(f"{url}?where=year>=2018").ids.tolist() == [
        name for name, year in zip(ids.tolist(), payload.column("year").to_pylist(), strict=True) if year >= 2018
    ]
