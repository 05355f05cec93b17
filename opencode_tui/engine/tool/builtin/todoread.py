"""The todoread tool: the model reads a session's plan. Source: docs/internals/tools.md#todowrite-and-todoread."""

from opencode_tui.engine.tool.builtin.todowrite import present_todos
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.todo_store import SessionTodos
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description


class TodoreadParameters(Parameters):
    """Nothing."""


class TodoreadTool:
    """Shows the list."""

    name = "todoread"
    parameters = TodoreadParameters

    def __init__(self, *, store: SessionTodos) -> None:
        self.description = read_description(self.name)
        self._store = store

    async def run(self, arguments: TodoreadParameters, context: ToolContext) -> ToolResult:
        """Return the list."""
        await context.ask("todoread", ["*"], always=["*"])
        return present_todos(await self._store.read(context.session_id))


def make(kit: ToolKit) -> TodoreadTool:
    """Return the tool."""
    return TodoreadTool(store=kit.todos)
