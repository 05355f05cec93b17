"""A settings folder: agents and commands as markdown, and the plugins, tools and skills in it.

Markdown files become settings: the front matter is the section, the text after it the prompt or the template, the relative path the
name. Nothing is imported or started here.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.config.notice import Notice, describe
from opencode_tui.config.sources.jsonc import KeyPath, Position
from opencode_tui.config.sources.layer import Layer, Origin, in_own_form, visit
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.error import ConfigError

MAX_FILES = 5000
"""Most files and folders that are read in one folder; more indicate a wrong path."""

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

_SCRIPTS = (".ts", ".js", ".mjs")


class Extension(Struct, frozen=True):
    """A plugin or tool file (Python), or the folder of a skill; found, not loaded. `top` is the folder of its kind.

    The loader must not write bytecode to its folder: all files there are covered by the fingerprint of trust.
    """

    kind: str
    path: Path
    top: Path
    origin: Origin


def read_markdown(folder: Path, origin: Origin) -> Iterator[Layer]:
    """Yield the settings of each markdown file, sorted by name. Raises ConfigError. Blocks."""
    seen: dict[tuple[str, str], Path] = {}
    for name, section in _SECTIONS.items():
        for path in _find(folder / name, ".md"):
            key = str(path.relative_to(folder / name).with_suffix(""))
            layer = _read_one(path, section, key, origin)
            if (earlier := seen.setdefault((section, key), path)) != path:
                again = Notice(str(path), "", f"{earlier} has the same name and is overridden; keep one of them")
                layer = replace(layer, warnings=(*layer.warnings, again))
            yield layer


def find_extensions(folder: Path, origin: Origin) -> Iterator[Extension]:
    """Yield each extension: each `.py` of plugin(s) and tool(s), each folder with a SKILL.md of skill(s). Blocks."""
    for name, kind in _EXTENSIONS.items():
        top = folder / name
        wanted = "SKILL.md" if kind == "skill" else ".py"
        for path in _find(top, wanted, is_flat=kind != "skill"):
            yield Extension(kind, path.parent if kind == "skill" else path, top, origin)


def find_foreign_files(folder: Path, origin: Origin) -> Iterator[Notice]:
    """Yield a warning for each file that OpenCode reads here and that has no effect in this program. Blocks."""
    for name, kind in _EXTENSIONS.items():
        if kind != "skill" and (folder / name).is_dir():
            for path in _find(folder / name, _SCRIPTS, is_flat=True):
                yield Notice(str(path), "", f"a {kind} is a Python file here; this one cannot be loaded (ignored)")
    if origin == "user" and (folder / "config.json").is_file():
        yield Notice(str(folder / "config.json"), "", "is not read; rename it to opencode.json")


def _find(top: Path, ending: str | tuple[str, ...], *, is_flat: bool = False) -> list[Path]:
    """Return the files with this ending, sorted; links to folders are not followed."""
    if not top.is_dir():
        return []
    found: list[Path] = []
    count = 0
    for folder, folders, names in os.walk(top):
        folders[:] = [] if is_flat else sorted(name for name in folders if not name.startswith("."))
        found += [Path(folder, name) for name in sorted(names) if name.endswith(ending)]
        count += len(names) + 1
        if count > MAX_FILES:
            raise ConfigError(f"{top} contains more than {MAX_FILES} files; is it the right folder?")
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
    repeated = tuple(
        Notice(str(path), key, "duplicate key; the last one wins", matter.lines[key]) for key in matter.repeated
    )
    layer = Layer(str(path), origin, path.parent, value, positions, repeated, has_placeholders=False)
    visit(value, layer.error)
    return in_own_form(layer)
