"""From measured cells to what a person reads: tables on the terminal, Markdown and a figure beside the JSON."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console

from veclink.errors import MissingExtra
from veclink.files.atomic import written_whole
from veclink_bench.experiments import load
from veclink_bench.experiments.running import Store


def finish(store: Store, *, show: bool = True) -> dict[str, Any]:
    """Print and write the tables, draw the figure, and say where all of it is."""
    module = load(store.name)
    cells = store.cells()
    answer: dict[str, Any] = {"experiment": store.name, "cells": len(cells), "of": len(module.cells(store.setup))}
    if not cells:
        return answer
    tables = module.tables(cells)
    if show:
        console = Console(highlight=False)
        for table in tables:
            table.show(console)
    markdown, figure = store.path.with_suffix(".md"), store.path.with_suffix(".svg")
    with written_whole(markdown) as temporary:
        temporary.write_text(f"## {module.TITLE}\n\n" + "\n".join(table.markdown() for table in tables))
    answer |= {"json": str(store.path), "markdown": str(markdown), "tables": [_plain(table) for table in tables]}
    if hasattr(module, "draw"):
        try:
            drawn = module.draw(cells)
        except MissingExtra as error:
            typer.echo(f"veclink: No figure was drawn. {error}", err=True)
            return answer
        with written_whole(figure) as temporary:
            drawn.savefig(temporary, metadata={"Date": None})
        drawn.clear()
        answer["figure"] = str(figure)
    return answer


def _plain(table: Any) -> dict[str, Any]:
    return {"heading": table.heading, "columns": list(table.columns), "rows": [list(row) for row in table.rows]}
