"""The order of changed files: those that someone wrote come first, folders of generated files are a row each."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.theme.look import change_letter

GENERATED = frozenset(
    [
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        "site-packages",
        "dist",
        "build",
        "target",
        "vendor",
        ".next",
        ".nuxt",
        ".tox",
        ".gradle",
        ".terraform",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        "coverage",
        "htmlcov",
        "bower_components",
    ]
)
"""Names of folders whose files programs write."""

MANY = 20
"""New files of one folder from which on they are a row, whatever its name is."""

FEWEST = 3
"""Files of a folder that are a row at least."""


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A changed file, or a folder of `files`, in a list; `at` is the index of the first one. Texts are safe."""

    at: int
    letter: str
    path: str
    additions: int
    deletions: int
    files: int = 1

    @property
    def words(self) -> str:
        """The number of files of a folder; empty for a file."""
        return f"  {plural(self.files, 'file')}" if self.files > 1 else ""

    def has(self, at: int) -> bool:
        """Return whether the file of this index is in the row."""
        return self.at <= at < self.at + self.files


def in_order(diffs: Sequence[FileDiff]) -> list[FileDiff]:
    """Return the changes with those of folded folders at the end, folder by folder."""
    folders = _folders(diffs)
    ordered = sorted(range(len(diffs)), key=lambda at: (bool(folders[at]), folders[at], at))
    return [diffs[at] for at in ordered]


def change_rows(ordered: Sequence[FileDiff]) -> list[ChangeRow]:
    """Return a row for each file, and one for each folded folder, of changes that are in order."""
    rows: list[ChangeRow] = []
    folders = _folders(ordered)
    for at, diff in enumerate(ordered):
        folder = folders[at]
        if folder and at and folders[at - 1] == folder:
            last = rows.pop()
            added, removed = last.additions + diff.additions, last.deletions + diff.deletions
            letter = last.letter if last.letter == change_letter(diff.status) else change_letter("modified")
            rows.append(ChangeRow(last.at, letter, last.path, added, removed, last.files + 1))
        else:
            path = screen_line(f"{folder}/" if folder else diff.file)
            rows.append(ChangeRow(at, change_letter(diff.status), path, diff.additions, diff.deletions))
    return rows


def _folders(diffs: Sequence[FileDiff]) -> list[str]:
    """Return the folder that each change is folded into; empty for a file that has a row of its own."""
    generated = [_generated_folder(one.file) for one in diffs]
    added = Counter(_top(one.file) for one in diffs if one.status == "added")
    kept = {_top(one.file) for one in diffs if one.status != "added"}
    found = [
        folder or (top if (top := _top(one.file)) and added[top] > MANY and top not in kept else "")
        for folder, one in zip(generated, diffs, strict=True)
    ]
    counts = Counter(found)
    return [one if counts[one] >= FEWEST else "" for one in found]


def _generated_folder(path: str) -> str:
    parts = path.split("/")[:-1]
    at = next((at for at, part in enumerate(parts) if part in GENERATED or part.endswith(".egg-info")), None)
    return "" if at is None else "/".join(parts[: at + 1])


def _top(path: str) -> str:
    first, slash, _ = path.partition("/")
    return first if slash else ""
