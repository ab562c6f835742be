"""veclink demo, link, cut, report, review and eval: from two collections to links, and what to do with them."""

from __future__ import annotations

import re
import shlex
import webbrowser
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
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
    is_same,
    note_short_columns,
    opened,
    option,
    summary_values,
    tell,
    warn_of_payload,
)  # fmt: skip
from veclink.errors import InputError, needed, plural, without_secrets
from veclink.progress import showing_progress

if TYPE_CHECKING:
    from veclink.data.links import Links
    from veclink.data.pairs import Scores
    from veclink.progress import ProgressListener
    from veclink.report.content import Example


@dataclass(frozen=True)
class Demo:
    """The links of the sample, what the truth says about them, and some pairs with titles, the surest first."""

    links: Links
    scores: Scores
    n_shared: int
    n_seeds: int
    shown: list[Example]
    report: Path | None = None


def run_demo(*, progress: ProgressListener | None = None, report: Path | None = None, **options: Any) -> Demo:
    """Link the sample from its 15 seeds (`options` go to `link`), compare the result with its truth, write a report."""
    from veclink import sample
    from veclink.data.pairs import resolve_pairs, score
    from veclink.linkers.linking import link
    from veclink.report import save_report
    from veclink.report.content import examples
    from veclink.stores.opening import open_collection

    a, b = open_collection(sample.A), open_collection(sample.B)
    links = link(a, b, seeds=sample.SEEDS, progress=progress, **options)
    truth = resolve_pairs(sample.TRUTH, a, b, what="truth")
    if report is not None:
        save_report(report, links, a, b, truth=sample.TRUTH)
    shown = examples(links, a, b, truth, sure=3, doubtful=3)
    n_seeds = len(resolve_pairs(sample.SEEDS, a, b))
    return Demo(links, score(links.pairs, truth), len(truth), n_seeds, shown, report)


def demo(
    report: Path = option(Path("veclink-demo.html")),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
) -> None:
    """Link the bundled sample and write its report.

    The sample is 3,000 papers embedded by two models. The result is compared with the truth.

    Parameters
    ----------
    report
        Where the report goes: .html

    Example: veclink demo
    """
    from veclink.confidence.intervals import thresholds

    check_report(report)
    with showing_progress(quiet=quiet) as listener:
        found = run_demo(progress=listener, report=report)
    told = {
        "report": str(report),
        "scores": asdict(found.scores),
        "summary": found.links.summary.to_dict(),
        "thresholds": [asdict(line) for line in thresholds(found.links)],
        "links": [asdict(each) for each in found.shown],
    }
    tell("demo", told, as_json, quiet, demo=found)


def link(
    a: str = A,
    b: str = B,
    output: Path = TABLE_FILE,
    seeds: Path | None = SEEDS_FILE,
    report: Path | None = REPORT_FILE,
    precision: float | None = option(None, metavar="P", min=0.0, max=1.0),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    seeds_by: str | None = option(None, metavar="COLUMN"),
    anchors: tuple[str, str] | None = option(None, metavar="FA FB"),
    continued: Path | None = option(None, "--continue", metavar="LINKS"),
    save_linker: Path | None = option(None, metavar="FOLDER"),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    one_to_one: bool = advanced(True, "--one-to-one/--many-to-many"),
    many: bool = option(False, "--many", hidden=True),
    strict: bool = advanced(False, "--strict"),
    trust_seeds: bool = advanced(False, "--trust-seeds"),
    method: str = advanced("span", metavar="NAME"),
    columns: str | None = COLUMNS,
    checkpoint: Path | None = advanced(None),
    ray: str | None = advanced(None, metavar="ADDRESS"),
    cluster: str | None = option(None, hidden=True),
    memory: str | None = MEMORY,
    device: str = DEVICE,
    threads: int | None = THREADS,
    random_state: int = RANDOM_STATE,
    skip_zero: bool = SKIP_ZERO,
) -> None:
    """Link the objects of A and B, and say how far to trust the links.

    Known pairs help (--seeds), but are optional. Exit code 3: no trustworthy links were found.

    Parameters
    ----------
    precision
        Keep the most certain links with an estimated precision of at least P (conservative), such as 0.95. Without
        this, the links with the largest estimated F1 are kept.
    seeds_by
        Start from rows with equal values in this column, such as title (A's=B's where the names differ). They may
        be wrong: the vectors decide. auto picks a column.
    anchors
        Two vector files: row i of both is the same text, which need not be in A or B.
    continued
        Start from earlier links of A and B, which may have grown.
    save_linker
        Folder to save what veclink match needs to link new rows later.
    one_to_one
        Allow one partner per row, or many (for data with duplicates).
    strict
        Stop if seeds are repeated, or give a row two partners. By default, repeated seeds count once and
        contradictory ones are left out.
    trust_seeds
        Use all seeds. Otherwise those that look wrong are named and left out.
    method
        The linker: span, or geh, the paper's (its options are for Python: veclink.link(…, path=…)).
    checkpoint
        Save the stages of a long run in this folder; run the same command again to continue.
    ray
        Run on this Ray cluster ("auto": the one here).

    Example: veclink link a.parquet b.parquet --seeds seeds.csv -o links.csv --report links.html
    """
    from veclink.confidence.intervals import thresholds
    from veclink.linkers.linking import METHODS
    from veclink.linkers.linking import link as find_links

    check_choice("--method", method, METHODS)
    if is_same(a, b):
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
    options: dict[str, Any] = {} if one_to_one else {"one_to_one": False}  # method geh does not know them
    options |= {"trust_seeds": True} if trust_seeds else {}
    with showing_progress(quiet=quiet) as listener:
        # opened once, for the linker and for the report; a store's payload is read where one of them looks at it
        reads = report is not None or seeds_by is not None
        left, right = (
            opened(each, file, payload=reads, memory=memory, progress=listener)
            for each, file in ((a, payload_a), (b, payload_b))
        )
        links = find_links(
            left, right, seeds=seeds, seeds_by=seeds_by, anchors=anchors, continued=continued, strict=strict,
            method=method, checkpoint=checkpoint, cluster=ray or cluster, progress=listener, **running, **options,
        )  # fmt: skip
    if precision is not None:
        links = links.at(precision=precision)
        links = links.told(replace(links.summary, agreement=links.agreement_with(left, right)))
    is_refused = links.summary.verdict == "not linkable"
    if is_refused:
        links = links.none()
    links.save(output, columns)
    told: dict[str, Any] = {"output": str(output)}
    if report is not None:
        from veclink.report import save_report

        save_report(report, links, left, right)
        told["report"] = str(report)
    if save_linker is not None and not is_refused:
        from veclink.uses.linker import Linker

        Linker.learned(links, left, right, (a, b), **running).save(save_linker)
        told["linker"] = str(save_linker)
    told |= {**summary_values(links.summary), "thresholds": [asdict(line) for line in thresholds(links)]}
    told["ids_from"] = {s: each.ids_from for s, each in (("a", left), ("b", right)) if each.ids_from is not None}
    warn_of_payload(links.summary, unsaid=quiet or as_json)
    given = [without_secrets(a), without_secrets(b), *as_given(payload_a=payload_a, payload_b=payload_b)]
    tell(
        "link",
        told,
        as_json,
        quiet,
        summary=links.summary,
        given=shlex.join(given),
        skipping=" --skip-zero" if skip_zero else "",  # for commands that would stop at a zero vector too
        sure=links.summary.is_calibrated and 0 < (links.probability >= 0.95).sum() < len(links),
    )
    if is_refused:
        raise typer.Exit(NO_TRUSTED_LINKS)


def cut(
    source: Path = LINKS_FILE,
    output: str = option(..., "--output", "-o"),
    precision: float | None = option(None, metavar="P", min=0.0, max=1.0),
    probability: float | None = option(None, metavar="P", min=0.0, max=1.0),
    links: int | None = option(None, metavar="N", min=0),
    annotate: str | None = option(None, metavar="a|b"),
    yes: bool = flag("--yes"),
    columns: str | None = COLUMNS,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
) -> None:
    """Move the threshold of links, or write them to a store.

    Keeps more or fewer of the judged pairs, without linking again.

    A Parquet file of links holds all judged pairs. A CSV file holds the links alone, so you can only keep fewer. With a
    store's URL as -o, all links are written unless you ask for fewer. Exit code 3: no trustworthy links.

    Parameters
    ----------
    output
        Where the links go: .csv, .parquet, or a URL: a table of a store.
    precision
        Keep as many links as have, together, an estimated precision of at least P. That can be more than the run
        kept. The estimate is conservative: each expected wrong link counts as 1.9 or more (`caution` with --json).
    probability
        Keep every link that is at least this probable by itself: the certain ones alone.
    links
        Keep the N most certain links.
    annotate
        With a URL: set veclink_id and veclink_probability on the objects of this side, which must be there.
    yes
        With a URL: write. Without this, only say what would change.

    Example: veclink cut links.parquet --precision 0.95 -o sqlite://links.db#links --yes
    """
    from veclink.data.links import Links
    from veclink.uses import exporting

    asked: dict[str, Any] = {"precision": precision, "probability": probability, "links": links}
    given = sum(each is not None for each in asked.values())
    is_url = re.match(r"(?!file:)\w+:/", output) is not None
    if given != 1 and (given or not is_url):
        raise typer.BadParameter("give one of --precision, --probability and --links.")
    if not is_url:
        if annotate is not None or yes:
            raise typer.BadParameter("--annotate and --yes are about stores; give the URL of one with -o.")
        check_links_file(Path(output), columns, source)
    check_choice("--annotate", annotate or "a", ("a", "b"))
    loaded = Links.load(source)
    chosen = loaded.at(**asked) if given else loaded
    if is_url:
        if annotate is None:
            changes, what = exporting.export_links(chosen, output, write=yes), "links"
        else:
            changes, what = exporting.annotate(chosen, output, annotate, write=yes), "objects with a note"
        tell("store", {**asdict(changes), "written": yes and changes.any}, as_json, quiet, any=changes.any, what=what)
        return
    chosen = chosen.told(replace(chosen.summary, agreement=chosen.agreement()))
    is_refused = chosen.summary.verdict == "not linkable"
    if is_refused:
        chosen = chosen.none()
    chosen.save(Path(output), columns)
    judged = len(loaded.considered)
    told = {"output": output, "judged": judged, "before": len(loaded), **summary_values(chosen.summary)}
    warn_of_payload(chosen.summary, unsaid=quiet or as_json)
    more = {"source": source, "loaded": loaded.summary, "by_precision": precision is not None}
    tell("cut", told, as_json, quiet, summary=chosen.summary, **more)
    if not judged or is_refused:
        raise typer.Exit(NO_TRUSTED_LINKS)


def report(
    links: Path = LINKS_FILE,
    output: Path = option(..., "--output", "-o"),
    a: str | None = argument(None, metavar="A"),
    b: str | None = argument(None, metavar="B"),
    truth: Path | None = option(None),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    force: bool = FORCE,
) -> None:
    """Write a page about links.

    It says whether to trust the links, and shows why: one HTML file, no server, no network.

    Parameters
    ----------
    output
        Where the page goes: .html
    a
        The linked collections: for titles and a map.
    b
        The second one.
    truth
        The true pairs, if known: columns a,b.

    Example: veclink report links.csv a.parquet b.parquet -o links.html
    """
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
    tell("page", told, as_json, quiet)


def review(
    links: Path = LINKS_FILE,
    a: str = argument(..., metavar="A"),
    b: str = argument(..., metavar="B"),
    open_browser: bool = flag("--open"),
    output: Path | None = option(None, "--output", "-o"),
    journal: Path | None = option(None),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    port: int = advanced(0, min=0, max=65535),
    memory: str | None = MEMORY,
    device: str = DEVICE,
    skip_zero: bool = SKIP_ZERO,
) -> None:
    """Check links by eye, in the browser.

    The doubtful links come first, side by side, answered with single keys.

    Parameters
    ----------
    a
        The first of the two collections that were linked.
    b
        The second.
    open_browser
        Open the page in the browser.
    output
        Where “Link again” writes (default: LINKS.again.*).
    journal
        Where the answers are kept (default: LINKS.review.sqlite).
    port
        The port; 0 takes any that is free.

    Example: veclink review links.csv a.parquet b.parquet --open
    """
    from veclink.data.links import Links

    loaded = Links.load(links)
    found = loaded if len(loaded) else loaded.considered  # what was judged, where nothing is a link
    path = journal or links.with_name(f"{links.name}.review.sqlite")
    kept_before = path.exists() or path.with_suffix(".jsonl").exists()
    if not len(found) and not kept_before:  # what was accepted before can still be linked again with
        from veclink.report.words import advice_without_links

        summary = found.summary
        told = {"links": 0, "verdict": summary.verdict, "reasons": summary.reasons, "next": advice_without_links(found)}
        tell("review", told, as_json, url=None, file=links, summary=summary)
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
    left, right = opened(a, payload_a, memory=memory), opened(b, payload_b, memory=memory)
    with Journal(path, left, right) as kept:
        session = Review(found, left, right, kept, name=links.name)
        again = LinkAgain(session, again_to, device=device, memory=memory, skip_zero=skip_zero)

        def ready(address: str) -> None:
            told = {"url": address, "journal": str(kept.path), "links": len(found)}
            tell("review", told, as_json, answers=len(kept.answers()), below=found is not loaded)
            if open_browser:
                webbrowser.open(address)

        with suppress(KeyboardInterrupt):  # the way to end it
            serve(session, again, port=port, ready=ready)
        if not as_json:
            typer.echo(f"Stopped; {plural(len(kept.answers()), 'answer')} in {kept.path}.")


def evaluate(
    links: Path = argument(..., metavar="LINKS"),
    a: str | None = argument(None, metavar="A"),
    b: str | None = argument(None, metavar="B"),
    truth: Path | None = option(None),
    by: str | None = option(None, metavar="COLUMN"),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
) -> None:
    """Score links against known pairs, or other links.

    Precision, recall and F1: against known pairs, against other links, or by a column of A and B (--by).

    Parameters
    ----------
    links
        Links, or any pairs: CSV or Parquet, columns a,b.
    a
        With --by: the first collection.
    b
        With --by: the second one.
    truth
        Known pairs, or other links to compare with: the same ids, CSV or Parquet, columns a,b.
    by
        Or score by a column that is equal for the same object, such as title.

    Example: veclink eval links.csv --truth truth.csv
    """
    from veclink.data.agreement import score_by_column
    from veclink.data.links import Links
    from veclink.data.pairs import evaluate as scores_of
    from veclink.data.pairs import named_pairs, score
    from veclink.uses.linked_pairs import pairs_of

    if (truth is None) == (by is None):
        raise typer.BadParameter("Give either known pairs (--truth) or a column (--by), and not both.")
    if truth is not None:
        if a or payload_a or payload_b:
            raise typer.BadParameter("The collections and their payload are for --by; pairs are compared as they are.")
        scores = scores_of(links, truth)
        linked, true = named_pairs(links, "links"), named_pairs(truth, "truth")
        told = {**asdict(scores), "right": len(linked & true), "found": len(linked), "true": len(true)}
        new = None
        with suppress(InputError):  # plain pairs, of which none is known to be given
            run = Links.load(links)
            if len(run.evidence.get("given", ())):
                given, columns = run.evidence["given"].astype(bool), run.columns()
                known = named_pairs((columns["a"][given], columns["b"][given]), "links")
                new = score(list(linked - known), list(true - known))
                told |= {"given": len(known), "new": asdict(new)}
        tell("eval", told, as_json, truth=truth, scores=scores, n_true=len(true), new_scores=new)
        return
    if a is None or b is None or by is None:
        raise typer.BadParameter("With --by, name the two collections too: veclink eval LINKS A B --by title.")
    left, right = opened(a, payload_a), opened(b, payload_b)
    found = score_by_column(by, pairs_of(links, left, right, force=True)[0], left, right)
    tell("eval", found.to_dict(), as_json, truth=None, column=found)
