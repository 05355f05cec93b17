"""Former forms of settings: `tools` is `permission`, `mode` is `agent`, `autoshare` is `share`, `maxSteps` is `steps`.

`share` could be a boolean.

A value of the wrong type is left unchanged; the validation reports it. Source: reference, section 31.
"""

from typing import Any, cast

from opencode_tui.config import permission
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
