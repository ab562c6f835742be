"""Qdrant: `qdrant://host:6333/collection` for a server, `qdrant:///path#collection` for a local folder.

A server and a folder that is written go through the client; a folder that is only read is read without it
(`qdrant_folder`). A server's key comes from QDRANT_API_KEY. Points are named by whole numbers or UUIDs
only: other ids are written as a payload field `id`, and the collection's metadata says so.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from veclink.data.ids import as_ids
from veclink.errors import InputError, named
from veclink.stores.arrow import table_of
from veclink.stores.engines.qdrant_pickles import check_folder
from veclink.stores.engines.qdrant_points import condition_of, is_point_id, pair_id, plain, quick_commits
from veclink.stores.fields import choose_vector
from veclink.stores.link_rows import links_of_records
from veclink.stores.protocol import BATCH, LINKED, PROBABILITY, Batch, Id, Store, in_parts

UNFINISHED, OWN_IDS, ID_FIELD = "veclink_unfinished", "veclink_ids", "id"
WRITE = 1000
"""Points sent at once: a server refuses requests of more than 32 MB."""


class QdrantStore(Store):
    """A Qdrant collection; its named vectors are chosen by `?vector=`, its ids are the points' or those of `?id=`."""

    replaceable = False
    needs = ("qdrant_client", "Qdrant", "veclink[qdrant]")

    @property
    def _models(self) -> Any:
        return self._package().models

    @cached_property
    def _client(self) -> Any:
        client = self._package().QdrantClient
        address = self.address
        if address.path is None:
            key = os.environ.get("QDRANT_API_KEY") or address.password
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a key sent without TLS, and of a server that does not answer yet
                return client(
                    host=address.host, port=address.port or 6333, https=address.tls, api_key=key, timeout=60,
                    check_compatibility=False,
                )  # fmt: skip
        if not self.writable and not (address.path / "meta.json").is_file():
            raise InputError(f"{self.name} does not exist; check the name.")  # the client would make it
        check_folder(address.path, address.table, self.name)  # the client runs what the points' pickles name
        with warnings.catch_warnings(), self.errors("opened"):
            warnings.simplefilter("ignore")  # it is slow above 20,000 points, which is for its reader to judge
            return client(path=str(address.path))

    @cached_property
    def _collection(self) -> str:
        if self.address.table is not None:
            return self.address.table
        with self.errors():
            names = [each.name for each in self._client.get_collections().collections]
        return self._only_one(names, "collection")

    @property
    def _config(self) -> Any:
        with self.errors():
            return self._client.get_collection(self._collection).config

    def _there(self) -> bool:
        with self.errors():
            return bool(self._client.collection_exists(self._collection))

    def exists(self) -> bool:
        return self._there() and not self._notes().get(UNFINISHED)

    def half_written(self) -> bool:
        return self._there() and bool(self._notes().get(UNFINISHED))

    def count(self) -> int:
        with self.errors():
            return int(self._client.count(self._collection, count_filter=self._filter, exact=True).count)

    def dimension(self) -> int:
        return int(self._params.size)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float16 if str(self._params.datatype).lower().endswith("float16") else np.float32)

    def metadata(self) -> dict[str, Any]:
        own = {key: value for key, value in self._notes().items() if key not in (UNFINISHED, OWN_IDS)}
        return {**own, "distance": str(getattr(self._params.distance, "value", self._params.distance))}

    def batches(self, size: int = BATCH, *, after: Any = None, payload: bool = True) -> Iterator[Batch]:
        name, field = self._vector, self._id_field
        fields: Any = payload or ([field] if field else False)
        place = after
        if after is not None and after[0] is None:
            return
        while True:
            with self.errors():
                points, next_place = self._client.scroll(
                    self._collection,
                    scroll_filter=self._filter,
                    limit=size,
                    offset=None if place is None else place[0],
                    with_payload=fields,
                    with_vectors=[name] if name else True,
                )
            if points:
                place = [next_place]
                yield self._batch(points, payload, place)
            if next_place is None:
                return

    def _batch(self, points: Sequence[Any], payload: bool, place: Any) -> Batch:
        ids = [point.id for point in points]
        records = [dict(point.payload or {}) for point in points] if payload or self._id_field else []
        if self._id_field:
            ids = [record.pop(self._id_field, None) for record in records]
        table = table_of(records) if payload else None
        return Batch(self._numbers(points, self._vector), as_ids(ids, self.name), table, place)

    def _numbers(self, points: Sequence[Any], name: str | None) -> np.ndarray:
        rows = [(point.vector or {}).get(name) if name else point.vector for point in points]
        missing = [point.id for point, row in zip(points, rows, strict=True) if row is None]
        if missing:
            raise InputError(f"{self.name} has no vector in the points {named(missing)}; filter or fill them.")
        return np.array(rows, dtype=self.dtype)

    def _create(self, first: Batch, batches: Iterator[Batch], metadata: dict[str, Any]) -> None:
        models, name = self._models, self._collection
        if self._client.collection_exists(name):
            if not self.half_written():
                raise InputError(f"{self.name} cannot be replaced as a whole by Qdrant; delete it, or choose a name.")
            self._client.delete_collection(name)
        half = first.vectors.dtype == np.float16
        own = first.ids is not None and not all(map(is_point_id, first.ids.tolist()))
        notes = {**metadata, OWN_IDS: ID_FIELD} if own else dict(metadata)
        self._client.create_collection(
            name,
            vectors_config=models.VectorParams(
                size=first.vectors.shape[1],
                distance=models.Distance.DOT,  # COSINE would keep directions only
                datatype=models.Datatype.FLOAT16 if half else None,
            ),
            metadata={**notes, UNFINISHED: True},
        )
        rows = 0
        try:
            with quick_commits(self._client, self._collection), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # as in `_client`
                for batch in batches:
                    self._upsert(batch, rows, own)
                    rows += len(batch)
            self._client.update_collection(name, metadata={UNFINISHED: None})
        except BaseException:
            with suppress(Exception):
                self._client.delete_collection(name)
            raise

    def _upsert(self, batch: Batch, row: int, own: bool) -> None:
        ids = list(range(row, row + len(batch))) if batch.ids is None else batch.ids.tolist()
        records = [{} for _ in ids] if batch.payload is None else batch.payload.to_pylist()
        if own:
            for record, each in zip(records, ids, strict=True):
                if ID_FIELD in record:
                    raise InputError("The payload has a field 'id', which is where Qdrant keeps these ids; rename it.")
                record[ID_FIELD] = each
            ids = list(range(row, row + len(batch)))  # in the order of these, points are read again
        elif not all(map(is_point_id, ids)):
            raise InputError("Qdrant ids are whole numbers or UUIDs, and later rows have others than the first ones.")
        vectors = batch.vectors.astype(np.float32).tolist()
        for start in range(0, len(ids), WRITE):
            part = slice(start, start + WRITE)
            self._client.upsert(
                self._collection,
                self._models.Batch(ids=ids[part], vectors=vectors[part], payloads=plain(records[part])),
                wait=True,
            )

    def links(self) -> dict[tuple[Id, Id], float] | None:
        if not self._there():
            return None
        return links_of_records((point.payload for point in self._scrolled(True)), self.name)

    def put_links(self, changed: Mapping[tuple[Id, Id], float], removed: Sequence[tuple[Id, Id]]) -> None:
        self.check_writable()
        models, name = self._models, self._collection
        with self.errors("written"):
            if not self._client.collection_exists(name):
                self._client.create_collection(name, vectors_config={})
            with quick_commits(self._client, self._collection):
                for part in in_parts(list(changed.items()), WRITE):
                    points = [
                        models.PointStruct(id=pair_id(a, b), vector={}, payload={"a": a, "b": b, "probability": p})
                        for (a, b), p in part
                    ]
                    self._client.upsert(name, points, wait=True)
                if removed:
                    gone = models.PointIdsList(points=[pair_id(a, b) for a, b in removed])
                    self._client.delete(name, gone, wait=True)

    def annotations(self) -> dict[Id, tuple[Id | None, float | None]]:
        return {each: value for each, _, value in self._annotated()}

    def annotate(self, changes: Mapping[Id, tuple[Id, float] | None]) -> None:
        self.check_writable()
        models = self._models
        points = {each: point for each, point, _ in self._annotated()}
        with self.errors("written"), quick_commits(self._client, self._collection):
            for part in in_parts(list(changes.items()), WRITE):
                operations: list[Any] = []
                for each, value in part:
                    if value is None:
                        gone = models.DeletePayload(keys=[LINKED, PROBABILITY], points=[points[each]])
                        operations.append(models.DeletePayloadOperation(delete_payload=gone))
                    else:
                        fields = {LINKED: value[0], PROBABILITY: value[1]}
                        payload = models.SetPayload(payload=fields, points=[points[each]])
                        operations.append(models.SetPayloadOperation(set_payload=payload))
                self._client.batch_update_points(self._collection, operations, wait=True)

    def _annotated(self) -> Iterator[tuple[Id, Any, tuple[Id | None, float | None]]]:
        """Each id, the point it stands for, and what is noted there."""
        field = self._id_field
        for point in self._scrolled([LINKED, PROBABILITY, *([field] if field else [])]):
            record = point.payload or {}
            yield record[field] if field else point.id, point.id, (record.get(LINKED), record.get(PROBABILITY))

    def _scrolled(self, payload: Any) -> Iterator[Any]:
        """All points, with these fields of their payload, or with all of it."""
        place = None
        while True:
            with self.errors():
                points, place = self._client.scroll(self._collection, limit=BATCH, offset=place, with_payload=payload)
            yield from points
            if place is None:
                return

    def _notes(self) -> dict[str, Any]:
        return dict(getattr(self._config, "metadata", None) or {})

    @cached_property
    def _id_field(self) -> str | None:
        """The payload field of the ids, None where the points' own are the ids."""
        return self.address.id or self._notes().get(OWN_IDS)

    @cached_property
    def _vector(self) -> str | None:
        """The name of the vector, None where it has none."""
        vectors = self._config.params.vectors
        if not isinstance(vectors, dict):
            if self.address.vector:
                raise InputError(f"{self.name} has one vector without a name; leave ?vector= out.")
            return None
        return choose_vector(self.address.vector, list(vectors), list(vectors), self.name)

    @cached_property
    def _params(self) -> Any:
        vectors = self._config.params.vectors
        params = vectors if self._vector is None else vectors[self._vector]
        if getattr(params, "multivector_config", None) is not None:
            which = "" if self._vector is None else f" {self._vector!r}"
            raise InputError(
                f"{self.name} keeps several vectors per object in its vector{which}, which are no rows; name another."
            )
        return params

    @cached_property
    def _filter(self) -> Any:
        if not self.address.where:
            return None
        return self._models.Filter(must=[condition_of(each) for each in self.address.where])
