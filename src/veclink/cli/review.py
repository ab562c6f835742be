"""veclink review: check links by eye, on a page that this machine alone can open."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import AsJson, Memory, check_choice, check_output, one_sentence_errors, print_json


def review(
    links: Annotated[Path, typer.Argument(metavar="LINKS", help="The links, as `veclink link` wrote them.")],
    a: Annotated[str, typer.Argument(metavar="A", help="The first of the two collections that were linked.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The second.")],
    payload_a: Annotated[
        Path | None, typer.Option(help="What to show of A's objects: CSV, Parquet or JSONL, a line each, or by `id`.")
    ] = None,
    payload_b: Annotated[Path | None, typer.Option(help="The same for B.")] = None,
    journal: Annotated[
        Path | None, typer.Option(help="Where the answers are kept; LINKS.review.jsonl unless named.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where linking again writes; LINKS.again.* unless named.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")] = 0,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    memory: Memory = None,
    device: Annotated[str, typer.Option(help="For linking again: auto, cpu or cuda.")] = "auto",
    skip_zero: Annotated[bool, typer.Option("--skip-zero", help="For linking again: leave out zero vectors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Review links in the browser: the doubtful first, side by side, answered with single keys."""
    with one_sentence_errors():
        from veclink.data.links import Links
        from veclink.errors import needed, plural
        from veclink.linkers.linking import DEVICES
        from veclink.review.again import LinkAgain
        from veclink.review.journal import Journal
        from veclink.review.payloads import with_payload
        from veclink.review.session import Review
        from veclink.stores.opening import open_collection

        check_choice("--device", device, DEVICES)
        for package in ("fastapi", "jinja2", "python_multipart", "uvicorn"):
            needed(package, "The review page", "veclink[review]")
        from veclink.review.server import serve

        found = Links.load(links)
        output = links.with_name(f"{links.stem}.again{links.suffix}") if output is None else output
        check_output(output, a, b, *(str(each) for each in (links, payload_a, payload_b, journal) if each is not None))
        path = links.with_name(f"{links.name}.review.jsonl") if journal is None else journal
        left, right = open_collection(a), open_collection(b)
        left = left if payload_a is None else with_payload(left, payload_a)
        right = right if payload_b is None else with_payload(right, payload_b)
        with Journal(path, left, right) as kept:
            session = Review(found, left, right, kept, name=links.name)
            again = LinkAgain(session, output, device=device, memory=memory, skip_zero=skip_zero)

            def ready(address: str) -> None:
                if as_json:
                    print_json({"url": address, "journal": str(path), "links": len(found)})
                else:
                    answers = len(kept.answers())
                    typer.echo(f"{plural(len(found), 'link')} to review, {plural(answers, 'answer')} kept in {path}.")
                    typer.echo(f"Open {address}")
                    typer.echo("Stop with Ctrl-C; the answers stay.")
                if open_browser:
                    webbrowser.open(address)

            try:
                serve(session, again, port=port, ready=ready)
            except KeyboardInterrupt:  # the way to end it
                pass
            finally:
                again.stop()
            if not as_json:
                typer.echo(f"Stopped; {plural(len(kept.answers()), 'answer')} in {path}.")
