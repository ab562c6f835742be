"""How large the package is, and the ceiling that it stays under: `house.json` beside this, which only goes down.

    python tests/house.py            what src/veclink counts now, beside its ceiling
    python tests/house.py --lower    write what is counted, where that is lower

Tokens are those of code alone (names, operators, numbers, strings), so that formatting changes nothing; docstrings and
comments do not count.
"""

from __future__ import annotations

import argparse
import ast
import json
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

CEILING = Path(__file__).with_name("house.json")
PACKAGE = Path(__file__).parents[1] / "src" / "veclink"
CODE = {tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING}
DECIDING = {"linkers", "linking", "confidence", "geometry"}  # rooms whose constants decide results


def counts(package: Path) -> dict[str, int]:
    """Tokens, modules, modules that one other imports, numeric constants (and the deciding ones), sentences."""
    found: Counter[str] = Counter()
    importers: dict[str, set[Path]] = {}
    files = sorted(package.rglob("*.py"))
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        docstrings = set(_docstrings(tree))
        with file.open("rb") as source:
            code = [token for token in tokenize.tokenize(source.readline) if token.type in CODE]
        code = [token for token in code if token.type != tokenize.STRING or token.start not in docstrings]
        texts = [token.string for token in code if token.type == tokenize.STRING]
        constants = sum(map(_is_constant, tree.body))
        found["tokens"] += len(code)
        found["sentences"] += sum(text.count(" ") >= 4 for text in texts)
        found["constants"] += constants
        found["deciding_constants"] += constants * (file.relative_to(package).parts[0] in DECIDING)
        for name in _imported(tree):
            importers.setdefault(name, set()).add(file)
    names = {file: _name(package, file) for file in files}
    single = sum(len(importers.get(name, set()) - {file}) == 1 for file, name in names.items())
    order = ("tokens", "modules", "single_use_modules", "constants", "deciding_constants", "sentences")
    found.update(modules=len(files), single_use_modules=single)
    return {name: found[name] for name in order}


def _docstrings(tree: ast.AST) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for child in body if isinstance(body, list) else []:
            value = child.value if isinstance(child, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.lineno, value.col_offset


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def _is_constant(node: ast.stmt) -> bool:
    """Whether a module binds a name in capitals to a number, or to a tuple of numbers."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return _is_capital(node.targets[0]) and _is_number(node.value)
    return (
        isinstance(node, ast.AnnAssign)
        and node.value is not None
        and _is_capital(node.target)
        and _is_number(node.value)
    )


def _is_capital(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id.isupper()


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(map(_is_number, node.elts))
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def _name(package: Path, file: Path) -> str:
    return ".".join((package.name, *file.relative_to(package).with_suffix("").parts)).removesuffix(".__init__")


def main() -> None:
    """Print the counts; with `--lower`, bring the ceiling down to them."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--lower", action="store_true", help="write the counts that are below the ceiling")
    now, ceiling = counts(PACKAGE), json.loads(CEILING.read_text(encoding="utf-8"))
    if options.parse_args().lower:
        ceiling = {name: min(ceiling[name], count) for name, count in now.items()}
        CEILING.write_text(json.dumps(ceiling, indent=2) + "\n", encoding="utf-8")
    for name, count in now.items():
        print(f"{name:20} {count:9,}  at most {ceiling[name]:,}")


if __name__ == "__main__":
    main()
