import json

import pytest

from opencode_tui.engine.tool.builtin.todoread import TodoreadTool
from opencode_tui.engine.tool.builtin.todowrite import TodowriteTool
from opencode_tui.schema.session.session import Todo
from tests.support.world.tools import Workbench


class MemoryTodos:
    def __init__(self) -> None:
        self.lists: dict[str, list[Todo]] = {}

    async def read(self, session_id: str) -> list[Todo]:
        return self.lists.get(session_id, [])

    async def write(self, session_id: str, todos: list[Todo]) -> None:
        self.lists[session_id] = todos


@pytest.fixture
def store() -> MemoryTodos:
    return MemoryTodos()


async def test_list_is_replaced_and_counted(bench: Workbench, store: MemoryTodos) -> None:
    await bench.call(TodowriteTool(store=store), todos=[{"content": "old"}])
    result = await bench.call(
        TodowriteTool(store=store),
        todos=[
            {"content": "a", "status": "completed", "priority": "high", "id": "x"},
            {"content": "b", "status": "in_progress", "priority": "low", "id": "y"},
            {"content": "c"},
        ],
    )
    expected = [
        {"content": "a", "status": "completed", "priority": "high", "id": "x"},
        {"content": "b", "status": "in_progress", "priority": "low", "id": "y"},
        {"content": "c", "status": "pending", "priority": "medium", "id": "3"},
    ]
    assert (result.title, result.metadata, json.loads(result.output)) == ("2 todos", {"todos": expected}, expected)
    assert [todo.to_dict() for todo in store.lists["ses_1"]] == expected
    assert bench.asks("todowrite") == [["*"], ["*"]]


async def test_list_of_this_session_is_read(bench: Workbench, store: MemoryTodos) -> None:
    store.lists["ses_2"] = [Todo(content="other")]
    result = await bench.call(TodoreadTool(store=store))
    assert (result.title, result.output) == ("0 todos", "[]")
    assert bench.asks("todoread") == [["*"]]
