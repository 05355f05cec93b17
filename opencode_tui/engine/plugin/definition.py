"""What a plugin's module gives: hooks and tools, taken from plain Python values and checked.

A plugin is a module with `plugin(context)`, plain or a coroutine function, that returns a mapping of hook names to functions; under
`tools` it may hold tools by name. A tool is a mapping (or a module of a tools folder) with `execute(arguments, context)`, and if
it likes `description` and `args`: a pydantic model, a JSON schema, or a mapping of argument names to their schemas.
"""

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from msgspec import Struct, field

from opencode_tui.engine.plugin.hooks import HOOK_NAMES, Hook
from opencode_tui.schema.record import JsonObject

_TOOL_KEYS = ("tool", "tools")


class PluginError(Exception):
    """A plugin is not what it should be; the message says what to mend."""


class PluginContext(Struct, frozen=True):
    """What a plugin is told when it is loaded."""

    directory: Path
    worktree: Path
    project_id: str


class ToolDefinition(Struct, frozen=True):
    """A tool of a plugin. `schema` is a JSON schema of type object; `model`, where there is one, makes its arguments."""

    name: str
    description: str
    schema: JsonObject
    execute: Callable[..., object]
    source: str
    model: Any = None


class PluginDefinition(Struct, frozen=True):
    """What one plugin brings; `problems` are entries that were left out."""

    hooks: dict[str, Hook] = field(default_factory=dict[str, Hook])
    tools: list[ToolDefinition] = field(default_factory=list[ToolDefinition])
    problems: list[str] = field(default_factory=list[str])


def read_plugin(given: object, source: str) -> PluginDefinition:
    """Return what `plugin(context)` gave, checked. Raises PluginError when it is no mapping."""
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
    """Return the tools of a module of a tools folder: itself under its file's name, others in it as `file_name`."""
    found = PluginDefinition()
    stem = Path(source).stem
    members = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    if callable(members.get("execute")):
        _add_tool(found, stem, {**members, "description": members.get("description") or module.__doc__}, source)
    for name, value in members.items():
        if isinstance(value, Mapping) and callable(cast("Mapping[str, object]", value).get("execute")):
            _add_tool(found, f"{stem}_{name}", cast("Mapping[str, object]", value), source)
    if not found.tools and not found.problems:
        raise PluginError("it defines no tool; give it a function execute(arguments, context)")
    return found


def _add_tool(found: PluginDefinition, name: str, value: object, source: str) -> None:
    try:
        found.tools.append(_tool(name, value, source))
    except PluginError as error:
        found.problems.append(f"tool {name!r} is left out: {error}")


def _tool(name: str, value: object, source: str) -> ToolDefinition:
    fields = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None
    execute = fields.get("execute") if fields is not None else None
    if fields is None or not callable(execute):
        raise PluginError("give it a mapping with a function `execute`")
    if not name.replace("_", "").replace("-", "").isalnum() or len(name) > 64:
        raise PluginError("its name may hold letters, digits, - and _, at most 64")
    description = fields.get("description") or inspect.getdoc(execute) or ""
    schema, model = _schema(fields.get("args"))
    return ToolDefinition(name, str(description).strip(), schema, execute, source, model)


def _schema(written: object) -> tuple[JsonObject, Any]:
    """Return the JSON schema of a tool's arguments, and the model that makes them."""
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
        raise PluginError("`args` maps each argument's name to a JSON schema such as {'type': 'string'}")
    required = [name for name, value in schema.items() if "default" not in value]
    return {"type": "object", "properties": schema, "required": required}, None


def _explain(name: str, value: object) -> str:
    if name in HOOK_NAMES:
        return f"hook {name!r} is left out: it is {type(value).__name__}, not a function"
    near = get_close_matches(name, HOOK_NAMES, n=1)
    advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(HOOK_NAMES)}"
    return f"{name!r} is no hook; {advice}"
