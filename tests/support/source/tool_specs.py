"""Writes the parameters of the built-in tools into their files, for the model: `python -m tests.support.source.tool_specs`."""

import json
from pathlib import Path
from typing import Any, cast

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.tool.kit import Editing, ShellEnvironment, ToolKit
from opencode_tui.engine.tool.parameter_schema import describe
from opencode_tui.engine.tool.registry import make_tool
from opencode_tui.engine.tool.tool import RULE, TOOL_FILES
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.tools import TOOLS


def derive() -> dict[str, tuple[str, JsonObject]]:
    """Return what the tools themselves say, their descriptions and parameters; they are made with nothing to work on.

    That of the tool for skills lists them, so that it is made for each instance.
    """
    nothing = cast(Any, None)
    shell = ShellEnvironment({}, Path("/"), reserve_output=nothing, secrets=nothing, background=Lazy(lambda: nothing))
    kit = ToolKit(
        directory=Path("/"),
        environ={},
        editing=Editing(edited=nothing),
        shell=shell,
        readable=nothing,
        instructions=nothing,
        todos=nothing,
        skills=nothing,
        read_outputs=nothing,
        search_history=nothing,
    )
    tools = [make_tool(row.name, kit) for row in TOOLS if row.needs != "skills"]
    return {tool.name: (tool.description, describe(tool.parameters)) for tool in tools}


def render(description: str, parameters: JsonObject) -> str:
    """Return the file of a tool, with a line for each parameter."""
    return f"{description}{RULE}{_lines(parameters)}\n"


def _lines(parameters: JsonObject) -> str:
    entries = [
        f'"{key}": {{\n{_fields(value)}\n}}' if key == "properties" and value else f'"{key}": {_dump(value)}'
        for key, value in parameters.items()
    ]
    return "{" + ", ".join(entries) + "}"


def _fields(fields: JsonObject) -> str:
    return ",\n".join(f' "{name}": {_dump(field)}' for name, field in fields.items())


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    for name, (description, parameters) in derive().items():
        (TOOL_FILES / f"{name}.md").write_text(render(description, parameters), encoding="utf-8")
