"""The list tool: a folder's files as a tree, shallow ones first when there are many. Source: docs/internals/tools.md#list."""

from functools import partial
from pathlib import Path

from opencode_tui.engine.tool.files.text_format import presentable
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.search.search import RESULT_LIMIT, FileSearch, choose_location
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.field import Field

_LEFT_OUT = (
    "node_modules/", "__pycache__/", ".venv/", "venv/", "env/", "dist/", "build/", "target/", "vendor/", "bin/", "obj/",
    ".idea/", ".vscode/", ".zig-cache/", "zig-out/", "coverage/", ".coverage", "tmp/", "temp/", ".cache/", "cache/", "logs/",
    ".mypy_cache/", ".ruff_cache/", ".pytest_cache/",
)  # fmt: skip
"""Folders that are left out: dependencies and the output of tools."""

_Tree = dict[str, "_Tree | None"]


class ListParameters(Parameters):
    """The folder to list."""

    path: str | None = None
    ignore: list[str] = Field(default_factory=list[str])


class ListTool:
    """Lists the files of a folder and its sub-folders."""

    name = "list"
    parameters = ListParameters

    def __init__(self, *, search: FileSearch) -> None:
        self.description = read_description(self.name)
        self._search = search

    async def run(self, arguments: ListParameters, context: ToolContext) -> ToolResult:
        """Return the tree of at most 100 files."""
        location = await choose_location(arguments.path, context)
        await context.ask("list", [str(location.path)], always=["*"], metadata={"path": str(location.path)})
        if not location.is_folder:
            raise ToolError(f"{location.path} is a file", "read it, or give a folder")
        exclude = [*_LEFT_OUT, *arguments.ignore]
        files = await self._search.files(location.real, accept=partial(bool), exclude=exclude)
        ordered = sorted(files.paths, key=lambda path: (path.count("/"), path))
        shown = ordered[:RESULT_LIMIT]
        is_cut = len(shown) < len(ordered)
        notes = (
            [f"({len(ordered)}{'+' if files.more else ''} files; the {len(shown)} least deep are shown.)"]
            if is_cut
            else []
        )
        output = "\n".join([*_render(location.path, shown), *(["", *notes] if notes else [])])
        return ToolResult(location.relative, output, {"count": len(shown), "truncated": is_cut})


def _render(root: Path, paths: list[str]) -> list[str]:
    tree: _Tree = {}
    for path in paths:
        *folders, name = path.split("/")
        here = tree
        for folder in folders:
            inner = here.setdefault(folder, {})
            here = inner if inner is not None else {}
        here[name] = None
    return [f"{root}/", *_branches(tree, "  ")]


def _branches(tree: _Tree, indent: str) -> list[str]:
    lines: list[str] = []
    for name in sorted(tree, key=lambda name: (tree[name] is None, name)):
        inner = tree[name]
        lines.append(f"{indent}{presentable(name)}{'' if inner is None else '/'}")
        if inner is not None:
            lines.extend(_branches(inner, indent + "  "))
    return lines


def make(kit: ToolKit) -> ListTool:
    """Return the tool."""
    return ListTool(search=kit.search)
