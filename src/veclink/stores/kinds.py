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
    "s3": "remote.S3Parquet",
    "s3_lance": "engines.lance_s3.S3Lance",
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
    "s3": "s3",
    "file": "files",
}
SERVED = ("qdrant", "chroma", "milvus")
"""Kinds whose URL means a server where it names a host, and a local path where it does not."""

SINGLE_FILES = ("files", "faiss", "hdf5", "duckdb", "sqlite")
"""Kinds that are one file, in a folder that has to be there; the others make what they need."""

_VDF = "export it with vector-io (`pip install vdf-io`, `export_vdf {}`), and give the folder: vdf:///FOLDER"
EXPORTS = {
    "pinecone": _VDF.format("pinecone"),
    "weaviate": _VDF.format("weaviate"),
    "vespa": "run `vespa visit` and write id and vector of each document to a .jsonl file",
    "elasticsearch": "scroll through the index, and write `_id` as id and the dense_vector as vector to a .jsonl file",
    "opensearch": "scroll through the index, and write `_id` as id and the knn_vector as vector to a .jsonl file",
    "mongodb": "run `mongoexport`, and rename `_id` to id and the embedding to vector in its .jsonl file",
    "redis": "scan the keys, and save the vectors as X.npy and the keys, one a line, as X.ids.txt",
    "turbopuffer": _VDF.format("turbopuffer"),
    "vertexai": _VDF.format("vertexai_vectorsearch"),
}
"""Stores without a reader: how to come from there to a format that has one."""

FILE_ENDINGS = (".npy", ".npz", ".parquet", ".safetensors", ".jsonl")
"""Single files; each is read by the module of `formats` that has its name."""

STORE_ENDINGS = {".lance": "lance", ".faiss": "faiss", ".duckdb": "duckdb", ".h5": "hdf5", ".hdf5": "hdf5"}
"""Endings of what is opened as a store without a scheme."""


def known_endings() -> str:
    """'.npy, .npz, …', for sentences."""
    return ", ".join((*FILE_ENDINGS, *STORE_ENDINGS))
