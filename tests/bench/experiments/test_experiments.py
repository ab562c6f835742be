"""Every experiment in a reduced form on real vectors, with an assertion on what it shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veclink.errors import InputError
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


def test_the_table_says_where_span_is_not_the_best() -> None:
    cells = [
        {"pair": list(PAIR), "method": method, "state": 0, "f1": value, "precision": value, "recall": value}
        for method, value in (("span", 80.0), ("geh", 81.0), ("cca", 10.0))
    ]
    lost = load("main").tables(cells)[-1]
    assert lost.rows == [["papers minilm–mpnet", "geh", "81.0", "80.0"]]
    assert "trial 0 (geh 81.0, span 80.0), of 1" in lost.note and "None" not in lost.note


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


def test_strategies_have_a_curve_for_each_combination(measured: Measured) -> None:
    cells = measured("strategies", lambda s: s["overlap"] == 0.45 and ("raw" in s["method"] or "span" in s["method"]))
    assert len(cells) == 4
    assert f1(cells, method="span") > max(f1(cells, method=c["method"]) for c in cells if "geh" in c["method"])


def test_anchors_of_another_corpus_link_as_seeds_do(measured: Measured) -> None:
    cells = measured("outside", corpora=("papers", "others"), methods=("span",))
    own, foreign = f1(cells, target="papers", outside="papers"), f1(cells, target="papers", outside="others")
    assert len(cells) == 4 and foreign > own - 15 and foreign > 50


def test_seeds_in_one_corner_are_worth_less_to_a_plain_map(measured: Measured) -> None:
    cells = measured("seeding", lambda s: s["how"] in ("nearest", "fps"), methods=("span", "self-learning tuned"))
    assert f1(cells, method="span", how="nearest") > 50 and f1(cells, method="span", how="fps") > 50


def test_sensitivity_span_hardly_depends_on_its_settings(measured: Measured) -> None:
    kept = {
        ("geh", "growth", 0.1),
        ("span", "ridge", 0.1),
        ("span", "ridge", 1.0),
        ("span", "views", 10),
        ("span", "k", 20),
    }
    cells = measured("sensitivity", lambda s: (s["method"], s["variant"], s["value"]) in kept)
    of_span = values(cell for cell in cells if cell["method"] == "span")
    assert len(of_span) == 4 and of_span.max() - of_span.min() < 10


def test_scalability_counts_rows_and_seconds(measured: Measured) -> None:
    cells = measured("scalability", corpora=("papers", "others"), methods=("self-learning tuned", "span"))
    assert {cell["rows"] for cell in cells} == {500, 1000}
    assert all(cell["seconds"] > 0 for cell in cells) and f1(cells, method="span", rows=1000) > 50


def test_votes_tell_true_pairs_from_spurious_ones(measured: Measured) -> None:
    for cell in measured("votes"):
        assert cell["separation"] > 0.7
        assert sum(cell["true"]) <= round(0.3 * 420) < sum(cell["true"]) + sum(cell["spurious"])


def test_confidence_is_measured_by_distance_to_the_seeds(measured: Measured) -> None:
    cells = measured("distance", methods=("span",))
    (cell,) = cells
    assert np.all(np.diff(cell["distance"]) >= 0) and np.mean(cell["precision"]) > 0.6
    assert abs(np.mean(cell["precision"]) - np.mean(cell["confidence"])) < 0.25


def test_consistency_is_lost_with_dimensions(measured: Measured) -> None:
    cells = measured("consistency")
    whole, few = (next(c for c in cells if c["dimensions"] == size) for size in (0, 16))
    assert whole["all"] > 0.5 and whole["nearest"] > few["nearest"]


def test_neighbours_agree_far_more_than_by_chance(measured: Measured) -> None:
    (cell,) = measured("jaccard")
    assert len(cell["jaccard"]) == 50 and cell["jaccard"][9] > 5 * 10 / 420


def test_merged_collections_answer_better_with_links_than_with_random_ones(measured: Measured) -> None:
    kept = ("ceiling A", "ceiling B", "true links", "span", "seeds", "random", "union")
    cells = measured("merging", lambda s: s.get("overlap", 0.3) == 0.3, methods=kept)
    maps = {cell["links_by"]: cell["maps"] for cell in cells}
    assert set(maps["span"]) == set(maps["true links"]) == set(KINDS) and set(maps["union"]) == {"none"}
    for kind in KINDS:
        assert maps["span"][kind]["ndcg"] > max(0.9 * maps["true links"][kind]["ndcg"], maps["union"]["none"]["ndcg"])
    assert all(maps["span"][kind]["ndcg"] > found["ndcg"] for kind, found in maps["random"].items())
    assert maps["ceiling B"]["none"]["ndcg"] >= maps["span"]["la2m"]["ndcg"] > maps["seeds"]["la2m"]["ndcg"]


def test_the_tables_of_merging_compare_maps_with_la2m_and_links_with_true_ones() -> None:
    def cell(by: str, la2m: float, blend: float) -> Cell:
        maps = {kind: {"recall": ndcg + 20, "ndcg": ndcg} for kind, ndcg in (("la2m", la2m), ("blend", blend))}
        return {"pair": list(PAIR), "overlap": 0.3, "seeds": 30, "links_by": by, "state": 0, "maps": maps}

    cells = [cell("span", 60.0, 63.0), cell("true links", 60.0, 70.0)]
    cells[0]["estimated"] = {"la2m": 0.5, "blend": 0.6}
    *_, against, share, _, _ = load("merging").tables(cells)
    rows = {row[0]: row[1] for row in against.rows}
    assert rows["la2m"] == "80.0 / 60.0" and rows["blend"] == "83.0 / 63.0 (+3.0)" and rows["ridge"] == "–"
    assert "papers minilm→mpnet blend" in against.note
    assert {row[0]: row[1] for row in share.rows}["blend"] == "92.2 / 90.0"


def test_curves_over_the_overlap_are_of_the_same_trials() -> None:
    """A trial that was run at one overlap only would lift or lower its place on the curve."""

    def cell(overlap: float, state: int, ndcg: float) -> Cell:
        maps = {"la2m": {"recall": 90.0, "ndcg": ndcg}}
        return {"pair": list(PAIR), "overlap": overlap, "seeds": 30, "links_by": "span", "state": state, "maps": maps}

    tables = load("merging").tables([cell(0.1, 0, 50.0), cell(0.3, 0, 60.0), cell(0.3, 1, 20.0)])
    assert tables[-1].rows[0][1:] == ["50.0", "60.0"] and tables[1].rows[0][1].startswith("40.0 ± ")


def test_clusters_hold_both_vectors_of_an_object_where_links_do(measured: Measured) -> None:
    kept = ("span", "seeds", "true links", "concat", "one model")
    found = measured("clustering", lambda s: s["links_by"] in kept)
    cells = {cell["links_by"]: cell for cell in found}
    assert len([cell for cell in found if cell["links_by"] == "one model"]) == 2 and "oar" not in cells["one model"]
    assert cells["true links"]["oar"] == 100 and cells["span"]["oar"] > 70 > cells["seeds"]["oar"]
    assert cells["span"]["oar"] > cells["concat"]["oar"] and cells["span"]["wide"]["links"] > cells["span"]["links"]
    assert cells["span"]["wide"]["oar"] > 70
    assert cells["span"]["v"] > max(0.6 * cells["one model"]["v"], cells["concat"]["v"], 10)


def test_three_collections_linked_at_once_beat_each_two_alone(measured: Measured) -> None:
    (cell,) = measured("many", models=("minilm", "mpnet", "half"))
    assert set(cell["pairwise"]) == set(cell["together"]) == {"minilm–mpnet", "minilm–half", "mpnet–half"}
    assert cell["together_f1"] > cell["pairwise_f1"] > 50
    assert cell["gain"] == pytest.approx(cell["together_f1"] - cell["pairwise_f1"])


def test_three_collections_need_three_models(data: Path) -> None:
    with pytest.raises(InputError, match=r"2 models.*three"):
        load("many").cells(Setup(data, models=("minilm", "mpnet")))


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
