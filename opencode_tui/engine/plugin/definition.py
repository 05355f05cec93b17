"""Reads and checks the hooks and tools that a plugin's module defines.

A plugin is a module with `plugin(context)`, a function or coroutine function that returns a mapping of hook names to functions; its
key `tools` may map names to tools. A tool is a mapping (or a module of a tools folder) with `execute(arguments, context)`, and
optionally `description` and `args`: a pydantic model, a JSON schema, or a mapping of argument names to their schemas.
"""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from msgspec import Struct, field

from opencode_tui.engine.plugin.hooks import HOOK_NAMES, Hook
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.suggest import did_you_mean, nearest

_TOOL_KEYS = ("tool", "tools")


class PluginError(Exception):
    """A plugin is invalid; the message says what to fix."""


class PluginContext(Struct, frozen=True):
    """The argument of `plugin(context)`."""

    directory: Path
    worktree: Path
    project_id: str


class ToolDefinition(Struct, frozen=True):
    """A tool of a plugin. `schema` is a JSON schema of type object; `model`, if there is one, validates the arguments."""

    name: str
    description: str
    schema: JsonObject
    execute: Callable[..., object]
    source: str
    model: Any = None


class PluginDefinition(Struct, frozen=True):
    """The hooks and tools of one plugin; `problems` describe skipped entries."""

    hooks: dict[str, Hook] = field(default_factory=dict[str, Hook])
    tools: list[ToolDefinition] = field(default_factory=list[ToolDefinition])
    problems: list[str] = field(default_factory=list[str])


def read_plugin(given: object, source: str) -> PluginDefinition:
    """Return the checked result of `plugin(context)`. Raises PluginError when it is not a mapping."""
    if not isinstance(given, Mapping):
        raise PluginError(f"plugin() returned {type(given).__name__}; return a mapping of hook names to functions")
    found = PluginDefinition()
    for name, value in cast("Mapping[str, object]", given).items():
        if name in _TOOL_KEYS and isinstance(value, Mapping):
            for tool_name, tool in cast("Mapping[str, object]", value).items():
                _add_tool(found, tool_name, tool, source)
        elif name in HOOK_NAMES and callable(value):
            found.hooks[name] = cast("Hook", value)
        else:
            found.problems.append(_explain(name, value))
    return found


def read_tool_module(module: ModuleType, source: str) -> PluginDefinition:
    """Return the tools of a module of a tools folder: the module itself under its file's name, other tools in it as `file_name`."""
    found = PluginDefinition()
    stem = Path(source).stem
    members = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    if callable(members.get("execute")):
        _add_tool(found, stem, {**members, "description": members.get("description") or module.__doc__}, source)
    for name, value in members.items():
        if isinstance(value, Mapping) and callable(cast("Mapping[str, object]", value).get("execute")):
            _add_tool(found, f"{stem}_{name}", cast("Mapping[str, object]", value), source)
    if not found.tools and not found.problems:
        raise PluginError("it defines no tool; add a function execute(arguments, context)")
    return found


def _add_tool(found: PluginDefinition, name: str, value: object, source: str) -> None:
    try:
        found.tools.append(_tool(name, value, source))
    except PluginError as error:
        found.problems.append(f"tool {name!r} is skipped: {error}")


def _tool(name: str, value: object, source: str) -> ToolDefinition:
    fields = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None
    execute = fields.get("execute") if fields is not None else None
    if fields is None or not callable(execute):
        raise PluginError("expected a mapping with a function `execute`")
    if not name.replace("_", "").replace("-", "").isalnum() or len(name) > 64:
        raise PluginError("its name must be at most 64 characters: letters, digits, - and _")
    description = fields.get("description") or inspect.getdoc(execute) or ""
    schema, model = _schema(fields.get("args"))
    return ToolDefinition(name, str(description).strip(), schema, execute, source, model)


def _schema(written: object) -> tuple[JsonObject, Any]:
    """Return the JSON schema of a tool's arguments, and the model that validates them."""
    if written is None:
        return {"type": "object", "properties": {}}, None
    if isinstance(written, type) and hasattr(written, "model_json_schema"):
        model = cast("Any", written)
        return cast("JsonObject", model.model_json_schema()), model
    if not isinstance(written, Mapping):
        raise PluginError("`args` is neither a pydantic model nor a mapping")
    schema = dict(cast("Mapping[str, Any]", written))
    if schema.get("type") == "object":
        return schema, None
    if not all(isinstance(value, Mapping) for value in schema.values()):
        raise PluginError("`args` must map each argument's name to a JSON schema such as {'type': 'string'}")
    required = [name for name, value in schema.items() if "default" not in value]
    return {"type": "object", "properties": schema, "required": required}, None


def _explain(name: str, value: object) -> str:
    if name in HOOK_NAMES:
        return f"hook {name!r} is skipped: it is {type(value).__name__}, not a function"
    near = nearest(name, HOOK_NAMES)
    advice = did_you_mean([repr(one) for one in near]) or f"hooks are {', '.join(HOOK_NAMES)}"
    return f"{name!r} is not a hook; {advice}"
