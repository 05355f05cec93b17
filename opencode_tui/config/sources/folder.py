"""A settings folder: agents and commands as markdown, and what is found there for others to load: plugins, tools, skills.

Markdown files become settings like those of a file: front matter is the section, the text below it the prompt or the template, the
name is the path below the folder. Nothing here is ever imported or started.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from opencode_tui.config.notice import describe
from opencode_tui.config.sources.jsonc import KeyPath, Position
from opencode_tui.config.sources.layer import Layer, Origin, visit
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.error import ConfigError

MAX_FILES = 5000
"""Files and folders looked at below one folder; whoever has more points somewhere by mistake."""

_SECTIONS = {
    "agent": "agent",
    "agents": "agent",
    "mode": "mode",
    "modes": "mode",
    "command": "command",
    "commands": "command",
}
_EXTENSIONS = {
    "plugin": "plugin",
    "plugins": "plugin",
    "tool": "tool",
    "tools": "tool",
    "skill": "skill",
    "skills": "skill",
}


class Extension(Struct, frozen=True):
    """A plugin or tool file (Python), or the folder of a skill; found, not loaded. `top` is the folder of its kind.

    Whoever loads one writes no bytecode beside it: what lies there is part of what was trusted.
    """

    kind: str
    path: Path
    top: Path
    origin: Origin


def read_markdown(folder: Path, origin: Origin) -> Iterator[Layer]:
    """Yield the settings of each markdown file, sorted by name. Raises ConfigError. Blocks."""
    for name, section in _SECTIONS.items():
        for path in _find(folder / name, ".md"):
            key = str(path.relative_to(folder / name).with_suffix(""))
            yield _read_one(path, section, key, origin)


def find_extensions(folder: Path, origin: Origin) -> Iterator[Extension]:
    """Yield what others load: each `.py` of plugin(s) and tool(s), each folder with a SKILL.md of skill(s). Blocks."""
    for name, kind in _EXTENSIONS.items():
        top = folder / name
        wanted = "SKILL.md" if kind == "skill" else ".py"
        for path in _find(top, wanted, is_flat=kind != "skill"):
            yield Extension(kind, path.parent if kind == "skill" else path, top, origin)


def _find(top: Path, ending: str, *, is_flat: bool = False) -> list[Path]:
    """Return regular files whose names end so, sorted; links to folders are not followed."""
    if not top.is_dir():
        return []
    found: list[Path] = []
    count = 0
    for folder, folders, names in os.walk(top):
        folders[:] = [] if is_flat else sorted(name for name in folders if not name.startswith("."))
        found += [Path(folder, name) for name in sorted(names) if name.endswith(ending)]
        count += len(names) + 1
        if count > MAX_FILES:
            raise ConfigError(f"{top} holds more than {MAX_FILES} files; is it the right folder?")
    return found


def _read_one(path: Path, section: str, name: str, origin: Origin) -> Layer:
    from opencode_tui.config.sources.front_matter import (
        FrontMatterError,
        split_front_matter,
    )  # YAML only where there is markdown

    try:
        matter = split_front_matter(read_text(str(path)))
    except (UnreadableFileError, FrontMatterError, FileNotFoundError) as error:
        raise ConfigError(describe(str(path), None, "", str(error))) from None
    body = (
        {"template" if section == "command" else "prompt": matter.body} if matter.body or section == "command" else {}
    )
    value: dict[str, Any] = {section: {name: {**matter.values, **body}}}
    positions: dict[KeyPath, Position] = {(section, name): Position(1, 1)}
    positions |= {(section, name, key): Position(line, 1) for key, line in matter.lines.items()}
    layer = Layer(str(path), origin, path.parent, value, positions, has_placeholders=False)
    visit(value, layer.error)
    return layer
