"""Links of other vectors than those that are given, and a linker of another run: nothing is written of them unasked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from grown_papers import first_links, fitted, grown_papers
from veclink import Collection, Links, link, merge
from veclink.cli.app import app
from veclink.data.collection import fingerprint
from veclink.errors import WrongLinksWarning
from veclink.uses.appending import append


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A and B, links of them; A with noise in half of its rows, and A with its rows in another order."""
    place = tmp_path_factory.mktemp("vectors")
    grown = grown_papers()
    noise = grown.a.copy()
    noise[::2] = np.random.default_rng(0).standard_normal(noise[::2].shape)
    for name, vectors in {"a": grown.a, "b": grown.b, "noise": noise, "permuted": grown.a[::-1]}.items():
        np.save(place / f"{name}.npy", vectors)
    first_links().save(place / "links.csv")
    return place


@pytest.mark.parametrize("other", ["noise", "permuted"])
@pytest.mark.parametrize("command", ["merge", "report"])
def test_a_command_refuses_other_vectors_before_it_writes(
    folder: Path, tmp_path: Path, command: str, other: str
) -> None:
    a, b, links = (str(folder / name) for name in (f"{other}.npy", "b.npy", "links.csv"))
    output = tmp_path / ("m.parquet" if command == "merge" else "page.html")
    given = ["merge", a, b, "--links", links, "--yes"] if command == "merge" else ["report", links, a, b]
    run = CliRunner().invoke(app, [*given, "-o", str(output)])
    assert run.exit_code == 1 and "The vectors of A are not those that were linked" in run.stderr
    assert not output.exists()
    assert CliRunner().invoke(app, [*given, "-o", str(output), "--force"]).exit_code == 0
    assert output.exists()


def test_the_fingerprint_is_that_of_the_numbers_and_not_of_their_width() -> None:
    vectors = grown_papers().a.astype(np.float16)
    same = {fingerprint(Collection.from_array(vectors.astype(kind))) for kind in ("f2", "f4", "f8", ">f4")}
    assert len(same) == 1
    vectors[7, 3] += np.float16(0.01)
    assert fingerprint(Collection.from_array(vectors)) not in same


def test_links_that_the_linker_does_not_know_are_told_when_rows_are_appended(tmp_path: Path) -> None:
    """As after a `link -o … --save-linker` that was killed between the two."""
    grown = grown_papers()
    new = Collection.from_array(grown.new[:5], ids=range(240, 245))
    later = link(grown.a, grown.b, seeds=grown.seeds[:12], device="cpu")
    merge(grown.a, grown.b, later, to=tmp_path / "merged.parquet", map="procrustes")
    with pytest.warns(WrongLinksWarning):
        append(new, tmp_path / "merged.parquet", fitted())


def test_links_of_geh_that_are_not_linkable_are_not_written(tmp_path: Path) -> None:
    output = tmp_path / "links.parquet"
    for state, name in enumerate("ab"):
        np.save(tmp_path / f"{name}.npy", np.random.default_rng(state).standard_normal((60, 64)))
    (tmp_path / "seeds.csv").write_text("a,b\n0,0\n1,1\n")
    a, b, seeds = (str(tmp_path / name) for name in ("a.npy", "b.npy", "seeds.csv"))
    given = ["link", a, b, "--seeds", seeds, "--method", "geh", "--device", "cpu", "-o", str(output)]
    assert CliRunner().invoke(app, given).exit_code == 3
    assert len(Links.load(output).considered) == 0
