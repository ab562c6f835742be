"""The review page's server: this machine only, and only for who has the address with its token.

Every address begins with the token, so there is no cookie that another site could borrow. The Host header has to name
this server (a name that some site points at 127.0.0.1 is refused), and the page may load nothing from elsewhere.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from dataclasses import asdict
from importlib import resources
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import FastAPI, Form, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from veclink.errors import VeclinkError
from veclink.review import exports, fragments
from veclink.review.again import LinkAgain
from veclink.review.session import Overtaken, Review

HOST = "127.0.0.1"
LARGEST_BODY = 10_000
POLICY = 1008
"""The code of a websocket that is closed because it is not allowed."""
PAGE = {  # all that can be fetched, by name: nothing the browser says is ever used as a path
    "": ("review.html", "text/html; charset=utf-8"),
    "review.css": ("review.css", "text/css; charset=utf-8"),
    "htmx.min.js": ("htmx.min.js", "text/javascript; charset=utf-8"),
    "review.js": ("review.js", "text/javascript; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Asked(BaseModel):
    """Who asks, by the name that a page gave itself, and which links it goes through."""

    tab: str = Field(min_length=1, max_length=64)
    order: Literal["doubtful", "even"] = "doubtful"
    skipped: bool = False


class Given(Asked):
    """An answer: to which link of which generation, and which answer the page had last seen for it."""

    generation: int
    link: int
    seen: int
    answer: Literal["accept", "reject", "skip"]
    instead: Literal["a", "b"] | None = None


InAddress = Annotated[Asked, Query()]
InBody = Annotated[Asked, Form()]


class Addresses:
    """What the page can ask for, one method for each address."""

    def __init__(self, review: Review, again: LinkAgain) -> None:
        self._review, self._again = review, again

    def state(self, asked: InAddress) -> HTMLResponse:
        """All but the link."""
        return self._stay(asked)

    def next(self, asked: InAddress) -> HTMLResponse:
        """The next link."""
        return self._move_on(asked)

    def link(self, place: int, asked: InAddress) -> HTMLResponse:
        """A link by its place."""
        return self._move(asked, self._review.link(asked.tab, place))

    def answer(self, given: Annotated[Given, Form()]) -> HTMLResponse:
        """Take an answer, and go on to the next link."""
        try:
            self._review.answer(given.tab, given.generation, given.link, given.seen, given.answer, given.instead)
        except Overtaken as error:
            return self._move_on(given, alert=str(error), status=409)
        return self._move_on(given, "Took the rival instead" if given.instead else fragments.SAID[given.answer])

    def undo(self, asked: InBody) -> HTMLResponse:
        """Take an answer back, and go to its link."""
        place = self._review.undo(asked.tab)
        if place is None:
            return self._stay(asked, "There is nothing to undo", "There is nothing to undo in this tab.")
        if place < 0:
            return self._stay(asked, "Undone")
        return self._move(asked, self._review.link(asked.tab, place), "Undone")

    def leave(self, asked: InBody) -> Response:
        """A page was closed."""
        self._review.leave(asked.tab)
        return Response(status_code=204)

    def again(self, what: Literal["start", "stop", "take"], asked: InBody) -> HTMLResponse:
        """Link again, stop that, or review what it found."""
        {"start": self._again.start, "stop": self._again.stop, "take": self._again.take}[what]()
        return self._move_on(asked) if what == "take" else self._stay(asked)

    def export(self, what: Literal["truth", "seeds", "decisions"]) -> Response:
        """The answers as CSV."""
        content = {"truth": exports.truth, "seeds": exports.seeds, "decisions": exports.decisions}[what](self._review)
        head = {"Content-Disposition": f'attachment; filename="{what}.csv"'}
        return Response(content, media_type="text/csv; charset=utf-8", headers=head)

    def _state(self, tab: str) -> dict[str, Any]:
        return {**self._review.state(tab), "again": asdict(self._again.status())}

    def _stay(self, asked: Asked, said: str = "", alert: str = "") -> HTMLResponse:
        return HTMLResponse(fragments.around(self._state(asked.tab), said, alert), headers={"HX-Reswap": "none"})

    def _move(
        self, asked: Asked, link: dict[str, Any] | None, said: str = "", alert: str = "", status: int = 200
    ) -> HTMLResponse:
        return HTMLResponse(fragments.moved(link, self._state(asked.tab), asked.skipped, said, alert), status)

    def _move_on(self, asked: Asked, said: str = "", alert: str = "", status: int = 200) -> HTMLResponse:
        link = self._review.next(asked.tab, asked.order, skipped=asked.skipped)
        return self._move(asked, link, said, alert, status)


def page_file(file: str = "") -> Response:
    """A file of the page."""
    if file not in PAGE:
        return Response("Not found.", status_code=404, media_type="text/plain")
    own, kind = PAGE[file]
    return Response(resources.files("veclink.review").joinpath("page", own).read_bytes(), media_type=kind)


def refused(_: Request, error: Exception) -> HTMLResponse:
    """What went wrong, as a sentence."""
    return HTMLResponse(fragments.sentence(str(error)), status_code=400)


def make_app(review: Review, again: LinkAgain) -> FastAPI:
    """The addresses of the page, without their guard."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)  # the docs pages would load from elsewhere
    app.add_exception_handler(VeclinkError, refused)
    own = Addresses(review, again)
    asked: dict[str, Callable[..., Response]] = {
        "/state": own.state,
        "/next": own.next,
        "/link/{place}": own.link,
        "/export/{what}.csv": own.export,
        "/{file}": page_file,
        "/": page_file,
    }
    given: dict[str, Callable[..., Response]] = {
        "/answer": own.answer,
        "/undo": own.undo,
        "/leave": own.leave,
        "/again/{what}": own.again,
    }
    for method, handlers in (("GET", asked), ("POST", given)):
        for path, handler in handlers.items():
            app.add_api_route(path, handler, methods=[method], response_model=None)
    return app


class Guard:
    """Lets through who has the token and asks for this very server; all others get the same short answer."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = {f"{HOST}:{port}".encode(), f"localhost:{port}".encode()}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets here, which is said before one is opened
            await send({"type": "websocket.close", "code": POLICY})
            return
        headers = dict(scope["headers"])
        hosts = [value.lower() for name, value in scope["headers"] if name == b"host"]
        token, _, rest = scope["path"].lstrip("/").partition("/")
        known = secrets.compare_digest(token.encode(), self._token)
        if not known or len(hosts) != 1 or hosts[0] not in self._hosts:
            await _refuse(404 if not known else 421, "Open the address that veclink review printed.", send)
        elif headers.get(b"origin", b"") not in self._origins | {b""}:
            await _refuse(403, "Another site may not ask here.", send)
        elif not _is_short(headers):
            await _refuse(413, "That is more than an answer.", send)
        elif scope["path"].lstrip("/") == token:  # without the slash, relative addresses would lose the token
            await _refuse(307, "", send, (b"location", f"/{token}/".encode()))
        else:
            await self._app({**scope, "path": "/" + rest, "raw_path": None}, receive, _with_headers(send))


def _is_short(headers: dict[bytes, bytes]) -> bool:
    """Whether a request says that it is no longer than an answer is."""
    length = headers.get(b"content-length") or b"0"
    return b"transfer-encoding" not in headers and length.isdigit() and int(length) <= LARGEST_BODY


def _with_headers(send: Send) -> Send:
    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *own]}
        await send(message)

    return add


async def _refuse(status: int, text: str, send: Send, *headers: tuple[bytes, bytes]) -> None:
    head = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *headers]
    await _with_headers(send)({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": text.encode()})


def serve(review: Review, again: LinkAgain, *, port: int, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `ready` is told the address once it can be opened. port 0 takes any that is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen()
        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        guarded = Guard(make_app(review, again), token, port)
        # no access log: its lines would hold the token
        quiet: dict[str, Any] = {"server_header": False, "proxy_headers": False, "timeout_graceful_shutdown": 2}
        config = uvicorn.Config(guarded, log_level="warning", access_log=False, **quiet)
        ready(f"http://{HOST}:{port}/{token}/")
        uvicorn.Server(config).run(sockets=[listener])
