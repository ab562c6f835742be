"""`veclink bench NAME`: the paper's tables and figures on real vectors, studies, speed and pictures.

The paper's experiments share their options and are put here from their list; `matching` and `linking` are functions
below them; everything else comes from the catalogue and runs in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from veclink.cli.shared import AS_JSON, ERROR, check_choice, one_sentence_errors, print_json
from veclink.errors import InputError, MissingExtra
from veclink_bench.catalogue import ENTRIES, PAGES, SPEED, STUDIES
from veclink_bench.experiments import EXPERIMENTS, load
from veclink_bench.places import data_folder, results_folder

if TYPE_CHECKING:
    from veclink_bench.experiments.running import Store
    from veclink_bench.experiments.setup import Setup

SECTIONS = {
    "The paper's experiments": ("reproduce", *EXPERIMENTS),
    "Studies of veclink on real vectors": tuple(STUDIES),
    "Speed and memory": ("matching", "linking", *SPEED),
    "Pages and pictures": tuple(PAGES),
}


class Sections(TyperGroup):
    """The commands of `bench`, listed by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one list for each section."""
        width = formatter.width - 6 - max(map(len, self.commands))
        for title, names in SECTIONS.items():
            rows = [(name, self.commands[name].get_short_help_str(width)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows, col_max=max(map(len, self.commands)))


bench = typer.Typer(
    cls=Sections,
    help="Make the paper's tables and figures again on real vectors, study veclink, and measure its speed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def run_experiments(names: list[str], options: SimpleNamespace) -> None:
    """Measure what is missing of some experiments, then print, write and draw their tables."""
    with one_sentence_errors():
        from veclink.backends import DEVICES, chosen_device
        from veclink_bench.experiments.output import finish
        from veclink_bench.experiments.running import Store
        from veclink_bench.experiments.setup import Setup

        check_choice("--device", options.device, DEVICES)
        setup = Setup(
            data=data_folder(options.data),
            full=options.full,
            corpora=_list(options.corpora),
            models=_list(options.models),
            methods=_list(options.methods),
            trials=options.trials,
            rows=options.rows,
            device=chosen_device(options.device),
        )
        out = options.out or results_folder("experiments")
        ending = "" if setup.full else "-quick"
        files = {
            name: out if out.suffix == ".json" else out / f"{name.replace('-', '_')}{ending}.json" for name in names
        }
        if len(set(files.values())) < len(names):
            raise InputError(f"Several experiments are kept in a folder, and {out} is one file.")
        stores = {name: Store(file, name, setup, again=options.again) for name, file in files.items()}
        if not any(load(name).cells(setup) for name in names):
            raise InputError("None of the cells is asked for; check --methods and --corpora.")
        failures = 0 if options.draw_only else _measure(stores, setup, options)
        if options.whole:
            stores = {name: Store(file, name, replace(setup, methods=())) for name, file in files.items()}
            stores = {name: store for name, store in stores.items() if not _left(store)}
        finished = [finish(store, show=not (options.as_json or options.whole)) for store in stores.values()]
        if options.as_json:
            print_json({each["experiment"]: each for each in finished} if len(finished) > 1 else finished[0])
    if failures:
        raise typer.Exit(ERROR)


def _left(store: Store) -> int:
    """How many cells are still to be measured, told: until then the tables stay as they were."""
    left = len(store.missing())
    if left:
        typer.echo(f"{store.name}: {left:,} cells are not measured with this code; its tables wait.", err=True)
    return left


def _measure(stores: dict[str, Store], setup: Setup, options: SimpleNamespace) -> int:
    """Run the cells that are missing and keep what they measured; how many failed."""
    from veclink_bench.experiments.running import Job, run_jobs

    jobs = [job for store in stores.values() for job in store.jobs()]
    if any(":" in model for model in setup.models):
        # Here and now, once: processes that all found a file missing would all pay for it.
        for corpus, model in dict.fromkeys(
            (corpus, model)
            for job in jobs
            for own, *models in [job.settings.get("pair") or job.settings["collections"]]
            for corpus in {own, job.settings.get("outside", own)}
            for model in models
        ):
            setup.vectors(corpus, model)
    # The first trial of everything before the second of anything: a run that is cut short is thin, not lopsided. In
    # each, the longest first: no process is left alone with it at the end.
    jobs.sort(key=lambda job: (job.settings.get("state", 0), -job.wall))
    errors: list[Exception] = []
    lacking: dict[str, int] = {}  # by what a missing package says: the cells that were left out

    def failed(job: Job, error: Exception) -> None:
        if isinstance(error, MissingExtra):
            lacking[str(error)] = lacking.get(str(error), 0) + 1
            return
        errors.append(error)
        typer.echo(f"veclink: {job.experiment}, {_told(job.settings)}: {type(error).__name__}: {error}", err=True)

    from rich.console import Console

    console, began = Console(stderr=True, quiet=options.quiet), time.monotonic()
    limit = options.minutes * 60 if options.minutes else None
    try:
        for number, (job, measured) in enumerate(
            run_jobs(jobs, processes=options.jobs, seconds=limit, failed=failed), 1
        ):
            stores[job.experiment].add(job.settings, measured)
            seconds = time.monotonic() - began
            line = f"{number}/{len(jobs)}, {seconds:.0f} s: {job.experiment}, {_told(job.settings)}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    finally:
        for store in stores.values():
            if store.unsaved:
                store.save()
    for reason, count in lacking.items():
        typer.echo(f"veclink: {count:,} cells were left out. {reason}", err=True)
    return len(errors)


def _told(settings: dict[str, Any]) -> str:
    parts = ("–".join(value) if isinstance(value, list) else str(value) for value in settings.values())
    return ", ".join(parts)


def _command(name: str, doc: str) -> Callable[..., None]:
    def run(
        data: Annotated[
            Path | None, typer.Option(help="A folder per corpus, MODEL.npy (or texts) in each; else $VECLINK_DATA.")
        ] = None,
        full: Annotated[bool, typer.Option("--full/--quick", help="All trials, or a look in under 2 minutes.")] = False,
        models: Annotated[str | None, typer.Option(help="Models, by comma: files there, or st:… openai:…")] = None,
        corpora: Annotated[str | None, typer.Option(help="Corpora, by comma.")] = None,
        methods: Annotated[str | None, typer.Option(help="Methods, by comma.")] = None,
        trials: Annotated[int | None, typer.Option(min=1, help="Trials of each cell.")] = None,
        rows: Annotated[int | None, typer.Option(min=10, help="The first rows of each corpus only.")] = None,
        jobs: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = 1,
        device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "cpu",
        minutes: Annotated[float | None, typer.Option(min=0.0, help="Stop then; the next run goes on.")] = None,
        out: Annotated[Path | None, typer.Option(help="Folder for JSON, Markdown and figure; or FILE.json.")] = None,
        again: Annotated[bool, typer.Option("--again", help="Measure every cell again.")] = False,
        draw_only: Annotated[
            bool, typer.Option("--table", "--draw-only", help="Tables and figure of what is there; measure nothing.")
        ] = False,
        as_json: bool = AS_JSON,
        quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    ) -> None:
        run_experiments([name], SimpleNamespace(**locals(), whole=False))

    run.__doc__ = doc
    return run


def _list(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()


for _name, _about in EXPERIMENTS.items():
    bench.command(_name)(_command(_name, f"{_about[0].upper()}{_about[1:]}."))


@bench.command()
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments; all of them by default.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="A folder per corpus, MODEL.npy (or texts) in each; else $VECLINK_DATA.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Methods, by comma.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = os.cpu_count() or 1,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "cpu",
    minutes: Annotated[float | None, typer.Option(min=0.0, help="Stop then; the next run goes on.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for JSON, Markdown and figures.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Measure in one pool what is missing or stale of several tables; make those that are whole."""
    unused = dict.fromkeys(("corpora", "models", "trials", "rows", "again", "draw_only", "as_json"))
    run_experiments(names or list(EXPERIMENTS), SimpleNamespace(**locals(), **unused, full=True, whole=True))


@bench.command()
def matching(
    rows: Annotated[int, typer.Option(min=100, help="Vectors on each side.")] = 20_000,
    dim: Annotated[int, typer.Option(min=2, help="Numbers in each vector.")] = 384,
    k: Annotated[int, typer.Option(min=1, help="Neighbours of the density.")] = 10,
    rounds: Annotated[int, typer.Option(min=1, help="Times each contender runs; the median counts.")] = 5,
    as_json: bool = AS_JSON,
) -> None:
    """Exact CSLS matching on the CPU, in plain products of the same size, and against the exact searches of others."""
    with one_sentence_errors():
        from veclink_bench.speed.cpu import measure_matching

        found = measure_matching(rows, dim, k=k, rounds=rounds)
    if as_json:
        print_json(found)
        return
    others = ", ".join(f"{times:.1f} times as fast as on {name}" for name, times in found["speedup_over"].items())
    typer.echo(
        f"{rows:,} × {rows:,} × {dim}: {found['products']:.2f} plain products, {found['peak_extra_mb']} MB beside the "
        f"vectors; {others}."
    )


@bench.command()
def linking(
    rows: Annotated[int, typer.Option(min=100, help="Vectors in each collection.")] = 37_000,
    data: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="FA FB", help="Two .npy files, row i of both the same object; else made from the sample."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=0, help="Known pairs.")] = 15,
    random_state: Annotated[int, typer.Option(min=0, help="Of the split, the seeds and the linker.")] = 0,
    as_json: bool = AS_JSON,
) -> None:
    """All of link() on the CPU, in exact matching passes of the same size."""
    with one_sentence_errors():
        from veclink.stores.opening import open_collection
        from veclink_bench.speed.cpu import measure_linking

        given = None if data is None else (open_collection(data[0]).vectors, open_collection(data[1]).vectors)
        found = measure_linking(rows, data=given, seeds=seeds, random_state=random_state)
    if as_json:
        print_json(found)
        return
    typer.echo(
        f"{found['rows']:,} × {found['rows']:,}: {found['passes']:.1f} passes, {found['seconds']:.0f} s, F1 "
        f"{100 * found['f1']:.1f}, {found['peak_extra_mb']} MB beside the vectors."
    )


def _in_a_process_of_its_own(name: str, about: str) -> Callable[[typer.Context], None]:
    def run(context: typer.Context) -> None:
        code = subprocess.call([sys.executable, "-m", "veclink_bench", name, *context.args])
        if code:
            raise typer.Exit(code)

    run.__doc__ = f"{about[0].upper()}{about[1:]}."
    return run


# The entry reads its own options, `--help` too.
_ALL_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
for _name, _entry in ENTRIES.items():
    bench.command(_name, context_settings=_ALL_OPTIONS)(_in_a_process_of_its_own(_name, _entry.about))
