"""Translated rows on disk: no trace is left of them, and no room for them is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from made_merges import merged_sample, small_merge
from scratch_left import left_in
from veclink.errors import OutputError
from veclink.progress import Progress
from veclink.uses import translated

# most tests merge small made-up collections, whose vectors have nothing to do with one another
pytestmark = pytest.mark.filterwarnings("ignore::veclink.errors.WrongLinksWarning")


@pytest.mark.parametrize("stage", ["translating", "writing"])
def test_a_stopped_run_leaves_nothing_and_the_next_one_gives_the_same_file(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    monkeypatch.setattr(translated, "CHUNK", 100)
    monkeypatch.setattr("veclink.uses.merging.BATCH_BYTES", 400_000)
    merged_sample().write(tmp_path / "straight.parquet")

    def stop(now: Progress) -> None:
        if now.stage == stage and now.step >= 500:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merged_sample().write(tmp_path / "stopped.parquet", progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["straight.parquet"] and not left_in(scratch)
    merged_sample().write(tmp_path / "stopped.parquet")
    assert (tmp_path / "stopped.parquet").read_bytes() == (tmp_path / "straight.parquet").read_bytes()


def test_the_same_merge_twice_at_a_time_does_not_disturb_itself(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translated, "CHUNK", 20)
    small_merge().write(tmp_path / "straight.npy")

    def merge_meanwhile(now: Progress) -> None:
        if now.stage == "translating" and now.step == 40:
            small_merge().write(tmp_path / "inner.npy")

    small_merge().write(tmp_path / "outer.npy", progress=merge_meanwhile)
    for name in ("inner", "outer"):
        assert (tmp_path / f"{name}.npy").read_bytes() == (tmp_path / "straight.npy").read_bytes()
    assert not left_in(scratch)


def test_no_room_for_translated_rows_is_said_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        free = 10

    monkeypatch.setattr("shutil.disk_usage", lambda _: Full)
    with pytest.raises(OutputError, match="VECLINK_SCRATCH"):
        merged_sample().write(tmp_path / "m.parquet")
    assert not list(tmp_path.iterdir())
