"""The rules of the format of skills, https://agentskills.io/specification."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from opencode_tui.config.sources.front_matter import FrontMatterError, split_front_matter
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.record import JsonObject

_NAME = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_NAME_LENGTH, _DESCRIPTION_LENGTH, _COMPATIBILITY_LENGTH = 64, 1_024, 500
"""Most characters, as agentskills.io specifies."""


def find_faults(name: str, description: str, folder: str, values: Mapping[str, object]) -> Iterator[str]:
    """Yield what breaks the rules of the format, with the remedy; `values` is the front matter, `folder` the name of the folder."""
    name, folder = (unicodedata.normalize("NFKC", text) for text in (name, folder))
    if len(name) > _NAME_LENGTH or not _NAME.fullmatch(name) or name != name.lower():
        yield f"the name {name!r} is not 1 to 64 lowercase letters, digits and single hyphens; other programs skip it"
    elif name != folder:
        yield f"the name {name!r} is not that of its folder, {folder!r}; rename one of them"
    if len(description) > _DESCRIPTION_LENGTH:
        yield f"the description has {len(description):,} characters; shorten it to 1,024"
    for key in ("license", "compatibility", "allowed-tools"):
        if key in values and not isinstance(values[key], str):
            yield f"`{key}` must be a text"
    compatibility = values.get("compatibility")
    if isinstance(compatibility, str) and not 0 < len(compatibility) <= _COMPATIBILITY_LENGTH:
        yield "`compatibility` must have 1 to 500 characters"
    metadata = values.get("metadata", {})
    if not isinstance(metadata, dict) or not all(
        isinstance(one, str | int | float) for one in cast("JsonObject", metadata).values()
    ):
        yield "`metadata` must be a map of texts"


def find_fault(path: Path, *, is_strict: bool) -> str | None:
    """Return why a SKILL.md cannot be used, None where it can; only where `is_strict` for all rules of the format. Blocks."""
    try:
        values = split_front_matter(read_text(str(path))).values
    except (OSError, UnreadableFileError, FrontMatterError) as error:
        return str(error)
    for key in ("name", "description"):
        if not isinstance(values.get(key), str) or not values[key].strip():
            return f"`{key}` is missing"
    return (
        next(find_faults(values["name"], values["description"], path.parent.name, values), None) if is_strict else None
    )
