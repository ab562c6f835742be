"""Two catalogues of the same objects, written differently and embedded by different models: from few pairs to many.

Two shops (abt-buy) and two bibliographies (dblp-acm), each side by either model; all partners there, or 45 % of those
on one side removed. Beside span: maps from the same pairs, and one model on both sides, which is the most that these
texts allow. Catalogues of other things, which share nothing, are to be refused, also with 30 wrong pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.data.pairs import score
from veclink.geometry.signatures import unit_rows
from veclink.linkers.linking import link
from veclink.matching import match
from veclink_bench.baselines import link_by
from veclink_bench.experiments.figures import new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, pair_name, trials_note, values
from veclink_bench.experiments.trials import measured

TITLE = "Two catalogues"
SHOPS, PAPERS = "abt-buy", "dblp-acm"
NOTHING = ("abt acm", "abt dblp", "buy acm", "buy dblp")  # one side of each, which share no object
SIDES = {"abt": (SHOPS, "a"), "buy": (SHOPS, "b"), "dblp": (PAPERS, "a"), "acm": (PAPERS, "b")}
OUTSIDE = {SHOPS: "scifact", PAPERS: "papers"}  # where anchors come from that are in neither catalogue
MODELS = ("minilm", "e5")
REMOVED, ANCHORS, WRONG, KEPT = 0.45, 500, 30, 0.8
SEEDS = (0, 10, 15, 30, 60, 100, 200)
TRIALS = 5
METHODS = ("span", "linear tuned", "procrustes tuned", "one model")
ESTIMATES = ("precision", "recall", "overlap")


@dataclass(frozen=True, eq=False)
class Catalogues:
    """Two collections, the rows that are the same object (n, 2), and what linking starts from."""

    a: np.ndarray
    b: np.ndarray
    truth: np.ndarray
    start: dict[str, Any]


def cells(setup: Setup) -> list[Settings]:
    """All draws, the first of everything first; `corpora` and `methods` take some of them."""
    known = (SHOPS, PAPERS, *NOTHING) if setup.full else (SHOPS,)
    names = [name for name in setup.corpora or known if name in (SHOPS, PAPERS, *NOTHING)]
    one, other = (setup.models or MODELS)[:2]
    ways = ((one, other), (other, one))
    starts = [{"seeds": count} for count in (SEEDS if setup.full else SEEDS[2:4])]
    found: list[Settings] = []
    for state in setup.states(TRIALS):
        for name in names:
            for ab in ways:
                if name in NOTHING:
                    own = [{"removed": 0.0, "seeds": count, "method": "span"} for count in (0, WRONG)]
                else:
                    own = [
                        {"removed": removed, **start, "method": method}
                        for removed in (0.0, REMOVED)
                        for start in (*starts, *([{"anchors": ANCHORS}] if setup.full else []))
                        for method in METHODS[:-1]
                        if start.get("seeds") != 0 or method == "span"
                    ]
                found += [{"pair": [name, *ab], **each, "state": state} for each in own]
            if name not in NOTHING:
                found += [
                    {"pair": [name, model, model], "removed": removed, "method": "one model", "state": state}
                    for removed in (0.0, REMOVED)
                    for model in ways[0]
                    if not removed or not state or setup.full
                ]
    methods = setup.using(METHODS)
    return [each for each in found if each["method"] in methods]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One draw: what was found, what the links say of themselves, and what is true."""
    case = catalogues(setup.data / "catalogues", setup.data, settings)
    if settings["method"] == "one model":
        return ceiling(case)
    told: dict[str, Any] = {"device": setup.device, "random_state": settings["state"], **case.start}
    if settings["method"] == "span":
        links = link(case.a, case.b, **told)
    else:
        links = link_by(settings["method"], case.a, case.b, **told)
    return compared(links, case)


def catalogues(folder: Path, corpora: Path, settings: Settings) -> Catalogues:
    """The two sides of a cell in an order of their own, cut and started as it says."""
    name, model_a, model_b = settings["pair"]
    rng = np.random.default_rng([settings["state"], len(name)])
    if name in NOTHING:
        (left, side_a), (right, side_b) = (SIDES[each] for each in name.split())
        a, b = np.load(folder / f"{left}.{side_a}.{model_a}.npy"), np.load(folder / f"{right}.{side_b}.{model_b}.npy")
        a, b = (side[rng.permutation(len(side))[: round(KEPT * len(side))]] for side in (a, b))
        wrong = [rng.permutation(len(side))[: settings["seeds"]] for side in (a, b)]
        start = {"seeds": np.column_stack(wrong)} if settings["seeds"] else {}
        return Catalogues(a, b, np.empty((0, 2), np.int64), start)
    a, b = np.load(folder / f"{name}.a.{model_a}.npy"), np.load(folder / f"{name}.b.{model_b}.npy")
    truth = rng.permutation(np.load(folder / f"{name}.truth.npy"))
    gone, truth = np.split(truth, [round(settings["removed"] * len(truth))])
    rows_a = rng.permutation(len(a))
    rows_b = rng.permutation(np.setdiff1d(np.arange(len(b)), gone[:, 1]))
    truth = np.column_stack([np.argsort(rows_a)[truth[:, 0]], np.argsort(_full(rows_b, len(b)))[truth[:, 1]]])
    if settings.get("anchors"):
        both = [np.load(corpora / OUTSIDE[name] / f"{model}.npy", mmap_mode="r") for model in (model_a, model_b)]
        chosen = np.sort(rng.permutation(len(both[0]))[: settings["anchors"]])
        return Catalogues(a[rows_a], b[rows_b], truth, {"anchors": (both[0][chosen], both[1][chosen])})
    count = settings.get("seeds", 0)
    return Catalogues(a[rows_a], b[rows_b], truth, {"seeds": truth[:count]} if count else {})


def compared(links: Links, case: Catalogues) -> dict[str, Any]:
    """What is true of the links, of all and of new ones (given pairs left out), beside what they say of themselves."""
    given = _numbered(case.start.get("seeds", np.empty((0, 2), np.int64)))
    new = score(links.pairs[~_is_in(links.pairs, given)], case.truth[~_is_in(case.truth, given)])
    found = measured(links, case.truth) | {
        f"new_{name}": 100 * getattr(new, name) for name in ("precision", "recall", "f1")
    }
    summary = links.summary
    suspects = np.array(summary.wrong_seeds + summary.contradicting_seeds, np.int64).reshape(-1, 2)
    truly = {"precision": found["precision"] / 100, "recall": found["recall"] / 100, "overlap": len(case.truth)}
    told: dict[str, Any] = {}
    for name in ESTIMATES:
        estimate, bounds = getattr(summary, name), getattr(summary, f"{name}_range")
        told[name] = {"estimated": estimate, "range": bounds, "true": truly[name]}
        if bounds is not None:
            told[name]["inside"] = bool(bounds[0] <= truly[name] <= bounds[1])
    right_called_wrong = int(_is_in(suspects, _numbered(case.truth)).sum())
    return found | {"told": told, "n_a": len(case.a), "n_b": len(case.b), "right_called_wrong": right_called_wrong}


def ceiling(case: Catalogues, k: int = 10) -> dict[str, Any]:
    """The best F1 that any threshold on csls gives the mutual nearest neighbours of two sides by one model."""
    pairs, csls = match(*(unit_rows(side.astype(np.float32)) for side in (case.a, case.b)), k=k).mutual()
    order = np.argsort(-csls, kind="stable")
    right = np.cumsum(_is_in(pairs[order], _numbered(case.truth)))
    f1 = 2 * right / (np.arange(1, len(right) + 1) + len(case.truth))
    best = int(np.argmax(f1))
    return {
        "precision": 100 * float(right[best]) / (best + 1),
        "recall": 100 * float(right[best]) / len(case.truth),
        "f1": 100 * float(f1[best]),
        "links": best + 1,
    }


def tables(cells: list[Cell]) -> list[Table]:
    """F1 of each method by what it starts from; how honest span is; what is refused."""
    shared = [cell for cell in cells if cell["pair"][0] not in NOTHING]
    nothing = [cell for cell in cells if cell["pair"][0] in NOTHING]
    found = []
    for (name, removed), group in grouped(
        [{**c, "catalogue": c["pair"][0]} for c in shared], "catalogue", "removed"
    ).items():
        linked = [cell for cell in group if cell["method"] != "one model"]
        starts = sorted(set(map(_start, linked)), key=lambda start: ("anchors" in start, int(start.split()[0])))
        rows = []
        for measure, what in (("f1", "all"), ("new_f1", "new")):
            for (pair, method), own in grouped(linked, "pair", "method").items():
                by = {start: values([c for c in own if _start(c) == start], measure) for start in starts}
                rows.append([f"{method}, {'–'.join(pair[1:])}, {what}", *(mean_std(by[start]) for start in starts)])
        top = [
            f"{model[1]} {mean_std(values(own))}"
            for (model,), own in grouped([c for c in group if c["method"] == "one model"], "pair").items()
        ]
        note = f"One model on both sides, best threshold: {', '.join(top) or '–'}. {trials_note(group)}"
        gone = f", {100 * removed:.0f} % of B's partners removed" if removed else ""
        found.append(
            Table(f"F1 of {name}{gone}: all links, and new ones", ["method, models", *map(str, starts)], rows, note)
        )
    spans = [cell for cell in shared if cell["method"] == "span"]
    rows = [_honest(cells_of, name) for name, cells_of in _kinds(spans)]
    columns = ["", "draws", "linked", "estimated − true precision (worst)", "precision inside", "recall inside",
               "overlap inside", "right pairs called wrong"]  # fmt: skip
    found.append(Table("What span says of itself", columns, rows))
    if nothing:
        rows = [
            [
                f"{pair_name(pair)}, {seeds} wrong pairs",
                f"{sum(c['verdict'] == 'not linkable' for c in own)} of {len(own)}",
            ]
            for (pair, seeds), own in grouped(nothing, "pair", "seeds").items()
        ]
        found.append(Table("Catalogues that share nothing: “not linkable”", ["", "refused"], rows))
    return found


def draw(cells: list[Cell]) -> Any:
    """F1 of new links over the number of pairs given, a panel for each catalogue."""
    shared = [cell for cell in cells if cell["pair"][0] not in NOTHING and cell.get("seeds") is not None]
    names = list(dict.fromkeys(cell["pair"][0] for cell in shared)) or [SHOPS]
    figure, axes = new_figure(1, len(names), 4.5 * len(names), 3.4)
    for panel, name in zip(axes[0], names, strict=True):
        own = [cell for cell in shared if cell["pair"][0] == name and not cell["removed"]]
        for (method, pair), group in grouped(own, "method", "pair").items():
            counts = sorted(ordered(group, "seeds"))
            means = [values([c for c in group if c["seeds"] == count], "new_f1").mean() for count in counts]
            panel.plot(counts, means, marker="o", label=f"{method}, {'–'.join(pair[1:])}")
        panel.set(title=name, xlabel="pairs given", ylabel="F1 of new links", ylim=(0, 100))
        panel.legend(fontsize=7)
    return figure


def _full(rows: np.ndarray, n: int) -> np.ndarray:
    """The rows, then all others, so that the order can be turned round."""
    return np.r_[rows, np.setdiff1d(np.arange(n), rows)]


def _numbered(pairs: np.ndarray) -> np.ndarray:
    return pairs[:, 0] * (1 << 32) + pairs[:, 1]


def _is_in(pairs: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    return np.isin(_numbered(pairs), numbers)


def _start(cell: Cell) -> str:
    return f"{cell['anchors']} anchors" if cell.get("anchors") else f"{cell['seeds']}"


def _kinds(cells: list[Cell]) -> list[tuple[str, list[Cell]]]:
    told = [
        {**cell, "kind": f"{cell['pair'][0]}, {_start(cell)}{', cut' if cell['removed'] else ''}"} for cell in cells
    ]
    return [*((kind, own) for (kind,), own in grouped(told, "kind").items()), ("all", cells)]


def _honest(cells: list[Cell], name: str) -> list[str]:
    linked = [cell for cell in cells if cell["links"]]
    told = [cell["told"] for cell in linked]
    errors = [
        100 * (each["precision"]["estimated"] - each["precision"]["true"])
        for each in told
        if each["precision"]["estimated"] is not None
    ]
    inside = (f"{sum(each[what].get('inside', False) for each in told)} of {len(told)}" for what in ESTIMATES)
    error = f"{np.mean(errors):+.1f} ({max(errors, key=abs):+.1f})" if errors else "–"
    given = sum(cell.get("seeds") or 0 for cell in cells)
    wrong = sum(cell["right_called_wrong"] for cell in cells)
    return [name, str(len(cells)), str(len(linked)), error, *inside, f"{wrong} of {given}"]
