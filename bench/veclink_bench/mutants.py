"""Mutants: small faults put in one at a time, to see whether tests notice.

    veclink bench mutants [--of geh] [--count 30] [--random-state 0] [--jobs 2] [--only TEXT] [--chosen] [--out FILE]
    veclink bench mutants --campaign [--jobs 2] [--only TEXT] --out bench/results/reliability/mutants.json

A mutant is one change: a number times 0, times 10 or plus 1, a comparison turned round, one side taken for the other,
a term or a condition dropped. The campaign puts forty of them, drawn once for all and the three of GEH that a person
chose, into the linkers, `confidence`, stores and files, and the tasks, and asks what `make test` runs: first the tests
that are named like the changed module, then those of its room and the recorded runs, then all. A run without it: a
mutant is tested in a process of its own, in a copy of src and tests in which only that line differs, by
the tests of `confidence` that need no whole run of the linker, or by those that hold GEH against the short one.
Prints JSON: how many were tried, and those that survived. The exit code is 1 where any did. `--chosen` tries the few
that a person chose, as the tests do too.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from queue import SimpleQueue

from veclink.errors import InputError
from veclink_bench.arguments import parser
from veclink_bench.places import ROOT

CODE = ROOT / "src/veclink"
HANGS, NO_TESTS = 1200, 5
"""Seconds after which a test is taken to hang, and what pytest returns where there are no tests."""
PACKAGES = {"confidence": Path("src/veclink/confidence"), "geh": Path("src/veclink/linkers/geh")}
TESTS = {"confidence": Path("tests/confidence"), "geh": Path("tests/linkers/geh")}
FIRST_TESTS = {"confidence": "test_golden.py", "geh": "test_reference.py"}
"""What notices most is asked first; of GEH it is asked alone."""
LONG_TESTS = "TestOneEntryIsEnough or test_a_file_of_another_version or test_the_ranges"
"""Tests that link whole collections: seconds each, and what they look at is shown elsewhere too."""
NEGLIGIBLE = 1e-4
"""Numbers below are guards against a division by nothing: no result depends on them."""
QUICK = ("tests/linkers/geh/test_reference.py", "tests/linkers/test_copies.py", "tests/cli/test_app.py")
"""Tests of the linkers that notice much and take seconds: they are asked before the recorded runs."""
ROOMS = {
    "linkers": (("linkers/*.py", "linkers/span/*.py"), (*QUICK, "tests/linkers"), 8),
    "geh": (("linkers/geh/*.py",), (*QUICK, "tests/linkers"), 2),
    "confidence": (("confidence/*.py",), ("tests/confidence",), 9),
    "stores and files": (
        ("stores/*.py", "stores/engines/sql*.py", "stores/engines/lance.py", "files/*.py"),
        ("tests/stores", "tests/files", "tests/data", "tests/cli"),
        9,
    ),
    "tasks": (("uses/*.py",), ("tests/stores", "tests/uses", "tests/cli"), 9),
}
"""Of each room of the campaign its files (of engines those that `make test` runs), its tests, and how many mutants."""
TIMES = {
    "MAX_FITTED_CANDIDATES": "bounds the time; what is fitted to a part has golden numbers",
    "FULL_FOLDS": "bounds the time",
    "NEWTON_STEPS": "an end for what does not converge",
    "HALVINGS": "more are no better",
    "LARGEST_STEP": "keeps the first steps of Newton's method from going astray; the end is the same",
    "LARGEST_LOG_ODDS": "keeps exp from overflowing",
    "LARGEST_SHIFT": "where bisection begins; the end is the same",
}
"""Constants that no result depends on, and why: no mutants are made of their values."""
EQUIVALENT = {
    "np.full(clouds.n_a, -1)": "any number below 0 says that a row is not in the pool",
    "np.full(clouds.n_b, -1)": "the same",
    "(of_a == every) | (of_a < 0)": "where no map is free for both rows, those that are free for one are taken",
    "(of_b == every) | (of_b < 0)": "the same",
    "len(candidates.rows_a) + 1": "one place for −1 is enough, and more are as good",
    "2 * expected_right": "all F1 are twice as large, and the largest stays the largest",
    "step * min(1.0, 5.0 / max(largest, 1e-12))": "Newton's method ends in the same place",
}
"""Expressions that can be changed without a change of any result, and why: no mutants are made within them."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes
    ----------
    file : str
        In the package.
    line : int
        Where it is, from 1.
    old, new : str
        The text that is replaced, and what replaces it.
    start : int
        Where the old text begins, in bytes.
    """

    file: str
    line: int
    old: str
    new: str
    start: int

    def applied(self, source: bytes) -> bytes:
        """The file with the change."""
        old = self.old.encode()
        end = self.start + len(old)
        assert source[self.start : end] == old, "the file is the one that the mutant was made of"
        return source[: self.start] + self.new.encode() + source[end:]


CHOSEN = {
    "confidence": (
        ("constants.py", "DECOY_RATE_INFLATION = 0.2", "DECOY_RATE_INFLATION = 0.0"),
        ("constants.py", "RATE_ERROR = 0.08", "RATE_ERROR = 0.8"),
        ("constants.py", "NORMALS_APART = (2.0, 3.0)", "NORMALS_APART = (0.0, 0.1)"),
        ("constants.py", "FEW_RIGHT_ERROR = 10.0", "FEW_RIGHT_ERROR = 1.0"),
        ("constants.py", "OWN_DOUBT_SHARE = 0.5", "OWN_DOUBT_SHARE = 0.0"),
        ("mixture.py", "decoy_share = (1 - OWN_DOUBT_SHARE)", "decoy_share = 10 * (1 - OWN_DOUBT_SHARE)"),
        ("calibration.py", 'remove_partners(candidates, links, k, "b")', 'remove_partners(candidates, links, k, "a")'),
    ),
    "geh": (
        ("views.py", "in enumerate(sides):", "in enumerate((sides[0], sides[0])):"),
        ("linker.py", "likely], score[likely])", "likely], -score[likely])"),
        ("views.py", "times = planned[0] // len(views)", "times = 1"),
    ),
}
"""File, text and what it becomes: faults that once passed all tests."""


def chosen_mutants(package: Path, of: str = "confidence") -> list[Mutant]:
    """Those of CHOSEN."""
    return [_chosen(package, *each) for each in CHOSEN[of]]


def every_mutant(package: Path) -> list[Mutant]:
    """All that can be made of the files of a package, in the order of the text."""
    mutants = []
    for path in sorted(package.glob("*.py")):
        mutants += mutants_of(path.name, path.read_bytes())
    return mutants


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """All that can be made of one file."""
    starts = [0]
    for text in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    tree = ast.parse(source)
    made = {}
    for node in _changeable(tree):
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old = source[start:end].decode()
        for new in _changes(node):
            if new != old:
                made[start, old, new] = Mutant(file, node.lineno, old, new, start)
    return [made[key] for key in sorted(made)]


def sampled(mutants: list[Mutant], count: int, random_state: int) -> list[Mutant]:
    """So many of them, drawn file by file in turn: a long file is not tried more than a short one."""
    files: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        files.setdefault(mutant.file, []).append(mutant)
    for file, each in files.items():  # a change of one file leaves what is drawn of the others
        random.Random(f"{random_state} {file}").shuffle(each)
    drawn: list[Mutant] = []
    order = random.Random(random_state).sample(sorted(files), len(files))
    while len(drawn) < min(count, len(mutants)):
        for each in map(files.__getitem__, order):
            if each and len(drawn) < count:
                drawn.append(each.pop())
    return drawn


def survivors(
    mutants: list[Mutant],
    *,
    root: Path = ROOT,
    of: str = "confidence",
    jobs: int = 2,
    tests: tuple[str, ...] | None = None,
) -> list[Mutant]:
    """Those that no test notices.

    Parameters
    ----------
    mutants : list of Mutant
    root : Path
        The repository.
    of : str
        Of PACKAGES.
    jobs : int
        How many are tested at a time.
    tests : tuple of str, optional
        Files of the package's tests, by default all, those that notice most first.
    """
    with tempfile.TemporaryDirectory() as folder:
        trees = SimpleQueue[Path]()
        for number in range(jobs):
            trees.put(_copied(root, Path(folder) / str(number)))
        chosen = tests or _quick_tests(root, of)

        def survives(mutant: Mutant) -> bool:
            tree = trees.get()
            try:
                return _passes(tree, mutant, chosen, of)
            finally:
                trees.put(tree)

        if not _passes(_copied(root, Path(folder) / "sound"), None, chosen, of):
            raise InputError(f"The tests in {TESTS[of]} fail without any mutant; mend them first.")
        with ThreadPoolExecutor(jobs) as pool:
            alive = list(pool.map(survives, mutants))
    return [mutant for mutant, is_alive in zip(mutants, alive, strict=True) if is_alive]


def drawn(room: str) -> list[Mutant]:
    """The mutants of a room of the campaign, file by file in turn; those of GEH that a person chose first."""
    patterns, _, count = ROOMS[room]
    made = []
    for path in sorted({path for pattern in patterns for path in CODE.glob(pattern)}):
        made += mutants_of(path.relative_to(CODE).as_posix(), path.read_bytes())
    chosen = []
    if room == "geh":
        chosen = [_chosen(CODE, f"linkers/geh/{file}", *texts) for file, *texts in CHOSEN["geh"]]
    return chosen + sampled(made, count, 0)


def campaign(jobs: int, only: str, out: Path, stages: int) -> int:
    """Put each mutant into a copy of the tree, ask the tests, write who noticed it as it goes on; how many survive.

    All are asked of the quick tests before any is asked of the others. What `out` tells already is not asked again.
    """
    before = json.loads(out.read_text(encoding="utf-8"))["mutants"] if out.exists() else []
    told = {Mutant(**each.pop("mutant")): each for each in before}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        trees = SimpleQueue[Path]()
        for number in range(jobs):
            trees.put(_copied(ROOT, Path(folder) / str(number)))

        def ask(room: str, mutant: Mutant, stage: int) -> None:
            known = told.get(mutant, {"noticed_by": None, "stages": 0})
            if known["noticed_by"] is not None or known["stages"] >= stage:
                return
            tree = trees.get()
            tests = [_own_tests(tree, mutant.file), [*ROOMS[room][1], "tests/test_recorded.py"], ["tests"]][stage - 1]
            try:
                failed = _failed(tree, CODE.relative_to(ROOT), mutant, ["-m", "core", *tests]) if tests else None
            finally:
                trees.put(tree)
            told[mutant] = {"room": room, "noticed_by": failed, "stages": stage}
            every = [{"mutant": asdict(each), **about} for each, about in told.items()]
            caught = sum(each["noticed_by"] is not None for each in every)
            text = json.dumps({"tried": len(told), "noticed": caught, "mutants": every}, indent=1, ensure_ascii=False)
            out.write_text(text + "\n", encoding="utf-8")

        asked = [(room, mutant) for room in ROOMS for mutant in drawn(room) if only in f"{room} {mutant.file}"]
        for stage in range(1, stages + 1):
            list(pool.map(ask, *zip(*asked, strict=True), repeat(stage)))
    return sum(each["noticed_by"] is None for each in told.values())


def _own_tests(tree: Path, file: str) -> list[str]:
    """The tests that are named like a module, or import from it."""
    module = f"veclink.{file.removesuffix('.py').replace('/', '.')} "
    return [
        str(path.relative_to(tree))
        for path in sorted((tree / "tests").rglob("test_*.py"))
        if path.stem == f"test_{Path(file).stem}" or module in path.read_text(encoding="utf-8")
    ]


def main() -> None:
    """Try some, and say which survive."""
    arguments = parser(__doc__)
    arguments.add_argument("--of", choices=tuple(PACKAGES), default="confidence")
    arguments.add_argument("--count", type=int, default=30)
    arguments.add_argument("--random-state", type=int, default=0)
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--only", default="", help="files whose name holds this text")
    arguments.add_argument("--chosen", action="store_true")
    arguments.add_argument("--campaign", action="store_true", help="forty faults, asked of all that make test runs")
    arguments.add_argument("--stages", type=int, default=3, help="of the campaign, so many of its three steps")
    arguments.add_argument("--out", type=Path, help="a file for the JSON, besides stdout")
    options = arguments.parse_args()
    if options.campaign:
        sys.exit(1 if campaign(options.jobs, options.only, options.out, options.stages) else 0)
    package = ROOT / PACKAGES[options.of]
    possible = [each for each in every_mutant(package) if options.only in each.file]
    some = sampled(possible, options.count, options.random_state)
    tried = chosen_mutants(package, options.of) if options.chosen else some
    alive = survivors(tried, of=options.of, jobs=options.jobs)
    told = {
        "possible": len(possible),
        "tried": len(tried),
        "died": len(tried) - len(alive),
        "survived": [asdict(each) for each in alive],
    }
    text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")
    print(text, end="")
    sys.exit(1 if alive else 0)


def _changeable(tree: ast.Module) -> Iterator[ast.expr]:
    """The expressions that decide something: no annotations, no texts for people, no constants of TIMES."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr) or _is_equivalent(node):
            continue
        if isinstance(node, ast.Assign) and _names(node) & set(TIMES):
            continue
        if isinstance(node, ast.expr):
            yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            waiting += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST)]


def _is_equivalent(node: ast.AST) -> bool:
    """Whether no result depends on it: EQUIVALENT, guards, and the number of candidates, by either of their columns."""
    if not isinstance(node, (ast.BinOp, ast.Call)):
        return False
    if isinstance(node, ast.BinOp) and _is_guard(node.right):
        return True
    text = ast.unparse(node)
    is_count = text.startswith("len(") and text.endswith(("rows_a)", "rows_b)"))
    return is_count or text in EQUIVALENT


def _names(node: ast.Assign) -> set[str]:
    return {target.id for target in node.targets if isinstance(target, ast.Name)}


def _changes(node: ast.expr) -> Iterator[str]:
    """What one expression may be replaced by."""
    if isinstance(node, ast.Constant):
        yield from _other_constants(node.value)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _other_side(node.id)
    elif isinstance(node, ast.Attribute):
        yield from (f"{ast.unparse(node.value)}.{new}" for new in _other_side(node.attr))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _turned(node)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        yield f"({ast.unparse(node.left)})"
    elif isinstance(node, ast.BoolOp):
        word = " and " if isinstance(node.op, ast.And) else " or "
        for left_out in node.values:
            yield f"({word.join(ast.unparse(each) for each in node.values if each is not left_out)})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        if not isinstance(node.right, ast.Constant):
            yield f"({ast.unparse(node.left)})"
            yield f"({ast.unparse(node.right)})"


def _other_constants(value: object) -> Iterator[str]:
    if value == "a":
        yield '"b"'
    elif value == "b":
        yield '"a"'
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if 0 < abs(value) < NEGLIGIBLE:
            return
        changed = (0 * value, 10 * value, value + 1)
        yield from (repr(each) for each in dict.fromkeys(changed) if each != value)


def _is_guard(node: ast.expr) -> bool:
    """Whether a term is added only so that nothing is divided by nothing."""
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and abs(node.value) < NEGLIGIBLE


def _other_side(name: str) -> Iterator[str]:
    if name.endswith("_a"):
        yield f"{name[:-2]}_b"
    elif name.endswith("_b"):
        yield f"{name[:-2]}_a"


_TURNED = {ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">", ast.Eq: "!=", ast.NotEq: "=="}


def _turned(node: ast.Compare) -> Iterator[str]:
    operator = _TURNED.get(type(node.ops[0]))
    if operator is not None:
        yield f"({ast.unparse(node.left)} {operator} {ast.unparse(node.comparators[0])})"


def _chosen(package: Path, file: str, old: str, new: str) -> Mutant:
    source = (package / file).read_bytes()
    start = source.find(old.encode())
    if start < 0:
        raise InputError(f"{file} no longer holds {old!r}; choose that mutant anew in {Path(__file__).name}.")
    return Mutant(file, source[:start].count(b"\n") + 1, old, new, start)


def _quick_tests(root: Path, of: str) -> tuple[str, ...]:
    first = FIRST_TESTS[of]
    if of == "geh":
        return (first,)
    return (first, *sorted(path.name for path in (root / TESTS[of]).glob("test_*.py") if path.name != first))


def _copied(root: Path, tree: Path) -> Path:
    """A copy of what the tests need."""
    without = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "build")  # what is compiled stays
    return shutil.copytree(root, tree, ignore=without)


def _passes(tree: Path, mutant: Mutant | None, tests: tuple[str, ...], of: str) -> bool:
    """Whether all tests pass in the tree with the mutant in it; the tree is then as it was."""
    files = [str(TESTS[of] / name) for name in tests]
    return _failed(tree, PACKAGES[of], mutant, ["-k", f"not ({LONG_TESTS})", *files]) is None


def _failed(tree: Path, package: Path, mutant: Mutant | None, asked: list[str]) -> str | None:
    """The first test that fails in the tree with the mutant in it, None where all pass; the tree is then as it was."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *asked]
    path = os.pathsep.join(str(tree / name) for name in ("src", "bench", "tests"))
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
    plain = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # none is needed, and they take a second to load
    environment = {**os.environ, **threads, **plain, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
    place = tree / package / mutant.file if mutant else tree / "pyproject.toml"
    sound, when = place.read_bytes(), place.stat().st_mtime_ns
    if mutant is not None:
        place.write_bytes(mutant.applied(sound))
        os.utime(place, ns=(when, when - (1 + hash(mutant) % 10**6) * 10**9))  # no other mutant's compiled file fits
    try:
        run = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=HANGS)
    except subprocess.TimeoutExpired:
        return "it hangs"
    finally:
        place.write_bytes(sound)
        os.utime(place, ns=(when, when))
    if -run.returncode in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):  # somebody ends the campaign
        raise KeyboardInterrupt
    if run.returncode in (0, NO_TESTS):
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    return failed[1] if failed else run.stdout[-200:]
