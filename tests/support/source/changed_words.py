"""A plugin for pytest: the program with every sentence changed, so that what still reads one as a message to itself is found.

`pytest -p tests.support.source.changed_words` replaces each letter of each sentence in the program by another one while its modules
are loaded. A sentence that the code only compares, searches or cuts at stays as it is: where it was written by another part of the
program, the two now differ. Widths stay the same, so pictures are compared with all letters made equal.
"""

import ast
import importlib.abc
import importlib.machinery
import re
import string
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import cast

PACKAGE = "opencode_tui"
DATA = {
    "opencode_tui.engine.search.index": "SQL",
    "opencode_tui.engine.search.query": "SQL",
    "opencode_tui.schema.api.theme": "names of themes",
    "opencode_tui.tui.diff.headings": "words of programming languages",
    "opencode_tui.schema.api.keybinds": "users type the names of actions, to find them",
    "opencode_tui.schema.session.tool_state": "an error that OpenCode stores in each aborted call",
}
"""Modules whose texts with blanks are no sentences, or may be searched for."""

_SENTENCE = re.compile(r"[A-Za-z][a-z']+,? [a-z]|^[A-Z][a-z]+ [a-z]")
_CODE = re.compile(
    r"\b(?:SELECT|INSERT|CREATE|PRAGMA|UPDATE|DELETE|DROP|ALTER|BEGIN|WITH)\b|[{}<>]|::|%[A-Za-z]|\\|@\w"
)
_READERS = frozenset(
    [
        *(
            "compile",
            "count",
            "endswith",
            "find",
            "fullmatch",
            "get",
            "index",
            "match",
            "partition",
            "removeprefix",
            "search",
        ),
        *("removesuffix", "replace", "rindex", "rpartition", "rsplit", "split", "splitlines", "startswith", "sub"),
    ]
)
"""Methods and functions whose arguments are searched for."""

_OTHER = str.maketrans(
    string.ascii_lowercase + string.ascii_uppercase + ":;",
    string.ascii_lowercase[13:]
    + string.ascii_lowercase[:13]
    + string.ascii_uppercase[13:]
    + string.ascii_uppercase[:13]
    + ";:",
)
"""What is in the place of each letter, and of the signs that sentences are cut at."""


class _Change(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and _SENTENCE.search(node.value) and not _CODE.search(node.value):
            return ast.copy_location(ast.Constant(node.value.translate(_OTHER)), node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)  # a docstring

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for place, side in enumerate((node.left, *node.comparators)):
            if isinstance(side, ast.Constant | ast.Tuple | ast.Set | ast.List):
                continue
            changed = cast("ast.expr", self.visit(side))
            if place:
                node.comparators[place - 1] = changed
            else:
                node.left = changed
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "split" and isinstance(cast("ast.Attribute", node.func).value, ast.Constant):
            return node  # a list of names
        node.func = cast("ast.expr", self.visit(node.func))
        if name not in _READERS:
            node.args = [cast("ast.expr", self.visit(one)) for one in node.args]
            node.keywords = [cast("ast.keyword", self.visit(one)) for one in node.keywords]
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(self.path))
        return compile(ast.fix_missing_locations(_Change().visit(tree)), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(f"{PACKAGE}.") or fullname in DATA:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(fullname, cast("str", spec.origin))
        return spec


def shape(picture: str) -> str:
    """Return a picture with all letters made equal: what is left are places, colors, numbers and signs."""
    return re.sub(r"(?<=>)[^<]*(?=<)", lambda words: re.sub("[A-Za-z:;]", "x", words[0]), picture)


sys.meta_path.insert(0, _Finder())


def pytest_configure() -> None:
    """Compare pictures by their shape."""
    from pytest_textual_snapshot import SVGImageExtension

    def matches(_self: object, *, serialized_data: str, snapshot_data: str) -> bool:
        return shape(str(serialized_data)) == shape(str(snapshot_data))

    SVGImageExtension.matches = matches  # pyright: ignore[reportAttributeAccessIssue] - inherited from syrupy
