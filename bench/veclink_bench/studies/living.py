"""Collections that grow: new rows judged by a linker, beside linking everything again. Real vectors, several splits.

    veclink bench living --data DIR [--only batch again days once cost] [--seconds 600] [--table]

* batch: 100 new rows of A, 70 of them shared, against a fitted B; again: the same, when everything is linked again.
  Then one row at a time: 200 rows of which as many are shared as of A ("single", drawn so: of 200 rows drawn at random
  7 more or fewer may be shared, and the mean of what is right moves with them), and the 100, of which more are, so that
  what is taken from the fit does not hold for them ("unlike").
* days: ten days of new rows on both sides by `update`; once: one run at the end.
* cost: 1,000 new rows against 200,000, in products of that size. The rows are blends of two real ones.

What this version of the code has measured is not measured again; `veclink bench together living` measures all but the
cost on many cores. The constants of `uses/new_rows` were chosen on the cases of CHOSEN_ON; those of REPORTED had no
part in it.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from veclink import Linker, Links, link
from veclink.confidence.constants import CALIBRATION_VERSION
from veclink.data.summary import Summary
from veclink.files.atomic import written_whole
from veclink_bench.arguments import resumable_parser
from veclink_bench.corpora import vectors
from veclink_bench.places import results_folder
from veclink_bench.studies.living_figures import summary
from veclink_bench.together import Cell
from veclink_bench.versions import version_of

OUTPUT = results_folder("experiments") / "living.json"
N_NEW, N_NEW_SHARED, N_SINGLE, N_SEEDS = 100, 70, 200, 15
DAYS, ROWS_PER_DAY = 10, 60
LARGE, FITTED_TO_LARGE, NEW_TO_LARGE, REPEATS = 200_000, 3_000, 1_000, 5


@dataclass(frozen=True)
class Case:
    """A corpus in two models, and the share of its objects that is on both sides."""

    corpus: str
    models: tuple[str, str]
    overlap: float = 0.3
    seeds: int = N_SEEDS

    @property
    def name(self) -> str:
        """As results have it."""
        return f"{self.corpus} {'–'.join(self.models)} {self.overlap:g}"


CHOSEN_ON = (
    Case("scifact", ("e5", "granite")),
    Case("reddit", ("minilm", "mpnet")),
)
REPORTED = (
    Case("scifact", ("minilm", "e5")),
    Case("papers", ("minilm", "e5")),
    Case("nfcorpus", ("mpnet", "e5"), overlap=0.7),
    Case("nfcorpus", ("minilm", "mpnet"), overlap=0.7),
    Case("movies", ("minilm", "e5"), seeds=60),
)
DAYS_OF = REPORTED[:3]


@dataclass(frozen=True, eq=False)
class Rows:
    """Two collections as rows of a corpus, with its vectors in both models."""

    x: np.ndarray
    y: np.ndarray
    a: np.ndarray
    b: np.ndarray
    shared: np.ndarray

    def seeds(self, first_a: int, first_b: int, count: int, rng: np.random.Generator) -> np.ndarray:
        """Some true pairs among the first rows of both."""
        known = np.intersect1d(self.a[:first_a], self.b[:first_b])
        chosen = rng.choice(known, count, replace=False)
        return np.column_stack([places(self.a, chosen), places(self.b, chosen)])

    def truth(self, a: np.ndarray, b: np.ndarray) -> set[tuple[int, int]]:
        """The true pairs of two lists of rows of the corpus, as places in them."""
        both = np.intersect1d(a, b)
        return set(zip(places(a, both).tolist(), places(b, both).tolist(), strict=True))


def places(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where the wanted rows are in a list of distinct ones."""
    order = np.argsort(rows)
    return order[np.searchsorted(rows, wanted, sorter=order)]


def main() -> None:
    """Measure what is not there yet, and write after every case."""
    arguments = resumable_parser(__doc__, OUTPUT, trials=5)
    arguments.add_argument("--only", nargs="*", default=["batch", "again", "days", "once", "cost"])
    given = arguments.parse_args()
    kept = json.loads(given.output.read_text()) if given.output.exists() else {}
    if given.table:
        print(json.dumps(kept.get("summary"), indent=1))
        return
    ends = time.monotonic() + given.seconds
    version = version_of("living")
    timed = Cell("cost: papers minilm–e5", 0, partial(cost, given.data, Case("papers", ("minilm", "e5"))))
    for cell in (*cells(given.data, given.trials), timed):
        what, name = cell.name.split(": ")
        known = kept.get(what, {}).get(name, {}).get("version") == version
        if what in given.only and not known and time.monotonic() < ends:
            take({cell.name: cell.measure() | {"version": version}}, given.output)
            kept = json.loads(given.output.read_text())
            print(cell.name, json.dumps(kept[what][name]), flush=True)


def cells(data: Path, trials: int) -> list[Cell]:
    """What is measured but for the cost, which is no matter of many cores: `what: case, trial`."""
    every = []
    for trial in range(trials):
        for case in REPORTED:
            every.append(Cell(f"batch: {case.name}, {trial}", trial, partial(batch, data, case, trial)))
            every.append(Cell(f"again: {case.name}, {trial}", trial, partial(again, data, case, trial)))
        for case in DAYS_OF:
            every.append(Cell(f"days: {case.name}, {trial}", trial, partial(days, data, case, trial)))
            every.append(Cell(f"once: {case.name}, {trial}", trial, partial(once, data, case, trial)))
    return every


def take(measured: dict[str, dict[str, Any]], output: Path = OUTPUT) -> None:
    """Put cells into the results, without those of other versions; what was timed stays."""
    kept = json.loads(output.read_text()) if output.exists() else {}
    version = version_of("living")
    for what in ("batch", "again", "days", "once"):
        kept[what] = {name: cell for name, cell in kept.get(what, {}).items() if cell.get("version") == version}
    for name, cell in measured.items():
        what, case = name.split(": ")
        kept.setdefault(what, {})[case] = cell
    kept |= {"calibration": CALIBRATION_VERSION, "chosen_on": [case.name for case in CHOSEN_ON]}
    kept["summary"] = summary(kept, tuple(case.name for case in REPORTED))
    with written_whole(output) as temporary:
        temporary.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


@dataclass(frozen=True, eq=False)
class Batch:
    """A split with rows that come later: A without them, 100 at once, 200 one at a time, and what is known at first."""

    rows: Rows
    first: np.ndarray
    new: np.ndarray
    single: np.ndarray
    seeds: np.ndarray


def drawn_batch(data: Path, case: Case, trial: int) -> Batch:
    """The same for the same case and trial."""
    rng = np.random.default_rng(1000 + trial)
    rows = split_rows(data, case, rng)
    is_shared = np.isin(rows.a, rows.shared)
    new = np.concatenate([rows.a[is_shared][:N_NEW_SHARED], rows.a[~is_shared][: N_NEW - N_NEW_SHARED]])
    rest = rows.a[~np.isin(rows.a, new)]
    single = alike(rest, np.isin(rest, rows.shared), N_SINGLE)
    first = rest[~np.isin(rest, single)]
    known = Rows(rows.x, rows.y, first, rows.b, rows.shared)
    seeds = known.seeds(len(first), len(rows.b), case.seeds, rng)
    return Batch(rows, first, new, single, seeds)


def alike(rows: np.ndarray, is_shared: np.ndarray, count: int) -> np.ndarray:
    """The first so many rows (n,), of which the same share is shared as of all."""
    n_shared = round(count * float(is_shared.mean()))
    return np.concatenate([rows[is_shared][:n_shared], rows[~is_shared][: count - n_shared]])


def batch(data: Path, case: Case, trial: int) -> dict[str, Any]:
    """100 new rows at once, and 200 one at a time, by a linker."""
    drawn = drawn_batch(data, case, trial)
    rows = drawn.rows
    linker = Linker.fit(rows.x[drawn.first], rows.y[rows.b], seeds=drawn.seeds, device="cpu")
    began = time.perf_counter()
    found = linker.match(rows.x[drawn.new])
    seconds = time.perf_counter() - began
    truth = rows.truth(drawn.new, rows.b)
    return {
        "rows": [len(drawn.first), len(rows.b)],
        "f1": f1(found.pairs, truth),
        "estimated": mean_probability(found),
        "right": share_right(found, truth),
        "shared_estimated": found.summary.overlap,
        "seconds": seconds,
        **one_at_a_time("single", linker, rows, drawn.single),
        **one_at_a_time("unlike", linker, rows, drawn.new),
    }


def again(data: Path, case: Case, trial: int) -> dict[str, Any]:
    """The same 100 rows when everything is linked again."""
    drawn = drawn_batch(data, case, trial)
    rows, first = drawn.rows, drawn.first
    links = link(rows.x[np.concatenate([first, drawn.new])], rows.y[rows.b], seeds=drawn.seeds, device="cpu")
    later = links.pairs[links.pairs[:, 0] >= len(first)] - [len(first), 0]
    return {"rows": [len(first) + N_NEW, len(rows.b)], "f1": f1(later, rows.truth(drawn.new, rows.b))}


def one_at_a_time(name: str, linker: Linker, rows: Rows, single: np.ndarray) -> dict[str, Any]:
    """The mean probability of the pairs of single rows, and how many of them are right."""
    truth = rows.truth(single, rows.b)
    probability: list[float] = []
    right: list[bool] = []
    for place, row in enumerate(single):
        judged = linker.match(rows.x[row : row + 1]).considered
        assert judged is not None
        probability += judged.probability.tolist()
        right += [(place, partner) in truth for partner in judged.pairs[:, 1].tolist()]
    return {
        f"{name}_rows": len(single),
        f"{name}_judged": len(right),
        f"{name}_estimated": float(np.mean(probability)),
        f"{name}_right": float(np.mean(right)),
    }


@dataclass(frozen=True, eq=False)
class Calendar:
    """A split whose last rows come day by day: how many are there at first, and what is known of them."""

    rows: Rows
    first: tuple[int, int]
    seeds: np.ndarray

    def scores(self, links: Links) -> dict[str, Any]:
        """F1 of all links, and of those with a row that came later."""
        truth = self.rows.truth(self.rows.a, self.rows.b)
        later = {pair for pair in truth if pair[0] >= self.first[0] or pair[1] >= self.first[1]}
        return {"f1": f1(links.pairs, truth), "f1_new": f1(of_new(links, *self.first), later)}


def drawn_calendar(data: Path, case: Case, trial: int) -> Calendar:
    """The same for the same case and trial."""
    rng = np.random.default_rng(2000 + trial)
    rows = split_rows(data, case, rng)
    later = DAYS * (ROWS_PER_DAY // 2)
    first = len(rows.a) - later, len(rows.b) - later
    return Calendar(rows, first, rows.seeds(*first, case.seeds, rng))


def days(data: Path, case: Case, trial: int) -> dict[str, Any]:
    """Ten days of new rows on both sides, by `update`."""
    calendar = drawn_calendar(data, case, trial)
    rows, half = calendar.rows, ROWS_PER_DAY // 2
    first_a, first_b = calendar.first
    linker = Linker.fit(rows.x[rows.a[:first_a]], rows.y[rows.b[:first_b]], seeds=calendar.seeds, device="cpu")
    fitted = linker.knowledge.fitted_sizes
    for day in range(DAYS):
        at_a, at_b = first_a + day * half, first_b + day * half
        linker.update(new_a=rows.x[rows.a[at_a : at_a + half]], new_b=rows.y[rows.b[at_b : at_b + half]])
    sizes = [first_a, first_b, *linker.sizes]
    return {"rows": sizes, **calendar.scores(linker.links), "refitted": linker.knowledge.fitted_sizes != fitted}


def once(data: Path, case: Case, trial: int) -> dict[str, Any]:
    """One run at the end of the ten days."""
    calendar = drawn_calendar(data, case, trial)
    rows = calendar.rows
    links = link(rows.x[rows.a], rows.y[rows.b], seeds=calendar.seeds, device="cpu")
    return {"rows": [len(rows.a), len(rows.b)], **calendar.scores(links)}


def of_new(links: Links, first_a: int, first_b: int) -> np.ndarray:
    """The pairs with a row that came later."""
    return links.pairs[(links.pairs[:, 0] >= first_a) | (links.pairs[:, 1] >= first_b)]


def cost(data: Path, case: Case) -> dict[str, Any]:
    """What a match takes, in products of all new rows with all rows of the other side."""
    rng = np.random.default_rng(0)
    x, y = (np.asarray(vectors(data, case.corpus, model), np.float32) for model in case.models)
    one, two = rng.integers(0, len(x), (2, LARGE))
    share = rng.uniform(0.3, 0.7, (len(one), 1)).astype(np.float32)
    a, b = (unit(share * each[one] + (1 - share) * each[two]) for each in (x, y))
    new, first = a[:NEW_TO_LARGE], a[NEW_TO_LARGE : NEW_TO_LARGE + FITTED_TO_LARGE]
    b = b[:LARGE]
    pairs = np.column_stack([np.arange(len(first)), NEW_TO_LARGE + np.arange(len(first))])
    known = Links(pairs, np.full(len(pairs), 0.99), Summary("span", len(first), LARGE, len(pairs)))
    linker = Linker.fit(first, b, links=known)
    linker.match(new[:10])
    product, match = [], []
    for _ in range(REPEATS):  # in turn: other work on the machine meets both
        began = time.process_time()
        _ = new @ b.T
        product.append(time.process_time() - began)
        began = time.process_time()
        found = linker.match(new)
        match.append(time.process_time() - began)
    truth = {(row, row) for row in range(NEW_TO_LARGE)}
    return {
        "rows": [NEW_TO_LARGE, LARGE],
        "dimensions": [a.shape[1], b.shape[1]],
        "product_seconds": min(product),
        "match_seconds": min(match),
        "products": min(match) / min(product),
        "f1": f1(found.pairs, truth),
    }


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of unit length."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def split_rows(data: Path, case: Case, rng: np.random.Generator) -> Rows:
    """A corpus split in two that share some, both shuffled."""
    x, y = (np.asarray(vectors(data, case.corpus, model), np.float32) for model in case.models)
    order = rng.permutation(len(x))
    n_shared = round(case.overlap * len(x))
    shared, alone = order[:n_shared], order[n_shared:]
    half = len(alone) // 2
    a = rng.permutation(np.concatenate([shared, alone[:half]]))
    b = rng.permutation(np.concatenate([shared, alone[half:]]))
    return Rows(x, y, a, b, shared)


def f1(pairs: np.ndarray, truth: set[tuple[int, int]]) -> float:
    """F1 of pairs (n, 2) in percent."""
    found = set(map(tuple, pairs.tolist()))
    return 200 * len(found & truth) / max(len(found) + len(truth), 1)


def mean_probability(links: Links) -> float:
    """Of all judged pairs."""
    return float((links.considered or links).probability.mean())


def share_right(links: Links, truth: set[tuple[int, int]]) -> float:
    """Of all judged pairs."""
    return float(np.mean([tuple(pair) in truth for pair in (links.considered or links).pairs.tolist()]))


if __name__ == "__main__":
    main()
