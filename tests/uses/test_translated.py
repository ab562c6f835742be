"""Translated rows on disk: a killed merge goes on, and what is damaged or somebody else's is not used."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from made_merges import merged_sample, small, small_merge, weighted
from scratch_left import left_in, make_old
from veclink import Collection, merge
from veclink.errors import OutputError
from veclink.progress import Progress
from veclink.uses import translated
from veclink.uses.merging import Merged

# most tests merge small made-up collections, whose vectors have nothing to do with one another
pytestmark = pytest.mark.filterwarnings("ignore::veclink.errors.WrongLinksWarning")


class Killed(BaseException):
    """As if the process had gone: nothing may tidy up after it that a kill would not."""


def killed_at(stage: str, row: int) -> object:
    def listener(now: Progress) -> None:
        if now.stage == stage and now.step >= row:
            raise Killed

    return listener


def small_merge_of(a: Collection) -> Merged:
    links = weighted([(row, row) for row in range(30)], [0.96] * 30, len(a), 600)
    return merge(a, small(600, 8, 1), links, map="procrustes")


def left_by_a_killed_merge(tmp_path: Path, scratch: Path, a: Collection) -> Path:
    with pytest.raises(Killed):
        small_merge_of(a).write(tmp_path / "killed.npy", progress=killed_at("translating", 200))
    (left,) = left_in(scratch)
    return left


def cut_rows(left: Path) -> None:
    os.truncate(left / "vectors", (left / "vectors").stat().st_size // 4)


def clear_rows(left: Path) -> None:
    size = (left / "vectors").stat().st_size
    (left / "vectors").write_bytes(bytes(size))


def count_more(left: Path) -> None:
    note = json.loads((left / "state.json").read_text())
    (left / "state.json").write_text(json.dumps({**note, "rows": note["rows"] + 100}))


def flip_translator(left: Path) -> None:
    content = bytearray((left / "translator.safetensors").read_bytes())
    content[-3] ^= 0x41
    (left / "translator.safetensors").write_bytes(content)


def write_state(text: str) -> Callable[[Path], object]:
    return lambda left: (left / "state.json").write_text(text)


@pytest.mark.parametrize("stage", ["translating", "writing"])
def test_a_killed_run_goes_on_and_ends_with_the_same_file(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    monkeypatch.setattr(translated, "CHUNK", 100)
    monkeypatch.setattr("veclink.uses.merging.BATCH_BYTES", 400_000)
    merged_sample().write(tmp_path / "straight.parquet")
    assert not left_in(scratch)
    with pytest.raises(Killed):
        merged_sample().write(tmp_path / "killed.parquet", progress=killed_at(stage, 500))
    assert [path.name for path in tmp_path.iterdir()] == ["straight.parquet"]
    (left,) = left_in(scratch)
    done = json.loads((left / "state.json").read_text())["rows"]
    assert done == (500 if stage == "translating" else 1050)
    again: list[int] = []
    merged_sample().write(
        tmp_path / "killed.parquet", progress=lambda now: again.append(now.step) if now.stage == "translating" else None
    )
    assert again == [*range(600, 1001, 100), 1050] if stage == "translating" else again == []
    assert (tmp_path / "killed.parquet").read_bytes() == (tmp_path / "straight.parquet").read_bytes()
    assert not left_in(scratch)


def test_what_another_merge_left_behind_is_not_taken(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translated, "CHUNK", 20)
    a, b = small(100, 8, 0), small(100, 8, 1)
    links = weighted([(row, row) for row in range(30)], [0.96] * 20 + [0.3] * 10, 100, 100)
    with pytest.raises(Killed):
        merge(a, b, links, map="procrustes").write(tmp_path / "x.npy", progress=killed_at("translating", 20))
    other = merge(a, b, links, map="procrustes", sure=0.0)
    other.write(tmp_path / "y.npy")
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), other.collection().vectors, atol=1e-6)
    assert len(left_in(scratch)) == 1


def test_a_row_that_changed_after_a_kill_is_translated_anew(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row of 600, which is not among those that a sample of 256 holds."""
    monkeypatch.setattr(translated, "CHUNK", 100)
    a = small(600, 8, 0)
    left_by_a_killed_merge(tmp_path, scratch, a)
    a.vectors[31] = a.vectors[31, ::-1].copy()
    small_merge_of(a).write(tmp_path / "again.npy")
    expected = small_merge_of(a).collection().vectors
    np.testing.assert_allclose(np.load(tmp_path / "again.npy"), expected, atol=1e-6)


@pytest.mark.parametrize(
    "damage",
    [
        cut_rows,
        clear_rows,
        count_more,
        flip_translator,
        lambda left: (left / "translator.safetensors").write_bytes(b"\x05"),
        lambda left: (left / "translator.safetensors.json").write_text("[]"),
        *map(write_state, ("", "{", "[]", "null", '{"rows": "x"}', '{"rows": -5}', '{"rows": 1e9}', "[" * 100_000)),
    ],
)
def test_a_damaged_workspace_is_made_anew(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], object]
) -> None:
    monkeypatch.setattr(translated, "CHUNK", 100)
    a = small(600, 8, 0)
    small_merge_of(a).write(tmp_path / "straight.npy")
    damage(left_by_a_killed_merge(tmp_path, scratch, a))
    small_merge_of(a).write(tmp_path / "killed.npy")
    assert (tmp_path / "killed.npy").read_bytes() == (tmp_path / "straight.npy").read_bytes()
    assert not left_in(scratch)


def test_a_whole_workspace_with_its_fitted_translator_is_taken_up(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translated, "CHUNK", 100)
    a = small(600, 8, 0)
    small_merge_of(a).write(tmp_path / "straight.npy")
    left_by_a_killed_merge(tmp_path, scratch, a)
    heard: list[int] = []
    small_merge_of(a).write(
        tmp_path / "killed.npy", progress=lambda now: heard.append(now.step) if now.stage == "translating" else None
    )
    assert heard == [300, 400, 500, 570]
    assert (tmp_path / "killed.npy").read_bytes() == (tmp_path / "straight.npy").read_bytes()


def test_what_a_killed_merge_left_goes_away_after_a_week(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translated, "CHUNK", 20)
    with pytest.raises(Killed):
        small_merge().write(tmp_path / "x.npy", progress=killed_at("translating", 20))
    (scratch / "mine").mkdir()
    (scratch / "mine/notes.txt").write_text("mine")
    make_old(scratch)
    merged_sample().write(tmp_path / "y.npy")
    assert (scratch / "mine/notes.txt").read_text() == "mine"
    (home,) = (path for path in scratch.iterdir() if path.name != "mine")
    assert [path.name for path in home.iterdir()] == [".veclink-scratch"]


def test_the_same_merge_twice_at_a_time_does_not_disturb_itself(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translated, "CHUNK", 20)
    small_merge().write(tmp_path / "straight.npy")

    def merge_meanwhile(now: Progress) -> None:
        if now.stage == "translating" and now.step == 40:
            small_merge().write(tmp_path / "inner.npy")
            assert len(left_in(scratch)) == 1  # the inner one removed its own folder, not this one

    small_merge().write(tmp_path / "outer.npy", progress=merge_meanwhile)
    for name in ("inner", "outer"):
        assert (tmp_path / f"{name}.npy").read_bytes() == (tmp_path / "straight.npy").read_bytes()
    assert not left_in(scratch)


def test_a_workspace_that_somebody_else_prepared_is_not_used(tmp_path: Path, scratch: Path) -> None:
    expected = small_merge()
    home = scratch / f"veclink-scratch-{os.geteuid()}"
    home.mkdir()
    home.chmod(0o777)  # anybody can put a translator there
    with pytest.raises(OutputError, match=r"open to others.*VECLINK_SCRATCH"):
        expected.write(tmp_path / "x.npy")
    assert not list(tmp_path.iterdir()) and not left_in(scratch)


def test_no_room_for_translated_rows_is_said_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        free = 10

    monkeypatch.setattr("shutil.disk_usage", lambda _: Full)
    with pytest.raises(OutputError, match="VECLINK_SCRATCH"):
        merged_sample().write(tmp_path / "m.parquet")
    assert not list(tmp_path.iterdir())
