"""Forty-two small runs of every kind, and the record of what they find: `recorded.json` beside this.

    python tests/recorded_runs.py               say of each run whether it is as recorded, bit for bit or nearly
    python tests/recorded_runs.py --write       record all of them again
    python tests/recorded_runs.py NAME …        only those whose names hold one of these texts

A change of structure changes no run: on the processor that made the record bit for bit (one thread), and the test
(`test_recorded.py`) asks for 1e-6. Elsewhere it allows what other rounding does. The vectors are the bundled sample's.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import time
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

if __name__ == "__main__":  # before numpy is imported: one thread, so that no sum depends on the machine's cores
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

import numpy as np
from llvmlite.binding import get_host_cpu_name
from threadpoolctl import threadpool_info

from span_papers import all_papers
from veclink import Links, link, link_many
from veclink.geometry.signatures import unit_rows
from veclink.linkers import checkpoint

RECORD = Path(__file__).with_name("recorded.json")
TORCH = "torch:cpu"  # the GPU's code, without a GPU
GEH = {"method": "geh", "k": 10, "max_iterations": 25}
TUNED = {"own_votes": False, "centred": True, "view_choice": "random"}
WRONG = -1  # a share of seeds that contradict one another


@dataclass(frozen=True, eq=False)
class Cut:
    """Two sides of the sample, and the true pairs of their rows in random order."""

    a: np.ndarray
    b: np.ndarray
    truth: np.ndarray


@dataclass(frozen=True)
class Run:
    """A cut, how it is changed, what linking starts from ("none", "seeds", …), and the options."""

    size: tuple[int, int, int] = (300, 300, 180)  # rows of A, of B, and shared ones
    state: int = 0
    dimensions: tuple[int, int] = (384, 768)
    change: str = ""
    start: str = "seeds"
    seeds: int = 15
    wrong: float = 0.0  # the share of the seeds that have one another's partners
    options: dict[str, Any] = field(default_factory=dict)


RUNS: dict[str, Run] = {
    "even": Run(),
    "even of fewer dimensions": Run(dimensions=(256, 384), seeds=30),
    "even, half shared": Run((300, 300, 150), 1),
    "even, a third shared": Run((400, 400, 130), 2),
    "even, a quarter shared": Run((350, 350, 90), 3, seeds=30),
    "larger": Run((700, 700, 450), 4),
    "unequal": Run((150, 700, 120), 5),
    "unequal the other way": Run((700, 150, 120), 5),
    "all of a few among many": Run((100, 800, 100), 6),
    "few rows": Run((60, 60, 40), 7, seeds=8),
    "a handful": Run((24, 30, 20), 8, seeds=6),
    "fewer rows than dimensions": Run((80, 80, 60), 9),
    "five seeds": Run(seeds=5),
    "sixty seeds": Run(seeds=60),
    "candidates": Run(options={"one_to_one": False}),
    "little memory": Run((200, 200, 120), 1, options={"memory": "1MB"}),
    "another random state": Run(options={"random_state": 3}),
    "exact copies": Run(change="exact copies"),
    "near copies on both sides": Run(change="near copies"),
    "int8": Run(change="int8"),
    "vectors of all lengths": Run(change="lengths"),
    "from nothing": Run(start="none"),
    "from nothing, unequal": Run((150, 500, 150), 2, start="none"),
    "from nothing, half shared": Run((400, 400, 200), 3, start="none"),
    "from anchors": Run(start="anchors", seeds=30),
    "from many anchors, unequal": Run((100, 500, 60), 4, start="anchors", seeds=200),
    "from a column": Run(start="column"),
    "from earlier links": Run(start="continued"),
    "half of thirty seeds wrong": Run(seeds=30, wrong=0.5),
    "a fifth of sixty seeds wrong": Run((500, 500, 300), 1, seeds=60, wrong=0.2),
    "seeds that contradict one another": Run(seeds=20, wrong=WRONG),
    "nothing shared": Run((200, 200, 0), 5, start="none"),
    "nothing shared, wrong seeds": Run((120, 120, 0), 6),
    "taken up again": Run(start="checkpoint"),
    "geh": Run(options=GEH),
    "geh, other choices": Run((200, 200, 120), 1, options=GEH | TUNED),
    "geh from anchors": Run((200, 200, 120), 2, start="anchors", seeds=20, options=GEH),
    "geh local": Run(options=GEH | {"path": "local"}),
    "geh, taken up again": Run((200, 200, 120), 3, start="checkpoint", options=GEH),
    "torch": Run(start="torch"),
    "torch geh": Run((200, 200, 120), 1, start="torch", options=GEH),
    "many": Run((200, 200, 140), 1, start="many"),
}
QUICK = (
    "even",
    "unequal",
    "all of a few among many",
    "little memory",
    "a handful",
    "exact copies",
    "from nothing",
    "from anchors",
    "from a column",
    "half of thirty seeds wrong",
    "nothing shared",
    "taken up again",
    "geh",
    "geh local",
)


@cache
def cut(n_a: int, n_b: int, shared: int, state: int, dimensions: tuple[int, int]) -> Cut:
    """So many rows of either side of the sample in random order, of which so many are the same papers."""
    whole, rng = all_papers(), np.random.default_rng(state)
    both = rng.permutation(whole.truth)
    rows_a, rows_b = (
        rng.permutation(np.r_[both[:shared, side], _alone(whole, side, rng)[: n - shared]])
        for side, n in ((0, n_a), (1, n_b))
    )
    place_a, place_b = ({int(row): place for place, row in enumerate(rows)} for rows in (rows_a, rows_b))
    truth = np.array([(place_a[int(a)], place_b[int(b)]) for a, b in both[:shared]], np.int64).reshape(-1, 2)
    a, b = whole.a[rows_a, : dimensions[0]], whole.b[rows_b, : dimensions[1]]
    return Cut(unit_rows(a.copy()), unit_rows(b.copy()), truth)


def _alone(whole: Any, side: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of a side that the other lacks; where they do not suffice, those of papers that end up there alone."""
    return rng.permutation(np.setdiff1d(np.arange(len((whole.a, whole.b)[side])), whole.truth[:, side]))


def linked(run: Run) -> list[Links]:
    """The links of a run; of several collections, those of each two."""
    made = changed(cut(*run.size, run.state, run.dimensions), run.change)
    call = partial(link, made.a, made.b, device="cpu", **run.options)
    if run.start == "many":
        third = np.random.default_rng(9).permutation(np.concatenate([made.a, made.a[:40]]))[:, ::2]
        return list(link_many([made.a, made.b, unit_rows(third.copy())], device="cpu").pairwise.values())
    if run.start == "none":
        return [call()]
    if run.start == "anchors":
        outside = all_papers().truth[-run.seeds :]
        vectors = all_papers().a[outside[:, 0]], all_papers().b[outside[:, 1]]
        left, right = (unit_rows(side[:, :width].copy()) for side, width in zip(vectors, run.dimensions, strict=True))
        return [call(anchors=(left, right))]
    if run.start == "column":
        return [call(seeds_by="title", payload_a=titles(made, 0), payload_b=titles(made, 1))]
    seeds = some_wrong(made, run)
    if run.start == "continued":
        return [call(continued=link(made.a[:200], made.b[:250], seeds=_within(seeds, 200, 250), device="cpu"))]
    if run.start == "checkpoint":
        return [interrupted(partial(call, seeds=seeds))]
    if run.start == "torch":
        with patch("veclink.backends.DEVICES", ("auto", "cpu", TORCH)):
            return [call(seeds=seeds, device=TORCH)]
    return [call(seeds=seeds)]


def changed(made: Cut, how: str) -> Cut:
    """Copies among the rows, or vectors as a store may hold them."""
    rng = np.random.default_rng(len(how))
    if how == "int8":
        a, b = (
            np.round(side / np.abs(side).max() * 127).astype(np.int8).astype(np.float32) for side in (made.a, made.b)
        )
        return Cut(a, b, made.truth)
    if how == "lengths":
        a, b = (side * rng.lognormal(sigma=0.5, size=(len(side), 1)).astype(np.float32) for side in (made.a, made.b))
        return Cut(a, b, made.truth)
    if how == "exact copies":
        return Cut(np.concatenate([made.a, made.a[:40], made.a[:5]]), made.b, made.truth)
    if how == "near copies":
        near = (
            side[:40] + 0.01 * rng.standard_normal((40, side.shape[1])).astype(np.float32) for side in (made.a, made.b)
        )
        a, b = (np.concatenate([side, copies]) for side, copies in zip((made.a, made.b), near, strict=True))
        return Cut(a, b, made.truth)
    return made


def titles(made: Cut, side: int) -> dict[str, list[str]]:
    """A column that is equal on 60 true pairs and on five wrong ones, and different elsewhere."""
    found = [f"paper {side} {row}" for row in range(len((made.a, made.b)[side]))]
    for number, row in enumerate(made.truth[:60, side]):
        found[row] = f"both {number}"
    for number, row in enumerate(np.roll(made.truth[60:65, side], side)):
        found[row] = f"wrong {number}"
    return {"title": found}


def some_wrong(made: Cut, run: Run) -> np.ndarray:
    """The seeds of a run: right ones, but for a share with one another's partners, or with two partners each."""
    if not len(made.truth):
        rng = np.random.default_rng(7)
        return np.column_stack([rng.permutation(len(side))[: run.seeds] for side in (made.a, made.b)])
    seeds = made.truth[: run.seeds].copy()
    if run.wrong == WRONG:
        return np.concatenate([seeds, np.column_stack([seeds[:4, 0], seeds[4:8, 1]])])
    wrong = round(run.wrong * len(seeds))
    seeds[:wrong, 1] = np.roll(seeds[:wrong, 1], 1)
    return seeds


def interrupted(call: Callable[..., Links]) -> Links:
    """What a call gives that stops in the middle, and is then taken up from its checkpoint."""

    class Stop(Exception):
        pass

    heard = 0

    def listen(now: Any) -> None:
        nonlocal heard
        heard += 1
        if heard >= 10 and any(Path(folder).iterdir()):
            raise Stop

    with TemporaryDirectory() as folder, patch.object(checkpoint, "SAVE_EVERY", 0.0):
        try:
            call(checkpoint=folder, progress=listen)
        except Stop:
            return call(checkpoint=folder)
        raise RuntimeError("The run ended before it kept anything to go on from.")


def _within(seeds: np.ndarray, n_a: int, n_b: int) -> np.ndarray:
    return seeds[(seeds[:, 0] < n_a) & (seeds[:, 1] < n_b)]


def record(run: Run) -> dict[str, Any]:
    """What a run finds, as it is kept; pairs in the order of their rows, so that equal probabilities may change places.

    Of several collections, the pairs of each two stand one after another.
    """
    found = linked(run)
    whole = [each.considered for each in found]
    exact = hashlib.sha256()
    for links in whole:
        for array in (links.pairs, links.probability, *map(np.asarray, links.evidence.values())):
            exact.update(np.ascontiguousarray(array).tobytes())
    orders = [np.lexsort(each.pairs.T) for each in whole]
    pairs = np.concatenate([each.pairs[order] for each, order in zip(whole, orders, strict=True)])
    probability = np.concatenate([each.probability[order] for each, order in zip(whole, orders, strict=True)])
    return {
        "verdict": [each.summary.verdict for each in found],
        "links": sum(map(len, found)),
        "linked": _digest(np.concatenate([each.pairs[np.lexsort(each.pairs.T)] for each in found])),
        "pairs": _packed(pairs.astype("<i2")),
        "probability": _packed(probability.astype("<f4")),
        "evidence": {name: _digest(np.asarray(column)) for name, column in sorted(whole[0].evidence.items())},
        "exact": exact.hexdigest()[:16],
        "processor": processor(),
    }


def difference(kept: dict[str, Any], now: dict[str, Any]) -> str:
    """In what a run is not as recorded: its verdict, columns, links, judged pairs, or probabilities; "" where it is.

    On another processor 97 % of the pairs, and nine of ten probabilities within 0.001, are enough: near a threshold,
    the last bit decides.
    """
    same_place = kept["processor"] == now["processor"]
    for name in ("verdict", *(("links", "linked", "pairs") if same_place else ())):
        if kept[name] != now[name]:
            return f"{name}: {kept[name][:40] if name == 'pairs' else kept[name]} was recorded, another is found"
    if kept["evidence"].keys() != now["evidence"].keys():
        return f"columns of evidence: {kept['evidence'].keys() ^ now['evidence'].keys()} on one side only"
    before, after = _judged(kept), _judged(now)
    both = before.keys() & after.keys()
    if len(both) < 0.97 * len(before.keys() | after.keys()):
        return f"judged pairs: {len(both)} of {len(before)} that were recorded are found"
    apart = np.array([abs(before[pair] - after[pair]) for pair in both])
    if same_place:
        return f"probabilities, by {apart.max():.1e}" if apart.max(initial=0.0) > 1e-6 else ""
    return "probabilities" if len(apart) and np.quantile(apart, 0.9) > 1e-3 else ""


def processor() -> str:
    """What decides how sums are rounded: the kernels of BLAS, and what numba compiles for."""
    blas = {each.get("architecture", "") for each in threadpool_info() if each["user_api"] == "blas"}
    return (
        f"{' '.join(sorted(blas))}, {os.environ.get('NUMBA_CPU_NAME') or get_host_cpu_name()}, numpy {np.__version__}"
    )


def _judged(kept: dict[str, Any]) -> dict[tuple[int, ...], float]:
    """The probability of each judged pair, those below the threshold included; a pair that comes again has a third."""
    pairs, probability = _unpacked(kept["pairs"], "<i2").reshape(-1, 2), _unpacked(kept["probability"], "<f4")
    times: Counter[tuple[int, int]] = Counter()
    found: dict[tuple[int, ...], float] = {}
    for (a, b), value in zip(pairs.tolist(), probability.tolist(), strict=True):
        found[a, b, times[a, b]] = value
        times[a, b] += 1
    return found


def _packed(array: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()


def _unpacked(packed: str, kind: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(packed)), kind)


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def main() -> None:
    """Compare runs with the record, or write it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("only", nargs="*", metavar="NAME", help="runs whose names hold one of these texts")
    options.add_argument("--write", action="store_true", help="record them again")
    told = options.parse_args()
    kept: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for name, run in RUNS.items():
        if told.only and not any(text in name for text in told.only):
            continue
        began = time.process_time()
        now = record(run)
        seconds = time.process_time() - began
        if told.write:
            kept[name] = now
            print(f"{name}: {now['links']} links, {', '.join(now['verdict'])}, {seconds:.1f} s", flush=True)
            continue
        same = (
            "bit for bit"
            if now["exact"] == kept[name]["exact"]
            else difference(kept[name], now) or "as close as it can be"
        )
        columns = [each for each, digest in now["evidence"].items() if kept[name]["evidence"].get(each) != digest]
        print(f"{name}: {same}{'; evidence differs: ' + ', '.join(columns) if columns else ''}", flush=True)
    if told.write:
        lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(kept[name])}" for name in RUNS)
        RECORD.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
