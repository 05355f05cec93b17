"""Edits that real models wrote: Aider's recorded SEARCH/REPLACE blocks, as calls of the edit tool on the versions of its own files.

`AIDER=FOLDER` names a repository of Aider-AI/aider with its history, bare or not; the blocks are in its tests (Apache-2.0). A block
belongs to the version whose successor has the new text, else to the one that has most of its quoted lines; many were written for a
state that was never committed. Goal: all blocks that are quoted exactly are applied.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from opencode_tui.engine.tool.edit.edit_text import replace_text
from opencode_tui.engine.tool.files.files import Stamp, TextFile
from opencode_tui.engine.tool.files.text_format import TextFormat
from opencode_tui.schema.error import ToolError
from tests.benchmarks.comparison import Figure, report

GOLD = "tests/fixtures/chat-history-search-replace-gold.txt"
_BLOCK = re.compile(r"^@@@ SEARCH: (.+?) @{20}\n(.*?)^@{20}\n(.*?)^@@@ REPLACE @{20}$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A replacement that a model wrote."""

    path: str
    old: str
    new: str


class History:
    """The versions of files in a repository, oldest first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._versions: dict[str, list[str]] = {}

    def git(self, *words: str, feed: str = "") -> bytes:
        """Return what git prints."""
        done = subprocess.run(
            ["git", "-C", str(self._folder), *words], input=feed.encode(), capture_output=True, check=True
        )
        return done.stdout

    def versions(self, path: str) -> list[str]:
        """Return the texts of a file; empty for one that the repository never had."""
        if path not in self._versions:
            raw = self.git("log", "--reverse", "--format=", "--raw", "--no-abbrev", "--no-renames", "HEAD", "--", path)
            names = [line.split()[3] for line in raw.decode(errors="replace").splitlines() if line.startswith(":")]
            self._versions[path] = [self._text(name) for name in dict.fromkeys(names) if name.strip("0")]
        return self._versions[path]

    def _text(self, name: str) -> str:
        return self.git("cat-file", "blob", name).decode(errors="replace").replace("\r\n", "\n")


def find_base(block: Block, versions: list[str]) -> tuple[int, bool]:
    """Return the index of the version that a block belongs to, and whether its successor shows that."""
    wanted = {line.strip() for line in block.old.splitlines() if line.strip()}
    shown = [len(wanted & {line.strip() for line in text.splitlines()}) for text in versions]
    followed = [
        at
        for at in range(len(versions) - 1)
        if block.new.strip() and block.new in versions[at + 1] and block.new not in versions[at]
    ]
    best = max(followed or range(len(versions)), key=lambda at: (shown[at], at))
    return best, bool(followed)


def outcome_of(block: Block, versions: list[str]) -> str:
    """Return whether a block is quoted exactly, and what its edit does."""
    if not block.old.strip():
        return "creates a file"
    if not versions:
        return "left out: the repository has no such file"
    exact = [at for at, text in enumerate(versions) if text.count(block.old) == 1]
    at, is_known = (exact[-1], True) if exact else find_base(block, versions)
    kind = "exact" if exact else "inexact"
    file = TextFile(Path(block.path), versions[at], TextFormat(), Stamp(0, 0, 0))
    try:
        after, _ = replace_text(file.path, file, block.old, block.new, replace_all=False)
    except ToolError as error:
        if "are the same" in str(error):
            return f"{kind}, refused: both texts are the same"
        present = {line.strip() for line in versions[at].splitlines()}
        absent = sum(line.strip() not in present for line in block.old.splitlines() if line.strip())
        return f"{kind}, refused: " + ("a quoted line is not in the file" if absent else "the lines are elsewhere")
    if exact:
        return "exact, right" if after == versions[at].replace(block.old, block.new) else "exact, wrong"
    if not is_known:
        return "inexact, applied: no commit to compare with"
    return (
        "inexact, right: as committed"
        if after in versions[at + 1 :]
        else "inexact, applied: the commit has more changes"
    )


def main() -> int:
    """Print the outcomes, then the figures."""
    folder = os.environ.get("AIDER")
    if not folder:
        print("AIDER names no repository of Aider-AI/aider; left out")
        return 0
    history = History(Path(folder))
    gold = history.git("show", f"HEAD:{GOLD}").decode()
    blocks = [Block(*found.groups()) for found in _BLOCK.finditer(gold)]
    outcomes = Counter(outcome_of(block, history.versions(block.path)) for block in blocks)
    for name, count in sorted(outcomes.items()):
        print(f"{count:5}  {name}")
    tried = sum(count for name, count in outcomes.items() if name.startswith(("exact", "inexact")))
    refused = sum(count for name, count in outcomes.items() if ", refused" in name)
    wrong = sum(
        count for name, count in outcomes.items() if name.startswith("exact") and not name.endswith(("right", "same"))
    )
    print(f"\n{len(blocks)} blocks, {tried} edits of known files, {1 - refused / max(tried, 1):.1%} not refused")
    return report(
        [
            Figure("exact blocks that are refused or change something else", wrong, 0, ""),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
