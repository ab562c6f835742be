"""veclink cluster, advise, inspect, many and translate: what else links and collections are for."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from veclink.cli.shared import (
    AS_JSON,
    DEVICE,
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
    SKIP_ZERO,
    TABLE_FILE,
    THREADS,
    A,
    B,
    advanced,
    argument,
    as_given,
    check_map,
    check_place,
    check_report,
    check_table,
    flag,
    opened,
    opened_pair,
    option,
    summary_values,
    tell,
    warn,
)  # fmt: skip
from veclink.errors import InputError, named, without_secrets
from veclink.progress import showing_progress


def cluster(
    a: str = A,
    b: str = B,
    links: Path = GIVEN_LINKS,
    output: Path = TABLE_FILE,
    clusters: int | None = option(None, min=1, help="How many clusters to look for."),
    resolution: float | None = option(None, help="Or the resolution: higher gives more clusters."),
    examples: int = option(3, min=0, help="Members of each cluster to show."),
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    neighbours: int | None = advanced(None, min=1, help="Nearest neighbours of each row in the graph."),
    memory: str | None = MEMORY,
    device: str = DEVICE,
    threads: int | None = THREADS,
    random_state: int = RANDOM_STATE,
    skip_zero: bool = SKIP_ZERO,
) -> None:
    """Cluster the objects of A and B.

    Both collections are clustered together. Each linked pair is one object.

    Example: veclink cluster a.parquet b.parquet --links links.csv -o clusters.csv
    """
    from veclink.uses.clustering import cluster as clusters_of

    if clusters is not None and resolution is not None:
        raise typer.BadParameter("is not given together with --clusters.", param_hint="--resolution")
    check_table(output, a, b, links, payload_a, payload_b)
    with showing_progress(quiet=quiet) as listener:
        left, right = opened_pair(a, b, payload_a, payload_b, payload=False, memory=memory, progress=listener)
        found = clusters_of(
            left, right, links, clusters=clusters, resolution=resolution, neighbours=neighbours, memory=memory,
            device=device, threads=threads, random_state=random_state, skip_zero=skip_zero, progress=listener,
        )  # fmt: skip
    found.save(output)
    tell("cluster", {"output": str(output), **found.describe(examples)}, as_json, quiet)


def advise(
    a: str = argument(..., metavar="A", help="All documents by the old model."),
    b: str = argument(..., metavar="B", help="Some of them by the new model."),
    links: Path = GIVEN_LINKS,
    queries_a: str | None = option(None, help="Queries by the old model: a file or a store's URL."),
    queries_b: str | None = option(None, help="The same queries by the new model, row by row."),
    qrels: Path | None = option(None, help="Answers, CSV or Parquet: query,document,relevance."),
    without_old: bool = flag("--without-old", "The old model is not available any more, so A cannot stay as it is."),
    adapter: Path | None = option(None, help="Keep the map of queries from the new model to the old: .safetensors"),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    map: str = MAP_KIND,
    random_state: int = RANDOM_STATE,
) -> None:
    """Say whether to change the model, and how.

    Keep the model, translate the queries or the documents, or embed all documents again.

    Example: veclink advise old.parquet new.parquet --links links.parquet
    """
    from veclink.data.collection import numbers
    from veclink.stores.opening import open_collection
    from veclink.uses.advising import advise as advice_of
    from veclink.uses.searching import Asked, read_answers
    from veclink.uses.translating import Translator

    check_map(map)
    queries = (queries_a, queries_b, qrels)
    if any(queries) and not all(queries):
        raise typer.BadParameter("Give --queries-a, --queries-b and --qrels, or none of them.")
    if adapter is not None and adapter.suffix.lower() != ".safetensors":
        raise typer.BadParameter(f"{adapter} does not end in .safetensors.", param_hint="--adapter")
    fitting: dict[str, Any] = {"map": map, "random_state": random_state}
    with showing_progress(quiet=quiet) as listener:
        left, right = (open_collection(each, payload=False, progress=listener) for each in (a, b))
        asked = None
        if queries_a is not None and queries_b is not None and qrels is not None:
            old, new = (open_collection(each, payload=False) for each in (queries_a, queries_b))
            asked = Asked(numbers(old, slice(None)), numbers(new, slice(None)), read_answers(qrels, old, left))
        advice = advice_of(left, right, links, asked=asked, without_old=without_old, progress=listener, **fitting)
        if adapter is not None:
            Translator.fit(links, left, right, reverse=True, **fitting).save(adapter)
    told = {**asdict(advice), "sentence": advice.sentence(), "adapter": None if adapter is None else str(adapter)}
    tell("advise", told, as_json, quiet, advice=advice)


def inspect(
    a: str = A,
    b: str | None = argument(None, metavar="[B]", help="Another collection: can the two be linked?"),
    seeds: Path | None = SEEDS_FILE,
    report: Path | None = REPORT_FILE,
    payload_a: Path | None = PAYLOAD_A,
    payload_b: Path | None = PAYLOAD_B,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    forecast: bool = advanced(
        True, "--forecast/--no-forecast", help="Link a part of both to forecast precision, recall and time."
    ),
    device: str = DEVICE,
    random_state: int = RANDOM_STATE,
) -> None:
    """Say what is in A, or whether A and B can be linked.

    A alone: size, norms, duplicates, copies, and whether it mixes vectors of two models. A and B: a trial, with exit
    code 3 if they are not linkable. veclink link gives the verdict too, so inspect first only if linking takes long.

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
        left, right = opened_pair(a, b, payload_a, payload_b)
        looked = probe(
            left, right, seeds=seeds, forecast=forecast, device=device, random_state=random_state, progress=listener
        )
    if report is not None:
        from veclink.report import save_probe

        save_probe(report, looked)
    page = {} if report is None else {"report": str(report)}
    given = as_given(payload_a=payload_a, payload_b=payload_b, seeds=seeds)
    both = [without_secrets(a), without_secrets(b)]
    step = shlex.join(["veclink", "link", *both, *given, "-o", "links.parquet", "--report", "links.html"])
    tell("probe", looked.to_dict() | page, as_json, quiet, probe=looked, step=step)
    if looked.verdict == "not linkable":
        raise typer.Exit(NO_TRUSTED_LINKS)


def many(
    collections: list[str] = argument(..., metavar="A B C …", help="Three or more files or store URLs."),
    output: Path = TABLE_FILE,
    seeds: list[str] | None = option(
        None, metavar="I,J=FILE", help="Known pairs of collections I and J, counted from 1; repeatable."
    ),
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

    Example: veclink many a.npy b.npy c.npy --seeds 1,2=seeds.csv -o objects.csv
    """
    from veclink.uses.many import link_many

    known = dict(map(_seeds, seeds or ()))
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


def _seeds(text: str) -> tuple[tuple[int, int], Path]:
    ends, _, file = text.partition("=")
    first, _, second = ends.partition(",")
    if not (file and first.strip().isdigit() and second.strip().isdigit()):
        raise typer.BadParameter(
            f"{text!r} does not say whose pairs these are; write 1,2=seeds.csv.", param_hint="--seeds"
        )
    return (int(first) - 1, int(second) - 1), Path(file)


def translate(
    vectors: str = argument(..., metavar="VECTORS", help="What to translate: a file or a store's URL."),
    output: str = PLACE,
    with_: Path | None = option(None, "--with", help="A translator that was saved: .safetensors"),
    links: Path | None = option(None, help="Or fit one to these links of A and B."),
    a: str | None = option(None, "--a", help="The collection A of the links."),
    b: str | None = option(None, "--b", help="The collection B of the links."),
    reverse: bool = flag("--reverse", "Translate from model B to model A."),
    save: Path | None = option(None, help="Keep the fitted translator: .safetensors"),
    replace: bool = REPLACE,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    map: str = MAP_KIND,
) -> None:
    """Translate vectors from model A to model B.

    For example queries; by a saved translator, or by one that is fitted to links.

    Example: veclink translate queries.npy --links links.csv --a a.parquet --b b.parquet -o translated.npy
    """
    from veclink.geometry.clouds import inspected
    from veclink.stores import open_store
    from veclink.stores.opening import open_collection
    from veclink.uses.translating import Translator, translated_batches

    check_map(map)
    if (with_ is None) == (links is None):
        raise typer.BadParameter("Give a translator (--with), or links to fit one to (--links --a --b).")
    if save is not None and save.suffix.lower() != ".safetensors":
        raise typer.BadParameter(f"{save} does not end in .safetensors.", param_hint="--save")
    check_place(output, vectors, a, b, links, with_)
    source = open_collection(vectors)
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
    warn(translator.warning and f"Warning: {translator.warning}")
    shown = without_secrets(output)
    told = {"output": shown, "rows": len(source), "warning": translator.warning, **translator.describe()}
    tell("translate", told, as_json, quiet, width=translator.dimensions[0], fit=translator.quality)
