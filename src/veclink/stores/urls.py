"""The URLs of stores: `lancedb:///path#table`, `qdrant://host:6333/collection?vector=title`, `postgresql://…?table=…`."""

from __future__ import annotations

import json
import os
import re
import urllib.parse
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veclink.errors import InputError, named

CLASSES = {
    "files": "files.FileStore",
    "faiss": "engines.faiss.FaissStore",
    "hdf5": "engines.hdf5.Hdf5Store",
    "parquet_file": "parquet.ParquetStore",
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
del BY_SCHEME["files"], BY_SCHEME["parquet_file"], BY_SCHEME["parquet_folder"]
SERVED = ("qdrant", "chroma", "milvus")
"""Kinds whose URL means a server where it names a host, and a local path where it does not."""

SINGLE_FILES = ("files", "parquet_file", "faiss", "hdf5", "duckdb", "sqlite")
"""Kinds that are one file, in a folder that has to be there; the others make what they need."""

FILE_ENDINGS = (".npy", ".npz", ".safetensors", ".jsonl")
"""Single files that are read as a whole."""

STORE_ENDINGS = {
    ".parquet": "parquet_file",
    ".lance": "lance",
    ".faiss": "faiss",
    ".duckdb": "duckdb",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
}
"""Endings of what is opened as a store without a scheme."""


def known_endings() -> str:
    """'.npy, .npz, …', for sentences."""
    return ", ".join((*FILE_ENDINGS, *STORE_ENDINGS))


SECRET_VARIABLES = (
    "PGPASSWORD",
    "QDRANT_API_KEY",
    "MILVUS_TOKEN",
    "CHROMA_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
)

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # two letters at least: "C://" is a drive
_OPTIONS = ("table", "collection", "vector", "id", "ids", "where", "tls", "schema")
_ALIAS = {"chromadb": "chroma", "lance": "lancedb", "postgres": "postgresql"}


_PARTS = re.compile(r"(?P<field>.+?)(?P<sign><=|>=|=|<|>)(?P<value>.*)", re.DOTALL)
_MORE = re.compile(r"\b(and|or)\b.*[<>=]", re.IGNORECASE | re.DOTALL)  # a condition in what is to be a value


@dataclass(frozen=True)
class Condition:
    """A filter of a URL, `?where=year>=2020`, the same for every store; rows without the field do not satisfy it."""

    field: str
    sign: str  # one of = < <= > >=
    value: str | int | float | bool


def parse_condition(text: str) -> Condition:
    """`year>=2020`, `venue=ACL`, `title="2020"`: a number, true, false or text in quotes is what JSON makes of it."""
    parts = _PARTS.fullmatch(text)
    if parts is None or parts["field"].endswith("!") or parts["value"][:1] in ("<", ">", "="):
        raise InputError(f"The filter {text!r} has no known comparison (=, <, <=, > or >=); write it like year>=2020.")
    if not parts["value"].startswith('"') and _MORE.search(parts["value"]):
        raise InputError(f"The filter {text!r} is two in one; give where= for each, all of which must hold.")
    value = parts["value"]
    with suppress(ValueError):
        told = json.loads(value)
        value = told if isinstance(told, (str, int, float)) else value
    if isinstance(value, bool) and parts["sign"] != "=":
        raise InputError(f"The filter {text!r} orders true and false; compare them with = only.")
    return Condition(parts["field"].strip(), parts["sign"], value)


@dataclass(frozen=True)
class Address:
    """A store's URL, taken apart."""

    kind: str  # the module that opens it
    shown: str  # the URL as it may be told to anybody
    path: Path | None = None  # of an embedded store; None where the store is a server or in a bucket
    host: str | None = None  # or the bucket
    port: int | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    database: str | None = None  # or the name in the bucket
    table: str | None = None  # the table or collection; None is enough where there is only one
    vector: str | None = None  # the fields of the vectors and of the ids; None for the only or the usual one
    id: str | None = None
    ids: str | None = None  # a file of ids
    where: tuple[Condition, ...] = ()
    tls: bool = False
    schema: str | None = None
    more: dict[str, str] = field(default_factory=dict, repr=False)  # options that are the client's own

    def secrets(self) -> list[str]:
        """What must never be told: the password, options that sound like one, and those of the environment."""
        options = [value for key, value in self.more.items() if re.search("pass|key|secret|token", key.lower())]
        return [each for each in (self.password, *options, *map(os.environ.get, SECRET_VARIABLES)) if each]


def is_url(source: str) -> bool:
    """Whether `source` begins like a URL; `C://` is a drive."""
    return _URL.match(source) is not None


def parse_url(url: str) -> Address:
    """The address behind a URL of a known scheme."""
    # taken apart by hand where urlsplit would lose a name: `#` and `?` are the only marks here
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme not in BY_SCHEME:
        known_schemes = ", ".join(f"{each}://" for each in BY_SCHEME)  # the rest of the URL can hold a password
        raise InputError(
            f"{scheme}:// is not a kind of URL that is known; known are {known_schemes}. Export others to a file."
        )
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    if not query and "?" in fragment:  # people write the table first and the options after it
        fragment, _, query = fragment.partition("?")
    given = urllib.parse.parse_qsl(query, keep_blank_values=True)
    where = [parse_condition(value) for key, value in given if key == "where"]
    options = {key: value for key, value in given if key != "where"}
    kind = BY_SCHEME[scheme]
    scheme = _ALIAS.get(scheme, scheme)
    more = {key: value for key, value in options.items() if key not in _OPTIONS}
    if more and kind != "postgres":
        raise InputError(f"A URL {scheme}:// has no option {named(list(more))}; known are {named(_OPTIONS[:-1])}.")
    table = urllib.parse.unquote(fragment) or options.get("table") or options.get("collection") or None
    known: dict[str, Any] = {name: options.get(name) for name in ("vector", "id", "ids", "schema")}
    known |= {"kind": kind, "table": table, "where": tuple(where)}
    known["tls"] = options.get("tls", "").lower() in ("1", "true", "yes")
    if kind == "s3":
        return _in_bucket(rest, known)
    authority, slash, path = rest.partition("/")
    if kind == "postgres" or (kind in SERVED and authority):
        return _server(scheme, authority, urllib.parse.unquote(path), more, known)
    if kind == "files" and authority not in ("", "localhost"):
        host = authority.rpartition("@")[2]  # what stands before it can be a password
        raise InputError(f"file:// is not a kind of URL that is known for {host!r}; it names files of this machine.")
    if "@" in authority:
        raise InputError(f"{scheme}:// names a file, and takes no user or password; write {scheme}:///path.")
    place = _local(slash + path if kind == "files" else authority + slash + path)
    if kind == "files":
        known["kind"] = STORE_ENDINGS.get(place.suffix.lower(), kind)
    if kind == "parquet_folder" and place.is_file():
        raise InputError(f"{scheme}:// names a folder of Parquet files, and {place} is one file; give its path alone.")
    return Address(**known, path=place, shown=_shown(f"{scheme}://{place}", known))


def _in_bucket(rest: str, known: dict[str, Any]) -> Address:
    """The address of an object, or of all objects below a name, in a bucket: `s3://bucket/name`."""
    bucket, _, key = rest.partition("/")
    key = key.strip("/")
    if not bucket or not key or "@" in bucket:
        raise InputError("A URL s3:// is s3://bucket/name; keys are where AWS's programs have them, not in the URL.")
    ending = Path(key).suffix.lower()
    if ending in (*FILE_ENDINGS, *STORE_ENDINGS) and ending not in (".parquet", ".lance"):
        raise InputError(f"s3:// is known for .parquet, .lance and folders, and this is a {ending}; copy it first.")
    known["kind"] = "lance" if key.endswith(".lance") else "s3"
    return Address(**known, host=bucket, database=key, shown=_shown(f"s3://{bucket}/{key}", known))


def _server(scheme: str, authority: str, path: str, more: dict[str, str], known: dict[str, Any]) -> Address:
    try:
        parts = urllib.parse.urlsplit(f"//{authority}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InputError(f"The URL {scheme}:// names a host or port that cannot be read; write host:port.") from error
    user, password = (None if each is None else urllib.parse.unquote(each) for each in (parts.username, parts.password))
    database = None
    if known["kind"] == "postgres":
        database = path or None
    elif path:
        # qdrant://host:6333/collection; the rest after a slash would be lost silently
        known["table"] = known["table"] or path.strip("/")
    place = f"{host or more.get('host', '')}" + (f":{port}" if port else "") + (f"/{database}" if database else "")
    login: dict[str, Any] = {"user": user, "password": password, "database": database, "more": more}
    return Address(**known, **login, host=host, port=port, shown=_shown(f"{scheme}://{place}", known))


def _shown(beginning: str, known: dict[str, Any]) -> str:
    options = [f"{key}={known[key]}" for key in ("schema", "vector", "id") if known[key]]
    options += [f"where={each.field}{each.sign}{each.value}" for each in known["where"]]
    return beginning + (f"#{known['table']}" if known["table"] else "") + (f"?{'&'.join(options)}" if options else "")


def _local(text: str) -> Path:
    """The path in a URL. Three slashes mean the root, but many write `sqlite:///file.db` for a file here."""
    path = Path(urllib.request.url2pathname(text))
    near = Path(str(path).lstrip("/\\"))
    return near if path.is_absolute() and not path.exists() and near.exists() else path


def bucket_server() -> tuple[str | None, str]:
    """The URL of a server of buckets that is not Amazon's, if there is one, and the region."""
    server = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None
    if server is not None and not server.startswith(("http://", "https://")):
        raise InputError("AWS_ENDPOINT_URL is no URL of a server; write it like https://storage.example.org.")
    return server, os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
