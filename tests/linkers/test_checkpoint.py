"""Checkpoints: a run that was killed goes on where it was and gives the same links; other runs are left alone."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_papers import small_papers
from span_papers import Papers
from veclink.confidence import candidates
from veclink.data.links import Links
from veclink.linkers import checkpoint
from veclink.linkers.checkpoint import Checkpoint, UnfinishedPass
from veclink.linkers.linking import link
from veclink.progress import Progress

# Small tiles, and a single pass over all rows as in large clouds: a pass of several steps on little data.
SPAN: dict[str, Any] = {"memory": "1MB", "device": "cpu"}
GEH: dict[str, Any] = {"method": "geh", "k": 10, "max_iterations": 5, "device": "cpu"}
# Runs link() on the files of a folder, or the command line, and kills itself when it hears of a step.
KILLED = """
import json, os, signal, sys
import numpy as np
from veclink.confidence import candidates
from veclink.linkers import checkpoint, linking
folder, options, stage, step, *command = sys.argv[1:]
options, step = json.loads(options), int(step)
candidates.FULL_FOLDS, checkpoint.SAVE_EVERY = 100, 0.0
link = linking.link
def listen(now):
    if now.stage == stage and now.step >= step:
        os.kill(os.getpid(), signal.SIGKILL)
if command:
    from veclink.cli.app import main
    linking.link = lambda *given, progress=None, **more: link(*given, progress=listen, **more)
    sys.argv = ["veclink", *command]
    main()
else:
    link(f"{folder}/a.npy", f"{folder}/b.npy", seeds=f"{folder}/seeds.csv", progress=listen, **options)
"""


@cache
def some_papers() -> Papers:
    """200 papers of either side, 150 of them shared."""
    a, b, truth = small_papers()
    return Papers(a, b, truth, truth[:15])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The papers as files, in a process with the same settings as the one that is killed."""
    monkeypatch.setattr(candidates, "FULL_FOLDS", 100)
    monkeypatch.setattr(checkpoint, "SAVE_EVERY", 0.0)
    papers = some_papers()
    np.save(tmp_path / "a.npy", papers.a)
    np.save(tmp_path / "b.npy", papers.b)
    (tmp_path / "seeds.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in papers.seeds))
    return tmp_path


def _killed(folder: Path, options: dict[str, Any], stage: str, step: int, *command: str) -> list[str]:
    """The stages in the checkpoint of a run that was killed there."""
    given = json.dumps({**options, "checkpoint": str(folder / "kept")})
    run = [sys.executable, "-c", KILLED, str(folder), given, stage, str(step), *command]
    assert subprocess.run(run, capture_output=True).returncode == -signal.SIGKILL
    return sorted(path.stem.split("-")[-1] for path in (folder / "kept").iterdir())


def _broken_off(folder: Path) -> None:
    """Leaves a checkpoint behind that has all stages."""

    def listen(now: Progress) -> None:
        if now.stage == "judging":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _linked(folder, SPAN, checkpoint=folder / "kept", progress=listen)
    assert len(list((folder / "kept").iterdir())) == 2


def _linked(folder: Path, options: dict[str, Any], **more: Any) -> Links:
    return link(folder / "a.npy", folder / "b.npy", seeds=folder / "seeds.csv", **options, **more)


@cache
def _uninterrupted(name: str) -> Links:
    papers = some_papers()
    return link(papers.a, papers.b, seeds=papers.seeds, **(SPAN if name == "span" else GEH))


def test_an_unfinished_pass_is_kept_once_it_is_time_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seconds in (60.0, 0.0):
        monkeypatch.setattr(checkpoint, "SAVE_EVERY", seconds)
        unfinished = UnfinishedPass(Checkpoint(tmp_path, "print"))
        unfinished.keep(1, 2, lambda: {"best": np.arange(3)})
        assert (unfinished.load() is None) == (seconds > 0)


@pytest.mark.parametrize(
    ("stage", "step", "kept", "passed"),
    [
        ("matching", 0, ["grown"], [50, 100, 150, 200]),
        ("matching", 1, ["grown", "pass"], [100, 150, 200]),
        ("judging", 0, ["candidates", "grown"], []),
    ],
)
def test_a_killed_run_goes_on_and_gives_the_same_links_bit_for_bit(
    folder: Path, stage: str, step: int, kept: list[str], passed: list[int]
) -> None:
    expected = _uninterrupted("span")
    assert _killed(folder, SPAN, stage, step) == kept
    told: list[Progress] = []
    links = _linked(folder, SPAN, checkpoint=folder / "kept", progress=told.append)
    assert links == expected and len(links) > 120
    assert np.array_equal(links.probability, expected.probability) and links.trace == expected.trace
    # What was kept is not done again: no growing, and only the rows that the pass had not come to.
    assert {each.stage for each in told} == {"matching", "judging"}
    assert [each.step for each in told if each.stage == "matching" and each.step] == passed
    assert not list((folder / "kept").iterdir())


def test_a_killed_run_of_geh_goes_on_after_its_last_iteration(folder: Path) -> None:
    expected = _uninterrupted("geh")
    assert _killed(folder, GEH, "growing", 3) == ["growth"]
    told: list[Progress] = []
    links = _linked(folder, GEH, checkpoint=folder / "kept", progress=told.append)
    assert links == expected and [each.step for each in told] == [4, 5]
    assert not list((folder / "kept").iterdir())


def test_a_checkpoint_of_other_vectors_is_neither_used_nor_removed(folder: Path) -> None:
    _broken_off(folder)
    others = sorted((folder / "kept").iterdir())
    papers, changed = some_papers(), some_papers().a.copy()
    changed[77] = changed[78]  # one row, which the sample of rows may not hold
    told: list[Progress] = []
    link(changed, papers.b, seeds=papers.seeds, checkpoint=folder / "kept", progress=told.append, device="cpu")
    assert any(each.stage == "growing" for each in told)
    assert sorted((folder / "kept").iterdir()) == others


def odd_arrays(array: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """An array of the same archive that is read without complaint, and is not what was kept."""
    odd = [
        np.zeros_like(array),
        array[:-1] if array.ndim else np.array("x"),
        np.full(array.shape, 10**9) if array.dtype.kind in "iu" else np.full(array.shape, np.nan),
        array.astype(str),
        array[None],
        np.empty(0),
        array.ravel()[::-1].reshape(array.shape) if array.size else np.ones(3),
    ]
    return odd[draw.integers(len(odd))]


def test_archives_with_odd_arrays_are_done_again(folder: Path) -> None:
    """Valid archives whose numbers somebody changed: each is left unread, and a run gives the links it would have."""
    _broken_off(folder)
    files = sorted((folder / "kept").iterdir())
    draw = np.random.default_rng(0)
    for number in range(60):
        path = files[number % 2]
        original = path.read_bytes()
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        name = draw.choice(sorted(arrays))
        changed = odd_arrays(arrays[name], draw)
        if changed.dtype == arrays[name].dtype and np.array_equal(changed, arrays[name]):
            continue
        np.savez(path, **{**arrays, name: changed})
        kept = Checkpoint(folder / "kept", path.stem.split("-")[1])
        rng = np.random.default_rng(5)
        assert kept.load(path.stem.split("-")[2], rng) is None, (path.stem, name, changed)
        assert rng.bit_generator.state == np.random.default_rng(5).bit_generator.state
        if number < 2:
            shutil.copytree(folder / "kept", folder / "again", dirs_exist_ok=True)
            assert _linked(folder, SPAN, checkpoint=folder / "again") == _uninterrupted("span")
        path.write_bytes(original)
    assert kept.load(path.stem.split("-")[2], rng) is not None
