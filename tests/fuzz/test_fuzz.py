"""A short campaign over every reader: no traceback, no other exit code than the documented, no hang, at most 1 GB."""

from __future__ import annotations

from pathlib import Path

from fuzz.campaign import MEMORY, run_all, shares
from fuzz.targets import TARGETS
from veclink.stores.urls import CLASSES, FILE_ENDINGS

CASES = 400


def test_no_mutated_input_ends_in_anything_but_a_sentence(tmp_path: Path) -> None:
    tallies = run_all(shares(CASES), tmp_path)
    assert [fault for tally in tallies.values() for fault in tally.faults] == []
    assert all(tally.cases for tally in tallies.values())
    assert max(tally.peak for tally in tallies.values()) <= MEMORY
    # some inputs are still right, or the mutations would only ever find the first check of each reader
    ended = {each for tally in tallies.values() for each in tally.ended}
    assert {"exit 0", "exit 1", "read", "refused"} <= ended


def test_every_kind_of_store_and_file_is_mutated() -> None:
    names = {target.name for target in TARGETS}
    called = {
        "parquet_folder": "parquet folder",
        "lance": "lancedb",
        "parquet_file": "parquet",
        "files": "npz",
        "postgres": "url",
    }
    called |= {"s3": "url", "s3_lance": "url"}  # what is in a bucket is read as the same files are
    kinds = {called.get(kind, kind) for kind in CLASSES} | {ending[1:] for ending in FILE_ENDINGS}
    assert kinds - names == set()
