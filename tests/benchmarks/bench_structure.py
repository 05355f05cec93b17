"""How the product hangs together: sizes by package, places that one change touches, Protocols, cycles, banned words in names.

Read from the source alone. `python -m tests.benchmarks.bench_structure --root DIR` measures another checkout with the same rules.
Sizes are a report without a limit; extras are shown apart. `tests/test_structure.py` keeps the figures that have a goal.

A module is any `.py` below `opencode_tui/`, a line is a newline. A fragment is a module of less than 60 lines, `__init__` left
out, that exactly one other module imports, at any level and for any reason. A cycle is a strongly connected component of more
than one module over all imports: at module level, below TYPE_CHECKING, and inside functions.
"""

import argparse
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path

from opencode_tui.schema.api.keybinds import ACTIONS
from tests.benchmarks.comparison import Figure, report
from tests.support.source.collaborators import COLLABORATOR_LIMIT, classes_with_collaborators
from tests.support.source.structure import (
    PackageSize,
    binding_tables,
    is_extra,
    key_handlers,
    package_sizes,
    protocols,
    touched,
    widely_named_actions,
)
from tests.support.source.tree import FORMAT_FILES, TOOL_FILES, SourceTree, banned_definitions, read_source_tree

ROOT = Path(__file__).parents[2]
FOLDER_LIMIT = 25
FRAGMENT_LINES = 60

FOLDERS_GOAL = 1
HANDLERS_GOAL = 2
PROTOCOLS_GOAL = 35
TOUCHED_GOALS = {"tool": TOOL_FILES, "setting": 2, "action": 3, "format": FORMAT_FILES}
"""Most files of the product that one of each kind touches."""


def main() -> int:
    """Print the lists, then the figures with their goals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="the checkout, by default this one")
    root = parser.parse_args().root.resolve()
    tree = read_source_tree(root)
    folders = {path: count for path, count in tree.folders().items() if count > FOLDER_LIMIT}
    cycles, static_cycles = tree.cycles(), tree.cycles(("load", "typing"))
    banned = banned_definitions(tree)
    listed = protocols(tree)
    own = [one for one in listed if not is_extra(one)]
    places = touched(root)
    sizes = package_sizes(root)

    _print_sizes(sizes)
    _print_list(f"folders with more than {FOLDER_LIMIT} modules", [f"{count:>4} {at}" for at, count in folders.items()])
    _print_list(f"modules under {FRAGMENT_LINES} lines with one importer", find_fragments(tree))
    _print_list("Protocols", listed)
    held = {name: one.count for name, one in classes_with_collaborators(tree).items() if one.count > COLLABORATOR_LIMIT}
    rows = [f"{held[name]:>4} {name}" for name in sorted(held, key=lambda name: -held[name])]
    _print_list(f"classes with more than {COLLABORATOR_LIMIT} collaborators", rows)
    _print_list("handlers of keys", key_handlers(tree))
    _print_list("tables of keys of Textual's own", binding_tables(tree))
    _print_list("files that one touches", [f"{name}: {' '.join(files)}" for name, files in places.items()])
    named = widely_named_actions(root, (action.id for action in ACTIONS), TOUCHED_GOALS["action"])
    _print_list("actions that more files name", [f"{name}: {' '.join(files)}" for name, files in named.items()])
    _print_list("import cycles, those inside functions counted", [" ".join(names) for names in cycles])
    _print_list("import cycles at module level and below TYPE_CHECKING", [" ".join(names) for names in static_cycles])
    _print_list("definitions with a banned word", [f"{at.path}:{at.line} {at.qualified_name}" for at in banned])
    lines = [module.lines for module in tree.modules.values()]
    print(f"\nmedian lines of a module: {statistics.median(lines):g}; the largest has {max(lines)}\n")
    return report(
        [
            Figure("handlers of keys", len(key_handlers(tree)), HANDLERS_GOAL, ""),
            Figure("tables of keys of Textual's own", len(binding_tables(tree)), 0, ""),
            Figure("Protocols, without those of extras", len(own), PROTOCOLS_GOAL, ""),
            *(
                Figure(f"files that touch {name}", len(files), TOUCHED_GOALS[name.split()[1]], "")
                for name, files in places.items()
            ),
            Figure(f"folders with more than {FOLDER_LIMIT} modules", len(folders), FOLDERS_GOAL, ""),
            Figure("import cycles, all imports", len(cycles), 0, ""),
            Figure("import cycles, module level and TYPE_CHECKING", len(static_cycles), 0, ""),
            Figure("definitions with a banned word", len(banned), 0, ""),
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


def _print_sizes(sizes: dict[str, PackageSize]) -> None:
    print(f"\n{'package':<24}{'modules':>8}{'lines':>9}{'data files':>12}{'data lines':>12}")
    for name, size in sizes.items():
        _print_size(name, [size])
    _print_size("all but extras", (size for name, size in sizes.items() if not is_extra(name)))
    _print_size("extras", (size for name, size in sizes.items() if is_extra(name)))


def _print_size(name: str, sizes: Iterable[PackageSize]) -> None:
    rows = [(one.modules, one.lines, one.data_files, one.data_lines) for one in sizes]
    modules, lines, data_files, data_lines = (
        (sum(column) for column in zip(*rows, strict=True)) if rows else (0, 0, 0, 0)
    )
    print(f"{name:<24}{modules:>8}{lines:>9,}{data_files:>12}{data_lines:>12,}")


def _print_list(title: str, rows: list[str]) -> None:
    print(f"\n{title}: {len(rows)}")
    for row in rows:
        print(f"  {row}")


if __name__ == "__main__":
    sys.exit(main())
