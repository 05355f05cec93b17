import json

import pytest

from opencode_tui.engine.tool.builtin.todoread import TodoreadTool
from opencode_tui.engine.tool.builtin.todowrite import TodowriteTool
from opencode_tui.engine.tool.todo_store import SessionTodos
from opencode_tui.schema.session.session import Todo
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from tests.support.world.tools import Workbench


@pytest.fixture
def store(paths: Paths) -> SessionTodos:
    return SessionTodos(storage=Storage(paths), locks=Locks(paths), publish=lambda _event: None)


async def test_list_is_replaced_and_counted(bench: Workbench, store: SessionTodos) -> None:
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
    assert [todo.to_dict() for todo in await store.read("ses_1")] == expected
    assert bench.asks("todowrite") == [["*"], ["*"]]


async def test_list_of_this_session_is_read(bench: Workbench, store: SessionTodos) -> None:
    await store.write("ses_2", [Todo(content="other")])
    result = await bench.call(TodoreadTool(store=store))
    assert (result.title, result.output) == ("0 todos", "[]")
    assert bench.asks("todoread") == [["*"]]
