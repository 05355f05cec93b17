"""Where the rules of a settings value stand: the file or variable of each, in the order of `from_config`."""

from collections.abc import Mapping
from typing import cast

from opencode_tui.schema.record import JsonObject

BUILT_IN = ""
"""The origin of a rule that no settings wrote."""


def rule_origins(permission: JsonObject | str, prefix: str, sources: Mapping[str, str]) -> list[str]:
    """Return the origin of each rule of the value that stands under the dotted key `prefix`; `sources` are by dotted key."""
    if isinstance(permission, str):
        return [sources.get(prefix, BUILT_IN)]
    found: list[str] = []
    for tool, value in permission.items():
        around = sources.get(f"{prefix}.{tool}", BUILT_IN)
        if isinstance(value, dict):
            patterns = cast(JsonObject, value)
            found += [sources.get(f"{prefix}.{tool}.{pattern}", around) for pattern in patterns]
        else:
            found.append(around)
    return found
