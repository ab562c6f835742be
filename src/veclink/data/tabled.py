"""Tabled: results that are a table, for pandas, polars and whatever else reads Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veclink.errors import needed


class Tabled:
    """A result with `columns()`, and the frames that people want of them."""

    if TYPE_CHECKING:

        def columns(self) -> Mapping[str, Any]: ...

    def table(self) -> pa.Table:
        """The columns as an Arrow table."""
        return pa.table(dict(self.columns()))

    def to_arrow(self) -> pa.Table:
        """The result as an Arrow table."""
        return self.table()

    def to_pandas(self) -> Any:
        """The result as a pandas frame."""
        needed("pandas", "A pandas frame")
        return self.table().replace_schema_metadata(None).to_pandas()

    def to_polars(self) -> Any:
        """The result as a polars frame."""
        polars: Any = needed("polars", "A polars frame")
        return polars.from_arrow(self.table())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """For whatever reads Arrow: `polars.DataFrame(links)`, `duckdb.sql("from links")`, `pyarrow.table(links)`."""
        return self.table().__arrow_c_stream__(requested_schema)
