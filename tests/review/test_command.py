"""`veclink review` from the shell."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from reviewed_papers import SHELL, Reviewed, served
from veclink.cli.app import app
from veclink.data.links import Links
from veclink.data.no_links import NO_LINKS_WITHOUT_SEEDS
from veclink.data.summary import Summary


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


@pytest.mark.parametrize(
    ("links", "a", "said"),
    [
        ("missing.parquet", "a.parquet", "missing.parquet does not exist"),
        ("links.parquet", "missing.parquet", "missing.parquet does not exist"),
        ("a.parquet", "a.parquet", "no veclink metadata"),
    ],
)
def test_what_cannot_be_reviewed_is_one_sentence(
    papers: Reviewed, tmp_path: Path, links: str, a: str, said: str
) -> None:
    data = papers.folder
    done = run(data / links, data / a, data / "b.parquet", "--journal", tmp_path / "j.sqlite", "-o", tmp_path / "n.csv")
    assert (done.exit_code, done.stdout) == (1, "")
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_names_its_extra(papers: Reviewed, tmp_path: Path) -> None:
    block = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "fastapi":
            raise ImportError("blocked here")
sys.meta_path.insert(0, Blocked())
from veclink.cli.app import main
main()
"""
    data = [str(papers.folder / name) for name in ("links.parquet", "a.parquet", "b.parquet")]
    done = subprocess.run([SHELL[0], "-c", block, "review", *data], capture_output=True, text=True)
    assert done.returncode == 1 and 'pip install "veclink[review]"' in done.stderr and "Traceback" not in done.stderr


def test_where_nothing_was_linked_it_says_so_and_what_to_do_instead_of_an_empty_page(tmp_path: Path) -> None:
    summary = Summary("span", 3, 3, 0, verdict="not linkable", reasons=(NO_LINKS_WITHOUT_SEEDS,))
    links = Links(np.zeros((0, 2), int), np.zeros(0), summary)
    links.save(tmp_path / "links.parquet")
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.eye(3))
    done = run(*(tmp_path / name for name in ("links.parquet", "a.npy", "b.npy")))
    assert done.exit_code == 3 and "There is nothing to review" in done.stdout
    assert all(way in done.stdout for way in ("--seeds pairs.csv", "--seeds-by", "--anchors"))


def test_where_no_judged_pair_is_a_link_the_judged_ones_can_become_seeds(papers: Reviewed, tmp_path: Path) -> None:
    papers.links.at(links=0).save(tmp_path / "links.parquet")
    for name in ("a.parquet", "b.parquet"):
        (tmp_path / name).symlink_to(papers.folder / name)
    with served(replace(papers, folder=tmp_path), tmp_path) as (_, told):
        assert papers.links.considered is not None
        assert told["links"] == len(papers.links.considered) > 0
