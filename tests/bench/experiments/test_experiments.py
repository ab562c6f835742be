"""Every experiment in a reduced form on real vectors, with an assertion on what it shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from veclink.uses.maps import KINDS
from veclink_bench.experiments import EXPERIMENTS, load
from veclink_bench.experiments.running import key_of
from veclink_bench.experiments.setup import Setup
from veclink_bench.experiments.tables import Cell, values

PAIR = ("papers", "minilm", "mpnet")
Measured = Callable[..., list[Cell]]


@pytest.fixture
def measured(data: Path) -> Measured:
    """Runs the cells of an experiment that a filter lets through, and has its tables and figure made of them."""

    def run(name: str, wanted: Callable[[Cell], bool] = lambda _: True, **choices: Any) -> list[Cell]:
        chosen: dict[str, Any] = {"corpora": ("papers",), "models": PAIR[1:], "trials": 1} | choices
        setup, module = Setup(data, **chosen), load(name)
        cells = [settings | module.run(setup, settings) for settings in module.cells(setup) if wanted(settings)]
        assert cells, "the filter left nothing"
        for table in module.tables(cells):
            assert all(len(row) == len(table.columns) for row in table.rows)
            assert table.heading in table.markdown()
        assert len(module.draw(cells).axes) > 0
        return cells

    return run


def f1(cells: list[Cell], **wanted: Any) -> float:
    return float(values(c for c in cells if all(c[name] == value for name, value in wanted.items())).mean())


def test_main_has_span_above_geh_and_the_rivals(measured: Measured) -> None:
    methods = ("linear tuned", "procrustes tuned", "self-learning tuned", "geh", "span")
    cells = measured("main", methods=methods)
    assert {cell["method"] for cell in cells} == set(methods)
    assert all(f1(cells, method="span") > f1(cells, method=method) for method in methods[:-1])
    assert all(cell["f1_oracle"] >= cell["f1"] - 1e-9 for cell in cells)


def test_grid_gets_better_with_overlap(measured: Measured) -> None:
    cells = measured("grid", lambda s: s["seeds"] == 15, methods=("procrustes tuned", "span"))
    assert f1(cells, method="span", overlap=0.3) > f1(cells, method="span", overlap=0.15)
    assert f1(cells, method="span", overlap=0.3) > f1(cells, method="procrustes tuned", overlap=0.3)


def test_ablation_shows_what_growing_and_judging_bring(measured: Measured) -> None:
    kept = {("geh", "full"), ("geh", "no bootstrapping")} | {
        ("span", variant) for variant in ("full", "one round", "no judging")
    }
    cells = measured("ablation", lambda s: (s["method"], s["variant"]) in kept)
    precision = {cell["variant"]: cell["precision"] for cell in cells if cell["method"] == "span"}
    assert precision["full"] > precision["no judging"], "wrong candidates are left out"
    assert f1(cells, method="span", variant="full") > f1(cells, method="span", variant="one round")
    assert f1(cells, method="geh", variant="full") > f1(cells, method="geh", variant="no bootstrapping")


def test_merged_collections_answer_better_with_links_than_with_random_ones(measured: Measured) -> None:
    kept = ("ceiling A", "ceiling B", "true links", "span", "seeds", "random", "union")
    cells = measured("merging", lambda s: s.get("overlap", 0.3) == 0.3, methods=kept)
    maps = {cell["links_by"]: cell["maps"] for cell in cells}
    assert set(maps["span"]) == set(maps["true links"]) == set(KINDS) and set(maps["union"]) == {"none"}
    for kind in KINDS:
        assert maps["span"][kind]["ndcg"] > max(0.9 * maps["true links"][kind]["ndcg"], maps["union"]["none"]["ndcg"])
    assert all(maps["span"][kind]["ndcg"] > found["ndcg"] for kind, found in maps["random"].items())
    assert maps["ceiling B"]["none"]["ndcg"] >= maps["span"]["la2m"]["ndcg"] > maps["seeds"]["la2m"]["ndcg"]


def test_three_collections_linked_at_once_beat_each_two_alone(measured: Measured) -> None:
    (cell,) = measured("many", models=("minilm", "mpnet", "half"))
    assert set(cell["pairwise"]) == set(cell["together"]) == {"minilm–mpnet", "minilm–half", "mpnet–half"}
    assert cell["together_f1"] > cell["pairwise_f1"] > 50
    assert cell["gain"] == pytest.approx(cell["together_f1"] - cell["pairwise_f1"])


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("full", [False, True])
def test_cells_have_names_of_their_own_and_a_full_run_has_more(data: Path, name: str, full: bool) -> None:
    module = load(name)
    for folder in ("scifact", "nfcorpus"):  # the default corpora, where files decide which models there are
        (data / folder).mkdir(exist_ok=True)
        for model in ("minilm", "mpnet", "e5"):
            (data / folder / f"{model}.npy").touch()
    cells, more = module.cells(Setup(data)), module.cells(Setup(data, full=True))
    assert len({key_of(each) for each in (more if full else cells)}) == len(more if full else cells)
    assert len(more) >= len(cells)
