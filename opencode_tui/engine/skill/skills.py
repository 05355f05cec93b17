"""The skills of a folder by name. Holds names and descriptions; a skill's text is read when it is needed.

Of two skills with the same name the later location wins, with a warning; a file without valid front matter is skipped with a
warning. What breaks a rule of the format (agentskills.io) is named; the skill is used nevertheless.
Source: docs/internals/tools.md#skills.
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.config.load import LoadedConfig
from opencode_tui.config.sources.definitions import find_definitions
from opencode_tui.config.sources.front_matter import FrontMatterError, split_front_matter
from opencode_tui.config.sources.locations import repository_folders
from opencode_tui.config.sources.project_file import find_objection
from opencode_tui.config.sources.skill_rules import find_faults
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.hidden_text import show_hidden

FILE_NAME = "SKILL.md"
_AGENT_FOLDERS = (".claude", ".agents")


class SkillSearch(Struct, frozen=True):
    """Where to search for skills: folders of Claude Code and other agents, our settings folders, the `paths` of the settings."""

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


def find_skill_files(search: SkillSearch, warnings: list[str]) -> Iterator[Path]:
    """Yield each SKILL.md, lowest precedence first; a line about what was left out is added to `warnings`. Blocks."""
    names = _AGENT_FOLDERS if search.use_claude else _AGENT_FOLDERS[1:]
    for name in names:
        yield from _below(search.home / name / "skills", warnings)
    root = Path(os.path.realpath(search.worktree))
    for folder in repository_folders(search.directory, search.worktree):
        if folder == search.home:
            continue
        for name in names:
            for path in _below(folder / name / "skills", warnings, root):
                if find_objection(path, root) is None:
                    yield path
    for folder in search.loaded:
        yield folder / FILE_NAME
    for written in search.paths:
        yield from _below(_folder(written, search), warnings)


def _folder(written: str, search: SkillSearch) -> Path:
    if written == "~" or written.startswith("~/"):
        return search.home / written[2:]
    return search.directory / written


def _below(top: Path, warnings: list[str], root: Path | None = None) -> list[Path]:
    """Return the skill files under a folder, sorted; `root` is the real folder of the project that it belongs to."""
    found = find_definitions(top, lambda name: name == FILE_NAME, root=root, enters_hidden=True)
    warnings += [str(notice) for notice in found.notices]
    return found.files


SAMPLE_FILES = 10
"""Maximum number of files of a skill's folder that the model sees. Source: docs/internals/tools.md#skills."""
_WALK_LIMIT = 1_000

logger = logging.getLogger(__name__)


class Skill(Struct, frozen=True):
    """A skill and its file; relative paths in the text start at its folder. `real` is where the path led when it was found."""

    name: str
    description: str
    path: Path
    real: Path

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return self.path.parent

    def read(self) -> str:
        """Return the text after the front matter, read from the file. Blocks.

        Raises ToolError, also when the file became a link in the meantime: a command may change the files of a project.
        """
        if os.path.realpath(self.path) != str(self.real):
            raise ToolError(f"skill {self.name!r}: {self.path} became a link to another file; look at it")
        try:
            return show_hidden(split_front_matter(read_text(str(self.real))).body)
        except (UnreadableFileError, FrontMatterError, FileNotFoundError) as error:
            raise ToolError(f"cannot read skill {self.name!r}: {self.path}: {error}") from error

    def sample(self) -> list[Path]:
        """Return the first other files of the folder, sorted by folder. Blocks."""
        found: list[Path] = []
        looked_at = 0
        for folder, folders, names in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                looked_at += 1
                if name != self.path.name:
                    found.append(Path(folder, name))
                if len(found) == SAMPLE_FILES or looked_at > _WALK_LIMIT:
                    return found
        return found


class Skills:
    """All skills of a folder's instance. `warnings` are lines about skipped or hidden ones."""

    def __init__(self, skills: Sequence[Skill] = (), warnings: Sequence[str] = ()) -> None:
        self._skills = {skill.name: skill for skill in skills}
        self.warnings = tuple(warnings)

    def all(self) -> list[Skill]:
        """Return the skills sorted by name."""
        return [self._skills[name] for name in sorted(self._skills)]

    def get(self, name: str) -> Skill | None:
        """Return the skill with this name."""
        return self._skills.get(name)


def discover_skills(search: SkillSearch) -> Skills:
    """Return the skills of a folder. Blocks: it walks the folders that may contain skills."""
    found: dict[str, Skill] = {}
    warnings: list[str] = []
    seen: set[str] = set()
    for path in find_skill_files(search, warnings):
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        skill, faults = _read_head(path)
        warnings += [f"{path}: {fault}" for fault in faults]
        if skill is None:
            continue
        earlier = found.get(skill.name)
        if earlier is not None:
            warnings.append(
                f"skill {skill.name!r} of {earlier.path} is hidden by {path}; rename one of them to have both"
            )
        found[skill.name] = skill
    for warning in warnings:
        logger.warning("%s", warning)
    return Skills(list(found.values()), warnings)


def _read_head(path: Path) -> tuple[Skill | None, list[str]]:
    """Return the skill with what is wrong in its front matter, None if it cannot be used."""
    try:
        values = split_front_matter(show_hidden(read_text(str(path)))).values
    except (UnreadableFileError, FrontMatterError, FileNotFoundError) as error:
        return None, [f"skipped: {error}"]
    name, description = values.get("name"), values.get("description")
    if not isinstance(name, str) or not name.strip() or not isinstance(description, str) or not description.strip():
        return None, ["skipped: add `name` and `description` between two lines of --- at the start"]
    skill = Skill(name.strip(), " ".join(description.split()), path, Path(os.path.realpath(path)))
    return skill, list(find_faults(skill.name, skill.description, skill.folder.name, values))
