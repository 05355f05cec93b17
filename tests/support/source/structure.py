"""Figures about the product's structure, read from the source: sizes by package, and the places that one change touches."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.source.tree import PACKAGE, Module, SourceTree, files_naming_tool, files_of_new_format

EXTRAS = "extras"

SETTINGS = ("diff_style", "continue_loop_on_deny", "mcp_timeout", "disable_paste_summary")
"""Settings as a newcomer would add one: keys of the screen and of the engine, each with and without need of trust."""
ACTIONS = ("messages_copy", "diff_next")
"""Actions as a newcomer would add one: of the session's screen, and of a page."""
TOOLS = ("websearch", "plan_exit")
"""Tools as a newcomer would add one: with a key of a service, and with a question."""

_READ = (".py", ".md", ".json", ".jsonc", ".toml", ".txt", ".tcss")
_KEYS = re.compile(r"def _?on_key\b")
_BINDINGS = re.compile(r"\bBINDINGS\b")


@dataclass(frozen=True, slots=True)
class PackageSize:
    """The modules of a package with their lines, and its other files with theirs; binary files have none."""

    modules: int = 0
    lines: int = 0
    data_files: int = 0
    data_lines: int = 0

    def plus(self, path: Path) -> "PackageSize":
        """Return the size with one file more."""
        lines = path.read_bytes().count(b"\n") if path.suffix != ".woff2" else 0
        if path.suffix == ".py":
            return PackageSize(self.modules + 1, self.lines + lines, self.data_files, self.data_lines)
        return PackageSize(self.modules, self.lines, self.data_files + 1, self.data_lines + lines)


def package_sizes(root: Path) -> dict[str, PackageSize]:
    """Return the sizes of the packages, those of `engine/` and `extras/` one by one; the modules beside them are `.`."""
    sizes: dict[str, PackageSize] = {}
    for path in sorted((root / PACKAGE).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            name = _package_of(path.relative_to(root / PACKAGE))
            sizes[name] = sizes.get(name, PackageSize()).plus(path)
    return sizes


def is_extra(name: str) -> bool:
    """Return whether a package, or the path of a module below the product's, is an extra."""
    return name.partition("/")[0] == EXTRAS


def _package_of(path: Path) -> str:
    depth = 2 if path.parts[0] in ("engine", EXTRAS) and len(path.parts) > 2 else 1
    return "/".join(path.parts[:depth]) if len(path.parts) > 1 else "."


def files_naming(root: Path, word: str) -> list[str]:
    """Return the product's files whose text has a word, without the tables of OpenCode 2's names for our settings."""
    pattern = re.compile(rf"\b{word}\b")
    paths = [path for path in (root / PACKAGE).rglob("*") if path.suffix in _READ and "__pycache__" not in path.parts]
    paths = [path for path in paths if path.stem not in ("opencode2", "opencode2_cli")]
    return sorted(str(one.relative_to(root / PACKAGE)) for one in paths if pattern.search(one.read_text("utf-8")))


def widely_named_actions(root: Path, ids: Iterable[str], most: int) -> dict[str, list[str]]:
    """Return the actions that more files name, with these files."""
    texts = {
        str(path.relative_to(root / PACKAGE)): set(re.findall(r"[\"'`](\w+)[\"'`]", path.read_text("utf-8")))
        for path in (root / PACKAGE).rglob("*")
        if path.suffix in _READ and "__pycache__" not in path.parts
    }
    named = {one: sorted(path for path, words in texts.items() if one in words) for one in ids}
    return {one: paths for one, paths in named.items() if len(paths) > most}


def touched(root: Path) -> Mapping[str, list[str]]:
    """Return the files that a tool, a setting, an action and a format of providers touch, for each of the examples."""
    return {
        **{f"the tool {name}": files_naming_tool(root, name) for name in TOOLS},
        **{f"the setting {name}": files_naming(root, name) for name in SETTINGS},
        **{f"the action {name}": files_naming(root, name) for name in ACTIONS},
        "the format NAME": files_of_new_format(root),
    }


def key_handlers(tree: SourceTree) -> list[str]:
    """Return the modules that handle keys themselves, one entry for each handler."""
    return [name for name, module in tree.modules.items() for _ in _KEYS.findall(module.source)]


def binding_tables(tree: SourceTree) -> list[str]:
    """Return the modules with a table of Textual's own for keys."""
    return [name for name, module in tree.modules.items() if _BINDINGS.search(module.source)]


def protocols(tree: SourceTree) -> list[str]:
    """Return the Protocols, as `path:line name`; those of extras come last."""
    found = [
        (module, node)
        for module in tree.modules.values()
        if "Protocol" in module.source
        for node in classes_of(module)
        if "Protocol" in {base_name(base) for base in node.bases}
    ]
    listed = [f"{path_of(tree, module)}:{node.lineno} {node.name}" for module, node in found]
    return sorted(listed, key=is_extra)


def path_of(tree: SourceTree, module: Module) -> str:
    """Return a module's path below the product's folder."""
    return module.path.relative_to(tree.root / PACKAGE).as_posix()


def classes_of(module: Module) -> Iterator[ast.ClassDef]:
    """Yield the classes of a module, inner ones included."""
    return (node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))


def base_name(base: ast.expr) -> str:
    """Return the last name of a base, without its parameters."""
    written = base.value if isinstance(base, ast.Subscript) else base
    return written.attr if isinstance(written, ast.Attribute) else ast.unparse(written)
