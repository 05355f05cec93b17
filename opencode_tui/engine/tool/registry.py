"""The tools of an instance, by name: what the model is shown of them, and how its input becomes their parameters."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from opencode_tui.engine.provider.stream import ToolSpec
from opencode_tui.engine.tool.lazy_tool import LazyTool
from opencode_tui.engine.tool.parameter_schema import describe, parse
from opencode_tui.engine.tool.tool import Parameters, Tool

AnyTool = Tool[Any]
"""A tool whose parameters are known to itself alone; `validate` gives it nothing else."""


class ToolRegistry:
    """Holds tools in the order in which the model sees them; names are unique, a later tool takes an earlier one's place."""

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._specs: dict[str, ToolSpec] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._tools)

    def get(self, name: str) -> AnyTool | None:
        """Return the tool of this name, or of its lower-case form, or None."""
        return self._tools.get(name) or self._tools.get(name.lower())

    def specs(self, enabled: Callable[[str], bool]) -> tuple[ToolSpec, ...]:
        """Return what the model sees of the tools whose names are enabled, in order; made once per tool."""
        return tuple(self._spec(tool) for name, tool in self._tools.items() if enabled(name))

    def validate(self, tool: AnyTool, written: Mapping[str, Any]) -> Parameters | str:
        """Return the tool's parameters, or a text for the model that names each wrong field and asks for a new call."""
        parsed = parse(tool.parameters, written)
        if isinstance(parsed, str):
            return (
                f"The input of {tool.name} does not fit: {parsed}. Rewrite the call so that it fits the tool's schema."
            )
        return parsed

    def _spec(self, tool: AnyTool) -> ToolSpec:
        if isinstance(tool, LazyTool):
            return tool.spec
        if tool.name not in self._specs:
            self._specs[tool.name] = ToolSpec(tool.name, tool.description, describe(tool.parameters))
        return self._specs[tool.name]
