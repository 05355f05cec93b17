"""Built-in tools that are loaded when they are first called.

A turn shows the model all tools and calls few; loading them all took a third of the time to the first request. What the model sees
of them stands in `specs.json`, which a test holds equal to the tools themselves.
"""

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from opencode_tui.engine.provider.stream import ToolSpec
from opencode_tui.engine.tool.tool import Parameters, Tool, ToolContext, ToolResult

SPECS = Path(__file__).with_name("specs.json")


def read_specs() -> dict[str, ToolSpec]:
    """Return what the model sees of each built-in tool, by name in its order; blocks for one file."""
    stored: dict[str, dict[str, Any]] = json.loads(SPECS.read_bytes())
    return {name: ToolSpec(name, one["description"], one["parameters"]) for name, one in stored.items()}


class DeferredTool:
    """A tool that `make` loads and builds on first use."""

    def __init__(self, spec: ToolSpec, make: Callable[[], Tool[Any]]) -> None:
        self.spec = spec
        self.name = spec.name
        self.description = spec.description
        self._make = make

    @property
    def parameters(self) -> type[Parameters]:
        """The parameters' model; loads the tool."""
        return self.loaded.parameters

    @cached_property
    def loaded(self) -> Tool[Any]:
        """The tool itself; its module is imported by the first look."""
        return self._make()

    async def run(self, arguments: Any, context: ToolContext) -> ToolResult:
        """Do what the tool does."""
        return await self.loaded.run(arguments, context)
