"""Versions of results: by what small runs find, so that a moved line changes none and a changed default does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veclink.errors import InputError
from veclink_bench import behaviour, versions
from veclink_bench.behaviour import differing, replayed
from veclink_bench.experiments.running import Store, key_of
from veclink_bench.experiments.setup import Setup
from veclink_bench.experiments.tables import trials_note
from veclink_bench.versions import NOW, is_current, measured_with, older, release, release_of, version_of

MOST_OLDER = 18  # results that pages show although they are older than the code: lower it with each that goes
PAIR = ["papers", "minilm", "mpnet"]
CELL: dict[str, Any] = {"pair": PAIR, "overlap": 0.3, "seeds": 15, "method": "span", "state": 0, "f1": 90.0}


def test_a_table_of_two_versions_is_refused() -> None:
    new = {**CELL, "state": 1, "version": version_of("span")}
    assert trials_note([CELL]) == "One trial. Measured with veclink 0.1, and not since."
    for other in (CELL, {**CELL, "method": "geh"}, {**new, "version": "0.3.0 12345678"}):
        with pytest.raises(InputError, match="mix versions"):
            trials_note([new, other])
    assert trials_note([new]) == f"One trial. Measured with veclink {release(new['version'])}."


def test_cells_of_an_older_release_that_behaved_as_now_stand_beside_both() -> None:
    geh, old = {**CELL, "method": "geh tuned", "version": "0.2.2 5a5034a7"}, {**CELL, "version": "0.2.2 74e41202"}
    assert is_current(geh) and release_of([geh, {**CELL, "version": version_of("span")}]) == NOW
    assert release_of([geh, old]) == "0.2" and measured_with([geh, old]) == "veclink 0.2, and not since"
    assert measured_with([{**old, "version": "0.3.0+1234"}]) == "an earlier state of veclink 0.3, and not since"


def test_older_results_get_fewer() -> None:
    assert len(older()) <= MOST_OLDER


def test_other_links_and_probabilities_are_another_version_and_last_bits_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = json.loads((versions.ROOT / "tests" / "recorded.json").read_text(encoding="utf-8"))
    (tmp_path / "tests").mkdir()
    monkeypatch.setattr(versions, "ROOT", tmp_path)

    def digest(method: str, **changed: Any) -> str:
        some = {**runs, "even": {**runs["even"], **changed}}
        (tmp_path / "tests" / "recorded.json").write_text(json.dumps(some), encoding="utf-8")
        return versions.digest_of.__wrapped__(method)

    before, geh = digest("span"), digest("geh")
    assert digest("span", processor="another", exact="0", evidence={}) == before
    assert digest("span", links=3) != before and digest("geh", links=3) == geh
    assert digest("span", probability=runs["larger"]["probability"]) != before


def test_a_rerun_measures_again_what_another_version_left(tmp_path: Path) -> None:
    setup = Setup(tmp_path, full=True)
    store = Store(tmp_path / "grid.json", "grid", setup)
    every = store.missing()
    for settings in every[:3]:
        store.add(settings, {"f1": 1.0})
    assert len(store.cells()) == 3 and store.missing() == every
    method = versions.method_of(every[0])
    store.add(every[0], {"f1": 2.0, "version": version_of(method)})
    assert key_of(every[0]) not in map(key_of, store.missing())


def test_a_rival_that_behaves_in_another_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert replayed(["procrustes tuned"]) == []
    known = behaviour.recorded()["procrustes tuned"]
    figures = known["measured"]["main"]
    other = {**known, "measured": {"main": {**figures, "f1": figures["f1"] + 3}}}
    monkeypatch.setattr(behaviour, "recorded", lambda: {"procrustes tuned": other})
    assert ["main f1" in told and "--record" in told for told in replayed(["procrustes tuned"])] == [True]
    assert differing({}, {"main": {"f1": 50.0}}) == ["main f1: nan → 50"]
