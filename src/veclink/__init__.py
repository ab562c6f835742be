"""veclink links the same objects across two vector collections made by different embedding models."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veclink.data.collection import Collection
    from veclink.data.links import Links
    from veclink.data.pairs import evaluate
    from veclink.errors import VeclinkError
    from veclink.linkers.linking import link
    from veclink.probing import probe
    from veclink.stores.opening import open_collection
    from veclink.uses.advising import advise
    from veclink.uses.appending import append
    from veclink.uses.clustering import cluster
    from veclink.uses.linker import Linker
    from veclink.uses.many import link_many
    from veclink.uses.merging import merge
    from veclink.uses.translating import Translator

__version__ = "0.3.0"
__all__ = [
    "Collection",
    "Linker",
    "Links",
    "Translator",
    "VeclinkError",
    "__version__",
    "advise",
    "append",
    "cluster",
    "evaluate",
    "link",
    "link_many",
    "merge",
    "open_collection",
    "probe",
]

_HOME = {
    "Collection": "veclink.data.collection",
    "Linker": "veclink.uses.linker",
    "Links": "veclink.data.links",
    "Translator": "veclink.uses.translating",
    "VeclinkError": "veclink.errors",
    "advise": "veclink.uses.advising",
    "append": "veclink.uses.appending",
    "cluster": "veclink.uses.clustering",
    "evaluate": "veclink.data.pairs",
    "link": "veclink.linkers.linking",
    "link_many": "veclink.uses.many",
    "merge": "veclink.uses.merging",
    "open_collection": "veclink.stores.opening",
    "probe": "veclink.probing",
}


def __getattr__(name: str) -> Any:
    # Imported at first use: `veclink --version` stays quick, and numpy alone is enough for `import veclink`.
    if name not in _HOME:
        raise AttributeError(f"module 'veclink' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
