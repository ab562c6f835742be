"""Say which pages are not what the committed results and the code say: `veclink bench check`, in CI.

A number between marks that is not the one in the results, a table that was not filled again, a sentence ("none",
"all", "within") that the results contradict, and, on the pages in STRICT, a decimal that was typed into prose.
"""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path

from veclink.errors import VeclinkError
from veclink_bench.arguments import parser
from veclink_bench.pages import CLAIM, CONSTANTS, NUMBER, TABLE, broken_claims, filled, pages
from veclink_bench.places import PAGE, ROOT

STRICT = (PAGE,)
PAPER = re.compile(r"<!-- paper -->.*?<!-- /paper -->", re.DOTALL)
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
DECIMAL = re.compile(r"(?<![\w.−-])\d+\.\d+(?![\w.])")
SETTINGS = re.compile(r"(?:α\s*(?:=|≥|of)?\s*|overlap |at |precision (?:of )?|and |or |, )0\.\d+")


def main() -> None:
    """Check every page; each fault is a line, and any makes the exit code 1."""
    parser(__doc__).parse_args()
    faults = [fault for page in pages() for fault in faults_of(page)]
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        sys.exit(f"{len(faults)} places differ from the results; `veclink bench results` fills them again.")
    print(f"{len(pages())} pages say what the results say.")


def faults_of(page: Path) -> list[str]:
    """What is wrong on a page, each with its line."""
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page.name
    try:
        wanted = filled(text)
    except VeclinkError as error:
        return [f"{name}: {error}"]
    found = [f"{name}: {fault}" for fault in broken_claims(text)]
    found += [f"{name}:{line}: {told}" for line, told in _differences(text, wanted)]
    if page in STRICT:
        found += [f"{name}:{line}: {number} is typed; fill it from the results" for line, number in typed_figures(text)]
    return found


def typed_figures(text: str) -> list[tuple[int, str]]:
    """Decimals in prose that no mark fills: line and number. Settings such as α = 0.3 are none."""
    for hidden in (TABLE, CONSTANTS, NUMBER, PAPER, CODE, SETTINGS):
        text = hidden.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    lines = enumerate(text.splitlines(), 1)
    return [(line, found[0]) for line, words in lines if not words.startswith("|") for found in DECIMAL.finditer(words)]


def _differences(text: str, wanted: str) -> list[tuple[int, str]]:
    before, after = text.splitlines(), wanted.splitlines()
    found = []
    for kind, i, i_end, j, j_end in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if kind != "equal":
            old, new = "⏎".join(before[i:i_end])[:160], "⏎".join(after[j:j_end])[:160]
            found.append((i + 1, f"has {old!r}, the results say {new!r}"))
    return found


__all__ = ["CLAIM", "faults_of", "main", "typed_figures"]
