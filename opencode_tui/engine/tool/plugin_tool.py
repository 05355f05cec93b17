"""The adapter that makes a plugin's tool a tool like the built-in ones."""

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.plugin.definition import ToolDefinition
from opencode_tui.engine.plugin.hooks import run_coroutine, run_on_thread
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.record import JsonObject, ValidationError

_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


class PluginParameters(Parameters):
    """The arguments of a plugin's tool, as the model wrote them; each tool has a subclass with its schema."""

    unknown = "allow"
    schema_of_tool: ClassVar[JsonObject]

    @classmethod
    def model_json_schema(cls) -> JsonObject:
        """Return the tool's schema."""
        return dict(cls.schema_of_tool)

    @classmethod
    def model_validate(cls, value: object) -> Self:
        """Return the arguments that a model wrote. Raises ValidationError."""
        try:
            return super().model_validate(cls._check(value))
        except ValidationError:
            raise
        except ValueError as error:
            fault = {"type": "value_error", "loc": (), "msg": f"Value error, {error}", "input": value}
            raise ValidationError(str(error), [fault]) from error

    @classmethod
    def _check(cls, written: object) -> JsonObject:
        """Return the arguments with defaults; raises ValueError for a missing argument or one of the wrong type."""
        given = cast("Mapping[str, Any]", written)
        properties: Mapping[str, Any] = cls.schema_of_tool.get("properties") or {}
        required: list[str] = cls.schema_of_tool.get("required") or []
        for name in required:
            if name not in given:
                raise ValueError(f"{name} is missing")
        for name, value in given.items():
            kind = properties.get(name, {}).get("type")
            kinds = _KINDS.get(kind) if isinstance(kind, str) else None
            if kinds is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
                raise ValueError(f"{name} is no {kind}")
        return {**_defaults(properties), **given}


class PluginTool:
    """One tool of a plugin."""

    def __init__(self, definition: ToolDefinition) -> None:
        self.name = definition.name
        self.description = definition.description
        self.parameters: type[PluginParameters] = type(
            "PluginToolParameters", (PluginParameters,), {"schema_of_tool": definition.schema, "__module__": __name__}
        )
        self._definition = definition

    async def run(self, arguments: PluginParameters, context: ToolContext) -> ToolResult:
        """Ask for permission under the tool's own name, run it and return its result: a text, or title, output and metadata."""
        await context.ask.query(
            Query(session_id="", permission=self.name, patterns=["*"], always=["*"], is_foreign=True)
        )
        given: Any = dict(arguments.model_extra or {})
        if self._definition.model is not None:
            try:
                given = self._definition.model.model_validate(given)
            except ValueError as error:
                raise ToolError(f"the input of {self.name} does not fit: {' '.join(str(error).split())}") from error
        execute = self._definition.execute
        async with context.commands():
            if inspect.iscoroutinefunction(execute):
                result: object = await run_coroutine(execute(given, context))
            else:
                result = await run_on_thread(lambda: execute(given, context))
        return _result(self.name, result)


def _result(name: str, given: object) -> ToolResult:
    if isinstance(given, ToolResult):
        return given
    if isinstance(given, Mapping):
        fields = cast("Mapping[str, Any]", given)
        metadata = fields.get("metadata")
        kept: dict[str, Any] = dict(cast("Mapping[str, Any]", metadata)) if isinstance(metadata, Mapping) else {}
        return ToolResult(str(fields.get("title") or name), str(fields.get("output") or ""), kept)
    return ToolResult(name, "" if given is None else str(given))


def _defaults(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}
