"""The YAML of front matter as JSON types.

Aliases are rejected, because a few lines of them can expand to gigabytes. Values such as `description: like this: with a colon`,
which are not valid YAML, are read as plain text.
"""

import math
import re
from typing import Any, cast

import yaml

from opencode_tui.config.sources.jsonc import MAX_DEPTH

_COLON_VALUE = re.compile(r"^([A-Za-z_][\w.-]*)[ \t]*:[ \t]+([^'\"|>\[{#\s].*:.*)$")


class _Loader(yaml.SafeLoader):
    """Safe YAML without aliases and without deep nesting."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise yaml.YAMLError(f"nested too deeply, more than {MAX_DEPTH} levels")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def load_head(head: str) -> dict[str, Any]:
    """Return the values of the lines between the fences, without those that are null. Raises ValueError."""
    try:
        loaded = _parse(head)
    except yaml.YAMLError as error:
        relaxed = "\n".join(_as_block(line) for line in head.splitlines())
        try:
            loaded = _parse(relaxed)
        except yaml.YAMLError:
            raise ValueError(_describe(error)) from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ValueError("line 2: the front matter is a list of `key: value` lines, correct it")
    return {key: value for key, value in cast("dict[str, Any]", loaded).items() if value is not None}


def _parse(head: str) -> Any:
    try:
        return _plain(yaml.load(head, Loader=_Loader))
    except (RecursionError, ValueError) as error:
        raise yaml.YAMLError(f"{type(error).__name__} in the front matter") from None


def _as_block(line: str) -> str:
    match = _COLON_VALUE.match(line)
    return f"{match.group(1)}: |-\n  {match.group(2)}" if match else line


def _plain(value: Any) -> Any:
    """Convert a YAML value to JSON types: other values, such as dates, and all keys become strings."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in cast("list[Any]", value)]
    is_plain = (
        value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    )
    return value if is_plain else str(value)


def _describe(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 2}: the front matter is not YAML ({error.problem}); correct it"
    return "the front matter cannot be used (" + " ".join(str(error).split()) + "); correct it"
