"""Who may ask the review server, and for what: asked over real connections, as a stranger or a hostile site would."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from reviewed_papers import Reviewed, served


class Asker:
    """Asks a running server; the address has the token in it."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.port, self.token = parts.port, parts.path.strip("/")

    def __call__(
        self, path: str, *, method: str = "GET", body: Any = None, token: str | None = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            if content is not None:
                given.setdefault("Content-Type", "application/json")
            connection.request(method, f"/{self.token if token is None else token}{path}", content, given)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def ask(papers: Reviewed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    with served(papers, tmp_path_factory.mktemp("server")) as (_, told):
        yield Asker(told["url"])


def test_the_address_is_on_this_machine_with_a_long_token(ask: Asker) -> None:
    assert len(ask.token) >= 32
    assert ask("/")[0] == 200
    with socket.socket() as other:  # another address of this machine: nobody listens there
        assert other.connect_ex(("127.0.0.2", ask.port)) != 0


@pytest.mark.parametrize("path", ["/", "/api/state?tab=x", "/export/truth.csv", "/review.js"])
def test_without_the_token_nothing_is_told(ask: Asker, path: str) -> None:
    wrong = ("A" if ask.token[0] != "A" else "B") + ask.token[1:]
    for token in ("", "x", wrong, ask.token + "x", ask.token[:-1], "%C3%BC"):
        status, _, content = ask(path, token=token)
        assert status == 404 and b"veclink review printed" in content


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{port}.evil"]
)
def test_a_name_that_a_site_points_here_is_refused(ask: Asker, host: str) -> None:
    status, _, content = ask("/api/state?tab=x", Host=host.format(port=ask.port))
    assert status == 421 and b"links" not in content


def test_two_names_at_once_are_refused(ask: Asker) -> None:
    for hosts in (["evil.example", f"127.0.0.1:{ask.port}"], [f"127.0.0.1:{ask.port}", "evil.example"]):
        connection = http.client.HTTPConnection("127.0.0.1", ask.port, timeout=30)
        connection.putrequest("GET", f"/{ask.token}/", skip_host=True)
        for host in hosts:
            connection.putheader("Host", host)
        connection.endheaders()
        assert connection.getresponse().status == 421
        connection.close()


def test_localhost_is_this_server_too(ask: Asker) -> None:
    assert ask("/api/state?tab=x", Host=f"localhost:{ask.port}")[0] == 200


def test_another_site_cannot_answer_even_with_the_token(ask: Asker) -> None:
    status, _, _ = ask("/api/undo", method="POST", body={"tab": "x"}, Origin="https://evil.example")
    assert status == 403
    assert ask("/api/undo", method="POST", body={"tab": "x"}, Origin="null")[0] == 403
    assert ask("/api/undo", method="POST", body={"tab": "x"}, Origin=f"http://127.0.0.1:{ask.port}")[0] == 200


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/session.py", "/session.py", "/review.html", "/docs",
     "/openapi.json", "/export/journal.csv", "/export/..%2ftruth.csv", "/page/review.js", "//etc/passwd"],
)  # fmt: skip
def test_no_path_from_the_browser_is_opened(ask: Asker, path: str) -> None:
    status, _, content = ask(path)
    assert status in (404, 422)
    assert b"root:" not in content and b"import" not in content and b"<html" not in content


def test_the_page_may_load_nothing_from_elsewhere_and_is_not_kept(ask: Asker) -> None:
    for path in ("/", "/review.js", "/review.css", "/api/state?tab=x", "/export/truth.csv", "/nothing"):
        _, headers, _ = ask(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert headers["cache-control"] == "no-store" and headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff" and "set-cookie" not in headers


def test_the_address_without_its_last_slash_leads_to_the_page(ask: Asker) -> None:
    status, headers, _ = ask("")
    assert (status, headers["location"]) == (307, f"/{ask.token}/")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/answer", {"tab": "x", "link": 0, "generation": 1, "seen": 0, "answer": "perhaps"}, 422),
        ("/api/answer", {"tab": "x", "link": 10**9, "generation": 1, "seen": 0, "answer": "accept"}, 409),
        ("/api/answer", {"tab": "x", "link": 0, "generation": 7, "seen": 0, "answer": "accept"}, 409),
        ("/api/answer", {"tab": "x", "link": 0, "generation": 1, "seen": 3, "answer": "accept"}, 409),
        ("/api/answer", {"tab": "x" * 100, "link": 0, "generation": 1, "seen": 0, "answer": "accept"}, 422),
        ("/api/answer", b"not json", 422),
        ("/api/undo", b"x" * 20_000, 413),
        ("/api/again/delete", {"tab": "x"}, 422),
        ("/api/again/take", {"tab": "x"}, 400),
    ],
)
def test_a_wrong_question_is_refused_and_nothing_is_written(ask: Asker, path: str, body: Any, status: int) -> None:
    assert ask(path, method="POST", body=body)[0] == status
    assert json.loads(ask("/api/state?tab=x")[2])["recent"] == []


def test_a_question_about_a_link_that_is_not_there_is_a_sentence(ask: Asker) -> None:
    status, _, content = ask("/api/link/99999?tab=x")
    assert status == 400 and "There is no link 99999" in json.loads(content)["error"]


def test_exports_are_files_to_download(ask: Asker) -> None:
    status, headers, content = ask("/export/seeds.csv")
    assert status == 200 and headers["content-disposition"] == 'attachment; filename="seeds.csv"'
    assert (
        headers["content-type"].startswith("text/csv") and content.startswith(b"a,b\n") and content.count(b"\n") == 13
    )


def test_another_run_has_another_token_and_shows_the_payload_it_was_given(
    papers: Reviewed, tmp_path: Path, ask: Asker
) -> None:
    assert papers.a.ids is not None
    (tmp_path / "a.csv").write_text("id,label\n" + "".join(f"{key},Paper {key}\n" for key in papers.a.ids))
    with served(papers, tmp_path, "--payload-a", tmp_path / "a.csv") as (_, told):
        other = Asker(told["url"])
        assert other.token != ask.token and ask("/", token=other.token)[0] == 404
        shown = json.loads(other("/api/next?tab=x")[2])["link"]
        assert shown["a"]["headline"] == f"Paper {shown['a']['name']}"
    assert other.token not in (tmp_path / "journal.jsonl").read_text()
