"""Say which pages are not what the committed results and the code say: `veclink bench check`, in CI.

    veclink bench check [--record] [--vouch]

A number between marks that is not the one in the results, a table that was not filled again, a sentence ("none",
"all", "within") that the results contradict or whose words are not those that its check was written for, a result of
another behaviour than the code where the page does not say so, and, on the pages in STRICT, a number that was typed.
Three quick methods, chosen at random, are run again on the bundled sample, and where $VECLINK_DATA names a folder of
data, three quick cells of the tables.

`--record` records anew how methods behave there, after a change that means to change it. Typed numbers that are
settings, or quoted from the paper, and the words of claims are vouched for one by one, in results/vouched.json: read
what you changed beside its check, then run `--vouch`.
"""

from __future__ import annotations

import difflib
import json
import os
import random
import re
import sys
from typing import Any

from veclink.errors import VeclinkError
from veclink_bench.arguments import parser
from veclink_bench.behaviour import QUICK, record, replayed, replayed_cells
from veclink_bench.claims import CLAIMS
from veclink_bench.experiments import EXPERIMENTS, WITHOUT_LINKS
from veclink_bench.pages import (
    CLAIM,
    COMMENT,
    CONSTANTS,
    MADE,
    NUMBER,
    RESULTS,
    STUDIES,
    TABLE,
    USED,
    VOUCHED,
    broken_claims,
    cells_of,
    claim_digest,
    filled,
    pages,
    vouched,
)
from veclink_bench.places import DATA_VARIABLE, ROOT, data_folder
from veclink_bench.versions import LINKERS, NOW, older, recorded, release_of

STRICT = ("README.md", "bench/RESULTS.md", "docs/how-well.md", "docs/limits.md")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
LINK = re.compile(r"\]\([^)]*\)")

TYPED = re.compile(r"(?:\S+ +)?(?<![\w.,–-])\d\S*(?: +[^\s\d]+)?")
REPLAYED = 3  # how many methods and cells are run again


def main() -> None:
    """Check every page and table; each fault is a line, and any makes the exit code 1."""
    arguments = parser(__doc__)
    arguments.add_argument("--record", action="store_true", help="record anew how methods behave on the sample")
    arguments.add_argument("--vouch", action="store_true", help="vouch for typed numbers and claims")
    options = arguments.parse_args()
    if options.record:
        print(f"Recorded anew: {', '.join(record()) or 'nothing'}.")
        return
    if options.vouch:
        now = json.dumps(vouched_anew(page_texts()), indent=1, ensure_ascii=False)
        VOUCHED.write_text(f"{now}\n", encoding="utf-8")
        return
    texts = page_texts()
    faults = [fault for name, text in texts.items() for fault in faults_of(name, text)]
    faults += unvouched(texts) + stale_results()
    quick = [name for name, known in recorded().items() if name not in LINKERS and known["seconds"] < QUICK]
    faults += replayed(random.sample(quick, REPLAYED))
    if os.environ.get(DATA_VARIABLE):
        faults += replayed_cells(data_folder(None), REPLAYED)
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        sys.exit(f"{len(faults)} places differ from the results or from the code.")
    print(f"{len(texts)} pages say what the results say.")


def stale_results() -> list[str]:
    """Results that the code does not give any more, unless results/older.json names them and their release.

    What that list names, pages say. It gets shorter with every result that is measured again.
    """
    found = []
    linked = [name.replace("-", "_") for name in EXPERIMENTS if name not in WITHOUT_LINKS]
    kept = [file for file in linked if (RESULTS / "experiments" / f"{file}.json").exists()]
    for file in sorted({*kept, *older(), *STUDIES}):
        again = f"`veclink bench {file.replace('_', '-')} --full` measures again what is not current"
        try:
            measured = release_of(cells_of(file)) or NOW
        except VeclinkError as error:
            found.append(f"{file}: {error} {again}.")
            continue
        if measured == NOW != older().get(file, NOW):
            found.append(f"{file} is of the code as it is; take it off results/older.json")
        elif measured != older().get(file, NOW):
            found.append(f"{file} is of {measured}, and the code behaves in another way since; {again}")
    return found


def page_texts() -> dict[str, str]:
    """All pages, by their path in the repository."""
    return {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in pages()}


def faults_of(name: str, text: str) -> list[str]:
    """What is wrong on a page, each with its line."""
    USED.clear()
    try:
        wanted = filled(text)
    except VeclinkError as error:
        return [f"{name}: {error}"]
    found = [f"{name}: {fault}" for fault in broken_claims(text)]
    said = re.findall(r"<!-- (?:= release|table) (\S+) ", text)
    if "<!-- made versions-of-tables -->" not in text:  # which says it of every table
        unsaid = sorted(file for file in USED if file in older() and file not in said)
        found += [f"{name}: shows {file}, which is older than the code, and does not say so" for file in unsaid]
    found += [f"{name}:{line}: {told}" for line, told in _differences(text, wanted)]
    if name in STRICT:
        known = vouched()["numbers"].get(name, ())
        found += [
            f"{name}:{line}: {words!r} is typed; fill it from the results, or vouch for it if it is a setting"
            for line, words in typed_numbers(text)
            if words not in known
        ]
    return found


def typed_numbers(text: str) -> list[tuple[int, str]]:
    """Numbers that no mark fills and that are no command's, each with its line and the words around it."""
    for hidden in (TABLE, MADE, CONSTANTS, NUMBER, CODE, LINK, COMMENT):
        text = hidden.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    lines = enumerate(text.splitlines(), 1)
    return [(line, " ".join(found[0].split())) for line, words in lines for found in TYPED.finditer(words)]


def vouched_anew(texts: dict[str, str]) -> dict[str, Any]:
    """What stands typed on the strict pages, and a digest of the words of every claim with its check."""
    claims: dict[str, set[str]] = {}
    for name, sentence in (claim for text in texts.values() for claim in CLAIM.findall(text)):
        if name in CLAIMS:
            claims.setdefault(name, set()).add(claim_digest(name, sentence))
    return {
        "numbers": {page: sorted({words for _, words in typed_numbers(texts[page])}) for page in STRICT},
        "claims": {name: sorted(claims[name]) for name in sorted(claims)},
    }


def unvouched(texts: dict[str, str]) -> list[str]:
    """What was vouched for, and no page says any more: a mark may have been lost, and its words left."""
    known, now = vouched(), vouched_anew(texts)
    places = [(what, name) for what in known for name in known[what]]
    gone = {name: sorted(set(known[what][name]) - set(now[what].get(name, ()))) for what, name in places}
    return [f"{name}: {', '.join(lost)} stands in results/vouched.json alone" for name, lost in gone.items() if lost]


def _differences(text: str, wanted: str) -> list[tuple[int, str]]:
    before, after = text.splitlines(), wanted.splitlines()
    found = []
    for kind, i, i_end, j, j_end in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if kind != "equal":
            old, new = "⏎".join(before[i:i_end])[:160], "⏎".join(after[j:j_end])[:160]
            found.append((i + 1, f"has {old!r}, the results say {new!r}"))
    return found
