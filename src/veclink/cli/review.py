"""veclink review: check links by eye, on a page that this machine alone can open."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veclink.cli.shared import (
    NO_TRUSTED_LINKS,
    AsJson,
    Device,
    Memory,
    Payloads,
    SkipZero,
    check_output,
    command,
    note_short_columns,
    opened,
    print_json,
)
from veclink.errors import needed, plural

if TYPE_CHECKING:
    from veclink.data.links import Links

NO_LINK_BUT_JUDGED = (
    "No pair is a link. These were judged and are below the threshold: accept the right ones, and link again with them."
)


@dataclass(frozen=True)
class Page:
    """Where the page is."""

    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")] = 0
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False


@dataclass(frozen=True)
class LinkingAgain:
    """How links are looked for again, with the accepted ones as seeds."""

    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where linking again writes; LINKS.again.* unless named.")
    ] = None
    memory: Memory = None
    device: Device = "auto"
    skip_zero: SkipZero = False


@command
def review(
    links: Annotated[Path, typer.Argument(metavar="LINKS", help="The links, as `veclink link` wrote them.")],
    a: Annotated[str, typer.Argument(metavar="A", help="The first of the two collections that were linked.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The second.")],
    payloads: Payloads,
    page: Page,
    linking: LinkingAgain,
    journal: Annotated[
        Path | None, typer.Option(help="Where the answers are kept (default: LINKS.review.sqlite).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Review links in the browser: the doubtful first, side by side, answered with single keys."""
    from veclink.data.links import Links

    found, are_no_links = _to_review(Links.load(links))
    path = journal or links.with_name(f"{links.name}.review.sqlite")
    kept_before = path.exists() or path.with_suffix(".jsonl").exists()
    if not len(found) and not kept_before:  # what was accepted before can still be linked again with
        _say_nothing_to_review(found, links, as_json)
        raise typer.Exit(NO_TRUSTED_LINKS)
    for package in ("fastapi", "python_multipart", "uvicorn"):
        needed(package, "The review page", "veclink[review]")
    from veclink.review import Review
    from veclink.review.again import LinkAgain
    from veclink.review.journal import Journal
    from veclink.review.server import serve

    note_short_columns(found, links)
    output = linking.output or links.with_name(f"{links.stem}.again{links.suffix}")
    inputs = (links, *payloads.files(), journal)
    check_output(output, a, b, *(str(each) for each in inputs if each is not None))
    left, right = (
        opened(each, file, memory=linking.memory)
        for each, file in ((a, payloads.payload_a), (b, payloads.payload_b))
    )
    with Journal(path, left, right) as kept:
        session = Review(found, left, right, kept, name=links.name)
        again = LinkAgain(session, output, device=linking.device, memory=linking.memory, skip_zero=linking.skip_zero)

        def ready(address: str) -> None:
            if as_json:
                print_json({"url": address, "journal": str(kept.path), "links": len(found)})
            else:
                if are_no_links:
                    typer.echo(NO_LINK_BUT_JUDGED)
                pairs = plural(len(found), "pair" if are_no_links else "link")
                answers = plural(len(kept.answers()), "answer")
                typer.echo(f"{pairs} to review, {answers} kept in {kept.path}.")
                typer.echo(f"Open {address}\nStop with Ctrl-C; the answers stay.")
            if page.open_browser:
                webbrowser.open(address)

        try:
            with suppress(KeyboardInterrupt):  # the way to end it
                serve(session, again, port=page.port, ready=ready)
        finally:
            again.stop()
        if not as_json:
            typer.echo(f"Stopped; {plural(len(kept.answers()), 'answer')} in {kept.path}.")


def _to_review(links: Links) -> tuple[Links, bool]:
    """What a person can look at: the links, else the pairs that were judged and are none; and whether it is those."""
    if len(links) or links.considered is None or not len(links.considered):
        return links, False
    return links.considered, True


def _say_nothing_to_review(links: Links, path: Path, as_json: bool) -> None:
    from veclink.report.words import advice_without_links, headline, is_open, shown_reasons

    steps = advice_without_links(links)
    if as_json:
        print_json({"links": 0, "verdict": links.summary.verdict, "reasons": links.summary.reasons, "next": steps})
        return
    typer.echo(f"There is nothing to review: {path} has no links, and no pairs that were judged.")
    if is_open(links):
        typer.echo(headline(links, None)[1])  # the cause, which the reasons below leave out
    for reason in shown_reasons(links):
        typer.echo(reason)
    typer.echo("\n".join(["Next:", *(f"  {step}" for step in steps)]))
