"""A package as settings: the same sections that the user's own files have, with names that begin with that of the plugin."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from opencode_tui.config.installed.claude_plugin import FORM
from opencode_tui.config.installed.package import Document, Package, expand
from opencode_tui.config.notice import Notice
from opencode_tui.config.sources.claude_form import rules_of_claude_code
from opencode_tui.config.sources.folder import Extension
from opencode_tui.config.sources.front_matter import FrontMatterError, split_front_matter
from opencode_tui.config.sources.layer import PLUGIN_SOURCE, Layer
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import JsonObject

_AGENT_FIELDS = ("description", "color")
_COMMAND_FIELDS = ("description",)


def source_of(name: str) -> str:
    """Return the name of the source of a plugin's settings."""
    return f"{PLUGIN_SOURCE}{name}"


def skills_of(package: Package) -> Iterator[Extension]:
    """Yield the skills of a package."""
    for folder in package.skills:
        yield Extension("skill", folder, package.place.root, "user")


def layers_of(package: Package) -> Iterator[Layer]:
    """Yield a layer for each part, so that a wrong one does not cost the others. Raises ConfigError between them. Blocks."""
    for name, server in package.servers.items():
        # Only Claude Code's form has variables in it; `{env:` is ours only where it was made of one.
        has_placeholders = package.form == FORM
        yield _layer(package, {"mcp": {f"{package.name}:{name}": server}}, has_placeholders=has_placeholders)
    for section, documents in (("command", package.commands), ("agent", package.agents)):
        for document in documents:
            value = _read(package, section, document)
            if isinstance(value, ConfigError):
                yield _layer(package, {}, fault=str(value))
            else:
                yield _layer(package, {section: value})


def _layer(package: Package, value: JsonObject, *, has_placeholders: bool = False, fault: str = "") -> Layer:
    source = source_of(package.name)
    warnings = (Notice(source, "", fault),) if fault else ()
    return Layer(source, "user", package.place.final, value, warnings=warnings, has_placeholders=has_placeholders)


def _read(package: Package, section: str, document: Document) -> JsonObject | ConfigError:
    shown = os.path.relpath(document.path, package.place.root)
    try:
        matter = split_front_matter(read_text(str(document.path)))
    except (OSError, UnreadableFileError, FrontMatterError) as error:
        return ConfigError(f"{shown}: {error}; it is left out")
    body = expand(matter.body, package.place.claude_variables)
    if section == "command":
        return {f"{package.name}:{document.name}": {**_kept(matter.values, _COMMAND_FIELDS), "template": body}}
    own: Any = matter.values.get("name")
    name = own.strip() if isinstance(own, str) and own.strip() else document.name
    rules = rules_of_claude_code(matter.values.get("tools"), matter.values.get("disallowedTools"))
    entry: JsonObject = {**_kept(matter.values, _AGENT_FIELDS), "mode": "subagent", "prompt": body}
    if rules:
        entry["permission"] = dict(rules)
    return {f"{package.name}:{name}": entry}


def _kept(values: Mapping[str, Any], fields: tuple[str, ...]) -> JsonObject:
    return {key: values[key] for key in fields if isinstance(values.get(key), str) and values[key].strip()}
