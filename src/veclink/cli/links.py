"""veclink demo, link, cut, report, review and eval: from two collections to links, and what to do with them."""

from __future__ import annotations

import os
import re
import shlex
import webbrowser
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from veclink.cli.shared import (
    AS_JSON,
    COLUMNS,
    DEVICE,
    FORCE,
    LINKS_FILE,
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
    argument,
    as_given,
    check_apart,
    check_choice,
    check_links_file,
    check_report,
    check_table,
    flag,
    note_short_columns,
    opened,
    opened_pair,
    option,
    summary_values,
    tell,
    warn_of_payload,
)  # fmt: skip
from veclink.errors import needed, plural, without_secrets
from veclink.progress import showing_progress

if TYPE_CHECKING:
    from veclink.data.links import Links

SURE = 0.95  # the precision that is proposed where it keeps fewer links than there are
CSV_IS_SHORT = "A .parquet file also keeps what explains each link, for the report and the review page."
UNCALIBRATED = (
    "No precision is estimated: the probabilities of --method geh are shares of votes and are not calibrated. Check "
    "some of the links by eye (veclink review), or link with --method span, which estimates it."
)
NO_LINK_BUT_JUDGED = (
    "No pair is a link. These were judged and are below the threshold: accept the right ones, and link again with them."
)


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
        None, metavar="FOLDER", help="Folder to save what veclink match needs to link new rows later."
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
        help="Refuse repeated seeds, and rows with two partners. Otherwise they are used once, or left out.",
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


def cut(
    source: Path = LINKS_FILE,
    output: str = option(
        ..., "--output", "-o", help="Where the links go: .csv, .parquet, or a URL: a table of a store."
    ),
    precision: float | None = option(
        None,
        metavar="P",
        min=0.0,
        max=1.0,
        help="Keep the most certain links with an estimated precision of at least P. The estimate is conservative: "
        "each expected wrong link counts as 1.9 or more (`caution` with --json).",
    ),
    probability: float | None = option(
        None, metavar="P", min=0.0, max=1.0, help="Keep each link that is at least this probable."
    ),
    links: int | None = option(None, metavar="N", min=0, help="Keep the N most certain links."),
    annotate: str | None = option(
        None,
        metavar="a|b",
        help="With a URL: set veclink_id and veclink_probability on the objects of this side, which must be there.",
    ),
    yes: bool = flag("--yes", "With a URL: write. Without this, only say what would change."),
    columns: str | None = COLUMNS,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
) -> None:
    """Choose other links among all judged pairs: more of them, or fewer. Nothing is linked again.

    A Parquet file of links holds all judged pairs. A CSV file holds the links alone, so they can only become fewer.
    With a store's URL as -o, all links are written unless you ask for fewer. Exit code 3: no trustworthy links.
    """
    from veclink.data.links import Links
    from veclink.data.summary import NOT_LINKABLE

    asked = {"precision": precision, "probability": probability, "links": links}
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    is_url = re.match(r"(?!file:)\w+:/", output) is not None
    if len(given) != 1 and (given or not is_url):
        raise typer.BadParameter("give one of --precision, --probability and --links.")
    if is_url:
        _to_store(Links.load(source), given, output, annotate, yes, as_json, quiet)
        return
    if annotate is not None or yes:
        raise typer.BadParameter("--annotate and --yes are about stores; give the URL of one with -o.")
    check_links_file(Path(output), columns, source)
    loaded = Links.load(source)
    chosen = loaded.at(**given)
    chosen = replace(chosen, summary=replace(chosen.summary, agreement=chosen.agreement()))
    if chosen.summary.verdict == NOT_LINKABLE:
        chosen = chosen.none()
    chosen.save(Path(output), columns)
    judged = len(loaded) if loaded.considered is None else len(loaded.considered)
    told = {"output": output, "judged": judged, "before": len(loaded), **summary_values(chosen.summary)}
    warn_of_payload(chosen.summary, unsaid=quiet or as_json)
    tell(told, _told_cut(loaded, chosen, judged, (source, output), precision), as_json, quiet)
    if not judged or chosen.summary.verdict == NOT_LINKABLE:
        raise typer.Exit(NO_TRUSTED_LINKS)


def _told_cut(
    loaded: Links, chosen: Links, judged: int, files: tuple[Path, str], precision: float | None
) -> list[str]:
    from veclink.cli.terminal import told_caution

    source, output = files
    if not judged:
        empty = f"An empty file was written to {output}."
        return [f"{source} holds no pairs to choose from.", str(loaded.summary), empty]
    lines = [
        str(chosen.summary),
        f"{plural(len(chosen), 'link')} of {plural(judged, 'judged pair')} ({len(loaded):,} before), written to "
        f"{output}.",
    ]
    if not chosen.summary.is_calibrated:
        lines.append(UNCALIBRATED)
    elif precision is not None:
        lines += told_caution(chosen.summary.caution)
        if len(chosen) > len(loaded):
            lines.append("More pairs reach this precision than the run kept: it keeps the links with the largest F1.")
    if source.suffix.lower() == ".csv":
        lines.append(f"{source} holds links only: a larger choice needs the Parquet file of the run.")
    return lines


def _to_store(
    loaded: Links, given: dict[str, Any], url: str, side: str | None, yes: bool, as_json: bool, quiet: bool
) -> None:
    """Write a table of links (a, b, probability) to a store, or note the links on one side's objects."""
    from veclink.uses import exporting

    links = loaded.at(**given) if given else loaded
    if side is None:
        changes, what = exporting.export_links(links, url, write=yes), "links"
    else:
        check_choice("--annotate", side, ("a", "b"))
        changes, what = exporting.annotate(links, url, side, write=yes), "objects with a note"
    if changes.any:
        counts = f"{changes.new:,} new, {changes.changed:,} changed, {changes.removed:,} removed, {changes.same:,} kept"
        lines = [f"{changes.store}: {counts} ({what}).", *(f"  {example}" for example in changes.examples)]
    else:
        lines = [f"{changes.store} needs no change: {changes.same:,} {what} are there already."]
    if changes.missing:
        lines.append(f"{changes.missing:,} linked ids are not in the store and were left out.")
    if changes.any:
        lines.append("Written." if yes else "Nothing was written; add --yes to do it.")
    tell({**asdict(changes), "written": yes and changes.any}, lines, as_json, quiet)


def report(
    links: Path = LINKS_FILE,
    output: Path = option(..., "--output", "-o", help="Where the page goes: .html"),
    a: str | None = argument(None, metavar="A", help="The linked collections: for titles and a map."),
    b: str | None = argument(None, metavar="B", help="The second one."),
    truth: Path | None = option(None, help="The true pairs, where they are known: columns a,b."),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    force: bool = FORCE,
) -> None:
    """Write the page that says whether to trust the links, and shows why: one HTML file, no server, no network."""
    from veclink.data.links import Links
    from veclink.report import save_report

    if (a is None) != (b is None):
        raise typer.BadParameter("Name both collections, or neither: veclink report LINKS A B -o links.html.")
    if truth is not None and a is None:
        raise typer.BadParameter("True pairs are looked up in the two collections; name them: LINKS A B.")
    check_report(output, a, b, links, truth, payload_a, payload_b)
    found = Links.load(links)
    if not quiet:
        note_short_columns(found, links)
    left = None if a is None else opened(a, payload_a)
    right = None if b is None else opened(b, payload_b)
    save_report(output, found, left, right, truth=truth, force=force)
    told = {"report": str(output), "links": len(found), "verdict": found.summary.verdict}
    tell(told, [f"The report is {output}; open it in a browser."], as_json, quiet)


def review(
    links: Path = LINKS_FILE,
    a: str = argument(..., metavar="A", help="The first of the two collections that were linked."),
    b: str = argument(..., metavar="B", help="The second."),
    open_browser: bool = flag("--open", "Open the page in the browser."),
    output: Path | None = option(None, "--output", "-o", help="Where “Link again” writes (default: LINKS.again.*)."),
    journal: Path | None = option(None, help="Where the answers are kept (default: LINKS.review.sqlite)."),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    port: int = advanced(0, min=0, max=65535, help="The port; 0 takes any that is free."),
    memory: str | None = MEMORY,
    device: str = DEVICE,
    skip_zero: bool = SKIP_ZERO,
) -> None:
    """Review links in the browser: the doubtful first, side by side, answered with single keys."""
    from veclink.data.links import Links

    loaded = Links.load(links)
    has_links = bool(len(loaded)) or not loaded.considered  # else what was judged and is no link is shown
    found = loaded if has_links or loaded.considered is None else loaded.considered
    path = journal or links.with_name(f"{links.name}.review.sqlite")
    kept_before = path.exists() or path.with_suffix(".jsonl").exists()
    if not len(found) and not kept_before:  # what was accepted before can still be linked again with
        from veclink.report.words import advice_without_links, headline, shown_reasons

        steps, summary = advice_without_links(found), found.summary
        # the cause, which the reasons leave out
        cause = [headline(found, None)[1]] if summary.is_open else []
        lines = [f"There is nothing to review: {links} has no links, and no pairs that were judged.", *cause]
        lines += [*shown_reasons(found), "Next:", *(f"  {step}" for step in steps)]
        tell({"links": 0, "verdict": summary.verdict, "reasons": summary.reasons, "next": steps}, lines, as_json)
        raise typer.Exit(NO_TRUSTED_LINKS)
    for package in ("fastapi", "python_multipart", "uvicorn"):
        needed(package, "The review page", "veclink[review]")
    from veclink.review import Review
    from veclink.review.again import LinkAgain
    from veclink.review.journal import Journal
    from veclink.review.server import serve

    note_short_columns(found, links)
    again_to = output or links.with_name(f"{links.stem}.again{links.suffix}")
    check_table(again_to, a, b, links, payload_a, payload_b, journal)
    left, right = opened_pair(a, b, payload_a, payload_b, memory=memory)
    with Journal(path, left, right) as kept:
        session = Review(found, left, right, kept, name=links.name)
        again = LinkAgain(session, again_to, device=device, memory=memory, skip_zero=skip_zero)

        def ready(address: str) -> None:
            answers = plural(len(kept.answers()), "answer")
            lines = [] if has_links else [NO_LINK_BUT_JUDGED]
            pairs = plural(len(found), "link" if has_links else "pair")
            lines += [f"{pairs} to review, {answers} kept in {kept.path}.", f"Open {address}"]
            lines.append("Stop with Ctrl-C; the answers stay.")
            tell({"url": address, "journal": str(kept.path), "links": len(found)}, lines, as_json)
            if open_browser:
                webbrowser.open(address)

        try:
            with suppress(KeyboardInterrupt):  # the way to end it
                serve(session, again, port=port, ready=ready)
        finally:
            again.stop()
        if not as_json:
            typer.echo(f"Stopped; {plural(len(kept.answers()), 'answer')} in {kept.path}.")


def evaluate(
    links: Path = argument(..., metavar="LINKS", help="Links, or any pairs: CSV or Parquet, columns a,b."),
    a: str | None = argument(None, metavar="A", help="With --by: the first collection."),
    b: str | None = argument(None, metavar="B", help="With --by: the second one."),
    truth: Path | None = option(
        None, help="Known pairs, or other links to compare with: the same ids, CSV or Parquet, columns a,b."
    ),
    by: str | None = option(
        None, metavar="COLUMN", help="Instead: a column of A and B that is equal for the same object, such as title."
    ),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
) -> None:
    """Score links against known pairs, against other links, or by a column: precision, recall and F1."""
    from veclink.cli.terminal import told_column_scores
    from veclink.data.agreement import score_by_column
    from veclink.data.pairs import evaluate as scores_of
    from veclink.data.pairs import named_pairs
    from veclink.uses.linked_pairs import pairs_of

    if (truth is None) == (by is None):
        raise typer.BadParameter("Give either known pairs (--truth) or a column (--by), and not both.")
    if truth is not None:
        if a or payload_a or payload_b:
            raise typer.BadParameter("The collections and their payload are for --by; pairs are compared as they are.")
        scores = scores_of(links, truth)
        linked, true = named_pairs(links, "links"), named_pairs(truth, "truth")
        counts = {"right": len(linked & true), "found": len(linked), "true": len(true)}
        said = f"{counts['right']:,} of {plural(len(linked), 'link')} right; the truth has {plural(len(true), 'pair')}."
        first = str(scores) if linked else "There are no links, so no precision."
        tell({**asdict(scores), **counts}, [first, said], as_json)
        return
    if a is None or b is None or by is None:
        raise typer.BadParameter("With --by, name the two collections too: veclink eval LINKS A B --by title.")
    left, right = opened_pair(a, b, payload_a, payload_b)
    found = score_by_column(by, pairs_of(links, left, right, force=True)[0], left, right)
    tell(found.to_dict(), told_column_scores(found), as_json)
