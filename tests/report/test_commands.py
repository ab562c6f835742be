"""The report as the command line writes it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import span_papers
from veclink.cli.app import app


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small piece of the sample, 120 rows on either side."""
    folder, papers = tmp_path_factory.mktemp("files"), span_papers.some_papers()
    shared = papers.truth[:120]
    np.save(folder / "a.npy", papers.a[shared[:, 0]])
    np.save(folder / "b.npy", papers.b[shared[:, 1]])
    (folder / "seeds.csv").write_text("a,b\n" + "".join(f"{row},{row}\n" for row in range(15)))
    return folder


def link(files: Path, *more: object) -> tuple[int, str, str]:
    inputs = ("link", files / "a.npy", files / "b.npy", "--seeds", files / "seeds.csv")
    result = CliRunner().invoke(app, [str(each) for each in (*inputs, *more)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_link_writes_the_report_beside_the_links_and_says_where(files: Path, tmp_path: Path) -> None:
    written = ("-o", tmp_path / "links.csv", "--report", tmp_path / "links.html")
    code, out, _ = link(files, *written)
    assert code == 0 and f"The report is {tmp_path / 'links.html'}" in out.replace("\n", "")
    assert "<h1" in (tmp_path / "links.html").read_text()
    assert json.loads(link(files, *written, "--json")[1])["report"] == str(tmp_path / "links.html")


@pytest.mark.parametrize(
    ("report", "said"),
    [("links.pdf", "does not end in .html"), ("nowhere/links.html", "does not exist"), ("folder.html", "is a folder")],
)
def test_a_report_that_could_not_be_written_is_refused_before_the_work(
    files: Path, tmp_path: Path, report: str, said: str
) -> None:
    (tmp_path / "folder.html").mkdir()
    code, out, err = link(files, "-o", tmp_path / "links.csv", "--report", tmp_path / report)
    assert (code, out) == (1, "") and said in err and "iteration" not in err
    assert not (tmp_path / "links.csv").exists()
