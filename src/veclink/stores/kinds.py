"""Every kind of store: the ending or the scheme that names it, and the class that opens it."""

from __future__ import annotations

CLASSES = {
    "files": "files.FileStore",
    "faiss": "formats.faiss.FaissStore",
    "hdf5": "formats.hdf5.Hdf5Store",
    "parquet_folder": "formats.parquet_folder.ParquetFolder",
    "vdf": "formats.vdf.VdfStore",
    "chroma": "engines.chroma.ChromaStore",
    "duckdb": "engines.duckdb.DuckdbStore",
    "lance": "engines.lance.LanceStore",
    "milvus": "engines.milvus_folder.MilvusFolder",
    "postgres": "engines.postgres.PostgresStore",
    "qdrant": "engines.qdrant_folder.QdrantFolder",
    "sqlite": "engines.sqlite.SqliteStore",
}
"""The class of each kind; its module is imported when it is asked for, as each may need a package of its own."""

BY_SCHEME = {
    "lancedb": "lance",
    "lance": "lance",
    "qdrant": "qdrant",
    "chroma": "chroma",
    "chromadb": "chroma",
    "milvus": "milvus",
    "postgresql": "postgres",
    "postgres": "postgres",
    "sqlite": "sqlite",
    "faiss": "faiss",
    "duckdb": "duckdb",
    "parquet": "parquet_folder",
    "hdf5": "hdf5",
    "vdf": "vdf",
    "file": "files",
}
SERVED = ("qdrant", "chroma", "milvus")
"""Kinds whose URL means a server where it names a host, and a local path where it does not."""

FILE_ENDINGS = (".npy", ".npz", ".parquet", ".safetensors", ".jsonl")
"""Single files; each is read by the module of `formats` that has its name."""

STORE_ENDINGS = {".lance": "lance", ".faiss": "faiss", ".duckdb": "duckdb", ".h5": "hdf5", ".hdf5": "hdf5"}
"""Endings of what is opened as a store without a scheme."""


def known_endings() -> str:
    """'.npy, .npz, …', for sentences."""
    return ", ".join((*FILE_ENDINGS, *STORE_ENDINGS))
