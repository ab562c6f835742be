"""Every kind of store: the ending or the scheme that names it, and the class that opens it."""

from __future__ import annotations

CLASSES = {
    "files": "files.FileStore",
    "faiss": "engines.faiss.FaissStore",
    "hdf5": "engines.hdf5.Hdf5Store",
    "parquet_folder": "parquet.ParquetStore",
    "s3": "parquet.ParquetStore",
    "chroma": "engines.chroma.ChromaStore",
    "duckdb": "engines.duckdb.DuckdbStore",
    "lance": "engines.lance.LanceStore",
    "milvus": "engines.milvus.MilvusStore",
    "postgres": "engines.postgres.PostgresStore",
    "qdrant": "engines.qdrant.QdrantStore",
    "sqlite": "engines.sqlite.SqliteStore",
}
"""The class of each kind; its module is imported when it is asked for, as each may need a package of its own."""

BY_SCHEME = {kind: kind for kind in CLASSES} | {
    "lancedb": "lance",
    "chromadb": "chroma",
    "postgresql": "postgres",
    "parquet": "parquet_folder",
    "file": "files",
}
del BY_SCHEME["files"], BY_SCHEME["parquet_folder"]
SERVED = ("qdrant", "chroma", "milvus")
"""Kinds whose URL means a server where it names a host, and a local path where it does not."""

SINGLE_FILES = ("files", "faiss", "hdf5", "duckdb", "sqlite")
"""Kinds that are one file, in a folder that has to be there; the others make what they need."""

FILE_ENDINGS = (".npy", ".npz", ".parquet", ".safetensors", ".jsonl")
"""Single files, read by `files.READERS`."""

STORE_ENDINGS = {".lance": "lance", ".faiss": "faiss", ".duckdb": "duckdb", ".h5": "hdf5", ".hdf5": "hdf5"}
"""Endings of what is opened as a store without a scheme."""


def known_endings() -> str:
    """'.npy, .npz, …', for sentences."""
    return ", ".join((*FILE_ENDINGS, *STORE_ENDINGS))
