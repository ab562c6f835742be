"""A table of links (a, b, probability) as every store with tables holds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from veclink.data.ids import as_ids
from veclink.errors import InputError, named, needed
from veclink.stores.arrow import id_column, id_values

if TYPE_CHECKING:
    import pyarrow as pa

    from veclink.stores.protocol import Id

COLUMNS = ("a", "b", "probability")


def check_columns(names: list[str], store: str) -> None:
    """Refuse to take a table of something else for a table of links."""
    if sorted(names) != sorted(COLUMNS):
        raise InputError(
            f"{store} is there and is no table of links: it has {named(names)}, links have a, b and probability; "
            "choose another name."
        )


def links_of_table(table: pa.Table, store: str) -> dict[tuple[Id, Id], float]:
    """The links in a table with just these columns."""
    check_columns(table.column_names, store)
    a, b = (as_ids(id_values(table.column(side)), store).tolist() for side in "ab")
    return dict(zip(zip(a, b, strict=True), table.column("probability").to_pylist(), strict=True))


def links_of_rows(rows: Iterable[tuple[Any, Any, Any]]) -> dict[tuple[Id, Id], float]:
    """The links in rows (a, b, probability) of a query."""
    return {(plain_id(a), plain_id(b)): float(probability) for a, b, probability in rows}


def links_of_records(records: Iterable[Mapping[str, Any] | None], store: str) -> dict[tuple[Id, Id], float]:
    """The links in objects with just the fields a, b and probability."""
    links: dict[tuple[Id, Id], float] = {}
    for record in records:
        check_columns(list(record or {}), store)
        assert record is not None
        links[record["a"], record["b"]] = record["probability"]
    return links


def plain_id(value: Any) -> Id:
    """An id as links hold it: a whole number or text; what else a database has, such as a UUID, becomes text."""
    return value if isinstance(value, (int, str)) else str(value)


def links_table(links: Mapping[tuple[Id, Id], float]) -> pa.Table:
    """Links as a table, in their order."""
    arrow: Any = needed("pyarrow", "A table of links")
    a, b = ([pair[side] for pair in links] for side in (0, 1))
    columns = [id_column(as_ids(ids)) for ids in (a, b)]
    return arrow.table([*columns, arrow.array(list(links.values()), type=arrow.float64())], names=list(COLUMNS))
