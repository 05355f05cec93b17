"""Former forms of settings: `tools` is `permission`, `mode` is `agent`, `autoshare` is `share`, `maxSteps` is `steps`.

`share` could be a boolean.

A value of the wrong type is left unchanged; the validation reports it. Source: docs/internals/settings.md#former-keys.
"""

from collections.abc import Iterator
from typing import Any, cast

from opencode_tui.config import permission
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.schema.record import JsonObject

_EDITING_TOOLS = ("write", "edit", "patch", "multiedit")


def migrate(value: JsonObject) -> JsonObject:
    """Return the settings of one source under the current names, permissions in their shortest form."""
    result = _migrate_permission(value)
    if isinstance(result.get("share"), bool):
        result["share"] = "auto" if result["share"] else "disabled"
    if result.get("autoshare") is True and "share" not in result:
        result["share"] = "auto"
    if isinstance(result.get("autoshare"), bool):
        del result["autoshare"]
    if _is_map_of_objects(result.get("mode")):
        former = cast("dict[str, JsonObject]", result.pop("mode"))
        modes: JsonObject = {name: {"mode": "primary", **agent} for name, agent in former.items()}
        agents = result.get("agent", {})
        if isinstance(agents, dict):
            entries = cast("JsonObject", agents)
            result["agent"] = {**modes, **{name: _overlay(modes.get(name), agent) for name, agent in entries.items()}}
    if isinstance(result.get("agent"), dict):
        agents = cast("JsonObject", result["agent"])
        result["agent"] = {name: _migrate_agent(agent) for name, agent in agents.items()}
    return result


def overridden(value: JsonObject) -> Iterator[tuple[KeyPath, str]]:
    """Yield each former name whose current name has another value in the same source, with the current key, which wins."""
    share, autoshare = value.get("share"), value.get("autoshare")
    if isinstance(autoshare, bool) and share is not None and (share in ("auto", True)) != autoshare:
        yield ("autoshare",), "share"
    yield from _overridden_tools(value, ())
    agents, modes = _as_map(value.get("agent")), _as_map(value.get("mode"))
    for section, entries in (("agent", agents), ("mode", modes)):
        for name, entry in entries.items():
            one = _as_map(entry)
            yield from _overridden_tools(one, (section, name))
            if {"steps", "maxSteps"} <= one.keys() and one["steps"] != one["maxSteps"]:
                yield (section, name, "maxSteps"), f"{section}.{name}.steps"
    for name, entry in modes.items():
        later = _as_map(agents.get(name))
        for key, given in _as_map(entry).items():
            if key in later and later[key] != given:
                yield ("mode", name, key), f"agent.{name}.{key}"


def _overridden_tools(value: JsonObject, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    own = _as_map(value.get("permission"))
    for tool, is_on in _as_map(value.get("tools")).items():
        name = "edit" if tool in _EDITING_TOOLS else tool
        action = own.get(name)
        if isinstance(is_on, bool) and isinstance(action, str) and action != ("allow" if is_on else "deny"):
            yield (*path, "tools", tool), ".".join(str(part) for part in (*path, "permission", name))


def _as_map(value: Any) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _overlay(earlier: Any, later: Any) -> Any:
    if isinstance(earlier, dict) and isinstance(later, dict):
        return {**cast("JsonObject", earlier), **cast("JsonObject", later)}
    return later


def _is_map_of_objects(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(inner, dict) for inner in cast("JsonObject", value).values())


def _migrate_agent(agent: Any) -> Any:
    if not isinstance(agent, dict):
        return agent
    result = _migrate_permission(cast("JsonObject", agent))
    if "maxSteps" in result:
        steps = result.pop("maxSteps")
        result.setdefault("steps", steps)
    return result


def _migrate_permission(value: JsonObject) -> JsonObject:
    """Return a copy with `tools` converted to rules; the rules of `permission` come after them."""
    result = dict(value)
    tools = result.get("tools")
    rules: JsonObject = {}
    if isinstance(tools, dict) and all(isinstance(switch, bool) for switch in cast("JsonObject", tools).values()):
        for tool, is_on in cast("dict[str, bool]", result.pop("tools")).items():
            rules["edit" if tool in _EDITING_TOOLS else tool] = "allow" if is_on else "deny"
    own = permission.normalize(result.get("permission", {}))
    if rules and isinstance(own, dict):
        result["permission"] = permission.merge(rules, cast("JsonObject", own))
    elif "permission" in result:
        result["permission"] = own
    return result
