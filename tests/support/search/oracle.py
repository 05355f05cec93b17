"""An index of generated stores that knows nothing of the search: a dictionary of words, and one file of texts for ripgrep.

A word is a run of letters and digits in lower case, or a piece of a camelCase word.
"""

import os
import re
import shutil
import subprocess
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.search.stored_text import StoredPart

_RUN = re.compile(r"[A-Za-z0-9]+")
_HUMP = re.compile(r"[A-Z]?[a-z0-9]+")


@dataclass
class Oracle:
    """Which sessions have how many parts with a word."""

    parts: dict[str, "array[int]"] = field(default_factory=lambda: defaultdict(lambda: array("I")))
    """The numbers of the parts with each word, ascending."""
    sessions: list[str] = field(default_factory=list[str])
    """The session of each part, by its number."""

    def add(self, part: StoredPart) -> None:
        """Add a part."""
        number = len(self.sessions)
        self.sessions.append(part.session)
        found: set[str] = set()
        for run in _RUN.findall(f"{part.body}\n{part.paths}"):
            found.add(run.lower())
            if not run.islower():
                found.update(hump.lower() for hump in _HUMP.findall(run))
        for word in found:
            self.parts[word].append(number)

    def following(self, parts: Iterable[StoredPart]) -> Iterator[StoredPart]:
        """Add each part and yield it."""
        for part in parts:
            self.add(part)
            yield part

    def count(self, word: str) -> Counter[str]:
        """Return the number of parts with a word in each session."""
        return Counter(self.sessions[number] for number in self.parts.get(word, ()))


def write_lines(path: Path, parts: Iterable[StoredPart]) -> None:
    """Write one line for each part: its text and its paths as they are, without line feeds."""
    with path.open("w", encoding="utf-8") as file:
        for part in parts:
            file.write(f"{part.body} {part.paths}".replace("\n", " ") + "\n")


def count_lines(path: Path, word: str) -> int:
    """Return how many lines have a word, by a run of ripgrep; underscores separate words, and so do capitals inside of them."""
    hump = word[:1].upper() + word[1:]
    inside = f"{hump}(?:[^a-z0-9]|$)|(?:^|[^A-Za-z0-9]){word}[A-Z]"
    pattern = f"(?:^|[^A-Za-z0-9])(?i:{word})(?:[^A-Za-z0-9]|$)|{inside}"
    ripgrep = shutil.which("rg", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}") or "rg"
    done = subprocess.run(
        [ripgrep, "-c", "--no-unicode", pattern, str(path)], capture_output=True, text=True, check=False
    )
    return int(done.stdout.strip() or 0)
