"""The rules of the Agent Skills specification for a SKILL.md, https://agentskills.io/specification."""

import re
from pathlib import Path
from typing import Any

from opencode_tui.config.sources.text_file import UnreadableFileError, read_text

_NAME = re.compile(r"(?!.*--)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_LENGTHS = {"name": 64, "description": 1024, "compatibility": 500}
"""Most characters of a field."""


def find_skill_fault(path: Path) -> str | None:
    """Return why a SKILL.md does not follow the specification, None where it does. Blocks."""
    from opencode_tui.config.sources.front_matter import FrontMatterError, split_front_matter  # YAML only for skills

    try:
        values = split_front_matter(read_text(str(path))).values
    except (OSError, UnreadableFileError, FrontMatterError) as error:
        return str(error)
    return _find_fault(values, path.parent.name)


def _find_fault(values: dict[str, Any], folder: str) -> str | None:
    for key in ("name", "description"):
        if not isinstance(values.get(key), str) or not values[key].strip():
            return f"`{key}` is missing"
    for key, limit in _LENGTHS.items():
        value = values.get(key, "x")
        if not isinstance(value, str) or not 0 < len(value) <= limit:
            return f"`{key}` must be a text of 1 to {limit} characters"
    if not _NAME.fullmatch(values["name"]):
        return "`name` may contain only a-z, 0-9 and single hyphens between them"
    if values["name"] != folder:
        return f"`name` is {values['name']!r}, but its folder is {folder!r}"
    metadata: Any = values.get("metadata", {})
    if not isinstance(metadata, dict):
        return "`metadata` must be an object"
    if not isinstance(values.get("license", ""), str) or not isinstance(values.get("allowed-tools", ""), str):
        return "`license` and `allowed-tools` must be texts"
    return None
