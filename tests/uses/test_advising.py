"""Change the model? Forecasts from links alone and with queries, and the adapter that another program can load."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from span_papers import all_papers
from veclink import Translator
from veclink.cli.app import app
from veclink.geometry.signatures import unit_rows
from veclink.uses.advising import Asked


def old_and_new() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All shared papers by the old model, the first 500 of them by the new one, and which is which."""
    papers = all_papers()
    # the first numbers of each vector only: fitting is quick, and neighbours are lost, as between other models
    old, new = papers.a[papers.truth[:, 0], :96], papers.b[papers.truth[:, 1], :128]
    return old, new, np.column_stack([np.arange(500), np.arange(500)])


def searching_for_neighbours(better: str) -> Asked:
    """Queries that are papers themselves, answered by the ten nearest papers of one of the models."""
    old, new, _ = old_and_new()
    by = unit_rows((old if better == "old" else new).copy())
    rows = np.arange(500, 700)
    near = by[rows] @ by.T
    near[np.arange(len(rows)), rows] = -2
    answers = [dict.fromkeys(np.argsort(-each)[:10].tolist(), 1.0) for each in near]
    return Asked(old[rows], new[rows], answers)


@pytest.mark.extras
def test_the_adapter_is_a_file_that_numpy_and_safetensors_alone_can_use(tmp_path: Path) -> None:
    """By the formula on the page of files, without veclink."""
    from safetensors import safe_open

    old, new, links = old_and_new()
    for kind in ("blend", "procrustes"):
        path = tmp_path / f"{kind}.safetensors"
        Translator.fit(links, old, new[:500], map=kind, reverse=True, check=False).save(path)
        with safe_open(path, framework="numpy") as file:
            part = {name: file.get_tensor(name) for name in file.keys()}
            length = json.loads(file.metadata()["veclink"])["length"]
        x = new[600:620].astype(np.float32)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        y = (x - part["centre"]) @ part["matrix"]
        y = y + part["target"]
        y *= length / np.linalg.norm(y, axis=1, keepdims=True)
        np.testing.assert_allclose(y, Translator.load(path).transform(new[600:620]), atol=1e-5)


def test_the_command_advises_and_writes_the_adapter(tmp_path: Path) -> None:
    old, new, links = old_and_new()
    asked = searching_for_neighbours("old")
    for name, vectors in (("old", old), ("new", new[:500]), ("qa", asked.by_a), ("qb", asked.by_b)):
        np.save(tmp_path / f"{name}.npy", vectors)
    (tmp_path / "links.csv").write_text("a,b\n" + "".join(f"{x},{y}\n" for x, y in links.tolist()))
    lines = [f"{query},{row},1" for query, each in enumerate(asked.answers) for row in each]
    (tmp_path / "qrels.csv").write_text("query,document,relevance\n" + "\n".join(lines) + "\n")
    sides = ["advise", f"{tmp_path}/old.npy", f"{tmp_path}/new.npy", "--links", f"{tmp_path}/links.csv"]
    queries = ["--queries-a", f"{tmp_path}/qa.npy", "--queries-b", f"{tmp_path}/qb.npy"]
    told = CliRunner().invoke(app, [*sides, "--adapter", f"{tmp_path}/adapter.safetensors", "--map", "auto"])
    assert told.exit_code == 0 and "Don't change the model" in told.stdout
    assert "keep the old model: " in told.stdout and "of 100 neighbours by the new model" in told.stdout
    assert Translator.load(tmp_path / "adapter.safetensors").dimensions == (128, 96)
    told = CliRunner().invoke(app, [*sides, *queries, "--qrels", f"{tmp_path}/qrels.csv", "--json"])
    found = json.loads(told.stdout)
    assert found["best"] == "keep" and [way["name"] for way in found["ways"]][-1] == "embed"
    assert all(way["ndcg"] is not None for way in found["ways"])
    told = CliRunner().invoke(app, [*sides, *queries])
    assert told.exit_code == 2 and "none of them" in told.stderr.replace("\n", " ")
