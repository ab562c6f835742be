"""Where vectors come from and go to: one file per store or format, all behind `protocol.Store`.

`open_store(url)` gives any of them; `open_collection(source)` the whole collection, memory-mapped where it can be.
"""

from veclink.stores.opening import open_collection, open_store

__all__ = ["open_collection", "open_store"]
