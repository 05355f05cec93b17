"""An agent as the settings change or define it: one entry of `agent` laid over a built-in or a new one.

Old keys are understood: `tools` {name: bool} becomes permissions that `permission` overrides, `maxSteps` is `steps`. Keys that no
field knows are options for the provider. Source: reference, section 26.
"""

from pathlib import Path
from typing import Any, cast

from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.permission.ruleset import EDIT_TOOLS, from_config
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.model import parse_model_ref
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.record import JsonObject, json_name

_FIELDS = ("name", "description", "mode", "hidden", "top_p", "temperature", "color", "variant", "prompt", "steps")
_HANDLED = frozenset({*_FIELDS, "maxSteps", "model", "options", "permission", "tools", "disable"})


def apply_entry(agent: AgentInfo, key: str, entry: JsonObject) -> AgentInfo:
    """Return the agent with the entry's fields; its rules stay as they are. Raises ConfigError that names the key."""
    fields: dict[str, Any] = {json_name(name): entry[name] for name in _FIELDS if entry.get(name) is not None}
    if "steps" not in fields and entry.get("maxSteps") is not None:
        fields["steps"] = entry["maxSteps"]
    if entry.get("model") is not None:
        fields["model"] = _model(key, entry["model"])
    fields["options"] = {**agent.options, **_options(entry)}
    return _validated(key, {**agent.to_dict(), **fields})


def entry_rules(key: str, entry: JsonObject, *, home: Path) -> list[Rule]:
    """Return the rules that an entry adds: those of its old `tools`, except where its `permission` speaks of the same."""
    try:
        return from_config(entry_table(entry), home=home)
    except ConfigError as error:
        raise ConfigError(f"agent.{key}.{error}") from error


def entry_table(entry: JsonObject) -> JsonObject:
    """Return the rules of an entry as one settings value."""
    permission: JsonObject | str = entry.get("permission") or {}
    table: JsonObject = {"*": permission} if isinstance(permission, str) else permission
    return {**_tool_permissions(entry.get("tools")), **table}


def _tool_permissions(tools: Any) -> JsonObject:
    switches = cast(JsonObject, tools) if isinstance(tools, dict) else {}
    return {
        "edit" if name in EDIT_TOOLS else name: "allow" if is_enabled else "deny"
        for name, is_enabled in switches.items()
    }


def _options(entry: JsonObject) -> JsonObject:
    unknown = {name: value for name, value in entry.items() if name not in _HANDLED}
    return {**unknown, **(entry.get("options") or {})}


def _model(key: str, text: Any) -> JsonObject:
    reference = parse_model_ref(text) if isinstance(text, str) else None
    if reference is None:
        raise ConfigError(f'agent.{key}.model is {text!r}; write it as "provider/model"')
    return reference.to_dict()


def _validated(key: str, fields: JsonObject) -> AgentInfo:
    from pydantic import ValidationError  # only the class is needed here, and only when something is wrong

    try:
        return AgentInfo.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(step) for step in first["loc"])
        raise ConfigError(f"agent.{key}.{field}: {first['msg'].lower()}; correct it in the settings") from error
