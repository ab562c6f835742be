"""Parts of the pages that are made whole from the results: a table, or a list of sentences.

A page holds them between `<!-- made NAME -->` and `<!-- end -->`; the names are those of `PARTS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from veclink.errors import InputError
from veclink_bench.experiments import EXPERIMENTS, WITHOUT_LINKS, load
from veclink_bench.experiments.merging import by_map
from veclink_bench.experiments.tables import grouped, pair_name, trials_of, values
from veclink_bench.places import BENCH
from veclink_bench.real_table import kinds_table
from veclink_bench.studies.catalogues import page_table
from veclink_bench.table_figures import CellsOf
from veclink_bench.versions import measured_with, release

RESULTS = BENCH / "results" / "experiments"
SPEED = BENCH / "results" / "speed"
STARTED_WITHIN = 0.03  # of the F1 from fifteen seeds on the same split
TITLES = ("reddit", "stackexchange")
PROMISED = (0.9, 0.95, 0.99)


def promise(cells_of: CellsOf) -> str:
    """For each wanted precision, in how many of 100 measured cases the true one was at least that.

    Trials in which nothing was kept are left out: no link breaks no promise.
    """
    trials = cells_of("real-report")  # the half that nothing was chosen on
    lines = ["| wanted precision | the true precision was at least that | measured cases |", "|---|---|---|"]
    for wanted in PROMISED:
        kept = [trial["at"][str(wanted)] for trial in trials]
        true = [each["precision"] for each in kept if each["links"]]
        if true:
            reached = sum(precision >= wanted for precision in true)
            # Rounded down: a promise is not rounded up.
            lines.append(f"| {wanted:g} | in {100 * reached // len(true)} of 100 | {len(true):,} |")
        else:
            lines.append(f"| {wanted:g} | not measured | 0 |")
    return "\n".join(lines)


def starts(cells_of: CellsOf) -> str:
    """How often linking started, by kind of data and by what it began from: those in no_seeds.json."""
    measured: dict[tuple[str, str, int], list[tuple[dict[str, Any], dict[str, Any] | None]]] = {}
    for trial in cells_of("no_seeds"):
        reference = trial["from"].get("15")
        for count in sorted(int(each) for each in trial["from"] if each != "15"):
            key = (*_kind_of_data(trial), count)
            measured.setdefault(key, []).append((trial["from"][str(count)], reference))
    lines = ["| data | in common | from | started | mean F1 | from 15 seeds |", "|---|---|---|---|---|---|"]
    lines += [_starts_line(*key, runs) for key, runs in sorted(measured.items())]
    return "\n".join(lines)


def _kind_of_data(trial: dict[str, Any]) -> tuple[str, str]:
    """The kind of texts and models of a trial, and what its two sides have in common."""
    corpus, models = trial["data"].split()
    case = trial["case"]
    if case.startswith("nothing shared"):
        return "nothing shared", "nothing"
    if corpus in TITLES:
        return ("short titles, e5 on one side" if "e5" in models else "short titles, other models"), case
    return ("films" if corpus == "movies" else "abstracts"), case


def _starts_line(kind: str, case: str, count: int, runs: list[tuple[dict[str, Any], dict[str, Any] | None]]) -> str:
    begun = f"{count} seeds" if count else "nothing"
    references = [reference for _, reference in runs if reference is not None]
    if not references:
        wrong = sum(found["verdict"] == "linkable" for found, _ in runs)
        return f"| {kind} | {case} | {begun} | called linkable {wrong} of {len(runs)} times | – | – |"
    pairs = [(found["f1"], reference["f1"]) for found, reference in runs if reference is not None]
    started = sum(f1 > 0 and f1 >= seeded - STARTED_WITHIN for f1, seeded in pairs)
    mean, seeded = (100 * sum(each) / len(pairs) for each in zip(*pairs, strict=True))
    return f"| {kind} | {case} | {begun} | {started} of {len(pairs)} | {mean:.1f} | {seeded:.1f} |"


def new_rows(_: CellsOf) -> str:
    """What was measured of rows that come later, as a list; what was not measured is not in it."""
    file = RESULTS / "living.json"
    told = json.loads(file.read_text(encoding="utf-8"))["summary"] if file.is_file() else {}
    lines = []
    if "batch" in told:
        batch = told["batch"]
        mean, worst = _points(-batch["mean_behind"]), _points(-batch["worst_behind"])
        off, most_off = batch["mean_absolute_single_error"], abs(batch["worst_single_error"])
        lines += [
            f"- 100 new rows, 70 of them shared, in {_cases(batch)}: the F1 of linking everything again is "
            f"missed by {mean} on average, by {worst} in the worst case.",
            f"- 200 rows, one at a time: the mean probability is off by {off:.1f} points on average, by "
            f"{most_off:.1f} in the worst case.",
        ]
    if "days" in told:
        worst = _points(-told["days"]["worst_behind"])
        lines.append(f"- Ten days of `update`: the F1 of one run at the end is missed by {worst} in the worst case.")
    if "cost" in told:
        products = told["cost"]["products"]
        lines.append(f"- 1,000 new rows against 200,000 take as long as {products:.2f} products of that size.")
    lines.append("\nThe trials are in bench/results/experiments/living.json.")
    return "\n".join(lines)


def _cases(told: dict[str, Any]) -> str:
    """How many cases there are, and of how many trials each is the mean."""
    trials = told.get("trials", told["cases"]) / told["cases"]
    return f"{told['cases']} cases" if trials == 1 else f"{told['cases']} cases of {trials:.0f} trials"


def _points(difference: float) -> str:
    """How much an F1 is missed by, in words."""
    return f"{max(-difference, 0):.1f} points" if difference < 0 else f"nothing ({difference:.1f} points more)"


def real_cases(cells_of: CellsOf) -> str:
    """Means over the trials of collections as users have them, a line for each kind."""
    return kinds_table(cells_of("real-report"))


def ray_matching(_: CellsOf) -> str:
    """What the exact pass costs in Ray tasks on one machine."""
    found = json.loads((SPEED / "ray_matching.json").read_text(encoding="utf-8"))
    rows = [
        "| workers | seconds in tasks | of one process with as many threads | speed against one process | efficiency |",
        "|---|---|---|---|---|",
    ]
    for each in found["by_workers"]:
        tasks, threads = each["tasks_seconds"], each["threads_seconds"]
        shares = f"{100 * threads / tasks:.0f} % | {100 * each['efficiency']:.0f} %"
        rows.append(f"| {each['workers']} | {tasks:.1f} | {threads:.1f} | {shares} |")
    return "\n".join(rows)


def where_span_is_behind(cells_of: CellsOf) -> str:
    """Of every table that compares methods: where another one's mean is higher than span's, and by how much."""
    lines = ["| table | by | places | another is ahead in | by at most | where |", "|---|---|---|---|---|---|"]
    for name, measure in COMPARED:
        cells = by_map(cells_of(name)) if name == "merging" else cells_of(name)
        places = [each for each in PLACES if any(each in cell for cell in cells)]
        ahead, of = [], 0
        for place, group in grouped(cells, *places).items():
            means = {by: values(own, measure) for (by,), own in grouped(group, _by(group[0])).items()}
            known = {by: float(found.mean()) for by, found in means.items() if len(found) and by not in AIDED}
            if "span" in known and len(known) > 1:
                of += 1
                best = max(known, key=lambda by: known[by])
                ahead.append((known[best] - known["span"], f"{best}, {_words(place)}"))
        most, where = max(ahead, default=(0.0, ""))
        lost = sum(lead > 0 for lead, _ in ahead)
        told = f"{lost} | {most:.1f} points | {where}" if lost else "none | – | –"
        lines.append(f"| {name} | {MEASURES[measure]} | {of} | {told if of else 'not measured | – | –'} |")
    return "\n".join(lines)


def _by(cell: dict[str, Any]) -> str:
    return "links_by" if "links_by" in cell else "method"


def _words(place: tuple[Any, ...]) -> str:
    told = [pair_name(each) if isinstance(each, tuple) else str(each) for each in place if each is not None]
    return ", ".join(told)


def bodies(name: str, cells_of: CellsOf) -> str:
    """The tables of an experiment, without their headings."""
    cells = cells_of(name.replace("-", "_"))
    return "\n".join(each.markdown().split("\n", 2)[2] for each in load(name).tables(cells)).rstrip()


def gpu_linking(_: CellsOf) -> str:
    """Millions of titles linked on one GPU: `veclink bench gpu-linking`, a line for each size."""
    names = ("rows on each side", "seconds", "of them growing", "precision", "recall", "F1", "GPU memory")
    head = f"| {' | '.join((*names, 'version of veclink'))} |"
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    for run in json.loads((SPEED / "gpu_linking.json").read_text(encoding="utf-8"))["runs"]:
        shares = " | ".join(f"{100 * run[measure]:.1f}" for measure in ("precision", "recall", "f1"))
        seconds = f"{run['seconds']:.1f} | {run['stages']['growing']:.1f}"
        memory = f"{run['peak_gpu_gb']:.0f} GB"
        lines.append(f"| {run['rows']:,} | {seconds} | {shares} | {memory} | {release(run['version'])} |")
    return "\n".join(lines)


def gpu_little(_: CellsOf) -> str:
    """A million titles a side, few of them in both, from known pairs and wrong ones, beside a map of true pairs."""
    names = (
        "of all titles in both",
        "known pairs",
        "seconds",
        "precision",
        "as told",
        "recall",
        "F1",
        "F1 of a map",
        "verdict",
    )
    lines = [f"| {' | '.join(names)} |", "|---|---|---|---|---|---|---|---|---|"]
    for run in json.loads((SPEED / "gpu_linking.json").read_text(encoding="utf-8"))["little"]:
        pairs = f"{run['seeds']:,}" if run["seeds"] > 0 else f"{-run['seeds']:,}, all wrong"
        found = run["precision"], run["estimated_precision"], run["recall"], run["f1"], run["map"]["f1"]
        shares = " | ".join("–" if share is None or not run["f1"] else f"{100 * share:.1f}" for share in found)
        lines.append(f"| {run['share']:.0%} | {pairs} | {run['seconds']:.0f} | {shares} | {run['verdict']} |")
    return "\n".join(lines)


def printed_by(command: str, _: CellsOf) -> str:
    """What a command prints of the bundled sample, as `veclink bench sample` kept it; of `demo` its estimates alone."""
    lines = json.loads((RESULTS / "sample.json").read_text(encoding="utf-8"))["printed"][command]
    if command == "demo":
        first = next(place for place, line in enumerate(lines) if " links between " in line)
        last = next(place for place, line in enumerate(lines) if line.startswith("By the truth"))
        lines = lines[first : last + 1]
    ends = [place for place, line in enumerate(lines) if line == "Next:"]
    shown = lines[: ends[0]] if ends else lines
    return "\n".join(["```text", *(line.rstrip() for line in shown), "```"])


def versions_of_tables(cells_of: CellsOf) -> str:
    """Of every experiment: the release that measured it, the cells, and the trials behind a mean."""
    lines = ["| table | measured with | cells | trials of each |", "|---|---|---|---|"]
    for name in EXPERIMENTS:
        file = name.replace("-", "_")
        if name not in WITHOUT_LINKS and (RESULTS / f"{file}.json").exists():
            cells = cells_of(file)
            lines.append(f"| {name} | {measured_with(cells)} | {len(cells):,} | {trials_of(cells)} |")
    return "\n".join(lines)


def beside_the_paper(_: CellsOf) -> str:
    """Every figure of GEH in the paper, as results/paper.json quotes it, beside ours, and why they differ."""
    from veclink_bench.pages import number  # which has these parts

    quoted = json.loads((BENCH / "results" / "paper.json").read_text(encoding="utf-8"))
    lines = []
    for table in quoted["tables"]:
        measures = " / ".join(table["measures"])
        lines += [f"**{table['name']}**", "", f"| {measures} | the paper | here | difference | why |"]
        lines.append("| --- | --: | --: | --: | --- |")
        for row in table["rows"]:
            asked = row["ours"] or []
            if isinstance(asked, str):
                asked = [asked.format(measure) for measure in table["measures"]]
            try:
                ours = [number(query) for query in asked]
            except InputError:
                ours = []
            both = zip(ours, row["paper"], strict=bool(ours))
            apart = " / ".join(f"{float(own.replace(',', '')) - paper:+,.1f}" for own, paper in both)
            theirs = " / ".join(f"{each:,}" for each in row["paper"])
            here = " / ".join(ours) or ("not measured" if asked else "–")
            lines.append(f"| {row['what']} | {theirs} | {here} | {apart or '–'} | {quoted['reasons'][row['why']]} |")
        lines.append("")
    return "\n".join(lines).rstrip()


MEASURES = {"f1": "F1", "ndcg": "NDCG@100", "recall": "Recall@100", "v": "V-measure", "oar": "OAR"}
F1_TABLES = ("main", "grid", "strategies", "outside", "seeding", "scalability", "glove")
COMPARED = [(name, "f1") for name in F1_TABLES] + [
    ("merging", "ndcg"), ("merging", "recall"), ("clustering", "v"), ("clustering", "oar")
]  # fmt: skip
PLACES = ("pair", "overlap", "seeds", "how", "outside", "rows", "map")
AIDED = ("true links", "ceiling A", "ceiling B", "one model", "span wide")  # told the truth, or span again


PARTS: dict[str, Callable[[CellsOf], str]] = {
    "promise": promise,
    "starts": starts,
    "new-rows": new_rows,
    "real-cases": real_cases,
    "catalogues": lambda cells_of: page_table(cells_of("catalogues")),
    "ray-matching": ray_matching,
    "merge-choices": partial(bodies, "merge-sure"),
    "advice": partial(bodies, "advise"),
    "gpu-linking": gpu_linking,
    "gpu-little": gpu_little,
    "where-span-is-behind": where_span_is_behind,
    "versions-of-tables": versions_of_tables,
    "beside-the-paper": beside_the_paper,
    "sample-demo": partial(printed_by, "demo"),
    "sample-link": partial(printed_by, "link"),
    "sample-eval": partial(printed_by, "eval"),
}
