"""What a package contains, read from its folder without running anything.

A part that is wrong is left out and named in `problems`; only a manifest that is wrong rejects the package. A path of the package
counts by the file that it leads to: one that leads out of the root is refused.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, field

from opencode_tui.config.sources.skill_rules import find_fault
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.json_text import JsonError, load_json
from opencode_tui.schema.record import JsonObject

MANIFEST = "plugin.json"
"""The manifest of Agent Plugins, in the root."""

CLAUDE_FOLDER = ".claude-plugin"
"""The folder of Claude Code's manifests, in the root."""

AGENT_PLUGINS = "https://agent-plugins.org/"
"""How the `$schema` of every manifest of Agent Plugins begins."""

MAX_SKILLS = 500


class PackageError(ConfigError):
    """A folder is no package that can be used; the text has its reason."""


class Place(Struct, frozen=True):
    """Where a package is read, `root`, a real path; where it is or will be installed, `final`; and its data folder."""

    root: Path
    final: Path
    data: Path

    @property
    def variables(self) -> dict[str, str]:
        """The variables that programs of Agent Plugins get."""
        return {"PLUGIN_ROOT": str(self.final), "PLUGIN_DATA": str(self.data)}

    @property
    def claude_variables(self) -> dict[str, str]:
        """The variables that programs of Claude Code's plugins get."""
        return {"CLAUDE_PLUGIN_ROOT": str(self.final), "CLAUDE_PLUGIN_DATA": str(self.data)}

    def contains(self, path: Path) -> bool:
        """Return whether a path leads to something in the root, links followed. Blocks."""
        real = Path(os.path.realpath(path))
        return real == self.root or real.is_relative_to(self.root)


class Document(Struct, frozen=True):
    """A markdown file that becomes a command or an agent: its name there, and its path."""

    name: str
    path: Path


class Package(Struct, frozen=True, kw_only=True):
    """A package. `form` is the name of its format; `servers` and `hooks` are settings, `skills` are folders.

    `problems` name what is left out, one line each.
    """

    name: str
    form: str
    place: Place
    version: str = ""
    description: str = ""
    license: str = ""
    skills: Sequence[Path] = ()
    commands: Sequence[Document] = ()
    agents: Sequence[Document] = ()
    servers: JsonObject = field(default_factory=dict[str, Any])
    hooks: JsonObject = field(default_factory=dict[str, Any])
    problems: Sequence[str] = ()


def is_path(text: str) -> bool:
    """Return whether a text can be a path: NUL and halves of characters cannot."""
    return "\0" not in text and not any("\ud800" <= one <= "\udfff" for one in text)


def read_object(place: Place, path: Path) -> JsonObject:
    """Return the object in a JSON file of a package. Raises PackageError. Blocks."""
    shown = os.path.relpath(path, place.root)
    if not place.contains(path):
        raise PackageError(f"{shown} leads out of the plugin's folder")
    try:
        value: Any = load_json(read_text(str(path)))
    except FileNotFoundError:
        raise PackageError(f"{shown} does not exist") from None
    except UnreadableFileError as error:
        raise PackageError(f"{shown}: {error}") from None
    except JsonError as error:
        raise PackageError(f"{shown} is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise PackageError(f"{shown}: expected an object")
    return cast("JsonObject", value)


def find_skills(place: Place, top: Path, problems: list[str], *, is_strict: bool) -> list[Path]:
    """Return the folders directly below `top` with a SKILL.md that can be used; the others are problems. Blocks.

    Where it `is_strict`, it must follow all rules of the format.
    """
    shown = os.path.relpath(top, place.root)
    if not os.path.lexists(top):
        return []
    if not place.contains(top):
        problems.append(f"{shown} leads out of the plugin's folder; its skills are left out")
        return []
    if not top.is_dir():
        problems.append(f"{shown} is not a folder; there are no skills")
        return []
    found: list[Path] = []
    for name in sorted(os.listdir(top)):
        file = top / name / "SKILL.md"
        if not os.path.lexists(file):
            continue
        if not place.contains(file):
            problems.append(f"{shown}/{name}/SKILL.md leads out of the plugin's folder; the skill is left out")
        elif not is_regular(file):
            continue  # no skill by the rule that finds them
        elif (fault := find_fault(file, is_strict=is_strict)) is not None:
            problems.append(f"{shown}/{name}/SKILL.md: {fault}; the skill is left out")
        else:
            found.append(top / name)
    if len(found) > MAX_SKILLS:
        raise PackageError(f"{shown} has more than {MAX_SKILLS} skills")
    return found


def is_regular(path: Path) -> bool:
    """Return whether a path leads to a regular file. Blocks."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def expand(text: str, variables: dict[str, str]) -> str:
    """Return a text with each `${NAME}` of these variables replaced once; what a value contains is not replaced again."""
    pieces: list[str] = []
    while text:
        hits = [(at, name) for name in variables if (at := text.find(f"${{{name}}}")) >= 0]
        if not hits:
            break
        at, name = min(hits)
        pieces += [text[:at], variables[name]]
        text = text[at + len(name) + 3 :]
    return "".join([*pieces, text])
