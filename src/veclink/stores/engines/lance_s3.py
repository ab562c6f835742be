"""A LanceDB table on S3-like storage: `s3://bucket/path/table.lance`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from veclink.stores.buckets import endpoint, region
from veclink.stores.engines.lance import LanceStore


class S3Lance(LanceStore):
    """The same table, reached by LanceDB itself."""

    @cached_property
    def _place(self) -> tuple[Any, str]:
        folder, _, table = f"{self.address.host}/{self.address.database}".rpartition("/")
        return f"s3://{folder}", table.removesuffix(".lance")

    @cached_property
    def _database(self) -> Any:
        options, server = {"region": region()}, endpoint()
        if server is not None:
            options |= {"endpoint": server, "allow_http": str(server.startswith("http://")).lower()}
        with self.errors("opened"):
            return self._package().connect(self._place[0], storage_options=options)

    def exists(self) -> bool:
        """Whether LanceDB opens the table; one without a finished version it does not find."""
        with self.errors():
            try:
                self._database.open_table(self._place[1])
            except Exception as error:
                if "not found" in str(error).lower():
                    return False
                raise
        return True
