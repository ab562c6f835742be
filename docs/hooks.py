"""What the documentation site makes by itself: the commands, the evidence, and the way out to files beside the pages.

The reference of the Python names is made by mkdocstrings, from the docstrings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from veclink.cli.app import app
from veclink.confidence import evidence

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

DOCS = Path(__file__).parent
ROOT = DOCS.parent
COMMANDS, EVIDENCE = "<!-- the commands -->", "<!-- the evidence -->"
FILE_ALONE = re.compile(r"<!-- in the file alone -->.*?<!-- end -->\n*", re.DOTALL)  # for readers of the source
EMPTY_HEAD = re.compile(r"<thead>\s*<tr>\s*(?:<th[^>]*></th>\s*)+</tr>\s*</thead>")
OUTSIDE = re.compile(r"(!?)\[([^\]]+)\]\(((?:\.\./)+[^)#]+)\)")
FIGURES = "figures"  # where the site keeps pictures that lie outside docs
RESULTS_PAGE = ROOT / "bench" / "RESULTS.md"  # a page of the site too, as results.md
TO_RESULTS = re.compile(r"\]\((?:\.\./)+bench/RESULTS\.md(#[^)]*)?\)")


def on_files(files: Files, *, config: Any) -> Files:
    """Add the figures that pages show from the committed results."""
    from mkdocs.structure.files import File

    for page in DOCS.rglob("*.md"):
        for is_image, _, link in OUTSIDE.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            if is_image and _is_outside(target):
                files.append(File.generated(config, f"{FIGURES}/{target.name}", abs_src_path=str(target)))
    files.append(File.generated(config, "results.md", content=results_page()))
    return files


def results_page() -> str:
    """The page of results as a page of the site: pages of docs are beside it, other files become names."""
    text = RESULTS_PAGE.read_text(encoding="utf-8")
    text = re.sub(r"\]\(\.\./docs/", "](", text)
    return re.sub(r"\[([^\]]+)\]\((results/[^)]+)\)", lambda found: in_the_source(found[1], f"bench/{found[2]}"), text)


def in_the_source(text: str, path: str) -> str:
    """A link to a file of the source tree, which the site has not: its path, after the words where they say more.

    Without brackets, as most of these links stand in some already.
    """
    name = text.strip("`")
    return f"`{path}`" if Path(path).name.startswith(name) else f"{text} `{path}`"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """List commands and evidence; show figures from the site's copy; files of the source tree become names."""
    markdown = filled(markdown)
    folder = (DOCS / page.file.src_uri).parent
    up = "../" * page.file.src_uri.count("/")
    markdown = TO_RESULTS.sub(lambda found: f"]({up}results.md{found[1] or ''})", markdown)

    def within_the_site(match: re.Match[str]) -> str:
        is_image, text, link = match.groups()
        target = (folder / link).resolve()
        if not _is_outside(target):
            return match[0]
        if is_image:
            return f"![{text}]({up}{FIGURES}/{target.name})"
        return in_the_source(text, str(target.relative_to(ROOT)))

    return OUTSIDE.sub(within_the_site, markdown)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Take the part that the search needs on pages from the disk out of the site itself, and not from a network.

    And name what a screen reader meets: the search, the switches of the menus, the heads of tables.
    """
    return named(_with_own_worker(output, up="../" * page.file.dest_uri.count("/")))


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for the page that says that there is none."""
    return named(_with_own_worker(output_content, up=""))


def named(page: str) -> str:
    """A page of the theme whose parts all have a name; heads of tables without a word in them are no heads."""
    page = page.replace('role="dialog"', 'role="dialog" aria-label="Search"')
    for switch, name in (("__drawer", "Menu"), ("__search", "Search")):
        page = page.replace(f'id="{switch}"', f'id="{switch}" aria-label="{name}"')
    page = EMPTY_HEAD.sub("", page)
    return re.sub(r"<th([^>]*)></th>", r"<td\1></td>", page)


def filled(markdown: str) -> str:
    """The page with its lists of commands and of evidence; what was measured stands in the pages themselves."""
    markdown = FILE_ALONE.sub("", markdown)
    for place, made in ((COMMANDS, commands), (EVIDENCE, evidence_table)):
        if place in markdown:
            markdown = markdown.replace(place, made())
    return markdown


def commands() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    parts = []
    for name, command in every_command(typer.main.get_command(app)):
        context = command.context_class(command, info_name=f"veclink {name}")
        usage = " ".join(command.collect_usage_pieces(context))
        parts.append(f"## veclink {name}\n\n{command.help}\n\n```\nveclink {name} {usage}\n```\n")
        rows = [_row(each, context) for each in command.get_params(context)]
        if rows:
            parts.append("| | |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def every_command(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """The commands of a group by name, and those of the groups in it: `bench main`."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from every_command(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def evidence_table() -> str:
    """Every kind of evidence in the registry: its name, whether it is a column, and what it is."""
    lines = ["| evidence | a column | |", "|---|---|---|"]
    for entry in evidence.REGISTRY:
        column = "yes" if entry.of_columns is None else "no"
        lines.append(f"| `{entry.name}` | {column} | {entry.help} |")
    return "\n".join(lines)


def _with_own_worker(page: str, up: str) -> str:
    return re.sub(r"https://[^\"']+/iframe-worker/shim", f"{up}scripts/iframe-worker.js", page)


def _is_outside(target: Path) -> bool:
    return target.exists() and not target.is_relative_to(DOCS)


def _row(each: Any, context: Any) -> str:
    if each.param_type_name == "argument":
        return f"| `{each.metavar or each.name.upper()}` | {getattr(each, 'help', None) or ''} |"
    names, text = each.get_help_record(context) or ("", "")
    return f"| `{names}` | {text.replace('|', '&#124;')} |"
