"""Which mode bits a scan met, so that a manifest tells only those that are unusual."""

import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from opencode_tui.engine.snapshot.entry import EXECUTABLE_MODE, FOLDER_MODE, PLAIN_MODE
from opencode_tui.engine.snapshot.manifest import Defaults
from opencode_tui.engine.snapshot.stat_cache import KnownFolder
from opencode_tui.engine.snapshot.tree import LINK

_MANY = 512
_EXECUTABLE_BIT = 0o100


@dataclass(slots=True)
class ModeTable:
    """Modes of the folders by path, and how often each mode occurs among the files of a folder."""

    folders: dict[str, int] = field(default_factory=dict[str, int])
    files: dict[str, Counter[int]] = field(default_factory=dict[str, Counter[int]])

    def told(self, known: Mapping[str, KnownFolder]) -> tuple[Defaults, dict[str, int]]:
        """Return the usual modes and, by path, those of files and folders that differ; `known` has the files themselves."""
        counted: Counter[int] = Counter()
        for modes in self.files.values():
            counted.update(modes)
        defaults = Defaults(
            _usual({mode: count for mode, count in counted.items() if not mode & _EXECUTABLE_BIT}, PLAIN_MODE),
            _usual({mode: count for mode, count in counted.items() if mode & _EXECUTABLE_BIT}, EXECUTABLE_MODE),
            _usual(Counter(self.folders.values()), FOLDER_MODE),
        )
        unusual = {path: mode for path, mode in self.folders.items() if mode != defaults.folder}
        usual = {defaults.file, defaults.executable}
        for folder, found in self.files.items():
            if not found.keys() <= usual:
                unusual.update(_unusual(folder, known[folder], usual))
        return defaults, unusual


def _unusual(folder: str, known: KnownFolder, usual: set[int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, (stamp, git_mode, _) in known.files.items():
        mode = stat.S_IMODE(stamp[0])
        if git_mode != LINK and mode not in usual:
            found[f"{folder}/{name}" if folder else name] = mode
    return found


def _usual(counts: Mapping[int, int], plain: int) -> int:
    """Return the mode that most have; `plain` in a small project, so that its snapshots do not change with every file."""
    mode = max(counts, key=lambda mode: (counts[mode], -mode), default=plain)
    return mode if counts.get(mode, 0) > _MANY else plain
