"""Tables of what `veclink bench real` measured: kind by kind, and what was required beside it.

A cell is one case, such as half of 600 papers among 7,000, over its trials. Percent throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

Trial = dict[str, Any]
Trials = list[Trial]

MIN_SHARED = 0.1  # of the smaller side: cells with less are not asked for their precision at 0.95
RANGES = ("precision", "recall", "overlap")


class Row(NamedTuple):
    """One requirement: what, how much, what was measured, whether that is enough, and of how many trials."""

    what: str
    required: str
    measured: str
    met: bool
    trials: int


def kinds_table(trials: Iterable[Trial]) -> str:
    """Means of trials, a line for each kind, as Markdown."""
    kinds = _by(trials, "kind")
    head = (
        "| kind | trials | F1 | estimated − true precision (worst) | at 0.95: precision (least) / recall "
        "| ranges hold: precision, recall, overlap | linked |"
    )
    rows = [head, "|---|---|---|---|---|---|---|"]
    return "\n".join([*rows, *(_kind_row(kind, of_kind) for kind, of_kind in sorted(kinds.items()))])


def required_table(trials: Iterable[Trial]) -> str:
    """What was required and what was measured, as Markdown."""
    lines = ["| | required | measured | met | trials |", "|---|---|---|---|---|"]
    for row in required(list(trials)):
        lines.append(f"| {row.what} | {row.required} | {row.measured} | {'yes' if row.met else 'no'} | {row.trials} |")
    return "\n".join(lines)


def required(trials: Trials) -> list[Row]:
    """Every requirement that the trials say something of."""
    rows = []
    for share, least in (("0.3", 90.0), ("0.15", 82.0), ("0.05", 63.3)):
        rows.append(_least(f"mean F1, even split, α {share}", _kind(trials, f"even {share}"), f1, least))
    for share, least in (("0.3", 68.0), ("0.15", 38.0)):
        rows.append(_least(f"recall at 0.95, α {share}", _kind(trials, f"even {share}"), recall_at_95, least))
    rows += [_precision_at_95(trials), _estimates(trials)]
    for kind, least in (("half of 600", 77.0), ("tenth of 2000", 60.0), ("all of 150", 85.0)):
        rows.append(_least(f"F1, {kind}", _kind(trials, kind), f1, least))
    rows.append(_copies(trials))
    rows += _domains(trials)
    for label, least in (("minilm-mpnet 0.3", 80.0), ("minilm-e5 0.3", 78.0)):
        rows.append(_least(f"F1, titles to abstracts, {label}", _labelled(trials, "titles", label), f1, least))
    rows.append(_nothing(trials))
    return [row for row in rows if row.trials]


def f1(trials: Trials) -> float:
    """The mean true F1."""
    return mean(each["true"]["f1"] for each in trials)


def recall_at_95(trials: Trials) -> float:
    """The mean recall of what `at(0.95)` keeps."""
    return mean(each["at"]["0.95"]["recall"] for each in trials)


def _least(what: str, trials: Trials, measure: Callable[[Trials], float], least: float) -> Row:
    measured = measure(trials)
    return Row(what, f"≥ {least:g}", f"{measured:.1f}", measured >= least, len(trials))


def _precision_at_95(trials: Trials) -> Row:
    """Nine of ten cells keep 94, and none is below 90."""
    asked = [each for each in trials if each["shared"] >= MIN_SHARED * min(each["n_a"], each["n_b"])]
    asked = [each for each in asked if each["at"]["0.95"]["links"]]
    cells = _by(asked, "cell").values()
    precision = np.array([mean(each["at"]["0.95"]["precision"] for each in cell) for cell in cells])
    if not len(precision):
        return Row("", "", "", False, 0)
    reached = 100 * float(np.mean(precision >= 94))
    measured = f"{reached:.0f} % of {len(precision)} cells ≥ 94; least {precision.min():.1f}"
    met = reached >= 90 and float(precision.min()) >= 90
    return Row(
        "true precision at 0.95, cells with ≥ 10 % shared",
        "90 % of cells ≥ 94, none below 90",
        measured,
        met,
        len(asked),
    )


def _estimates(trials: Trials) -> Row:
    """How far the estimated precision is off: the mean over every kind, and the worst trial."""
    linked = [each for each in trials if each["links"] and each["shared"]]
    if not linked:
        return Row("", "", "", False, 0)
    means = {kind: mean(map(_error, of_kind)) for kind, of_kind in _by(linked, "kind").items()}
    kind = max(means, key=lambda each: abs(means[each]))
    worst = max(linked, key=lambda each: abs(_error(each)))
    within = sum(abs(_error(each)) <= 0.08 for each in linked)
    measured = (
        f"largest mean {means[kind]:+.1f} ({kind}); worst {100 * _error(worst):+.1f} ({_cell(worst)}); "
        f"{within} of {len(linked)} within 8"
    )
    met = abs(means[kind]) <= 3 and abs(_error(worst)) <= 0.08
    return Row("estimated − true precision, every kind", "mean ≤ 3, worst ≤ 8", measured, met, len(linked))


def _copies(trials: Trials) -> Row:
    """A fifth of the rows doubled, against the same split without copies."""
    none, doubled = (_labelled(trials, "copies", label) for label in ("none", "b near 0.2 of 2"))
    apart = f1(doubled) - f1(none), recall_at_95(doubled) - recall_at_95(none)
    measured = f"F1 {apart[0]:+.1f}, recall at 0.95 {apart[1]:+.1f}"
    return Row("a fifth doubled", "within 2 of no copies", measured, max(map(abs, apart)) <= 2, len(doubled))


def _domains(trials: Trials) -> list[Row]:
    """Other domains around what is shared, against the even split of the same corpus with the same share."""
    rows = []
    for share in ("0.3", "0.15"):
        for label, pair in (("both", "nfcorpus mpnet-e5"), ("one", "papers mpnet-e5")):
            around = _labelled(trials, "domains", f"{label} {share}")
            split = _labelled(trials, f"even {share}", pair)
            least = recall_at_95(split) - 10
            rows.append(_least(f"recall at 0.95, other domains on {label}, α {share}", around, recall_at_95, least))
    return [row._replace(required=f"≥ {float(row.required[2:]):.1f} (even split − 10)") for row in rows]


def _nothing(trials: Trials) -> Row:
    nothing = _kind(trials, "nothing")
    refused = sum(each["verdict"] == "not linkable" for each in nothing)
    return Row(
        "nothing shared: “not linkable”", "all of 60", f"{refused} of {len(nothing)}",
        refused == len(nothing) >= 60, len(nothing),
    )  # fmt: skip


def _kind_row(kind: str, trials: Trials) -> str:
    linked = [each for each in trials if each["links"]]
    if not linked:
        return f"| {kind} | {len(trials)} | {f1(trials):.1f} | – | – | – | 0 |"
    errors = [100 * _error(each) for each in linked]
    sure = [100 * each["at"]["0.95"]["precision"] for each in linked if each["at"]["0.95"]["links"]]
    kept = f"{np.mean(sure):.1f} ({min(sure):.1f})" if sure else "–"
    error = f"{np.mean(errors):+.1f} ({max(errors, key=abs):+.1f})"
    held = ", ".join(f"{sum(_holds(each, what) for each in linked)}" for what in RANGES)
    return (
        f"| {kind} | {len(trials)} | {f1(trials):.1f} | {error} | {kept} / {recall_at_95(trials):.0f} "
        f"| {held} of {len(linked)} | {len(linked)} |"
    )


def _holds(trial: Trial, what: str) -> bool:
    """Whether the range of an estimate holds the truth."""
    between = trial.get("ranges", {}).get(what)
    if between is None:
        return False
    truth = trial["shared"] if what == "overlap" else trial["true"][what]
    return bool(between[0] <= truth <= between[1])


def _error(trial: Trial) -> float:
    return float(trial["estimated"]["precision"] - trial["true"]["precision"])


def _kind(trials: Trials, kind: str) -> Trials:
    return [each for each in trials if each["kind"] == kind]


def _labelled(trials: Trials, kind: str, label: str) -> Trials:
    return [each for each in _kind(trials, kind) if each["label"] == label]


def _cell(trial: Trial) -> str:
    return f"{trial['kind']}, {trial['label']}"


def _by(trials: Iterable[Trial], key: str) -> dict[str, Trials]:
    """Trials by their kind, or by their cell."""
    groups: dict[str, Trials] = {}
    for each in trials:
        groups.setdefault(_cell(each) if key == "cell" else each[key], []).append(each)
    return groups


def mean(values: Iterable[float]) -> float:
    """In percent; 0 of nothing."""
    listed = list(values)
    return 100 * float(np.mean(listed)) if listed else 0.0
