"""Stores made by somebody who means harm, and every command that a person might give for one."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from store_kinds import rows_of
from veclink.cli.app import app
from veclink.data.links import Links
from veclink.data.summary import Summary

ROWS = 60


class Harmful:
    """Makes a folder when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self._canary = str(canary)

    def __reduce__(self) -> Any:
        return os.mkdir, (self._canary,)


def harmful_pickle(canary: Path) -> bytes:
    return pickle.dumps(Harmful(canary))


def harmful_model(folder: Path, canary: Path) -> Path:
    """A model of sentence-transformers whose own code makes a folder as soon as it is loaded."""
    folder.mkdir()
    modules = [{"idx": 0, "name": "0", "path": "", "type": "harm.Harm"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "config_sentence_transformers.json").write_text("{}")
    code = f"import os\nos.makedirs({str(canary)!r}, exist_ok=True)\nclass Harm: pass\n"
    (folder / "harm.py").write_text(code)
    return folder


def run(*arguments: object) -> tuple[int, str]:
    """The exit code and all that was printed."""
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    return result.exit_code, result.stdout + result.stderr


def other_side(folder: Path) -> tuple[Path, Path, Path]:
    """Vectors of another model, pairs for a merge, and links for an export."""
    vectors, pairs, saved = (folder / name for name in ("b.npy", "pairs.csv", "links.parquet"))
    np.save(vectors, rows_of(ROWS, seed=1))
    pairs.write_text("a,b\n" + "".join(f"{row},{row}\n" for row in range(20)))
    ids = np.arange(ROWS)
    links = Links(
        np.stack([ids[:20]] * 2, axis=1),
        np.linspace(0.99, 0.9, 20),
        Summary("span", n_a=ROWS, n_b=ROWS, n_links=20),
        ids_a=ids[:20],
        ids_b=ids[:20],
    )
    links.save(saved)
    return vectors, pairs, saved


def reading(url: str, folder: Path) -> list[list[object]]:
    """Every command that reads the collection at `url`."""
    vectors, pairs, _ = other_side(folder)
    merge = ["merge", url, vectors, "--links", pairs, "-o", folder / "merged.parquet"]
    return [
        ["inspect", url],
        ["link", url, vectors, "-o", folder / "out.csv"],
        ["link", vectors, url, "-o", folder / "out.csv"],
        merge,
        [*merge, "--yes"],
    ]


def writing(url: str, folder: Path) -> list[list[object]]:
    """Every command that writes to the store of `url`, or says what it would write there."""
    vectors, pairs, links = other_side(folder)
    place = url.partition("#")[0].partition("?")[0]
    export = ["cut", links, "-o", f"{place}#links"]
    annotate = ["cut", links, "-o", url, "--annotate", "a"]
    merge = ["merge", vectors, vectors, "--links", pairs, "-o", f"{place}#merged", "--yes"]
    return [export, annotate, [*export, "--yes"], [*annotate, "--yes"], merge]


def make_milvus(folder: Path) -> None:
    """A folder of Milvus Lite with a collection `papers`."""
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(str(folder / "lite.db"))
    schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("title", DataType.VARCHAR, max_length=99)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=8)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="IP")
    client.create_collection("papers", schema=schema, index_params=index)
    rows = [{"id": i, "title": f"t{i}", "vector": row} for i, row in enumerate(rows_of(ROWS))]
    client.insert("papers", rows)
    client.flush("papers")
    client.close()
