"""The registry of evidence: one entry is all it takes, and every reader shows what is in it."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import golden_calibration
import span_papers
from packed_data import unpacked
from toy_evidence import OF_NEIGHBOURHOODS, OF_SCORES, TOYS
from veclink.confidence import evidence
from veclink.confidence.evidence import Doubt, Evidence, evidence_columns, feature_matrix, neighbourhood_evidence
from veclink.confidence.explanations import against, in_words
from veclink.confidence.features import candidate_pairs
from veclink.data.links import Links
from veclink.linkers.linking import link
from veclink.report.content import gather
from veclink.review.shown import why

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


def doubtful_by(links: Links, entry: Evidence) -> Links:
    """The links with a model in which only one kind of evidence counts, and always against."""
    model = links.trace["model"]
    weights = [float(name == entry.name) for name in model["features"]]
    only = {**model, "weights": weights, "centre": [99.0] * len(weights)}
    return replace(links, trace={**links.trace, "model": only})


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


def test_no_two_kinds_of_evidence_have_one_name_or_one_label() -> None:
    assert len({entry.name for entry in evidence.REGISTRY}) == len(evidence.REGISTRY)
    assert len({entry.label for entry in evidence.REGISTRY}) == len(evidence.REGISTRY)


@pytest.mark.parametrize("entry", evidence.REGISTRY, ids=lambda entry: entry.name)
def test_every_entry_says_how_it_is_computed_and_what_it_is(entry: Evidence) -> None:
    assert (entry.of_pairs is None) != (entry.of_neighbourhoods is None)
    assert entry.label and entry.help and entry.against
    columns = {
        "score": np.float32(0.2),
        "rival_a": np.int64(3),
        "rival_a_score": np.float32(0.1),
        "rival_b": np.int64(-1),
        "rival_b_score": np.float32(np.nan),
    }
    said = entry.speaks_against(Doubt(0.25, columns, {"a": "a name", "b": ""}))
    assert said and "{" not in said


def test_a_margin_read_from_a_links_file_is_the_one_that_the_model_used() -> None:
    """Margins are no columns; the explanation works them out again from the scores of the rivals."""
    found = span_papers.candidates()
    positions = found.mutual()
    in_b = found.best_a[found.rows_a[positions], 1]
    in_a = found.best_b[found.rows_b[positions], 1]
    columns = {
        "score": found.score[positions],
        "rival_a": np.where(in_a >= 0, found.rows_a[in_a], -1),
        "rival_b": np.where(in_b >= 0, found.rows_b[in_b], -1),
        "rival_a_score": np.where(in_a >= 0, found.score[in_a], np.nan),
        "rival_b_score": np.where(in_b >= 0, found.score[in_b], np.nan),
    }
    of_model = feature_matrix(candidate_pairs(found, span_papers.neighbourhoods(), positions))
    for place, name in ((1, "narrow_margin"), (2, "wide_margin")):
        entry = evidence.lookup(name)
        assert entry is not None
        recorded = entry.recorded(columns)
        assert recorded is not None and np.allclose(recorded, of_model[:, place], atol=1e-6)
        assert entry.recorded({"score": columns["score"]}) is None
    assert np.all(of_model[:, 1] <= of_model[:, 2]) and np.all(of_model[:, 1] >= 0)


def test_a_given_pair_that_is_no_candidate_has_no_evidence() -> None:
    entries = neighbourhood_evidence()
    columns = evidence_columns(entries, span_papers.candidates(), span_papers.neighbourhoods(), np.array([-1, 0]))
    assert list(columns) == [entry.name for entry in entries]
    for j, values in enumerate(columns.values()):
        assert values.dtype == np.float32 and np.isnan(values[0])
        assert values[1] == span_papers.neighbourhoods()[0, j]


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.name)
class TestOneEntryIsEnough:
    """A kind of evidence that is in the registry, and nowhere else, is seen by every reader of evidence."""

    def test_the_model_weighs_it(self, toy_links: Links, toy: Evidence) -> None:
        model = toy_links.trace["model"]
        assert model["features"] == [*PUBLISHED, OF_SCORES.name, OF_NEIGHBOURHOODS.name]
        place = model["features"].index(toy.name)
        for part in ("weights", "centre", "scale"):
            assert len(model[part]) == len(model["features"])
        assert model["weights"][place] != 0 and model["scale"][place] > 1e-6

    def test_it_is_a_column_of_links_and_their_file(self, toy_links: Links, toy: Evidence, tmp_path: Path) -> None:
        assert np.isfinite(toy_links.explain(new_link(toy_links))[toy.name])
        toy_links.save(tmp_path / "links.csv", columns="all")
        saved = Links.load(tmp_path / "links.csv")
        assert np.array_equal(saved.evidence[toy.name], toy_links.evidence[toy.name], equal_nan=True)

    def test_what_speaks_against_a_link_names_it(self, toy_links: Links, toy: Evidence) -> None:
        i = new_link(toy_links)
        doubtful = doubtful_by(toy_links, toy)
        value = float(toy_links.evidence[toy.name][i])
        assert [name for name, _ in against(doubtful, i)] == [toy.name]
        assert in_words(doubtful, i) == f"The toy of {toy.name.removeprefix('toy_of_')} is at {value:.3f}."

    def test_the_report_holds_its_label_and_its_values(self, toy_links: Links, toy: Evidence) -> None:
        data = unpacked(gather(toy_links, None, None)["packed"])
        whole = toy_links.considered
        assert whole is not None
        assert data["facts"]["labels"][toy.name] == toy.label
        values = data["column"][toy.name] * data["columns"][toy.name]["factor"]
        new = ~whole.evidence["given"]
        assert np.allclose(values[new], whole.evidence[toy.name][new], atol=1e-4)

    def test_the_card_of_a_review_shows_it(self, toy_links: Links, toy: Evidence) -> None:
        i = new_link(toy_links)
        value = float(toy_links.evidence[toy.name][i])
        shown = {row["what"]: row["value"] for row in why(toy_links, i)}
        assert shown[toy.label] == (f"{value:.2f}" if toy is OF_SCORES else f"toy {value:.1f}")

    def test_the_reference_lists_it(self, toy_links: Links, toy: Evidence) -> None:
        assert f"| `{toy.name}` | yes | {toy.help} |" in docs_hooks().evidence_table()


def test_the_reference_lists_the_registry_and_nothing_else() -> None:
    page = docs_hooks().filled((ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8"))
    section = page.split("### Evidence")[1].split("\n## ")[0]
    listed = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
    assert listed == [entry.name for entry in evidence.REGISTRY]


def test_a_file_of_another_version_is_explained_as_far_as_it_is_known() -> None:
    """Its model may name evidence that this version does not have: the column is there, the words are not."""
    links = span_papers.linked_cut()
    column = np.arange(len(links), dtype=np.float32)
    model = {"features": ["later_kind"], "weights": [1.0], "centre": [1e6], "scale": [1.0], "base": 0.0}
    later = replace(
        links,
        evidence={**links.evidence, "later_kind": column},
        trace={**links.trace, "model": model},
    )
    assert in_words(later, new_link(later)) == "Later kind."
    without = replace(links, trace={**links.trace, "model": model})
    assert in_words(without, new_link(without)) == ""


RIVALS = {
    "score": np.array([0.9, 0.9, 0.9], np.float32),
    "rival_a": np.array([0, 4, -1]),
    "rival_b": np.array([5, -1, 0]),
    "rival_a_score": np.array([0.5, 0.25, np.nan], np.float32),
    "rival_b_score": np.array([0.75, np.nan, 1.0], np.float32),
}


def test_leads_follow_from_the_columns_of_a_file_and_no_rival_is_one_far_behind() -> None:
    narrow = evidence.lookup("narrow_margin").recorded(RIVALS)
    wide = evidence.lookup("wide_margin").recorded(RIVALS)
    assert narrow == pytest.approx([0.15, 0.65, -0.1], abs=1e-6)
    assert wide == pytest.approx([0.4, 1.9, 1.9], abs=1e-6)
    assert evidence.lookup("narrow_margin").recorded({"score": RIVALS["score"]}) is None
    assert evidence.lookup("no such evidence") is None


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (0, "“Rival B” in B scores only 0.15 less"),
        (1, "“Rival A” in A scores only 0.65 less"),
        (2, "“Rival B” in B scores higher"),
    ],
)
def test_the_rival_that_comes_closest_is_named(link: int, said: str) -> None:
    of_link = {name: column[link] for name, column in RIVALS.items()}
    doubt = Doubt(0.0, of_link, {"a": "Rival A", "b": "Rival B"})
    assert evidence.lookup("narrow_margin").speaks_against(doubt) == said


def test_a_rival_without_a_name_and_no_rival_at_all_have_words_too() -> None:
    of_link = {name: column[0] for name, column in RIVALS.items()}
    nobody = of_link | {"rival_a": -1, "rival_b": -1}
    said = evidence.lookup("narrow_margin").speaks_against
    assert said(Doubt(0.0, of_link, {})) == "another one in B scores only 0.15 less"
    assert said(Doubt(0.0, nobody, {})) == "another one in B scores only 0.00 less"
    level = of_link | {"rival_b_score": np.float32(0.9)}
    assert said(Doubt(0.0, level, {})) == "another one in B scores only 0.00 less"


def test_a_given_pair_that_is_no_candidate_has_no_evidence_and_the_first_candidate_has() -> None:
    found, near = golden_calibration.one_small_side(6, 9)
    columns = evidence_columns(evidence.model_evidence(), found, near, np.array([0, -1, 3]))
    for name, column in columns.items():
        assert np.isnan(column).tolist() == [False, True, False], name
    assert columns["score"][[0, 2]].tolist() == found.score[[0, 3]].tolist()


def test_the_score_on_a_card_names_its_lead_over_the_nearer_rival() -> None:
    card = evidence.lookup("score").card
    assert card(0.9, {"rival_a_score": 0.5, "rival_b_score": 0.75}) == "0.90, 0.15 ahead of the nearer rival"
    assert card(0.9, {"rival_a_score": float("nan")}) == "0.90"
    assert evidence.lookup("shared_neighbours").card(0.25, {}) == "25 %"
    assert evidence.lookup("local_correlation").card(0.256, {}) == "correlation 0.26"


def test_reports_keep_evidence_in_steps_that_suit_it() -> None:
    steps = {entry.name: entry.resolution for entry in evidence.REGISTRY}
    assert steps == {name: 1e-3 if name.startswith("density") else 1e-4 for name in PUBLISHED}
