"""The facets of sessions inside the process: each hands on to the engine and has no logic of its own."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from opencode_tui.engine.engine import Engine
from opencode_tui.engine.instance import Instance
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.session.template import expand_prompt
from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.error import NoSuchMessageError
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.part import AnyPart
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.schema.question import QuestionRequest
from opencode_tui.schema.request import (
    CommandInput,
    CreateSession,
    ForkSession,
    PromptInput,
    PromptPart,
    ShellInput,
    UpdateSession,
)
from opencode_tui.schema.session import SessionInfo
from opencode_tui.schema.status import AnyStatus
from opencode_tui.schema.todo import Todo
from opencode_tui.schema.totals import SessionTotals

if TYPE_CHECKING:
    from opencode_tui.schema.fork import ForkPreview


class LocalSessions:
    """Sessions of the instance's project."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._engine = engine
        self._instance = instance

    async def create(self, request: CreateSession) -> SessionInfo:
        """Make a session."""
        return await self._instance.sessions.create(request)

    async def list(self) -> Sequence[SessionInfo]:
        """Return all, newest first."""
        return await self._instance.sessions.all()

    async def get(self, session_id: str) -> SessionInfo:
        """Return one."""
        return await self._instance.sessions.get(session_id)

    async def latest(self) -> SessionInfo | None:
        """Return the one that was worked on last."""
        return await self._instance.sessions.latest()

    async def children(self, session_id: str) -> Sequence[SessionInfo]:
        """Return a session's children."""
        return await self._engine.store.children(session_id)

    async def update(self, session_id: str, request: UpdateSession) -> SessionInfo:
        """Rename or archive."""
        return await self._instance.sessions.update(session_id, request)

    async def remove(self, session_id: str) -> None:
        """Delete with all children."""
        await self._instance.sessions.remove(session_id)

    async def fork(self, session_id: str, request: ForkSession) -> SessionInfo:
        """Fork."""
        return await self._instance.forks().fork(session_id, request)

    async def preview_fork(self, session_id: str, request: ForkSession) -> "ForkPreview":
        """Return what a fork would be."""
        return await self._instance.forks().preview(session_id, request)

    async def settled(self, session_id: str) -> None:
        """Return when nothing is copied into or out of a session."""
        await self._engine.core.copies.settled(session_id)

    async def totals(self, session_id: str) -> SessionTotals:
        """Return what a session and the sessions of its agents have used."""
        return await self._instance.sessions.totals(session_id)

    async def costs(self) -> dict[str, float]:
        """Return what each session has cost."""
        return await self._instance.costs().read()

    async def mend_all(self) -> int:
        """Close what killed processes left open."""
        return await self._instance.sessions.mend_all(self._instance.undo.mend)

    async def todos(self, session_id: str) -> Sequence[Todo]:
        """Return the todo list."""
        return await self._instance.todos.read(session_id)

    async def diff(self, session_id: str, message_id: str | None = None) -> Sequence[FileDiff]:
        """Return what was changed in files."""
        return await self._instance.undo.diff(session_id, message_id)


class LocalMessages:
    """Messages of the store."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._engine = engine
        self._instance = instance

    async def list(self, session_id: str, limit: int | None = None) -> Sequence[MessageWithParts]:
        """Return the newest `limit` messages, oldest first."""
        if limit is None:
            return await self._engine.store.messages(session_id)
        return await self._engine.store.tail(session_id, limit)

    async def get(self, session_id: str, message_id: str) -> MessageWithParts:
        """Return one message."""
        for message in await self._engine.store.messages(session_id):
            if message.info.id == message_id:
                return message
        raise NoSuchMessageError(f"session {session_id} has no message {message_id}")

    async def update_part(self, part: AnyPart) -> AnyPart:
        """Change one part."""
        return await self._instance.parts.update(part)

    async def remove_part(self, session_id: str, message_id: str, part_id: str) -> None:
        """Delete one part."""
        await self._instance.parts.remove(session_id, message_id, part_id)


class LocalPrompts:
    """The prompt loop."""

    def __init__(self, engine: Engine, instance: Instance, policy: Policy) -> None:
        self._engine = engine
        self._instance = instance
        self._policy = policy

    async def check(self, request: PromptInput) -> None:
        """Return when a request for a new session could be answered."""
        self._instance.prompts.check(request)

    async def prompt(
        self, session_id: str, request: PromptInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Send a request and wait for its answer."""
        return await self._instance.prompts.prompt(session_id, request, policy=self._policy, stored=stored)

    async def command(
        self, session_id: str, given: CommandInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Send the prompt that a slash command stands for."""
        return await self._instance.prompts.command(session_id, given, policy=self._policy, stored=stored)

    async def shell(
        self, session_id: str, given: ShellInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Run a command line of the person's."""
        return await self._instance.shell.run(session_id, given, stored=stored)

    async def expand(self, text: str) -> Sequence[PromptPart]:
        """Return the parts of a prompt's text."""
        return await asyncio.to_thread(expand_prompt, text, self._instance.references)

    async def withdraw(self, session_id: str, message_id: str) -> bool:
        """Take a queued request back."""
        return await self._instance.prompts.withdraw(session_id, message_id)

    async def abort(self, session_id: str) -> bool:
        """Interrupt the session's run."""
        return self._instance.prompts.cancel(session_id)

    async def status(self) -> dict[str, AnyStatus]:
        """Return the sessions that are not idle."""
        return self._engine.core.statuses.all()


class LocalPermissions:
    """The permission service."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def pending(self) -> Sequence[PermissionRequest]:
        """Return open questions."""
        return self._instance.permissions.pending()

    async def reply(self, request_id: str, reply: Reply, message: str | None = None) -> bool:
        """Answer a question."""
        return await self._instance.permissions.reply(request_id, reply, message)


class LocalQuestions:
    """The question service."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def pending(self) -> Sequence[QuestionRequest]:
        """Return open questions."""
        return self._instance.questions.pending()

    async def reply(self, request_id: str, answers: Sequence[Sequence[str]]) -> bool:
        """Answer a question."""
        return self._instance.questions.reply(request_id, [list(labels) for labels in answers])

    async def reject(self, request_id: str) -> bool:
        """Dismiss a question."""
        return self._instance.questions.reject(request_id)
