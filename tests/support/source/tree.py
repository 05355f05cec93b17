"""The product's source as a graph of modules and a list of definitions, read with `ast`: nothing is imported or run."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

PACKAGE = "opencode_tui"

_FORMS = """
    settle settles settled settling settlement unsettled
    tell tells told telling
    take takes took taken taking
    mend mends mended mending
    offer offers offered offering
    remark remarks remarked
    forget forgets forgot forgotten forgetting
    stand stands stood standing
    door doors
    lasting
    graft grafts grafted grafting
    wear wears wore worn wearing
"""
BANNED_WORDS = frozenset(_FORMS.split())
"""Words with too many meanings in this code to be part of a name."""

_DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, method or class; its name is qualified by the classes and functions around it."""

    module: str
    path: str
    line: int
    qualified_name: str

    @property
    def words(self) -> list[str]:
        """Return the words of its own name, in lower case."""
        return split_words(self.qualified_name.rpartition(".")[2])


@dataclass(frozen=True)
class Module:
    """One file of the product."""

    name: str
    path: Path
    source: str

    @property
    def is_package(self) -> bool:
        """Return whether it is the `__init__` of a package."""
        return self.path.name == "__init__.py"

    @cached_property
    def tree(self) -> ast.Module:
        """Return its syntax tree."""
        return ast.parse(self.source)


@dataclass(frozen=True)
class SourceTree:
    """All modules of a checkout's product, by name."""

    root: Path
    modules: dict[str, Module] = field(default_factory=dict)

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """Return which modules of the product each module imports: as it loads, for type checks or inside a function."""
        return {name: self._imports_of(module) for name, module in self.modules.items()}

    def cycles(self) -> list[list[str]]:
        """Return the strongly connected components of more than one module."""
        edges = {name: sorted(targets) for name, targets in self.imports.items()}
        return sorted(sorted(group) for group in _components(edges) if len(group) > 1)

    def definitions(self) -> Iterator[Definition]:
        """Yield all functions, methods and classes, file by file."""
        for module in self.modules.values():
            path = module.path.relative_to(self.root).as_posix()
            yield from _definitions(module.tree, module.name, path, "")

    def _imports_of(self, module: Module) -> set[str]:
        package = module.name if module.is_package else _parent(module.name)
        targets = _imported_names(module.tree, package)
        names = {target if target in self.modules else _parent(target) for target in targets}
        return {name for name in names if name in self.modules and name != module.name}


def read_source_tree(root: Path) -> SourceTree:
    """Return the product modules of a checkout."""
    tree = SourceTree(root)
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        tree.modules[name] = Module(name, path, path.read_text(encoding="utf-8"))
    return tree


def split_words(name: str) -> list[str]:
    """Return the words of a name in snake or Camel case, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def banned_definitions(tree: SourceTree) -> list[Definition]:
    """Return the definitions with a banned word in their own name."""
    suspects = {
        name: module
        for name, module in tree.modules.items()
        if any(BANNED_WORDS.intersection(split_words(one)) for one in _DEFINED.findall(module.source))
    }  # no other has to be parsed
    return [found for found in SourceTree(tree.root, suspects).definitions() if BANNED_WORDS.intersection(found.words)]


def _parent(name: str) -> str:
    return name.rpartition(".")[0]


_HOLD_IMPORTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""No expression has an import in it."""


def _imported_names(node: ast.AST, package: str) -> Iterator[str]:
    """Yield every name of the product that is imported: `package.module` or `package.module.name`."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        for alias in node.names:
            yield f"{base}.{alias.name}"
    else:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _HOLD_IMPORTS):
                yield from _imported_names(child, package)


def _definitions(node: ast.AST, module: str, path: str, prefix: str) -> Iterator[Definition]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            yield Definition(module, path, child.lineno, name)
            yield from _definitions(child, module, path, f"{name}.")
        else:
            yield from _definitions(child, module, path, prefix)


def _components(edges: dict[str, list[str]]) -> list[list[str]]:
    """Return the strongly connected components (Tarjan's algorithm, with a stack of its own instead of recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for start in edges:
        if start in index:
            continue
        index[start] = low[start] = len(index)
        stack.append(start)
        work = [(start, iter(edges[start]))]
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(stack[at:])
                    del stack[at:]
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                work.append((target, iter(edges[target])))
            elif target in stack:
                low[node] = min(low[node], index[target])
    return found


TOOL_FILES = 3
"""The files that name a tool: its row, its module and what the model reads of it."""

SETTINGS_OF_TOOLS = {
    "websearch": ("config/settings/settings.py",),
}
"""Files that define a setting with the name of a tool."""


def files_naming_tool(root: Path, tool: str) -> list[str]:
    """Return the product's files that name a tool, in their text or by their own name, without those that name its setting."""
    word = re.compile(rf"\b{tool}\b")
    files = [one for one in (root / PACKAGE).rglob("*") if one.suffix in (".py", ".md", ".json", ".txt", ".tcss")]
    named = [one for one in files if one.stem == tool or word.search(one.read_text("utf-8"))]
    paths = sorted(str(one.relative_to(root / PACKAGE)) for one in named)
    return [path for path in paths if path not in SETTINGS_OF_TOOLS.get(tool, ())]


FORMAT_FILES = 3
"""The files of a provider's format: its row, the encoder of requests and the decoder of streams."""

LISTS_OF_PROVIDERS = ("engine/provider/model_table.py",)
"""Files that list providers, by names that formats have too."""

_FORMATS = frozenset({"openai", "responses", "anthropic", "gemini"})


def files_listing_formats(root: Path) -> list[str]:
    """Return the product's modules in which all formats of providers are named by constants: a new format changes each."""
    found: list[str] = []
    for path in sorted((root / PACKAGE).rglob("*.py")):
        text = path.read_text("utf-8")
        name = str(path.relative_to(root / PACKAGE))
        if name in LISTS_OF_PROVIDERS or not all(f'"{one}"' in text for one in _FORMATS):
            continue
        named = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
        if named >= _FORMATS:
            found.append(name)
    return found


_READ = (".py", ".md", ".json", ".jsonc", ".toml", ".txt", ".tcss")


def files_naming(root: Path, word: str) -> list[str]:
    """Return the product's files whose text has a word, without the tables of OpenCode 2's names for our settings."""
    pattern = re.compile(rf"\b{word}\b")
    paths = [path for path in (root / PACKAGE).rglob("*") if path.suffix in _READ and "__pycache__" not in path.parts]
    paths = [path for path in paths if path.stem not in ("opencode2", "opencode2_cli")]
    return sorted(str(one.relative_to(root / PACKAGE)) for one in paths if pattern.search(one.read_text("utf-8")))
