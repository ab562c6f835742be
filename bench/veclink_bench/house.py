"""Figures of the product's source: modules at the top, lines, and tokens in a line of code.

    veclink bench house

A line of code has tokens besides comments and docstrings. How complex functions may be, and how many arguments they
may have, ruff says (`make check`).
"""

from __future__ import annotations

import json
import tokenize
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import veclink
from veclink_bench.arguments import parser

NO_CODE = {
    tokenize.NL,
    tokenize.COMMENT,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.NEWLINE,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def main() -> None:
    """Print the figures."""
    parser(__doc__).parse_args()
    print(json.dumps(figures(Path(veclink.__file__).parent), indent=2))


def figures(package: Path) -> dict[str, Any]:
    """Of the whole package, and of the rooms that are the hardest to read."""
    rooms = [package / "linkers", package / "confidence"]
    top = [path for path in package.glob("*.py") if path.name not in ("__init__.py", "__main__.py")]
    return {
        "top_level_modules": len(top),
        "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in package.rglob("*.py")),
        "tokens_per_line": round(tokens_per_line(package.rglob("*.py")), 2),
        "tokens_per_line_of_linkers_and_confidence": round(
            tokens_per_line(path for room in rooms for path in room.rglob("*.py")), 2
        ),
    }


def tokens_per_line(paths: Iterable[Path]) -> float:
    """Tokens of code in a line that has any."""
    tokens, lines = 0, 0
    for path in paths:
        with path.open("rb") as file:
            starts = [line for line, is_code in _tokens(file.readline) if is_code]
        tokens += len(starts)
        lines += len(set(starts))
    return tokens / max(lines, 1)


def _tokens(readline: Any) -> Iterable[tuple[int, bool]]:
    """The line of each token, and whether it is code: a string that begins a line is a docstring."""
    before = tokenize.ENCODING
    for token in tokenize.tokenize(readline):
        is_docstring = token.type == tokenize.STRING and before in NO_CODE - {tokenize.COMMENT}
        yield token.start[0], token.type not in NO_CODE and not is_docstring
        before = token.type


if __name__ == "__main__":
    main()
