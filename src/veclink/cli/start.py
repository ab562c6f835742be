"""veclink demo and veclink link: from two collections to links."""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from veclink.cli.shared import (
    AS_JSON,
    COLUMNS,
    DEVICE,
    MEMORY,
    NO_TRUSTED_LINKS,
    PAYLOAD_A,
    PAYLOAD_B,
    QUIET,
    RANDOM_STATE,
    REPORT_FILE,
    SEEDS_FILE,
    SKIP_ZERO,
    TABLE_FILE,
    THREADS,
    A,
    B,
    advanced,
    as_given,
    check_apart,
    check_choice,
    check_links_file,
    check_report,
    opened_pair,
    option,
    summary_values,
    tell,
    warn_of_payload,
)  # fmt: skip
from veclink.errors import without_secrets
from veclink.progress import showing_progress

if TYPE_CHECKING:
    from veclink.data.links import Links

SURE = 0.95  # the precision that is proposed where it keeps fewer links than there are
CSV_IS_SHORT = "A .parquet file also keeps what explains each link, for the report and the review page."


def demo(
    report: Path = option(Path("veclink-demo.html"), help="Where the report goes: .html"),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
) -> None:
    """Link the bundled sample, 3,000 papers embedded by two models, check the result, and write a report of it."""
    from veclink.cli.terminal import run_demo, told_demo
    from veclink.confidence.threshold import thresholds

    check_report(report)
    with showing_progress(quiet=quiet) as listener:
        result = run_demo(progress=listener, report=report)
    told = {
        "report": str(report),
        "scores": asdict(result.scores),
        "summary": result.links.summary.to_dict(),
        "thresholds": [asdict(line) for line in thresholds(result.links)],
        "links": [asdict(each) for each in result.shown],
    }
    tell(told, told_demo(result), as_json, quiet)


def link(
    a: str = A,
    b: str = B,
    output: Path = TABLE_FILE,
    seeds: Path | None = SEEDS_FILE,
    report: Path | None = REPORT_FILE,
    precision: float | None = option(
        None,
        metavar="P",
        min=0.0,
        max=1.0,
        help="Keep the most certain links with an estimated precision of at least P (conservative), such as 0.95. "
        "Without this, the links with the largest estimated F1 are kept.",
    ),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    seeds_by: str | None = option(
        None,
        metavar="COLUMN",
        help="Start from rows with equal values in this column, such as title (A's=B's where the names differ). They "
        "may be wrong: the vectors decide. auto looks for one.",
    ),
    anchors: tuple[str, str] | None = option(
        None, metavar="FA FB", help="Two vector files: row i of both is the same text, which need not be in A or B."
    ),
    continued: Path | None = option(
        None, "--continue", metavar="LINKS", help="Start from earlier links of A and B, which may have grown."
    ),
    save_linker: Path | None = option(
        None, metavar="FOLDER", help="Keep what veclink match needs to link new rows later, in this folder."
    ),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    one_to_one: bool = advanced(
        True, "--one-to-one/--many-to-many", help="Partners of a row: one, or many where there are duplicates."
    ),
    many: bool = option(False, "--many", hidden=True),
    strict: bool = advanced(
        False,
        "--strict",
        help="Stop where a seed is given twice or a row has two partners (otherwise used once, and left out).",
    ),
    method: str = advanced("span", metavar="NAME", help="The linker: span, or geh as in the paper."),
    columns: str | None = COLUMNS,
    checkpoint: Path | None = advanced(
        None, help="Keep a long run's stages in this folder; the same command goes on from there."
    ),
    ray: str | None = advanced(None, metavar="ADDRESS", help='Run on this Ray cluster ("auto": the one here).'),
    cluster: str | None = option(None, hidden=True),
    memory: str | None = MEMORY,
    device: str = DEVICE,
    threads: int | None = THREADS,
    random_state: int = RANDOM_STATE,
    skip_zero: bool = SKIP_ZERO,
) -> None:
    """Link the vectors of A with the vectors of B, and say how far to trust the links.

    Known pairs help (--seeds), but are optional. Exit code 3 says that no trustworthy links were found.
    """
    from veclink.cli.terminal import told_thresholds
    from veclink.confidence.threshold import thresholds
    from veclink.linkers.linking import METHODS, with_agreement
    from veclink.linkers.linking import link as find_links

    check_choice("--method", method, METHODS)
    if a == b or (Path(a).exists() and Path(b).exists() and os.path.samefile(a, b)):
        raise typer.BadParameter(
            f"A and B are the same collection, {without_secrets(a)}. Give two collections; copies inside one are "
            "listed by veclink inspect."
        )
    one_to_one = one_to_one and not many
    inputs = (a, b, seeds, continued, *(anchors or ()), payload_a, payload_b)
    check_links_file(output, columns, *inputs)
    check_report(report, *inputs)
    if save_linker is not None:
        from veclink.uses.linker import check_place

        if method != "span" or not one_to_one:
            raise typer.BadParameter("needs --method span and one-to-one links.", param_hint="--save-linker")
        check_place(save_linker)
    check_apart([output, report], save_linker, checkpoint)
    running: dict[str, Any] = {
        "memory": memory, "device": device, "threads": threads, "random_state": random_state, "skip_zero": skip_zero,
    }  # fmt: skip
    options: dict[str, Any] = {} if one_to_one else {"one_to_one": False}  # method geh does not know it
    with showing_progress(quiet=quiet) as listener:
        # opened once, for the linker and for the report; a store's payload is read where one of them looks at it
        reading: dict[str, Any] = {"payload": report is not None or seeds_by is not None, "memory": memory}
        left, right = opened_pair(a, b, payload_a, payload_b, progress=listener, **reading)
        links = find_links(
            left, right, seeds=seeds, seeds_by=seeds_by, anchors=anchors, continued=continued, strict=strict,
            method=method, checkpoint=checkpoint, cluster=ray or cluster, progress=listener, **running, **options,
        )  # fmt: skip
    if precision is not None:
        links = with_agreement(links.at(precision=precision), left, right)
    is_refused = links.summary.verdict == "not linkable"
    if is_refused:
        links = links.none()
    links.save(output, columns)
    if report is not None:
        from veclink.report import save_report

        save_report(report, links, left, right)
    folder = None if is_refused else save_linker
    if folder is not None:
        from veclink.uses.linker import Linker

        Linker.learned(links, left, right, (a, b), **running).save(folder)
    places = {"output": output, "report": report, "linker": folder}
    files = {name: str(path) for name, path in places.items() if path is not None}
    ids_from = {side: each.ids_from for side, each in (("a", left), ("b", right)) if each.ids_from is not None}
    table = thresholds(links)
    told = {**files, **summary_values(links.summary), "thresholds": [asdict(line) for line in table]}
    warn_of_payload(links.summary, unsaid=quiet or as_json)
    given = [without_secrets(a), without_secrets(b), *as_given(payload_a=payload_a, payload_b=payload_b)]
    lines = [str(links.summary), *told_thresholds(table, links.summary.caution)]
    lines += [f"The ids of {side.upper()} are those of {file}." for side, file in ids_from.items()]
    lines += _told_files(links, given, files, is_cut=precision is not None, skip_zero=skip_zero)
    tell(told | {"ids_from": ids_from}, lines, as_json, quiet)
    if is_refused:
        raise typer.Exit(NO_TRUSTED_LINKS)


def _told_files(links: Links, given: list[str], files: dict[str, str], *, is_cut: bool, skip_zero: bool) -> list[str]:
    """What was written, and what to do with the links; what is in the way is said in the reasons above."""
    lines = [f"Written to {files['output']}."]
    if files["output"].lower().endswith(".csv") and len(links):
        lines.append(CSV_IS_SHORT)
    if "report" in files:
        lines.append(f"The report is {files['report']}; open it in a browser.")
    if not len(links):
        return lines
    shown, output = shlex.join(given), shlex.quote(files["output"])
    prepared = f"{shown} --skip-zero" if skip_zero else shown  # for commands that would stop at a zero vector too
    steps = [] if "report" in files else [f"  see them:        veclink report {output} {shown} -o links.html"]
    steps.append(f"  check by eye:    veclink review {output} {prepared}")
    if links.summary.is_calibrated and not is_cut and 0 < len(links.at(precision=SURE)) < len(links):
        steps.append(f"  keep sure ones:  veclink cut {output} --precision {SURE} -o sure.csv")
    if "linker" in files:
        named = " --payload-a NEW.csv" if "--payload-a" in given else ""
        steps.append(f"  link new rows:   veclink match NEW{named} --linker {shlex.quote(files['linker'])} -o new.csv")
    if links.summary.verdict_in_words == "linkable":
        steps.append(f"  make one store:  veclink merge {prepared} --links {output} -o merged.parquet --yes")
    return [*lines, "Next:", *steps]
