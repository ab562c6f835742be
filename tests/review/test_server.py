"""Who may ask the review server, and for what: asked over real connections, as a stranger or a hostile site would."""

from __future__ import annotations

import http.client
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from reviewed_papers import Reviewed, served
from veclink.review.journal import Journal


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
            content = body if isinstance(body, bytes) or body is None else urlencode(body).encode()
            if content is not None:
                given.setdefault("Content-Type", "application/x-www-form-urlencoded")
            connection.request(method, f"/{self.token if token is None else token}{path}", content, given)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()


def found_in(fragment: str, name: str) -> str:
    """What a hidden field of the page holds."""
    found = re.search(f'<input type="hidden" name="{name}" value="([^"]*)">', fragment)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def ask(papers: Reviewed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    with served(papers, tmp_path_factory.mktemp("server")) as (_, told):
        yield Asker(told["url"])


def test_the_address_is_on_this_machine_with_a_long_token(ask: Asker) -> None:
    assert len(ask.token) >= 32
    assert ask("/")[0] == 200
    with socket.socket() as other:  # another address of this machine: nobody listens there
        assert other.connect_ex(("127.0.0.2", ask.port)) != 0


@pytest.mark.parametrize("path", ["/", "/state", "/next", "/export/truth.csv", "/review.js"])
def test_without_the_token_nothing_is_told(ask: Asker, path: str) -> None:
    wrong = ("A" if ask.token[0] != "A" else "B") + ask.token[1:]
    for token in ("", "x", wrong, ask.token + "x", ask.token[:-1], "%C3%BC"):
        status, _, content = ask(path, token=token)
        assert status == 404 and b"veclink review printed" in content


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{port}.evil"]
)
def test_a_name_that_a_site_points_here_is_refused(ask: Asker, host: str) -> None:
    status, _, content = ask("/state", Host=host.format(port=ask.port))
    assert status == 421 and b"links" not in content


def test_another_site_cannot_answer_even_with_the_token(ask: Asker) -> None:
    status, _, _ = ask("/undo", method="POST", body={"order": "even"}, Origin="https://evil.example")
    assert status == 403
    assert ask("/undo", method="POST", body={"order": "even"}, Origin="null")[0] == 403
    assert ask("/undo", method="POST", body={"order": "even"}, Origin=f"http://127.0.0.1:{ask.port}")[0] == 200


def test_two_origins_at_once_are_refused(ask: Asker) -> None:
    own = f"http://127.0.0.1:{ask.port}"
    for origins in ([own, "https://evil.example"], ["https://evil.example", own], [own, own]):
        connection = http.client.HTTPConnection("127.0.0.1", ask.port, timeout=30)
        connection.putrequest("POST", f"/{ask.token}/undo")
        for origin in origins:
            connection.putheader("Origin", origin)
        connection.putheader("Content-Length", "0")
        connection.endheaders()
        assert connection.getresponse().status == 403
        connection.close()


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/session.py", "/session.py", "/review.html", "/docs",
     "/openapi.json", "/export/journal.csv", "/export/..%2ftruth.csv", "/page/review.js", "/link.html",
     "/templates/link.html", "//etc/passwd"],
)  # fmt: skip
def test_no_path_from_the_browser_is_opened(ask: Asker, path: str) -> None:
    status, _, content = ask(path)
    assert status in (404, 422)
    assert b"root:" not in content and b"import" not in content and b"<html" not in content


def test_the_page_may_load_nothing_from_elsewhere_and_is_not_kept(ask: Asker) -> None:
    files = ("/", "/htmx.min.js", "/review.js", "/review.css", "/nothing")
    for path in (*files, "/next", "/state", "/export/truth.csv"):
        _, headers, _ = ask(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert headers["cache-control"] == "no-store" and headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff" and "set-cookie" not in headers


ANSWER = {"a": 0, "b": 0, "answer": "accept"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/answer", ANSWER | {"answer": "perhaps"}, 422),
        ("/answer", ANSWER | {"a": 10**9}, 400),
        ("/answer", ANSWER | {"a": -1}, 400),
        ("/answer", ANSWER | {"b": "x"}, 422),
        ("/answer", ANSWER | {"instead": "c"}, 422),
        ("/answer", ANSWER | {"order": "worst"}, 422),
        ("/answer", b"not an answer", 422),
        ("/answer", b'{"a": 0, "b": 0, "answer": "accept"}', 422),
        ("/undo", b"x" * 20_000, 413),
        ("/again/delete", {"order": "even"}, 422),
        ("/again/take", {"order": "even"}, 400),
    ],
)
def test_a_wrong_question_is_refused_and_nothing_is_written(ask: Asker, path: str, body: Any, status: int) -> None:
    assert ask(path, method="POST", body=body)[0] == status
    assert ask("/export/decisions.csv")[2] == b"a,b,answer\n"


def test_an_answer_is_in_the_journal_before_the_next_link_is_told(papers: Reviewed, tmp_path: Path) -> None:
    with served(papers, tmp_path) as (process, told):
        other = Asker(told["url"])
        shown = other("/next")[2].decode()
        fields = {key: found_in(shown, key) for key in ("a", "b")}
        answered = other("/answer", method="POST", body={"answer": "accept", **fields})[2].decode()
        process.kill()
        process.wait()
    assert found_in(answered, "a") != fields["a"]
    with Journal(tmp_path / "journal.sqlite", papers.a, papers.b) as kept:
        assert kept.accepted() == [(int(fields["a"]), int(fields["b"]))]


def test_a_websocket_is_refused_and_is_no_error_of_the_server(ask: Asker) -> None:
    wish = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    status, _, _ = ask("/", Sec_WebSocket_Version="13", **wish)
    assert status == 403
