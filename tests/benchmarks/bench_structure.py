"""How large the product is and how it hangs together: modules, lines, folders, fragments, import cycles, banned words in names.

Read from the source alone. `python -m tests.benchmarks.bench_structure --root DIR` measures another checkout with the same rules.

A module is any `.py` below `opencode_tui/`, a line is a newline. A fragment is a module of less than 60 lines, `__init__` left
out, that exactly one other module imports, at any level and for any reason. A cycle is a strongly connected component of more
than one module over all imports: at module level, below TYPE_CHECKING, and inside functions.
"""

import argparse
import statistics
import sys
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.support.source.tree import (
    FORMAT_FILES,
    TOOL_FILES,
    SourceTree,
    banned_definitions,
    files_naming_tool,
    files_of_new_format,
    read_source_tree,
)

ROOT = Path(__file__).parents[2]
FOLDER_LIMIT = 25
FRAGMENT_LINES = 60

MODULES_GOAL = 560
LINES_GOAL = 68_000
FOLDERS_GOAL = 1
FRAGMENTS_GOAL = 10


def main() -> int:
    """Print the lists, then the figures with their goals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="the checkout, by default this one")
    root = parser.parse_args().root.resolve()
    tree = read_source_tree(root)
    folders = {path: count for path, count in tree.folders().items() if count > FOLDER_LIMIT}
    fragments = find_fragments(tree)
    cycles, static_cycles = tree.cycles(), tree.cycles(("load", "typing"))
    banned = banned_definitions(tree)

    _print_list(
        f"folders with more than {FOLDER_LIMIT} modules", [f"{count:>4} {path}" for path, count in folders.items()]
    )
    _print_list(f"modules under {FRAGMENT_LINES} lines with one importer", fragments)
    _print_list("import cycles, those inside functions counted", [" ".join(names) for names in cycles])
    _print_list("import cycles at module level and below TYPE_CHECKING", [" ".join(names) for names in static_cycles])
    _print_list("definitions with a banned word", [f"{at.path}:{at.line} {at.qualified_name}" for at in banned])
    sizes = [module.lines for module in tree.modules.values()]
    print(f"\nmedian lines of a module: {statistics.median(sizes):g}; the largest has {max(sizes)}\n")
    return report(
        [
            Figure("modules", len(sizes), MODULES_GOAL, ""),
            Figure("product lines", sum(sizes) / 1000, LINES_GOAL / 1000, "k"),
            Figure(f"folders with more than {FOLDER_LIMIT} modules", len(folders), FOLDERS_GOAL, ""),
            Figure(f"modules under {FRAGMENT_LINES} lines with one importer", len(fragments), FRAGMENTS_GOAL, ""),
            Figure("import cycles, all imports", len(cycles), 0, ""),
            Figure("import cycles, module level and TYPE_CHECKING", len(static_cycles), 0, ""),
            Figure("definitions with a banned word", len(banned), 0, ""),
            *(
                Figure(f"files that name the tool {tool}", len(files_naming_tool(root, tool)), TOOL_FILES, "")
                for tool in ("websearch", "plan_exit")
            ),
            Figure("files that a new provider format touches", len(files_of_new_format(root)), FORMAT_FILES, ""),
        ]
    )


def find_fragments(tree: SourceTree) -> list[str]:
    """Return `lines module <- importer` of each module that is small and has one importer."""
    importers = tree.importers()
    return [
        f"{module.lines:>4} {name} <- {next(iter(importers[name]))}"
        for name, module in tree.modules.items()
        if not module.is_package and module.lines < FRAGMENT_LINES and len(importers[name]) == 1
    ]


def _print_list(title: str, rows: list[str]) -> None:
    print(f"\n{title}: {len(rows)}")
    for row in rows:
        print(f"  {row}")


if __name__ == "__main__":
    sys.exit(main())
