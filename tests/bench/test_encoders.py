"""Encoders: the HTTP APIs against a server that speaks them, the cache, and a real model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from veclink_bench.encoders import encode


class Server(ThreadingHTTPServer):
    """Speaks POST /v1/embeddings as OpenAI's and Mistral's do; keeps what it was asked, and can be told to fail."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.failures: list[int] = []
        self.answer: Any = None


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.append(self.headers["Authorization"])
        if self.path != "/v1/embeddings":
            return self._send(404, {"error": {"message": f"no {self.path}"}})
        if self.server.failures:
            return self._send(self.server.failures.pop(0), {"error": {"message": "slow down"}})
        self.server.asked.append(body)
        rows = [{"index": i, "embedding": vector_of(text)} for i, text in enumerate(body["input"])]
        # The order of the answer is the server's own business: `index` says which text a vector is of.
        return self._send(200, self.server.answer or {"data": rows[::-1], "model": body["model"]})

    def _send(self, code: int, answer: dict[str, Any]) -> None:
        text = json.dumps(answer).encode()
        self.send_response(code)
        if code == 429:
            self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def vector_of(text: str) -> list[float]:
    return [float(len(text)), float(sum(map(ord, text)) % 97), 1.0]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    served = Server()
    thread = threading.Thread(target=served.serve_forever, args=(0.01,))
    thread.start()
    for prefix in ("OPENAI", "MISTRAL"):
        monkeypatch.setenv(f"{prefix}_BASE_URL", f"http://127.0.0.1:{served.server_port}/v1")
        monkeypatch.setenv(f"{prefix}_API_KEY", f"key-of-{prefix.lower()}")
    yield served
    served.shutdown()
    thread.join()
    served.server_close()


TEXTS = [f"text number {i}" for i in range(10)] + ["ünï → çode", "text number 3"]


@pytest.mark.parametrize("model", ["openai:text-embedding-3-small", "mistral:mistral-embed"])
def test_an_api_is_asked_in_batches_with_its_key_and_vectors_come_in_order(server: Server, model: str) -> None:
    found = encode(TEXTS, model, batch=4)
    assert np.allclose(found, [vector_of(text) for text in TEXTS]) and found.dtype == np.float32
    assert [len(each["input"]) for each in server.asked] == [4, 4, 3]  # the text that comes twice is sent once
    kind, _, name = model.partition(":")
    assert {each["model"] for each in server.asked} == {name} and set(server.keys) == {f"Bearer key-of-{kind}"}


def test_a_busy_server_is_asked_again(server: Server) -> None:
    server.failures = [429, 503, 500]
    assert len(encode(TEXTS[:2], "openai:m", pause=0.0)) == 2
    assert len(server.keys) == 4
