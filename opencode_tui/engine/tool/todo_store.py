"""The todo list of a session, `todo/{sessionID}`."""

import json
from collections.abc import Callable, Sequence

from msgspec import Struct

from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.event.event import Event, TodoUpdated
from opencode_tui.schema.session.session import Todo
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.storage import Storage


class SessionTodos(Struct, frozen=True):
    """Reads and replaces todo lists."""

    storage: Storage
    locks: Locks
    publish: Callable[[Event], None]

    async def read(self, session_id: str) -> list[Todo]:
        """Return the list; empty when there is none."""
        try:
            data = await self.storage.read(("todo", session_id))
        except NotFoundError:
            return []
        return [Todo.model_validate(item) for item in json.loads(data)]

    async def write(self, session_id: str, todos: Sequence[Todo]) -> None:
        """Replace the list and publish it."""
        data = json.dumps([todo.to_dict() for todo in todos], indent=2, ensure_ascii=False).encode("utf-8", "replace")
        async with self.locks.session_write(session_id):
            await self.storage.write(("todo", session_id), data)
        self.publish(TodoUpdated(session_id=session_id, todos=list(todos)))

    async def copy(self, session_id: str, target_id: str) -> None:
        """Copy the list of a session to a new one, without an event; does nothing when there is none."""
        if self.storage.files.exists(self.storage.path_of(("todo", session_id))):
            await self.storage.write(("todo", target_id), await self.storage.read(("todo", session_id)))
