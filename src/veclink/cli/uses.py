"""veclink match, merge, cluster, advise, inspect, many and translate: what links and collections are for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from veclink.cli.shared import (
    AGAINST,
    AS_JSON,
    COLUMNS,
    DEVICE,
    FORCE,
    GIVEN_LINKS,
    MAP_KIND,
    MEMORY,
    NO_TRUSTED_LINKS,
    PAYLOAD_A,
    PAYLOAD_B,
    PLACE,
    QUIET,
    RANDOM_STATE,
    REPLACE,
    REPORT_FILE,
    SEEDS_FILE,
    SIDE,
    SKIP_ZERO,
    TABLE_FILE,
    THREADS,
    A,
    B,
    advanced,
    argument,
    as_given,
    check_apart,
    check_links_file,
    check_map_file,
    check_place,
    check_report,
    check_table,
    flag,
    in_words,
    opened,
    option,
    summary_values,
    tell,
    warn,
)  # fmt: skip
from veclink.errors import InputError, named, without_secrets
from veclink.progress import showing_progress

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.progress import ProgressListener
    from veclink.uses.linked_pairs import GivenLinks
    from veclink.uses.merging import Merged


def match(
    new: str = argument(..., metavar="NEW"),
    linker: Path = option(..., metavar="FOLDER"),
    output: Path = TABLE_FILE,
    side: str = SIDE,
    update: bool = flag("--update"),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    against: str | None = AGAINST,
    columns: str | None = COLUMNS,
    threads: int | None = THREADS,
    skip_zero: bool = SKIP_ZERO,
) -> None:
    """Link new rows with a saved linker.

    The new rows are matched with the other side in one pass. Each link has a probability.

    Parameters
    ----------
    new
        Vectors of the new rows, in any format that link reads.
    linker
        What veclink link --save-linker kept.
    update
        Add the new rows to the linker, too. Running the same command twice is safe.

    Example: veclink match new.npy --linker papers.linker -o new.csv
    """
    from veclink.uses import linker as linkers

    check_links_file(output, columns, new, against, payload_a, payload_b)
    if update:
        linkers.check_place(linker)
    known = linkers.Linker.load(linker)
    check_apart([output], linker)
    check_table(output, *known.sources)
    with showing_progress(quiet=quiet) as listener:
        rows, other = _new_rows(new, side, against, payload_a, payload_b, payload=False, progress=listener)
        known_before = known.knows(rows, side=side) is not None
        links = (known.match_and_update if update else known.match)(
            rows, side=side, against=other, skip_zero=skip_zero, threads=threads, progress=listener
        )
    # First the linker: where it is refused, the links of the run that changed it stay. After a kill between the two,
    # the same command finds its rows in the linker, and writes the links that they have there.
    if update:
        known.save(linker)
    links.save(output, columns)
    told = {"output": str(output), "updated": str(linker) if update else None, "known_before": known_before}
    more = {"linker": linker, "summary": links.summary}
    tell("match", told | summary_values(links.summary), as_json, quiet, **more)


def _new_rows(
    new: str, side: str, against: str | None, payload_a: Path | None, payload_b: Path | None, **more: Any
) -> tuple[Collection, str | Collection | None]:
    """The new rows and the other side, which is opened here only where a file names its rows."""
    own, others, other = (payload_a, payload_b, "b") if side == "a" else (payload_b, payload_a, "a")
    if others is None:
        return opened(new, own, **more), against
    if against is None:
        raise typer.BadParameter(
            f"The new rows are of {side.upper()} (--side), and --payload-{side} is their file; --payload-{other} names "
            f"the rows of {other.upper()} and needs --against with it."
        )
    return opened(new, own, **more), opened(against, others, progress=more["progress"])


def merge(
    a: str = argument(..., metavar="A"),
    output: str = PLACE,
    b: str | None = argument(None, metavar="[B]"),
    links: Path | None = option(None),
    probability: float | None = option(None, metavar="P", min=0.0, max=1.0),
    dedupe: bool = flag("--dedupe"),
    yes: bool = flag("--yes"),
    replace: bool = REPLACE,
    append: bool = flag("--append"),
    linker: Path | None = option(None, metavar="FOLDER"),
    side: str = SIDE,
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    against: str | None = AGAINST,
    map: str = MAP_KIND,
    union_only: bool = advanced(False, "--union-only"),
    random_state: int = RANDOM_STATE,
    skip_zero: bool = SKIP_ZERO,
    force: bool = FORCE,
    sure: float | None = option(None, min=0.0, max=1.0, hidden=True),
) -> None:
    """Merge A and B into one collection.

    Each linked object is in it once. The rest of A is translated into B's space. Nothing is written without --yes.

    Parameters
    ----------
    a
        The collection to bring over, or the new rows to append.
    b
        The collection whose model stays.
    links
        Links of A and B, or any pairs: CSV or Parquet, columns a,b.
    probability
        Join two rows where their link is at least this probable; less probable ones stay as two rows. The default
        is 0.95; links that veclink cut chose, or link --precision, are all joined.
    dedupe
        Do not merge: write which rows of A are in B, to a .csv or .parquet file.
    yes
        Write. Without this, only say what would be written.
    append
        Append new rows (in place of A) to the merged collection in --output.
    linker
        With --append: what veclink link --save-linker kept.
    union_only
        Translate nothing: A's vectors stay in their own space.

    Example: veclink merge a.parquet b.parquet --links links.csv -o merged.parquet --yes
    """
    from veclink.uses.linked_pairs import loaded
    from veclink.uses.merging import merge as merged_of

    probability = probability if sure is None else sure
    told: dict[str, Any] = {"output": without_secrets(output), "written": yes}
    if append != (linker is not None):
        raise typer.BadParameter("--append and --linker belong together; give both or none.")
    if linker is not None:
        if b is not None or links is not None or dedupe or replace or force:
            raise typer.BadParameter("--append takes new rows, --linker and -o; leave B and what it needs out.")
        if (map, union_only, skip_zero, random_state) != ("blend", False, False, 0):
            raise typer.BadParameter(
                "With --append the linker's own map is used; leave --map, --union-only, --skip-zero and --random-state "
                "out."
            )
        check_place(output, a, against, payload_a, payload_b)
        with showing_progress(quiet=quiet) as listener:
            rows, other = _new_rows(a, side, against, payload_a, payload_b, progress=listener)
            asked: dict[str, Any] = {"side": side, "against": other, "progress": listener}
            if probability is not None:
                asked["sure"] = probability
            more = _append(rows, output, linker, told, asked, quiet=quiet)
        tell("merge", told, as_json, quiet, **more)
        return
    if side != "a" or against is not None:
        raise typer.BadParameter("--side and --against are about --append; leave them out.")
    if b is None or links is None:
        raise typer.BadParameter("Give A, B and --links; or new rows, --append and --linker.")
    inputs = (a, b, links, payload_a, payload_b)
    check_table(Path(output), *inputs) if dedupe else check_place(output, *inputs)
    with showing_progress(quiet=quiet) as listener:
        known = loaded(links)
        join = partial(
            merged_of, a, b, known, map=map, union_only=union_only or dedupe, sure=probability,
            random_state=random_state, skip_zero=skip_zero, payload_a=payload_a, payload_b=payload_b, force=force,
            progress=listener,
        )  # fmt: skip
        if dedupe:
            more = _dedupe(join, output, told, replace=replace)
        else:
            more = _merge(join, known, output, told, replace=replace, quiet=quiet, progress=listener)
    tell("merge", told, as_json, quiet, **more)


# Each fills in what --json prints, and gives what the template needs beside it.


def _merge(
    join: Callable[[], Merged],
    links: GivenLinks,
    output: str,
    told: dict[str, Any],
    *,
    replace: bool,
    quiet: bool,
    progress: ProgressListener | None,
) -> dict[str, Any]:
    """Write one collection of both, or say what that would do."""
    from veclink.stores.opening import open_target
    from veclink.uses.linked_pairs import are_calibrated
    from veclink.uses.merged_rows import check_table_beside

    write = told["written"]
    with open_target(output, write=write) as store:
        if not store.keeps_payload and store.address.path is not None:  # what is in the way is told before the work
            check_table_beside(store.address.path)
        in_the_way = None if replace else store.in_the_way()
        if write and not replace:
            store.check_free()
        merged = join()
        cost = in_words("cost", hidden=merged.summary.hidden, is_calibrated=are_calibrated(links), written=write)
        if write:
            if cost and not quiet:
                warn(cost)
            merged.write(store, replace=replace, progress=progress)
    told |= asdict(merged.summary)
    fit = None
    if merged.translator is not None:
        told["translator"], fit = merged.translator.describe(), merged.translator.quality
    return {"summary": merged.summary, "cost": cost, "fit": fit, "in_the_way": without_secrets(in_the_way or "")}


def _dedupe(join: Callable[[], Merged], output: str, told: dict[str, Any], *, replace: bool) -> dict[str, Any]:
    """Write which rows of A are in B, or say how many."""
    from veclink.files.tables import write_table

    is_there = Path(output).exists() and not replace
    if told["written"] and is_there:
        raise InputError(f"{output} is there already; choose another name, or replace it (--replace).")
    merged = join()
    if told["written"]:
        write_table(output, merged.columns())
    told |= asdict(merged.summary)
    return {"of_a": len(merged.a), "in_the_way": output if is_there else ""}


def _append(
    rows: Collection, output: str, folder: Path, told: dict[str, Any], asked: dict[str, Any], *, quiet: bool
) -> dict[str, Any]:
    """Append new rows to a merged collection, or say what that would do."""
    from veclink.uses.appending import append
    from veclink.uses.linker import Linker

    appended = append(rows, output, Linker.load(folder), **asked)
    summary = appended.summary
    cost = in_words("cost", hidden=summary.hidden, is_calibrated=True, written=told["written"])
    if told["written"]:
        if cost and not quiet:
            warn(cost)
        appended.write(output)
    told |= {**asdict(summary), "written": told["written"] and summary.changes}
    return {"summary": summary, "cost": cost, "unchanged": not summary.changes}


def cluster(
    a: str = A,
    b: str = B,
    links: Path = GIVEN_LINKS,
    output: Path = TABLE_FILE,
    clusters: int | None = option(None, min=1),
    resolution: float | None = option(None),
    examples: int = option(3, min=0),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    neighbours: int | None = advanced(None, min=1),
    memory: str | None = MEMORY,
    device: str = DEVICE,
    threads: int | None = THREADS,
    random_state: int = RANDOM_STATE,
    skip_zero: bool = SKIP_ZERO,
) -> None:
    """Cluster the objects of A and B.

    Both collections are clustered together. Each linked pair is one object.

    Parameters
    ----------
    clusters
        How many clusters to look for.
    resolution
        Or the resolution: higher gives more clusters.
    examples
        Members of each cluster to show.
    neighbours
        Nearest neighbours of each row in the graph.

    Example: veclink cluster a.parquet b.parquet --links links.csv -o clusters.csv
    """
    from veclink.uses.clustering import cluster as clusters_of

    if clusters is not None and resolution is not None:
        raise typer.BadParameter("is not given together with --clusters.", param_hint="--resolution")
    check_table(output, a, b, links, payload_a, payload_b)
    with showing_progress(quiet=quiet) as listener:
        left, right = (
            opened(each, file, payload=False, memory=memory, progress=listener)
            for each, file in ((a, payload_a), (b, payload_b))
        )
        found = clusters_of(
            left, right, links, clusters=clusters, resolution=resolution, neighbours=neighbours, memory=memory,
            device=device, threads=threads, random_state=random_state, skip_zero=skip_zero, progress=listener,
        )  # fmt: skip
    found.save(output)
    tell("cluster", {"output": str(output), **found.describe(examples)}, as_json, quiet)


def advise(
    a: str = argument(..., metavar="A"),
    b: str = argument(..., metavar="B"),
    links: Path = GIVEN_LINKS,
    queries_a: str | None = option(None),
    queries_b: str | None = option(None),
    qrels: Path | None = option(None),
    without_old: bool = flag("--without-old"),
    adapter: Path | None = option(None, callback=check_map_file),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    map: str = MAP_KIND,
    random_state: int = RANDOM_STATE,
) -> None:
    """Say whether to change the model, and how.

    Compares keeping the old model, translating queries or documents, and embedding all documents again.

    Parameters
    ----------
    a
        All documents by the old model.
    b
        Some of them by the new model.
    queries_a
        Queries by the old model: a file or a store's URL.
    queries_b
        The same queries by the new model, row by row.
    qrels
        Answers, CSV or Parquet: query,document,relevance.
    without_old
        The old model is not available any more, so A cannot stay as it is.
    adapter
        Save the map from queries of the new model to the old one: .safetensors

    Example: veclink advise old.parquet new.parquet --links links.parquet
    """
    from veclink.data.collection import numbers
    from veclink.uses.advising import Asked, read_answers
    from veclink.uses.advising import advise as advice_of
    from veclink.uses.translating import Translator

    queries = (queries_a, queries_b, qrels)
    if any(queries) and not all(queries):
        raise typer.BadParameter("Give --queries-a, --queries-b and --qrels, or none of them.")
    fitting: dict[str, Any] = {"map": map, "random_state": random_state}
    with showing_progress(quiet=quiet) as listener:
        left, right = (opened(each, None, payload=False, progress=listener) for each in (a, b))
        asked = None
        if queries_a is not None and queries_b is not None and qrels is not None:
            old, new = (opened(each, None, payload=False) for each in (queries_a, queries_b))
            asked = Asked(numbers(old, slice(None)), numbers(new, slice(None)), read_answers(qrels, old, left))
        advice = advice_of(left, right, links, asked=asked, without_old=without_old, progress=listener, **fitting)
        if adapter is not None:
            Translator.fit(links, left, right, reverse=True, **fitting).save(adapter)
    told = {**asdict(advice), "sentence": advice.sentence(), "adapter": None if adapter is None else str(adapter)}
    tell("advise", told, as_json, quiet, advice=advice)


def inspect(
    a: str = A,
    b: str | None = argument(None, metavar="[B]"),
    seeds: Path | None = SEEDS_FILE,
    report: Path | None = REPORT_FILE,
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    forecast: bool = advanced(True, "--forecast/--no-forecast"),
    device: str = DEVICE,
    random_state: int = RANDOM_STATE,
) -> None:
    """Describe A, or say whether A and B can be linked.

    A alone: size, norms, duplicates, copies, and whether it mixes vectors of two models. A and B: a trial, with exit
    code 3 if they are not linkable. veclink link gives the verdict too, so inspect first only if linking takes long.

    Parameters
    ----------
    b
        Another collection: can the two be linked?
    forecast
        Link a part of both to forecast precision, recall and time.

    Example: veclink inspect a.npy b.npy --seeds seeds.csv
    """
    if b is None:
        from veclink.probing.inspecting import inspect_collection

        if seeds or report or payload_b:
            raise typer.BadParameter("--seeds, --report and --payload-b are about two collections; name B too.")
        with showing_progress(quiet=quiet) as listener:
            found = inspect_collection(opened(a, payload_a, payload=False, progress=listener))
        tell("inspect", asdict(found), as_json, quiet)
        return
    from veclink.probing import probe

    check_report(report, a, b, seeds, payload_a, payload_b)
    with showing_progress(quiet=quiet) as listener:
        looked = probe(
            opened(a, payload_a),
            opened(b, payload_b),
            seeds=seeds,
            forecast=forecast,
            device=device,
            random_state=random_state,
            progress=listener,
        )
    told = looked.to_dict()
    if report is not None:
        from veclink.report import save_probe

        save_probe(report, looked)
        told["report"] = str(report)
    given = as_given(payload_a=payload_a, payload_b=payload_b, seeds=seeds)
    both = [without_secrets(a), without_secrets(b)]
    step = shlex.join(["veclink", "link", *both, *given, "-o", "links.parquet", "--report", "links.html"])
    tell("probe", told, as_json, quiet, probe=looked, step=step)
    if looked.verdict == "not linkable":
        raise typer.Exit(NO_TRUSTED_LINKS)


def many(
    collections: list[str] = argument(..., metavar="A B C …"),
    output: Path = TABLE_FILE,
    seeds: list[str] = option([], metavar="I,J=FILE"),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    memory: str | None = MEMORY,
    device: str = DEVICE,
    threads: int | None = THREADS,
    random_state: int = RANDOM_STATE,
    skip_zero: bool = SKIP_ZERO,
) -> None:
    """Link three or more collections.

    Each is made by its own model. The result is one consistent list of objects.

    Parameters
    ----------
    collections
        Three or more files or store URLs.
    seeds
        Known pairs of collections I and J, counted from 1; repeatable.

    Example: veclink many a.npy b.npy c.npy --seeds 1,2=seeds.csv -o objects.csv
    """
    from veclink.uses.many import link_many

    known = {}
    for text in seeds:
        said = re.fullmatch(r"\s*(\d+)\s*,\s*(\d+)\s*=(.+)", text)
        if said is None:
            raise typer.BadParameter(
                f"{text!r} does not say whose pairs these are; write 1,2=seeds.csv.", param_hint="--seeds"
            )
        known[int(said[1]) - 1, int(said[2]) - 1] = Path(said[3])
    check_table(output, *collections, *known.values(), what="objects")
    with showing_progress(quiet=quiet) as listener:
        found = link_many(
            collections, seeds=known, memory=memory, device=device, threads=threads, random_state=random_state,
            skip_zero=skip_zero, progress=listener,
        )  # fmt: skip
    found.save(output)
    pairwise = {f"{i + 1},{j + 1}": summary_values(links.summary) for (i, j), links in found.pairwise.items()}
    told = {"output": str(output), "objects": len(found), "pairwise": pairwise}
    tell("many", told, as_json, quiet, sentence=found.sentence)


def translate(
    vectors: str = argument(..., metavar="VECTORS"),
    output: str = PLACE,
    with_: Path | None = option(None, "--with"),
    links: Path | None = option(None),
    a: str | None = option(None, "--a"),
    b: str | None = option(None, "--b"),
    reverse: bool = flag("--reverse"),
    save: Path | None = option(None, callback=check_map_file),
    replace: bool = REPLACE,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    map: str = MAP_KIND,
) -> None:
    """Translate vectors from model A to model B.

    For example queries. Uses a saved translator (--with), or fits one to links.

    Parameters
    ----------
    vectors
        What to translate: a file or a store's URL.
    with_
        A saved translator: .safetensors
    links
        Or fit one to these links of A and B.
    a
        The collection A of the links.
    b
        The collection B of the links.
    reverse
        Translate from model B to model A.
    save
        Save the fitted translator: .safetensors

    Example: veclink translate queries.npy --links links.csv --a a.parquet --b b.parquet -o translated.npy
    """
    from veclink.geometry.clouds import inspected
    from veclink.stores import open_store
    from veclink.uses.translating import Translator, translated_batches

    if (with_ is None) == (links is None):
        raise typer.BadParameter("Give a translator (--with), or links to fit one to (--links --a --b).")
    check_place(output, vectors, a, b, links, with_)
    source = opened(vectors, None)
    zero, _ = inspected(source, source.name)
    if len(zero):
        raise InputError(f"{source.name} has zero vectors, which have no direction, in row {named(zero)}; remove them.")
    with showing_progress(quiet=quiet) as listener, open_store(output, write=True) as store:
        if not replace:
            store.check_free()
        if with_ is not None:
            translator = Translator.load(with_)
        elif links is None or a is None or b is None:
            raise typer.BadParameter("Links need the two collections they are of: --a and --b.", param_hint="--links")
        else:
            left, right = (source if each == vectors else each for each in (a, b))
            translator = Translator.fit(links, left, right, map=map, reverse=reverse, progress=listener)
        if save is not None:
            translator.save(save)
        batches = translated_batches(translator, source, payload=store.keeps_payload)
        store.write(batches, metadata={"translator": translator.describe()}, replace=replace)
    if translator.warning:
        warn(f"Warning: {translator.warning}")
    told = {"output": without_secrets(output), "rows": len(source), "warning": translator.warning}
    more = {"width": translator.dimensions[0], "fit": translator.quality}
    tell("translate", told | translator.describe(), as_json, quiet, **more)
