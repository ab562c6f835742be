"""What the documentation site makes by itself: the reference, from the code, so that it cannot fall behind it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import veclink
from veclink.cli.app import app
from veclink.confidence import evidence
from veclink.data import links

ROOT = Path(__file__).parent.parent
COMMANDS, NAMES, EVIDENCE = "<!-- the commands -->", "<!-- the public names -->", "<!-- the evidence -->"
OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#]+)\)")
FIELD = re.compile(r"^(\w[\w, /…]*): +(?=\S)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Fill in the reference; links to files of the source tree become their names, as the site does not hold them."""
    markdown = _filled(markdown)
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def named(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        inside = target.is_relative_to(ROOT / "docs") or not target.exists()
        return match[0] if inside else f"{match[1]} (`{target.relative_to(ROOT)}`)"

    return OUTSIDE.sub(named, markdown)


def _filled(markdown: str) -> str:
    for place, made in ((COMMANDS, commands), (NAMES, public_names), (EVIDENCE, evidence_table)):
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
        parts.append("| | |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def every_command(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """The commands of a group by name, and those of the groups in it: `bench run`."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from every_command(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def public_names() -> str:
    """The public names of the package, with what they take and what they give."""
    shown = [name for name in veclink.__all__ if not name.startswith("__")]
    known = {name: getattr(veclink, name) for name in sorted(shown, key=str.lower)}
    known["links.Summary"] = links.Summary
    return "\n".join(_described(f"veclink.{name}", value, 2) for name, value in known.items())


def evidence_table() -> str:
    """Every kind of evidence in the registry: its name, whether it is a column, and what it is."""
    lines = ["| evidence | a column | |", "|---|---|---|"]
    for entry in evidence.REGISTRY:
        column = "yes" if entry.is_column else "no"
        lines.append(f"| `{entry.name}` | {column} | {entry.help} |")
    return "\n".join(lines)


def _row(each: Any, context: Any) -> str:
    if each.param_type_name == "argument":
        return f"| `{each.metavar or each.name.upper()}` | {getattr(each, 'help', None) or ''} |"
    names, text = each.get_help_record(context) or ("", "")
    return f"| `{names}` | {text.replace('|', '&#124;')} |"


def _described(name: str, value: Any, level: int) -> str:
    parts = [f"{'#' * level} {name}\n"]
    is_error = inspect.isclass(value) and issubclass(value, Exception)
    if callable(value) and not is_error:
        parts.append(f"```python\n{_signature(name, value)}\n```\n")
    parts.append(_text(inspect.getdoc(value) or ""))
    if inspect.isclass(value) and not is_error:
        own = [(key, each) for key, each in vars(value).items() if not key.startswith("_")]
        parts += [_member(name, key, each, level + 1) for key, each in own if _is_member(each)]
    return "\n".join(parts) + "\n"


def _is_member(each: Any) -> bool:
    return inspect.isfunction(each) or isinstance(each, (classmethod, property))


def _member(name: str, key: str, each: Any, level: int) -> str:
    if isinstance(each, property):
        return f"{'#' * level} {name}.{key}\n\n{_text(inspect.getdoc(each) or '')}"
    return _described(f"{name}.{key}", each.__func__ if isinstance(each, classmethod) else each, level)


def _signature(name: str, value: Any) -> str:
    signature = inspect.signature(value)
    kept = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    parts = []
    for place, each in enumerate(kept):
        if each.kind is each.KEYWORD_ONLY and (not place or kept[place - 1].kind is not each.KEYWORD_ONLY):
            parts.append("*")
        kind = "" if each.annotation is each.empty else f": {each.annotation}"
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "" if each.default is each.empty else f" = {_default(each.default)}"
        parts.append(f"{stars}{each.name}{kind}{default}")
    text = ", ".join(parts)
    if len(text) > 80:
        text = "\n    " + ",\n    ".join(parts) + ",\n"
    gives = signature.return_annotation
    arrow = "" if gives is signature.empty or inspect.isclass(value) else f" -> {gives}"
    return f"{name}({text}){arrow}"


def _default(value: Any) -> str:
    return "…" if type(value).__module__ == "dataclasses" else repr(value)  # a factory says nothing to a reader


def _text(doc: str) -> str:
    """The docstring with its `name: meaning` lines as a list."""
    lines, in_list = [], False
    for line in doc.splitlines():
        if match := FIELD.match(line):
            lines += [] if in_list else [""]
            lines.append(f"- `{match[1]}`: {line[match.end() :]}")
            in_list = True
        elif in_list and line.strip():
            lines.append(f"  {line.strip()}")
        else:
            lines.append(line)
            in_list = False
    return "\n".join(lines) + "\n"
