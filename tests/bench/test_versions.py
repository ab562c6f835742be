"""Versions of results: no table of two of them, and a rerun measures what another version left."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import veclink
from veclink.errors import InputError
from veclink_bench import versions
from veclink_bench.experiments.running import Store, key_of
from veclink_bench.experiments.setup import Setup
from veclink_bench.experiments.tables import trials_note

PAIR = ["papers", "minilm", "mpnet"]
CELL: dict[str, Any] = {"pair": PAIR, "overlap": 0.3, "seeds": 15, "method": "span", "state": 0, "f1": 90.0}


def test_a_table_of_two_versions_is_refused() -> None:
    new = {**CELL, "state": 1, "version": versions.version_of("span")}
    assert trials_note([CELL]) == "One trial. Measured with veclink 0.1."
    with pytest.raises(InputError, match=r"mix versions.*0\.1.*--again"):
        trials_note([CELL, new])
    with pytest.raises(InputError, match="mix versions"):
        trials_note([CELL, {**new, "method": "geh"}])
    other = {**new, "version": new["version"][:-1] + "x"}
    with pytest.raises(InputError, match="mix versions"):
        trials_note([new, {**other, "state": 2}])
    assert veclink.__version__ in trials_note([new, {**other, "method": "geh"}])


def test_a_rerun_measures_again_what_another_version_left(tmp_path: Path) -> None:
    setup = Setup(tmp_path, full=True)
    store = Store(tmp_path / "grid.json", "grid", setup)
    every = store.missing()
    for settings in every[:3]:
        store.add(settings, {"f1": 1.0})
    assert len(store.cells()) == 3 and store.missing() == every
    method = versions.method_of(every[0])
    store.add(every[0], {"f1": 2.0, "version": versions.version_of(method)})
    assert key_of(every[0]) not in map(key_of, store.missing())


def test_only_code_counts_and_not_its_comments(tmp_path: Path) -> None:
    def digest(text: str) -> str:
        (tmp_path / "code.py").write_text(text)
        versions._digest.cache_clear()
        return versions._digest((tmp_path,))

    plain = digest('def f():\n    """Says one thing."""\n    return 1\n')
    assert digest('# why\ndef f():\n    """Says another."""\n\n    return 1\n') == plain
    assert digest('def f():\n    """Says one thing."""\n    return 2\n') != plain
    assert isinstance(versions._without_docstrings(ast.parse("1")), ast.Module)
    versions._digest.cache_clear()
