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
from opencode_tui.config.sources.claude_form import from_claude_code
from opencode_tui.config.sources.definitions import find_definitions
from opencode_tui.config.sources.front_matter import FrontMatterError, split_front_matter
from opencode_tui.config.sources.jsonc import KeyPath, Position
from opencode_tui.config.sources.layer import Layer, Origin, in_own_form, unreadable_layer, visit
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.error import ConfigError

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


def read_markdown(folder: Path, origin: Origin, *, root: Path | None = None) -> Iterator[Layer]:
    """Yield the settings of each markdown file, sorted by name; one that is wrong has a `fault`. Blocks.

    `root` is the real folder of the project that the folder belongs to.
    """
    seen: dict[tuple[str, str], Path] = {}
    for name, section in _SECTIONS.items():
        found = find_definitions(folder / name, lambda file: file.endswith(".md"), root=root)
        for notice in found.notices:
            yield Layer(notice.source, origin, folder, {}, warnings=(notice,))
        for path in found.files:
            key = str(path.relative_to(folder / name).with_suffix(""))
            try:
                layer = _read_one(path, section, key, origin)
            except ConfigError as error:
                yield unreadable_layer(path, origin, error)
                continue
            if (earlier := seen.setdefault((section, key), path)) != path:
                again = Notice(str(path), "", f"{earlier} has the same name and is overridden; keep one of them")
                layer = replace(layer, warnings=(*layer.warnings, again))
            yield layer


def find_extensions(folder: Path, origin: Origin, *, root: Path | None = None) -> tuple[list[Extension], list[Notice]]:
    """Return each `.py` of plugin(s) and tool(s) and each folder with a SKILL.md of skill(s), and what was left out. Blocks.

    A linked folder of a project is the real one, so that a review covers what is in it. `root` as in `read_markdown`.
    """
    extensions: list[Extension] = []
    notices: list[Notice] = []
    for name, kind in _EXTENSIONS.items():
        top = folder / name
        is_skill = kind == "skill"
        found = find_definitions(top, _is_skill_file if is_skill else _is_python, root=root, is_flat=not is_skill)
        notices += found.notices
        for path in found.files:
            if not is_skill:
                extensions.append(Extension(kind, path, top, origin))
            else:
                place = path.parent if root is None else Path(os.path.realpath(path.parent))
                extensions.append(Extension(kind, place, top, origin))
    return extensions, notices


def _is_skill_file(name: str) -> bool:
    return name == "SKILL.md"


def _is_python(name: str) -> bool:
    return name.endswith(".py")


def find_foreign_files(folder: Path, origin: Origin) -> Iterator[Notice]:
    """Yield a warning for each file that OpenCode reads here and that has no effect in this program. Blocks."""
    for name, kind in _EXTENSIONS.items():
        if kind != "skill" and (folder / name).is_dir():
            for path in find_definitions(folder / name, lambda file: file.endswith(_SCRIPTS), is_flat=True).files:
                yield Notice(str(path), "", f"a {kind} is a Python file here; this one cannot be loaded (ignored)")
    if origin == "user" and (folder / "config.json").is_file():
        yield Notice(str(folder / "config.json"), "", "is not read; rename it to opencode.json")


def _read_one(path: Path, section: str, name: str, origin: Origin) -> Layer:
    warnings: list[Notice] = []
    try:
        matter = split_front_matter(read_text(str(path)))
    except (UnreadableFileError, FrontMatterError, FileNotFoundError) as error:
        raise ConfigError(describe(str(path), None, "", str(error))) from None
    body = (
        {"template" if section == "command" else "prompt": matter.body} if matter.body or section == "command" else {}
    )
    values = matter.values if section == "command" else from_claude_code(matter.values, str(path), warnings)
    value: dict[str, Any] = {section: {name: {**values, **body}}}
    positions: dict[KeyPath, Position] = {(section, name): Position(1, 1)}
    positions |= {(section, name, key): Position(line, 1) for key, line in matter.lines.items()}
    warnings += (
        Notice(str(path), key, "duplicate key; the last one wins", matter.lines[key]) for key in matter.repeated
    )
    layer = Layer(str(path), origin, path.parent, value, positions, tuple(warnings), has_placeholders=False)
    visit(value, layer.error)
    return in_own_form(layer)
