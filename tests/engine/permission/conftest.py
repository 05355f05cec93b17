"""A permission service over a real store, and what it published."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.permission.grants import Grants
from opencode_tui.engine.permission.policy import AskPerson, Policy
from opencode_tui.engine.permission.service import PermissionService
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.permission import Ruleset, ToolCallRef
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from tests.support.world.rules import rules

NOW = 1_763_600_000_000
CALL = ToolCallRef(message_id="msg_1", call_id="call_1")


ASKING = [rules("bash * ask")]


@dataclass
class World:
    """The service under test, and its surroundings."""

    service: PermissionService
    grants: Grants
    events: list[Any] = field(default_factory=list[Any])

    async def ask(
        self,
        *patterns: str,
        session: str = "ses_1",
        permission: str = "bash",
        layers: Sequence[Ruleset] = ASKING,
        policy: Policy | None = None,
        **more: Any,
    ) -> bool:
        """Ask for patterns as a tool call does."""
        query = Query(session_id=session, permission=permission, patterns=patterns, tool=CALL, **more)
        return await self.service.ask(query, layers=layers, policy=policy or AskPerson())

    def told(self) -> list[tuple[str, str]]:
        """Return type and subject of each event: the first pattern of a question, the reply of an answer."""
        return [
            (event.type, event.reply if event.type.endswith("replied") else event.patterns[0]) for event in self.events
        ]


@pytest.fixture
async def open_grants(paths: Paths, tmp_path: Path) -> AsyncIterator[Callable[..., Grants]]:
    """Open the grants of a worktree over one real store, as often as wanted."""
    storage = Storage(paths)

    def open_them(worktree: Path = tmp_path, project_id: str = "global") -> Grants:
        lock = Locks(paths).store
        return Grants(store=storage, lock=lock, project_id=project_id, worktree=worktree, clock=lambda: NOW)

    yield open_them
    await storage.close()


@pytest.fixture
def world(open_grants: Callable[..., Grants]) -> World:
    events: list[Any] = []
    grants = open_grants()
    identifier = Identifier(lambda: NOW)
    service = PermissionService(publish=events.append, identifier=identifier, grants=grants)
    return World(service, grants, events)
