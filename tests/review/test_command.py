"""`veclink review` from the shell."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from reviewed_papers import SHELL, Reviewed, served
from veclink.cli.app import app


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["review", *map(str, arguments)])


def test_ctrl_c_ends_it_well_and_a_second_review_meanwhile_is_refused(papers: Reviewed, tmp_path: Path) -> None:
    with served(papers, tmp_path) as (process, told):
        assert told["links"] == len(papers.links) and told["journal"] == str(tmp_path / "journal.jsonl")
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
    done = run(data / links, data / a, data / "b.parquet", "--journal", tmp_path / "j.jsonl", "-o", tmp_path / "n.csv")
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
