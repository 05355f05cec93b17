"""The todowrite tool: a session's plan, which the user sees. Source: docs/internals/tools.md#todowrite-and-todoread."""

import json
from typing import Annotated, Literal

from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.todo_store import SessionTodos
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.field import UNLISTED
from opencode_tui.schema.session.session import Todo


class TodoItem(Parameters):
    """One step of the plan."""

    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    priority: Annotated[Literal["high", "medium", "low"], UNLISTED] = "medium"
    id: Annotated[str, UNLISTED] = ""
    """Kept if a model gives it, as the priority is; no screen shows either, so no model is asked for them."""


class TodowriteParameters(Parameters):
    """The complete new list."""

    todos: list[TodoItem]


class TodowriteTool:
    """Replaces the list; an item without an id gets its number."""

    name = "todowrite"
    parameters = TodowriteParameters

    def __init__(self, *, store: SessionTodos) -> None:
        self.description = read_description(self.name)
        self._store = store

    async def run(self, arguments: TodowriteParameters, context: ToolContext) -> ToolResult:
        """Store the list and return it."""
        await context.ask("todowrite", ["*"], always=["*"])
        todos = [
            Todo(content=item.content, status=item.status, priority=item.priority, id=item.id or str(number))
            for number, item in enumerate(arguments.todos, 1)
        ]
        await self._store.write(context.session_id, todos)
        return present_todos(todos)


def present_todos(todos: list[Todo]) -> ToolResult:
    """Return the list as JSON; the title counts what is still open."""
    items = [todo.to_dict() for todo in todos]
    open_items = sum(1 for todo in todos if todo.status not in ("completed", "cancelled"))
    return ToolResult(f"{open_items} todos", json.dumps(items, ensure_ascii=False, indent=1), {"todos": items})


def make(kit: ToolKit) -> TodowriteTool:
    """Return the tool."""
    return TodowriteTool(store=kit.todos)
