"""Where skills lie: the folders of Claude Code and other agents, our settings folders, the paths of the settings.

Weakest first: the person's own folders, the repository's from its root down to here, the settings folders, `skills.paths`. What a
repository holds counts only when its file really lies in the repository; of its settings folders only what may be loaded.
Source: reference, section 30.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.config.load import LoadedConfig
from opencode_tui.config.sources.folder import MAX_FILES
from opencode_tui.config.sources.locations import repository_folders

FILE_NAME = "SKILL.md"
_AGENT_FOLDERS = (".claude", ".agents")


class SkillSearch(Struct, frozen=True):
    """What decides where skills are looked for; `paths` are the folders that the settings name."""

    home: Path
    directory: Path
    worktree: Path
    use_claude: bool
    loaded: Sequence[Path]
    paths: Sequence[str]


def search_of(config: LoadedConfig, *, home: Path, directory: Path, use_claude: bool) -> SkillSearch:
    """Return the search for a folder with these settings."""
    settings: Mapping[str, list[str] | None] = config.effective.get("skills") or {}
    return SkillSearch(
        home=home,
        directory=directory,
        worktree=config.worktree,
        use_claude=use_claude,
        loaded=[extension.path for extension in config.extensions if extension.kind == "skill"],
        paths=settings.get("paths") or [],
    )


def find_skill_files(search: SkillSearch) -> Iterator[Path]:
    """Yield each SKILL.md, weakest place first. Blocks."""
    names = _AGENT_FOLDERS if search.use_claude else _AGENT_FOLDERS[1:]
    for name in names:
        yield from _below(search.home / name / "skills")
    root = Path(os.path.realpath(search.worktree))
    for folder in repository_folders(search.directory, search.worktree):
        if folder == search.home:
            continue
        for name in names:
            for path in _below(folder / name / "skills"):
                if Path(os.path.realpath(path)).is_relative_to(root):
                    yield path
    for folder in search.loaded:
        yield folder / FILE_NAME
    for written in search.paths:
        yield from _below(_folder(written, search))


def _folder(written: str, search: SkillSearch) -> Path:
    if written == "~" or written.startswith("~/"):
        return search.home / written[2:]
    return search.directory / written


def _below(top: Path) -> list[Path]:
    """Return the skill files below a folder, sorted; links to folders are not followed, and the search is bounded."""
    found: list[Path] = []
    looked_at = 0
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in (".git", "node_modules"))
        if FILE_NAME in names:
            found.append(Path(folder, FILE_NAME))
        looked_at += len(names) + 1
        if looked_at > MAX_FILES:
            break
    return found
