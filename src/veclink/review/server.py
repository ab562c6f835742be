"""The review page's server: this machine only, and only for who has the address with its token.

Every address begins with the token, so there is no cookie that another site could borrow. The Host header has to name
this server (a name that some site points at 127.0.0.1 is refused), and the page may load nothing from elsewhere.
"""

from __future__ import annotations

import math
import secrets
import socket
from collections.abc import Callable
from importlib.resources import files
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import FastAPI, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from jinja2 import Environment
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.types import ASGIApp

from veclink.errors import VeclinkError
from veclink.report import pages
from veclink.review import Review, differing
from veclink.review.again import LinkAgain

HOST = "127.0.0.1"
PAGE = {  # all that can be fetched, by name: nothing the browser says is ever used as a path
    "": "text/html",
    "review.css": "text/css",
    "htmx.min.js": "text/javascript",
    "review.js": "text/javascript",
    "icon.svg": "image/svg+xml",
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
SAID = {"accept": "Accepted", "reject": "Rejected", "skip": "Skipped"}


class Asked(BaseModel):
    """Which links a page goes through."""

    order: Literal["doubtful", "even"] = "doubtful"
    skipped: bool = False


class Given(Asked):
    """An answer to a pair of rows."""

    a: int
    b: int
    answer: Literal["accept", "reject", "skip"]
    instead: Literal["a", "b"] | None = None


InAddress = Annotated[Asked, Query()]
InBody = Annotated[Asked, Form()]


class Addresses:
    """What the page can ask for, one method for each address. All run in one thread, one after the other."""

    def __init__(self, review: Review, again: LinkAgain) -> None:
        self._review, self._again, self._pieces = review, again, templates()

    async def state(self) -> HTMLResponse:
        """How linking again stands."""
        return self._stay("run.html")

    async def next(self, asked: InAddress) -> HTMLResponse:
        """The next link."""
        return self._move_on(asked)

    async def link(self, place: int, asked: InAddress) -> HTMLResponse:
        """A link by its place."""
        return self._move(asked, self._review.link(place))

    async def answer(self, given: Annotated[Given, Form()]) -> HTMLResponse:
        """Take an answer, and go on to the next link."""
        self._review.answer((given.a, given.b), given.answer, given.instead)
        return self._move_on(given, "Took the rival instead" if given.instead else SAID[given.answer])

    async def undo(self, asked: InBody) -> HTMLResponse:
        """Take the last answer back, and go to its link."""
        place = self._review.undo()
        if place is None:
            return self._stay("state.html", "There is nothing to undo", "There is nothing to undo.")
        if place < 0:
            return self._stay("state.html", "Undone")
        return self._move(asked, self._review.link(place), "Undone")

    async def again(self, what: Literal["start", "stop", "take"], asked: InBody) -> HTMLResponse:
        """Link again, stop that, or review what it found."""
        getattr(self._again, what)()
        return self._move_on(asked) if what == "take" else self._stay("run.html")

    async def export(self, what: Literal["truth", "seeds", "decisions"]) -> Response:
        """The answers as CSV."""
        headers = {"Content-Disposition": f'attachment; filename="{what}.csv"'}
        return Response(self._review.export(what), media_type="text/csv", headers=headers)

    async def file(self, file: str = "") -> Response:
        """A file of the page."""
        if file not in PAGE:
            return PlainTextResponse("Not found.", 404)
        content = files("veclink.review").joinpath("page", file or "review.html").read_bytes()
        return Response(content, media_type=PAGE[file])

    async def refused(self, _: Request, error: Exception) -> HTMLResponse:
        """What went wrong, as a sentence."""
        return HTMLResponse(self._pieces.from_string("{{ error }}").render(error=error), status_code=400)

    def _stay(self, template: str, said: str = "", alert: str = "", **more: Any) -> HTMLResponse:
        """All but the link, or a part of that."""
        told = {"review": self._review, "state": self._review.state(), "run": self._again.status, "link": None}
        page = self._pieces.get_template(template).render({**told, "said": said, "alert": alert, **more})
        return HTMLResponse(page, headers={} if more else {"HX-Reswap": "none"})

    def _move(self, asked: Asked, link: dict[str, Any] | None, said: str = "") -> HTMLResponse:
        return self._stay("moved.html", said, link=link, skipped=asked.skipped)

    def _move_on(self, asked: Asked, said: str = "") -> HTMLResponse:
        return self._move(asked, self._review.next(asked.order, skipped=asked.skipped), said)


def make_app(review: Review, again: LinkAgain) -> FastAPI:
    """The addresses of the page, without their guard."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)  # the docs pages would load from elsewhere
    own = Addresses(review, again)
    app.add_exception_handler(VeclinkError, own.refused)
    for method, path, handler in (
        ("GET", "/state", own.state),
        ("GET", "/next", own.next),
        ("GET", "/link/{place}", own.link),
        ("GET", "/export/{what}.csv", own.export),
        ("GET", "/{file}", own.file),
        ("GET", "/", own.file),
        ("POST", "/answer", own.answer),
        ("POST", "/undo", own.undo),
        ("POST", "/again/{what}", own.again),
    ):
        app.add_api_route(path, handler, methods=[method], response_model=None)
    return app


def templates() -> Environment:
    """The pieces of the page, in which all text is escaped."""
    made = pages("veclink.review")
    made.filters.update(
        along=lambda share, low: 100 * (share - low) / (1 - low),
        differing=differing,
        said=SAID.__getitem__,
        tenth_below=lambda share: min(0.9, math.floor(10 * share) / 10),
    )
    return made


class Guard(BaseHTTPMiddleware):
    """Lets through who has the token and asks for this very server; all others get the same short answer."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        super().__init__(app)
        self._token, self._hosts = token, [f"{HOST}:{port}", f"localhost:{port}"]

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Answer with what a browser may do with the answer, and nothing else."""
        token, slash, rest = request.scope["path"].lstrip("/").partition("/")
        status, text = self._refusal(token, request.headers)
        response: Response
        if status:
            response = PlainTextResponse(text, status, {"Connection": "close"})
        elif not slash:  # relative addresses would lose the token
            response = RedirectResponse(f"/{token}/")
        else:
            request.scope.update(path=f"/{rest}", raw_path=None)
            response = await call_next(request)
        response.headers.update(HEADERS)
        return response

    def _refusal(self, token: str, headers: Headers) -> tuple[int, str]:
        """Status and reason; 0 where nothing speaks against answering."""
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return 404, "Open the address that veclink review printed."
        if [host.lower() for host in headers.getlist("host")] not in [[host] for host in self._hosts]:
            return 421, "Open the address that veclink review printed."
        if headers.getlist("origin") not in [[], *([f"http://{host}"] for host in self._hosts)]:
            return 403, "Another site may not ask here."
        lengths = headers.getlist("content-length")
        if "transfer-encoding" in headers or not all(each.isdigit() and int(each) <= 10_000 for each in lengths):
            return 413, "That is more than an answer."
        return 0, ""


def serve(review: Review, again: LinkAgain, *, port: int, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `ready` is told the address once it can be opened. port 0 takes any that is free."""
    with socket.create_server((HOST, port)) as listener:
        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        # no access log: its lines would hold the token
        config = uvicorn.Config(
            Guard(make_app(review, again), token, port),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
        ready(f"http://{HOST}:{port}/{token}/")
        uvicorn.Server(config).run(sockets=[listener])
