"""Requests to the review page as they reach it from the server: any method, address, header and body."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any
from urllib.parse import quote, urlencode

from fuzz import specimens
from fuzz.mutations import NUMBERS, WORDS, mutated
from fuzz.running import Fault, said

TOKEN, PORT = "t" * 32, 8000
PATHS = (
    "/",
    "/state",
    "/next",
    "/link/0",
    "/link/{}",
    "/export/{}.csv",
    "/{}",
    "/answer",
    "/undo",
    "/leave",
    "/again/{}",
)
ANSWERED = (200, 307, 400, 403, 404, 405, 413, 421, 422)


def ask(folder: Path, rng: Random) -> str:
    """One request; its status, a fault where it is none that the page knows."""
    status = asyncio.run(_asked(_guarded(), _scope(rng), _body(rng)))
    said()
    if status not in ANSWERED:
        raise Fault(f"the page answered {status}")
    return f"status {status}"


@cache
def _guarded() -> Any:
    from veclink.data.links import Links
    from veclink.review import Review
    from veclink.review.again import LinkAgain
    from veclink.review.journal import Journal
    from veclink.review.server import Guard, make_app

    left, right = specimens.papers()
    folder = Path(mkdtemp(dir=specimens.shared()))
    review = Review(
        Links.load(specimens.shared() / "links.parquet"), left, right, Journal(folder / "journal.sqlite", left, right)
    )
    return Guard(make_app(review, LinkAgain(review, folder / "again.csv")), TOKEN, PORT)


def _scope(rng: Random) -> dict[str, Any]:
    place = rng.choice(PATHS).format(rng.choice((*WORDS, *map(str, NUMBERS), "truth", "seeds", "stop", "take")))
    path = (f"/{TOKEN}" if rng.random() < 0.95 else "") + place
    headers = [(b"host", f"127.0.0.1:{PORT}".encode())] if rng.random() < 0.95 else []
    headers.append((b"content-type", rng.choice((b"application/x-www-form-urlencoded", b"multipart/form-data", b"x"))))
    for name in (b"content-length", b"origin", b"host", b"hx-request", b"cookie", b"transfer-encoding"):
        if rng.random() < 0.08:
            headers.append((name, rng.choice((b"", b"x", b"-1", b"5", b"99999999999", b"1,2", b"\xff"))))
    return {
        "type": rng.choice(("http",) * 30 + ("websocket",)),
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": rng.choice(("GET", "GET", "POST", "POST", "PUT", "HEAD", "X")),
        "scheme": "http",
        "path": path.encode("utf-8", "replace").decode(),
        "raw_path": quote(path, errors="replace").encode(),
        "query_string": _form(rng),
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", PORT),
        "root_path": "",
    }


def _form(rng: Random) -> bytes:
    """Fields as the page sends them, some of them lost, doubled or odd."""
    usual = {
        "order": "doubtful", "skipped": "false", "a": "0", "b": "0", "answer": "accept", "instead": "a",
    }  # fmt: skip
    fields = [(key, value) for key, value in usual.items() if rng.random() < 0.9]
    for _ in range(rng.choice((0, 0, 1, 2))):
        odd = rng.choice((*WORDS, *map(str, NUMBERS), "reject", "skip", "b", "even"))
        fields.append((rng.choice([*usual, "x"]), odd))
    return urlencode([(key, value.encode("utf-8", "replace")) for key, value in fields]).encode()


def _body(rng: Random) -> bytes:
    form = _form(rng)
    return mutated(form, rng)[:9_000] if rng.random() < 0.3 else form


async def _asked(app: Any, scope: dict[str, Any], body: bytes) -> int:
    found: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])
        elif message["type"] == "websocket.close":
            found.append(403)

    await app(scope, receive, send)
    return found[0]
