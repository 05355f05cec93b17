"""Assertions of the tests that hold over an empty list: `assert all(…)` where nothing asserts that there is something."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_ALL_OR_ANY = re.compile(r"\b(all|any)\s*\(")


def vacuous_assertions(source: str) -> list[int]:
    """Return the lines of `assert all(… for … in found)` and `assert not any(…)` without an assertion on `found` before them.

    The assertion may be an earlier operand of the same `and` or an earlier statement of the same function. Literals and
    ranges need none.
    """
    if _ALL_OR_ANY.search(source) is None:
        return []
    return sorted({line for function in _functions(ast.parse(source)) for line in _vacuous_in(function)})


def read_tests(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each module of a folder and its source, in alphabetical order."""
    for path in sorted(folder.rglob("*.py")):
        yield path, path.read_text(encoding="utf-8")


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _vacuous_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[int]:
    statements = sorted(_asserts(function), key=lambda one: one.lineno)
    operands = [(statement.lineno, operand) for statement in statements for operand in _operands(statement.test)]
    subjects = [_subject(operand) for _, operand in operands]
    if not any(subjects):
        return
    asserted = ""
    for (line, operand), subject in zip(operands, subjects, strict=True):
        if subject is not None and subject not in asserted:
            yield line
        asserted += f"{ast.unparse(operand)}\n"


def _operands(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) else [test]


def _asserts(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Assert]:
    return (node for node in ast.walk(function) if isinstance(node, ast.Assert))


def _subject(test: ast.expr) -> str | None:
    """Return the source of what `all(…)` or `not any(…)` goes over; `None` for literals, ranges and other tests."""
    name = "all"
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        name, test = "any", test.operand
    match test:
        case ast.Call(func=ast.Name(id=called), args=[ast.GeneratorExp() as generator]) if called == name:
            subject = generator.generators[0].iter
        case ast.Call(func=ast.Name(id=called), args=[subject]) if called == name:
            pass
        case _:
            return None
    match subject:
        case ast.Tuple() | ast.List() | ast.Call(func=ast.Name(id="range")):
            return None
        case ast.Call(func=ast.Attribute(value=owner, attr="values" | "items" | "keys")):
            return ast.unparse(owner)
        case ast.Subscript(value=owner):
            return ast.unparse(owner)
        case _:
            return ast.unparse(subject)
