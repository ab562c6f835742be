"""Small changes to files that were right: of their bytes, of numbers in their text, and of the JSON inside them."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from random import Random
from typing import Any

NUMBERS = (0, 1, 2, 7, 127, 128, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64)
"""Where the widths of integers end; each is also taken as negative."""
WORDS = (
    "", " ", "nan", "-inf", "1e999", "0x10", "../../etc/passwd", "/dev/zero", "a\0b", "\ud800", "日本🙂", "'",
    '"; drop table papers; --', "=1+1", "%s%n", "float32", "<f8", "|O", "(2, 3", "x" * 3000,
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None, True, False, -1, 0, 1.5, 1e308, float("nan"), 10**30, "", "x", "x" * 5000, "\0", "日本", [], {}, [[]],
    [None], [1, "x", None], {"a": 1}, {"": {}},
)  # fmt: skip
_DIGITS = re.compile(rb"-?\d+(?:\.\d+)?")
_TOKEN = re.compile(rb"[A-Za-z_<>|][A-Za-z_0-9]*")


def mutated(content: bytes, rng: Random) -> bytes:
    """The content with one to four changes; often the JSON or the lines in it, where it has any."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        content = rng.choice(_CHANGES)(content, rng)
    return content


def changed_json(text: bytes, rng: Random) -> bytes:
    """A JSON text with another value, key or shape somewhere; the text as it is where it is no JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if rng.random() < 0.02:  # deeper than any parser goes
        return b"[" * 100_000 if rng.random() < 0.5 else b'{"a":' * 5_000 + b"1" + b"}" * 5_000
    return json.dumps(changed_value(value, rng)).encode()


def changed_value(value: Any, rng: Random) -> Any:
    """A value with something else somewhere inside it."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        return _changed_object(dict(value), rng)
    if isinstance(value, list) and value and rng.random() < 0.85:
        return _changed_list(list(value), rng)
    if isinstance(value, str) and rng.random() < 0.3:
        return changed_text(value, rng)
    if isinstance(value, (int, float)) and rng.random() < 0.5:
        return rng.choice((-1, 1)) * rng.choice(NUMBERS)
    return rng.choice(ODD)


def changed_text(text: str, rng: Random) -> str:
    """A text with a piece of it doubled, lost or replaced."""
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(("", *WORDS[:-1])) + text[at + rng.randrange(3) :]


def _changed_object(value: dict[str, Any], rng: Random) -> dict[str, Any]:
    key = rng.choice(list(value))
    kind = rng.random()
    if kind < 0.1:
        del value[key]
    elif kind < 0.15:
        value[changed_text(key, rng)] = value.pop(key)
    elif kind < 0.2:
        value[rng.choice(WORDS)] = rng.choice(ODD)
    else:
        value[key] = changed_value(value[key], rng)
    return value


def _changed_list(value: list[Any], rng: Random) -> list[Any]:
    at = rng.randrange(len(value))
    kind = rng.random()
    if kind < 0.1:
        del value[at]
    elif kind < 0.2:
        value.insert(at, value[at])
    else:
        value[at] = changed_value(value[at], rng)
    return value


def _flip(content: bytes, rng: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(min(len(changed), rng.choice((1, 1, 2, 8)))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(content: bytes, rng: Random) -> bytes:
    """A number of 1 to 8 bytes, of either order, where another one may have been."""
    width = rng.choice((1, 2, 4, 8))
    number = rng.choice((-1, 1)) * rng.choice(NUMBERS)
    written = (number % 2 ** (8 * width)).to_bytes(width, rng.choice(("little", "big")))
    at = rng.randrange(len(content) + 1)
    return content[:at] + written + content[at + width :]


def _float(content: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(content) + 1) // 4 * 4
    number = struct.pack("<f", rng.choice((float("nan"), float("inf"), -float("inf"), 3e38, 1e-45, 0.0)))
    return content[:at] + number + content[at + 4 :]


def _cut(content: bytes, rng: Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _splice(content: bytes, rng: Random) -> bytes:
    """A piece lost, repeated, overwritten or put in."""
    start, end = _slice(content, rng)
    piece = content[start:end]
    other = (b"", piece * rng.choice((2, 4)), rng.randbytes(rng.choice((1, 16, 64))) + piece, b"\xff" * len(piece))
    return content[:start] + rng.choice(other) + content[end:]


def _other_number(content: bytes, rng: Random) -> bytes:
    """Another number where digits stand, as in headers and in text."""
    return _replaced(_DIGITS, content, str(rng.choice((-1, 1)) * rng.choice(NUMBERS)).encode(), rng)


def _other_word(content: bytes, rng: Random) -> bytes:
    return _replaced(_TOKEN, content, rng.choice(WORDS).encode("utf-8", "surrogatepass"), rng)


def _replaced(pattern: re.Pattern[bytes], content: bytes, by: bytes, rng: Random) -> bytes:
    # a part is enough, and quick: headers stand at either end
    start = rng.choice((0, 0, max(0, len(content) - 4096)))
    found = list(pattern.finditer(content, start, start + 4096))
    if not found:
        return content
    chosen = rng.choice(found)
    return content[: chosen.start()] + by + content[chosen.end() :]


def _json(content: bytes, rng: Random) -> bytes:
    """The whole as JSON, one of its lines, or the longest object that begins somewhere in the first bytes."""
    if len(content) > 200_000:
        return _flip(content, rng)
    if content.lstrip()[:1] in (b"{", b"["):
        changed = changed_json(content, rng)
        if changed != content:
            return changed
        lines = content.split(b"\n")
        at = rng.randrange(len(lines))
        lines[at] = changed_json(lines[at], rng)
        return b"\n".join(lines)
    return _lines(content, rng)


def _lines(content: bytes, rng: Random) -> bytes:
    """A line or a value of a line doubled, lost, moved or replaced."""
    lines = content.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.random()
    if kind < 0.2:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind < 0.3:
        lines.insert(at, lines[other])
    elif kind < 0.4:
        del lines[at]
    else:
        cells = lines[at].split(b",")
        cells[rng.randrange(len(cells))] = rng.choice(WORDS).encode("utf-8", "surrogatepass")
        lines[at] = b",".join(cells)
    return b"\n".join(lines)


def _slice(content: bytes, rng: Random) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 2, 4, 8, 64, 512)))


Change = Callable[[bytes, Random], bytes]
_CHANGES: tuple[Change, ...] = (
    _flip, _flip, _overwrite, _overwrite, _float, _cut, _splice, _splice, _splice, _splice, _other_number, _other_word,
    _json, _json, _lines,
)  # fmt: skip
