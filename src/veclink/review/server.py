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


def make_app(review: Review, again: LinkAgain) -> FastAPI:
    """The addresses of the page, without their guard."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)  # the docs pages would load from elsewhere

    @app.exception_handler(VeclinkError)
    def refused(_: Request, error: VeclinkError) -> HTMLResponse:
        return HTMLResponse(fragments.sentence(str(error)), status_code=400)

    def state(tab: str) -> dict[str, Any]:
        return {**review.state(tab), "again": asdict(again.status())}

    def stay(asked: Asked, said: str = "", alert: str = "") -> HTMLResponse:
        return HTMLResponse(fragments.around(state(asked.tab), said, alert), headers={"HX-Reswap": "none"})

    def move(
        asked: Asked, link: dict[str, Any] | None, said: str = "", alert: str = "", status: int = 200
    ) -> HTMLResponse:
        return HTMLResponse(fragments.moved(link, state(asked.tab), asked.skipped, said, alert), status)

    def move_on(asked: Asked, said: str = "", alert: str = "", status: int = 200) -> HTMLResponse:
        return move(asked, review.next(asked.tab, asked.order, skipped=asked.skipped), said, alert, status)

    @app.get("/state")
    def get_state(asked: InAddress) -> HTMLResponse:
        return stay(asked)

    @app.get("/next")
    def get_next(asked: InAddress) -> HTMLResponse:
        return move_on(asked)

    @app.get("/link/{place}")
    def get_link(place: int, asked: InAddress) -> HTMLResponse:
        return move(asked, review.link(asked.tab, place))

    @app.post("/answer")
    def post_answer(given: Annotated[Given, Form()]) -> HTMLResponse:
        try:
            review.answer(given.tab, given.generation, given.link, given.seen, given.answer, given.instead)
        except Overtaken as error:
            return move_on(given, alert=str(error), status=409)
        return move_on(given, "Took the rival instead" if given.instead else fragments.SAID[given.answer])

    @app.post("/undo")
    def post_undo(asked: InBody) -> HTMLResponse:
        place = review.undo(asked.tab)
        if place is None:
            return stay(asked, "There is nothing to undo", "There is nothing to undo in this tab.")
        return stay(asked, "Undone") if place < 0 else move(asked, review.link(asked.tab, place), "Undone")

    @app.post("/leave")
    def post_leave(asked: InBody) -> Response:
        review.leave(asked.tab)
        return Response(status_code=204)

    @app.post("/again/{what}")
    def post_again(what: Literal["start", "stop", "take"], asked: InBody) -> HTMLResponse:
        {"start": again.start, "stop": again.stop, "take": again.take}[what]()
        return move_on(asked) if what == "take" else stay(asked)

    @app.get("/export/{what}.csv")
    def get_export(what: Literal["truth", "seeds", "decisions"]) -> Response:
        content = {"truth": exports.truth, "seeds": exports.seeds, "decisions": exports.decisions}[what](review)
        head = {"Content-Disposition": f'attachment; filename="{what}.csv"'}
        return Response(content, media_type="text/csv; charset=utf-8", headers=head)

    @app.get("/{file}")
    def get_file(file: str = "") -> Response:
        if file not in PAGE:
            return Response("Not found.", status_code=404, media_type="text/plain")
        own, kind = PAGE[file]
        return Response(resources.files("veclink.review").joinpath("page", own).read_bytes(), media_type=kind)

    app.add_api_route("/", get_file, methods=["GET"])
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
        if scope["type"] != "http":
            return  # no websockets here
        headers = dict(scope["headers"])
        hosts = [value.lower() for name, value in scope["headers"] if name == b"host"]
        token, _, rest = scope["path"].lstrip("/").partition("/")
        known = secrets.compare_digest(token.encode(), self._token)
        if not known or len(hosts) != 1 or hosts[0] not in self._hosts:
            await _refuse(404 if not known else 421, "Open the address that veclink review printed.", send)
        elif headers.get(b"origin", b"") not in self._origins | {b""}:
            await _refuse(403, "Another site may not ask here.", send)
        elif int(headers.get(b"content-length", b"0") or 0) > LARGEST_BODY or b"transfer-encoding" in headers:
            await _refuse(413, "That is more than an answer.", send)
        elif scope["path"].lstrip("/") == token:  # without the slash, relative addresses would lose the token
            await _refuse(307, "", send, (b"location", f"/{token}/".encode()))
        else:
            await self._app({**scope, "path": "/" + rest, "raw_path": None}, receive, _with_headers(send))


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
