"""The registry of evidence: one entry is all it takes, and every reader shows what is in it."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import golden_calibration
import span_papers
from packed_data import unpacked
from toy_evidence import TOYS
from veclink.confidence import evidence
from veclink.confidence.evidence import Evidence, evidence_columns, neighbourhood_features
from veclink.data.links import Links
from veclink.linkers.linking import link
from veclink.report.content import gather

ROOT = Path(__file__).parent.parent.parent
PUBLISHED = (
    "score",
    "narrow_margin",
    "wide_margin",
    "local_correlation",
    "shared_neighbours",
    "density_match",
    "density",
    "score_map1",
    "score_map2",
    "score_map3",
    "margin_map1",
    "margin_map2",
    "margin_map3",
)


@cache
def linked_with_toys() -> Links:
    """Links of the cut, made while both toys are in the registry."""
    papers = span_papers.some_papers()
    return link(papers.a, papers.b, seeds=papers.seeds, device="cpu")


@pytest.fixture
def toy_links(monkeypatch: pytest.MonkeyPatch) -> Links:
    """Both toys are in the registry while the test runs, which is all that is done for them."""
    monkeypatch.setattr(evidence, "REGISTRY", (*evidence.REGISTRY, *TOYS))
    return linked_with_toys()


def new_link(links: Links) -> int:
    """The first link that was not given."""
    return int(np.flatnonzero(~links.evidence["given"])[0])


def docs_hooks() -> ModuleType:
    """`docs/hooks.py`, which makes the reference."""
    spec = importlib.util.spec_from_file_location("docs_hooks", ROOT / "docs" / "hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_evidence_of_files_that_were_published_keeps_its_names_and_its_order() -> None:
    assert tuple(entry.name for entry in evidence.model_evidence())[: len(PUBLISHED)] == PUBLISHED


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.name)
class TestOneEntryIsEnough:
    """A kind of evidence that is in the registry, and nowhere else, is seen by every reader of evidence."""

    def test_the_model_weighs_it(self, toy_links: Links, toy: Evidence) -> None:
        model = toy_links.trace["model"]
        assert model["features"] == [entry.name for entry in evidence.model_evidence()]
        place = model["features"].index(toy.name)
        for part in ("weights", "centre", "scale"):
            assert len(model[part]) == len(model["features"])
        assert model["weights"][place] != 0 and model["scale"][place] > 1e-6

    def test_it_is_a_column_of_links_and_their_file(self, toy_links: Links, toy: Evidence, tmp_path: Path) -> None:
        assert np.isfinite(toy_links.explain(new_link(toy_links))[toy.name])
        toy_links.save(tmp_path / "links.csv", columns="all")
        saved = Links.load(tmp_path / "links.csv")
        assert np.array_equal(saved.evidence[toy.name], toy_links.evidence[toy.name], equal_nan=True)

    def test_the_report_holds_its_label_and_its_values(self, toy_links: Links, toy: Evidence) -> None:
        data = unpacked(gather(toy_links, None, None)["packed"])
        whole = toy_links.considered
        assert whole is not None
        assert data["facts"]["labels"][toy.name] == toy.label
        values = data["column"][toy.name] * data["columns"][toy.name]["factor"]
        new = ~whole.evidence["given"]
        assert np.allclose(values[new], whole.evidence[toy.name][new], atol=1e-4)


def test_the_reference_lists_the_registry_and_nothing_else() -> None:
    page = docs_hooks().filled((ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8"))
    section = page.split("### Evidence")[1].split("\n## ")[0]
    listed = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
    assert listed == [entry.name for entry in evidence.REGISTRY]


def test_a_given_pair_that_is_no_candidate_has_no_evidence_and_the_first_candidate_has() -> None:
    found, near = golden_calibration.one_small_side(6, 9)
    columns = evidence_columns(evidence.model_evidence(), found, near, np.array([0, -1, 3]))
    for name, column in columns.items():
        assert np.isnan(column).tolist() == [False, True, False], name
    assert columns["score"][[0, 2]].tolist() == found.score[[0, 3]].tolist()


def test_the_neighbourhoods_of_links_and_of_their_rivals_are_measured_and_no_others() -> None:
    found, links = span_papers.candidates(), span_papers.pool().pairs
    mutual = found.mutual()
    measured = span_papers.cloud_pair(), found, links, np.random.default_rng(0)
    few, every = (
        np.flatnonzero(neighbourhood_features(*measured, fitted)[:, :2].any(axis=1)) for fitted in (mutual[:10], None)
    )
    assert set(mutual) <= set(few) <= set(every)
    assert len(few) <= len(mutual) + 20 < len(every) < len(found.rows_a)
