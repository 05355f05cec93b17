"""Built-in tools that are loaded on their first call.

A turn calls few tools; loading all takes a third of the time to the first request. Their descriptions and schemas are in
`specs.json`, which a test compares with the tools themselves.
"""

import json
from pathlib import Path
from typing import Any

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.provider.llm import ToolSpec
from opencode_tui.engine.tool.tool import Parameters, Tool, ToolContext, ToolResult

SPECS = Path(__file__).with_name("specs.json")


def read_specs() -> dict[str, ToolSpec]:
    """Return what the model sees of each built-in tool, by name in its order; blocks for one file."""
    stored: dict[str, dict[str, Any]] = json.loads(SPECS.read_bytes())
    return {name: ToolSpec(name, one["description"], one["parameters"]) for name, one in stored.items()}


class LazyTool:
    """A tool that is imported and built on first use."""

    def __init__(self, spec: ToolSpec, tool: Lazy[Tool[Any]]) -> None:
        self.spec = spec
        self.name = spec.name
        self.description = spec.description
        self._tool = tool

    @property
    def parameters(self) -> type[Parameters]:
        """The parameters' model; loads the tool."""
        return self._tool.get().parameters

    async def run(self, arguments: Any, context: ToolContext) -> ToolResult:
        """Run the tool and return its result."""
        return await self._tool.get().run(arguments, context)
