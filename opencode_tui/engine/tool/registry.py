"""The tools of an instance by name: their schemas for the model, and the validation of its input."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from msgspec import Struct

from opencode_tui.engine.lazy import service
from opencode_tui.engine.provider.llm import ToolSpec
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.parameter_schema import describe, parse, unused
from opencode_tui.engine.tool.tool import Parameters, Tool, ToolContext, ToolResult, read_tool_file
from opencode_tui.engine.tool.wrong_call import describe_misfit, describe_unknown
from opencode_tui.schema.tools import TOOLS, EditForm, Need, row_of

# Built-in tools that are loaded on their first call. A turn calls few tools; loading all takes a third of the time to the first
# request. Their files have their descriptions and parameters, which a test compares with the tools themselves.


def read_specs() -> dict[str, ToolSpec]:
    """Return what the model sees of each built-in tool whose file says all of it, by name in their order; blocks for the files."""
    files = ((row.name, read_tool_file(row.name)) for row in TOOLS)
    return {
        name: ToolSpec(name, file.description, file.parameters) for name, file in files if file.parameters is not None
    }


class LazyTool:
    """A tool that is imported and built on first use."""

    def __init__(self, spec: ToolSpec, make: Callable[[], Tool[Any]]) -> None:
        self.spec = spec
        self.name = spec.name
        self.description = spec.description
        self._make = make

    @service
    def _tool(self):
        return self._make()

    @property
    def parameters(self) -> type[Parameters]:
        """The parameters' model; loads the tool."""
        return self._tool.get().parameters

    async def run(self, arguments: Any, context: ToolContext) -> ToolResult:
        """Run the tool and return its result."""
        return await self._tool.get().run(arguments, context)


_MOST_IGNORED, _NAME_CHARACTERS = 5, 40

AnyTool = Tool[Any]
"""A tool with its own type of parameters, which `validate` returns."""


class InnerCall(Struct, frozen=True):
    """The tool that another one calls, and its arguments, which the outer call has as its argument `arguments`."""

    tool: AnyTool
    arguments: dict[str, Any]


async def _no_inner(_name: str, _arguments: Mapping[str, Any]) -> InnerCall | None:
    return None


class ToolRegistry:
    """Holds tools in the order in which the model sees them; names are unique, a later tool replaces an earlier one.

    `find_useless` returns the names of those that can do nothing here, which the model does not see; it is called once, when they
    are first listed, and may block for a few lookups.
    """

    def __init__(
        self,
        tools: Iterable[AnyTool],
        *,
        find_late: Callable[[str], AnyTool | None] = lambda _name: None,
        find_inner: Callable[[str, Mapping[str, Any]], Awaitable[InnerCall | None]] = _no_inner,
        find_useless: Callable[[], Collection[str]] | None = None,
    ) -> None:
        """`find_late` returns a tool that comes and goes with another program, `find_inner` the call that its call makes."""
        self._find_late = find_late
        self._find_inner = find_inner
        self._tools = {tool.name: tool for tool in tools}
        self._find_useless = find_useless
        self._useless: Collection[str] = ()
        self._specs: dict[str, ToolSpec] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._tools)

    def get(self, name: str) -> AnyTool | None:
        """Return the tool of this name, or of its lower-case form, or None."""
        return self._tools.get(name) or self._tools.get(name.lower()) or self._find_late(name)

    async def find_inner(self, name: str, arguments: Mapping[str, Any]) -> InnerCall | None:
        """Return the call that a call of this name makes, None where it makes none. May wait for seconds."""
        return None if name in self._tools else await self._find_inner(name, arguments)

    def hide_useless(self) -> None:
        """Look for the tools that can do nothing here, the first time only. Blocks for a few lookups."""
        find = self._find_useless
        if find is not None:
            self._useless = find()
            self._find_useless = None

    def specs(self, enabled: Callable[[str], bool], form: EditForm | None = None) -> tuple[ToolSpec, ...]:
        """Return what the model sees of the tools whose names are enabled, in order; made once per tool.

        With the form in which the model edits, built-in tools that its requests do not list are left out.
        """
        self.hide_useless()
        return tuple(
            self._spec(tool)
            for name, tool in self._tools.items()
            if name not in self._useless and enabled(name) and (form is None or _is_listed(tool, form))
        )

    def validate(self, tool: AnyTool, written: Mapping[str, Any]) -> Parameters | str:
        """Return the tool's parameters, or a text for the model that names the wrong fields and the right form."""
        parsed = parse(tool.parameters, written)
        if isinstance(parsed, Parameters):
            return parsed

        return describe_misfit(tool.name, parsed, self._spec(tool).parameters)

    def describe_unknown(self, name: str, switched_off: Collection[str], written: Mapping[str, Any]) -> str:
        """Return the answer to a call of a tool that does not exist; no tool in `switched_off` is suggested."""
        return describe_unknown(name, self.specs(lambda one: one not in switched_off), written)

    @staticmethod
    def ignored(tool: AnyTool, written: Mapping[str, Any]) -> str:
        """Return the sentence about arguments of a call that have no effect, empty when there are none."""
        names = unused(tool.parameters, written)
        more = f" and {len(names) - _MOST_IGNORED} more" if len(names) > _MOST_IGNORED else ""
        shown = ", ".join(name[:_NAME_CHARACTERS] for name in names[:_MOST_IGNORED])
        return f"Ignored: {shown}{more}." if names else ""

    def _spec(self, tool: AnyTool) -> ToolSpec:
        if isinstance(tool, LazyTool):
            return tool.spec
        if tool.name not in self._specs:
            self._specs[tool.name] = ToolSpec(tool.name, tool.description, describe(tool.parameters))
        return self._specs[tool.name]


def _is_listed(tool: AnyTool, form: EditForm) -> bool:
    row = row_of(tool.name)
    return not isinstance(tool, LazyTool) or (row.is_listed and row.form in (None, form))


def built_in_tools(kit: ToolKit) -> list[AnyTool]:
    """Return the tools in the order in which the model sees them; blocks for their small files."""
    stored = read_specs()
    is_met: dict[Need, bool] = {"languages": kit.editing.languages is not None, "skills": bool(kit.skills.all())}
    return [
        LazyTool(stored[row.name], partial(make_tool, row.name, kit))
        if row.name in stored
        else make_tool(row.name, kit)
        for row in TOOLS
        if is_met.get(row.needs, True)
    ]


def make_tool(name: str, kit: ToolKit) -> AnyTool:
    """Return a new tool; imports its module."""
    make: Callable[[ToolKit], AnyTool] = import_module(f"opencode_tui.engine.tool.builtin.{name}").make
    return make(kit)
