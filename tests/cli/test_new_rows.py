"""match, cut and link --continue as a person meets them, the walk of the page on new rows, and processes that die."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from grown_papers import fitted, grown_papers
from killed_steps import KILL_BEFORE
from own_process import command_alone
from veclink import Linker, Links
from veclink.cli.app import app
from veclink.data.summary import Summary

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "new-rows.md"
CODE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)

KILLED = f"""
import json
from veclink.cli.app import main
import veclink.uses.linker
{KILL_BEFORE}
def run(folder, step):
    child = os.fork()
    if not child:
        os.chdir(folder)
        sys.argv = "veclink match ../new.npy --linker linker --against ../b.npy -o new.csv -q".split()
        sys.argv += ["--update"] if update else []
        if step:
            kill_before(step)
        main()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

folders, update = json.loads(sys.argv[1]), sys.argv[2] == "update"
ended = []
for step, folder in folders:
    ended.append(run(folder, step))
    assert run(folder, 0) == 0
print(json.dumps(ended))
"""


def save(path: Path, vectors: np.ndarray, first: int = 0) -> None:
    """A .npy file with ids beside it."""
    np.save(path, vectors)
    names = "".join(f"{path.name[0]}{first + row}\n" for row in range(len(vectors)))
    path.with_suffix(".ids.txt").write_text(names)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page begins with: A and B, seeds, and rows that come later."""
    folder = tmp_path_factory.mktemp("walk")
    grown = grown_papers()
    np.save(folder / "a.npy", grown.a)
    np.save(folder / "b.npy", grown.b[:480])
    np.save(folder / "monday.npy", grown.new[:25])
    np.save(folder / "tuesday.npy", grown.new[25:45])
    np.save(folder / "wednesday.npy", grown.new[45:])
    np.save(folder / "new_b.npy", grown.b[480:])
    np.save(folder / "a_now.npy", np.concatenate([grown.a, grown.new[:45]]))
    np.save(folder / "b_now.npy", grown.b)
    known = grown.seeds[grown.seeds[:, 1] < 480]
    (folder / "seeds.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in known.tolist()))
    return folder


@pytest.fixture(scope="module")
def walked(files: Path) -> dict[str, str]:
    """All commands and all Python of the page, run in their order; what each command said."""
    said: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(files)
        for language, block in CODE.findall(PAGE.read_text(encoding="utf-8")):
            if language == "python":
                exec(compile(block, str(PAGE), "exec"), {})
            for line in re.findall(r"^veclink (.+)", block, re.MULTILINE) if not language else ():
                code, told = command_alone(*line.split())
                assert code == 0, f"veclink {line}: {told}"
                said[line] = told
    return said


def test_the_walk_of_the_page_links_what_came_each_night(files: Path, walked: dict[str, str]) -> None:
    grown = grown_papers()
    assert len(walked) == 8
    first, second = Links.load(files / "monday.csv"), Links.load(files / "tuesday.csv")
    right = np.concatenate([grown.right(first), grown.partner[25 + second.pairs[:, 0]] == second.pairs[:, 1]])
    possible = np.count_nonzero((grown.partner[:45] >= 0) & (grown.partner[:45] < 480))
    assert right.sum() >= possible - 3 and right.mean() >= 0.9
    of_b = Links.load(files / "new_b.csv")
    assert (of_b.summary.n_a, of_b.summary.n_b) == (485, 20) and len(of_b)
    assert Linker.load(files / "papers.linker").sizes == (485, 500)  # of the last link, which began anew
    now = Links.load(files / "links_now.parquet")
    new = now.pairs[:, 0] >= 440
    assert (grown.partner[now.pairs[new, 0] - 440] == now.pairs[new, 1]).mean() >= 0.9


def test_the_walk_cuts_both_ways(files: Path, walked: dict[str, str]) -> None:
    links = Links.load(files / "links.parquet")
    sure, more, best = (Links.load(files / name) for name in ("sure.csv", "more.parquet", "best.csv"))
    assert len(sure) < len(links) < len(more) and len(best) == 200
    assert sure == links.at(precision=0.99) or len(sure) == len(links.at(precision=0.99))
    assert (more.probability >= 0.3).all() and more.considered is not None


def test_cut_asks_for_one_wish_and_says_what_a_csv_lacks(files: Path, walked: dict[str, str], tmp_path: Path) -> None:
    code, said = command_alone("cut", files / "links.parquet", "-o", tmp_path / "x.csv")
    assert code == 2 and "one of --precision, --probability and --links" in said
    code, said = command_alone("cut", files / "sure.csv", "--probability", "0.1", "-o", tmp_path / "x.csv")
    assert code == 0 and "holds links only" in said
    code, said = command_alone("cut", files / "links.parquet", "--precision", "0.9", "-o", tmp_path / "x.csv")
    caution = Links.load(files / "links.parquet").summary.caution
    assert code == 0 and f"expect was counted as {caution:.1f}." in said and "links only" not in said
    code, said = command_alone("cut", files / "links.parquet", "--links", 10**6, "-o", tmp_path / "x.csv")
    assert code == 1 and "pairs were judged" in said


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("wish", [("--precision", "0.9"), ("--probability", "0.1"), ("--links", "0")])
def test_a_cut_of_no_links_is_empty_and_says_why(ending: str, wish: tuple[str, str], tmp_path: Path) -> None:
    source, cut = tmp_path / f"none{ending}", tmp_path / f"cut{ending}"
    Links(np.empty((0, 2), int), np.empty(0), Summary("span", 5, 6, 0, verdict="not linkable")).save(source)
    told = CliRunner().invoke(app, ["cut", str(source), *wish, "-o", str(cut)])
    assert told.exit_code == 0 and "holds no pairs" in told.stdout and "links only" not in told.stdout
    assert len(Links.load(cut)) == 0 and Links.load(cut).summary.verdict == "not linkable"


def test_match_prints_json_and_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    grown = grown_papers()
    linker = fitted()
    linker.save(tmp_path / "linker")
    np.save(tmp_path / "new.npy", grown.new)
    np.save(tmp_path / "b.npy", grown.b)
    given = ("match", tmp_path / "new.npy", "--linker", tmp_path / "linker", "-o", tmp_path / "new.csv")
    code, said = command_alone(*given)
    assert code == 1 and "--against" in said and not (tmp_path / "new.csv").exists()
    code, said = command_alone(*given, "--against", tmp_path / "b.npy", "--json", "-q", "--threads", "2")
    assert code == 0 and json.loads(said)["n_links"] == len(linker.match(grown.new))
    code, said = command_alone(*given, "--against", tmp_path / "b.npy", "--side", "b")
    assert code == 1 and "check the side" in said
    code, said = command_alone("match", tmp_path / "new.npy", "--linker", tmp_path, "-o", tmp_path / "x.csv")
    assert code == 1 and "is not a linker" in said


def test_link_refuses_a_place_for_the_linker_before_it_works(files: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    given = ("link", files / "a.npy", files / "b.npy", "--seeds", files / "seeds.csv", "-o", tmp_path / "links.csv")
    code, said = command_alone(*given, "--save-linker", tmp_path)
    assert code == 1 and "other files, which would be lost: 'kept.txt'" in said
    code, said = command_alone(*given, "--save-linker", tmp_path / "no" / "such")
    assert code == 1 and "does not exist" in said
    code, said = command_alone(*given, "--save-linker", tmp_path / "linker", "--method", "geh")
    assert code == 2 and "--method span" in said
    assert not (tmp_path / "links.csv").exists()


@pytest.mark.parametrize(("kind", "steps"), [("match", (1, 4)), ("update", (2, 5, 7, 9, 12, 15))])
def test_a_killed_match_that_is_run_again_ends_like_one_that_was_not(
    tmp_path: Path, kind: str, steps: tuple[int, ...]
) -> None:
    """Real processes and real SIGKILLs, before each change of a name on disk."""
    grown = grown_papers()
    save(tmp_path / "new.npy", grown.new, first=440)
    save(tmp_path / "b.npy", grown.b)
    fitted().save(tmp_path / "linker")
    folders: list[tuple[int, str]] = []
    for step in (0, *steps):
        folder = tmp_path / str(step)
        shutil.copytree(tmp_path / "linker", folder / "linker")
        folders.append((step, str(folder)))
    given = [sys.executable, "-c", KILLED, json.dumps(folders), kind]
    run = subprocess.run(given, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    ended = json.loads(run.stdout)
    assert ended[0] == 0 and ended[1:] == [-signal.SIGKILL] * len(steps)
    expected = content(Path(folders[0][1]))
    for _, place in folders[1:]:
        assert content(Path(place)) == expected
    assert Linker.load(tmp_path / "0" / "linker").sizes[0] == (500 if kind == "update" else 440)


def content(folder: Path) -> dict[str, Any]:
    """All files below a folder that are not what a killed run left for the next one to clear away."""
    left = (path for path in sorted(folder.rglob("*")) if not path.name.startswith(".veclink-"))
    files = [path for path in left if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
