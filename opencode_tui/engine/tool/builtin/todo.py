"""The todowrite and todoread tools: a session's plan, which the user sees. Source: reference, section 28 (todowrite)."""

import json
from typing import Literal, Protocol

from pydantic import Field

from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.session.session import Todo


class TodoStore(Protocol):
    """Stores the lists of sessions and publishes changes."""

    async def read(self, session_id: str) -> list[Todo]:
        """Return a session's list; empty when it has none."""
        ...

    async def write(self, session_id: str, todos: list[Todo]) -> None:
        """Replace a session's list."""
        ...


class TodoItem(Parameters):
    """One step of the plan."""

    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"
    id: str = ""


class TodowriteParameters(Parameters):
    """The complete new list."""

    todos: list[TodoItem] = Field(description="the complete list")


class TodoreadParameters(Parameters):
    """Nothing."""


class TodowriteTool:
    """Replaces the list; an item without an id gets its number."""

    name = "todowrite"
    parameters = TodowriteParameters

    def __init__(self, *, store: TodoStore) -> None:
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
        return _present(todos)


class TodoreadTool:
    """Shows the list."""

    name = "todoread"
    parameters = TodoreadParameters

    def __init__(self, *, store: TodoStore) -> None:
        self.description = read_description(self.name)
        self._store = store

    async def run(self, arguments: TodoreadParameters, context: ToolContext) -> ToolResult:
        """Return the list."""
        await context.ask("todoread", ["*"], always=["*"])
        return _present(await self._store.read(context.session_id))


def _present(todos: list[Todo]) -> ToolResult:
    """Return the list as JSON; the title counts what is still open."""
    items = [todo.to_dict() for todo in todos]
    open_items = sum(1 for todo in todos if todo.status not in ("completed", "cancelled"))
    return ToolResult(f"{open_items} todos", json.dumps(items, ensure_ascii=False, indent=1), {"todos": items})
