"""Inputs that once ended in a traceback, a hang or gigabytes of memory: each ends in a sentence now."""

from __future__ import annotations

from pathlib import Path

from fuzz.campaign import replay

KEPT = Path(__file__).parent / "kept"


def test_every_input_that_once_failed_ends_in_a_sentence(tmp_path: Path) -> None:
    kept = sorted(each for each in KEPT.iterdir() if each.is_dir())
    assert len(kept) >= 12
    assert replay(kept, tmp_path) == []


def test_a_replay_tells_of_a_fault(tmp_path: Path) -> None:
    """What the test above goes by: a case that does end in a fault is told."""
    broken = tmp_path / "checkpoint-1"
    broken.mkdir()
    specimen_of_another_run(broken)
    assert [name for name, _ in replay([broken], tmp_path / "work")] == ["checkpoint-1"]


def specimen_of_another_run(folder: Path) -> None:
    """A checkpoint that is sound, and not the one that the case expects."""
    import numpy as np

    from fuzz.specimens import RUN
    from veclink.linkers.checkpoint import Checkpoint

    Checkpoint(folder, RUN).save("grow", np.random.default_rng(0), {"pool": np.zeros((3, 2))})
