"""VDF, the universal vector dataset format: a folder with VDF_META.json and Parquet files. `vdf:///folder#index`.

The metadata names the indexes; each has namespaces with a path of Parquet files, the columns of its vectors, the model
and the metric. `#index` or `#index/namespace` chooses one where there are several.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from veclink.errors import InputError, named
from veclink.files.folders import folder_written_whole
from veclink.stores.formats.parquet_folder import ParquetFolder, is_part, parquet_files, write_parts
from veclink.stores.protocol import Batch

META = "VDF_META.json"
_METRICS = ("Euclid", "Cosine", "Dot")


class VdfStore(ParquetFolder):
    """The Parquet files of one namespace, with what VDF_META.json says of them."""

    @cached_property
    def _meta(self) -> dict[str, Any]:
        try:
            meta = json.loads(self._meta_text())
        except (OSError, ValueError) as error:
            raise InputError(f"{META} of {self.name} cannot be read ({error}); it describes a VDF folder.") from error
        if not isinstance(meta, dict) or not isinstance(meta.get("indexes"), dict):
            raise InputError(f"{META} of {self.name} names no indexes; it is not of the VDF layout.")
        return meta

    def _meta_text(self) -> str:
        return (self._path / META).read_text(encoding="utf-8")

    @cached_property
    def _namespace(self) -> dict[str, Any]:
        found: dict[str, dict[str, Any]] = {}
        for index, namespaces in self._meta["indexes"].items():
            for each in namespaces:
                space = each.get("namespace") or ""
                found[f"{index}/{space}" if space else index] = each
        wanted = self.address.table
        if wanted is None and len(found) == 1:
            return next(iter(found.values()))
        chosen = [key for key in found if key == wanted or key.rpartition("/")[0] == wanted]
        if len(chosen) != 1:
            raise InputError(f"{self.name} holds {named(list(found)) or 'no index'}; name one: #index.")
        return found[chosen[0]]

    @cached_property
    def _files(self) -> list[Path]:
        if not (self._path / META).is_file():
            return []
        given = str(self._namespace.get("data_path") or "")
        # exporters write the path from the folder, from beside it, or as it was on their machine: its end is enough
        parts = Path(given).parts
        for start in range(len(parts) + 1):
            place = self._path.joinpath(*parts[start:])
            if not place.resolve().is_relative_to(self._path.resolve()):
                continue
            if place.is_file() and place.suffix == ".parquet":
                return [place]
            if place.is_dir() and (files := parquet_files(place)):
                return files
        return []

    @cached_property
    def _vector(self) -> str:
        named_columns = self._namespace.get("vector_columns") or []
        columns = [named_columns] if isinstance(named_columns, str) else list(named_columns)
        if self.address.vector is None and len(columns) == 1 and columns[0] in self._vectors:
            return columns[0]
        return super()._vector

    @cached_property
    def _id(self) -> str | None:
        column = self._meta.get("id_column")
        if self.address.id is None and column in self._schema.names:
            return column
        return super()._id

    def metadata(self) -> dict[str, Any]:
        known = {key: self._namespace.get(key) for key in ("model_name", "metric", "namespace", "index_name")}
        known["exported_from"] = self._meta.get("exported_from")
        return {**{key: value for key, value in known.items() if value}, **super().metadata()}

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        with folder_written_whole(self._path, may_replace=_is_of_vdf) as folder:
            (folder / "data").mkdir()
            rows = write_parts(folder / "data", first, batches, metadata)
            parts = sorted(str(each.relative_to(folder)) for each in folder.rglob("*.parquet"))
            text = described(self.address.table or "vectors", "data", parts, rows, first, metadata)
            (folder / META).write_text(text, encoding="utf-8")
        self._forget()


def described(
    index: str, data_path: str, parts: list[str], rows: int, first: Batch, metadata: dict[str, Any]
) -> str:
    """What VDF_META.json says of one index in the files `parts`, as JSON."""
    metric = metadata.get("metric")
    namespace = {
        "namespace": "",
        "index_name": index,
        "total_vector_count": rows,
        "exported_vector_count": rows,
        "dimensions": first.vectors.shape[1],
        "model_name": metadata.get("model_name") or metadata.get("model"),
        "vector_columns": ["vector"],
        "data_path": data_path,
        "metric": metric if metric in _METRICS else "Cosine",
    }
    meta = {
        "version": "0.0.6",
        "file_structure": parts,
        "author": "veclink",
        "exported_from": "veclink",
        "indexes": {index: [namespace]},
        "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "id_column": "id" if first.ids is not None else None,
    }
    return json.dumps(meta, indent=2, ensure_ascii=False) + "\n"


def _is_of_vdf(name: str) -> bool:
    return name == META or is_part(name)
