"""`veclink review` from the shell."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from reviewed_papers import Reviewed, served
from veclink.cli.app import app
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.data.words import Reason


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["review", *map(str, arguments)])


def test_ctrl_c_ends_it_well_and_a_second_review_meanwhile_is_refused(papers: Reviewed, tmp_path: Path) -> None:
    with served(papers, tmp_path) as (process, told):
        assert told["links"] == len(papers.links) and told["journal"] == str(tmp_path / "journal.sqlite")
        data = papers.folder
        second = run(
            *(data / name for name in ("links.parquet", "a.parquet", "b.parquet")), "--journal", told["journal"]
        )
        assert second.exit_code == 1 and "open in another review" in second.stderr and second.stderr.count("\n") == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


def test_where_nothing_was_linked_it_says_so_and_what_to_do_instead_of_an_empty_page(tmp_path: Path) -> None:
    summary = Summary("span", 3, 3, 0, verdict="not linkable", why=(Reason("no_links_without_seeds"),))
    links = Links(np.zeros((0, 2), int), np.zeros(0), summary)
    links.save(tmp_path / "links.parquet")
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.eye(3))
    done = run(*(tmp_path / name for name in ("links.parquet", "a.npy", "b.npy")))
    assert done.exit_code == 3 and "There is nothing to review" in done.stdout
    assert all(way in done.stdout for way in ("--seeds", "--seeds-by", "--anchors"))
