"""The sessions of one folder's project: create, list, change, delete. Source: docs/internals/session.md#session-records."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui import __version__
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.repository import works_elsewhere
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.schema.api.request import CreateSession, UpdateSession
from opencode_tui.schema.error import BusyError, NotFoundError, SessionError
from opencode_tui.schema.ids import Identifier, is_identifier
from opencode_tui.schema.permission import APPROVALS, Approvals
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.session import (
    APPROVALS_KEY,
    PINNED_KEY,
    SessionInfo,
    SessionTime,
    default_title,
    hidden_cost,
    is_own,
    own_from,
)
from opencode_tui.schema.totals import SessionTotals
from opencode_tui.storage.locks import Locks

if TYPE_CHECKING:
    from opencode_tui.schema.api.usage import ProjectUsage
    from opencode_tui.storage.session_sums import SessionSums

# A short name of two words for a session, for file names; not unique. Source: docs/internals/session.md#ids.

_ADJECTIVES = (
    "amber", "brisk", "calm", "clever", "coral", "crisp", "dapper", "eager", "fair", "gentle", "golden", "hardy", "hidden", "keen",
    "lively", "lucid", "mellow", "mossy", "neat", "noble", "patient", "plain", "quick", "quiet", "rustic", "silver", "steady",
    "tidy", "warm",
)  # fmt: skip
_NOUNS = (
    "acorn", "anchor", "badger", "beacon", "birch", "brook", "canyon", "cedar", "comet", "delta", "ember",
    "falcon", "fern", "garnet", "harbor", "heron", "island", "juniper", "lantern", "maple", "meadow", "otter",
    "pebble", "quarry", "ridge", "river", "sparrow", "summit", "thistle", "valley", "willow",
)  # fmt: skip


def new_slug() -> str:
    """Return a random `adjective-noun`."""
    first, second = secrets.token_bytes(2)
    return f"{_ADJECTIVES[first % len(_ADJECTIVES)]}-{_NOUNS[second % len(_NOUNS)]}"


def _add_up(conversations: Iterable[tuple[SessionInfo, Iterable[MessageWithParts]]]) -> SessionTotals:
    """Return the sums over sessions; of a fork only the answers since it was made, as the others count in its source."""
    steps = input_tokens = output = cached = 0
    cost = Decimal(0)
    for session, messages in conversations:
        begun = own_from(session)
        cost += hidden_cost(session)
        for message in messages:
            info = message.info
            if isinstance(info, AssistantMessage) and is_own(info.id, begun):
                steps += 1
                input_tokens += info.tokens.input
                output += info.tokens.output
                cached += info.tokens.cache.read + info.tokens.cache.write
                cost += Decimal(str(info.cost))
    return SessionTotals(steps=steps, input=input_tokens, output=output, cached=cached, cost=float(cost))


def _floats(costs: Mapping[str, Decimal]) -> dict[str, float]:
    return {session_id: float(cost) for session_id, cost in costs.items()}


class Sessions(Struct, frozen=True):
    """The operations on whole sessions."""

    store: SessionStore
    locks: Locks
    identifier: Identifier
    project: Project
    sums: "Lazy[SessionSums]"

    def new(self, request: CreateSession) -> SessionInfo:
        """Return a new session of this folder, which is not stored; without a title it gets a default one."""
        now = self.identifier.clock()
        return SessionInfo(
            id=request.id or self.identifier.descending("ses"),
            slug=new_slug(),
            version=__version__,
            project_id=self.project.id,
            directory=str(self.project.directory),
            parent_id=request.parent_id,
            title=request.title or default_title(now, is_child=request.parent_id is not None),
            permission=request.permission or None,
            time=SessionTime.trusted(created=now, updated=now),
        )

    async def all(self) -> list[SessionInfo]:
        """Return the project's sessions, newest first."""
        return await self.store.sessions(self.project.id)

    async def listed(self) -> list[ListedSession]:
        """Return the project's sessions as lists show them, newest first."""
        return await self.store.listed(self.project.id)

    async def get(self, session_id: str) -> SessionInfo:
        """Return one session, of any project. Raises NotFoundError."""
        if not is_identifier(session_id, "ses"):
            raise SessionError(f"{session_id!r} is not a session id; see `opencode-tui session list`")
        return await self.store.get(session_id)

    async def latest(self) -> SessionInfo | None:
        """Return the latest session of this worktree, without child sessions."""
        worktree = self.project.worktree
        found = await self.store.recent_sessions(
            self.project.id, 1, is_top=True, accept=lambda info: not works_elsewhere(info.directory, worktree)
        )
        return found[0] if found else None

    async def recent(self, limit: int, is_archived: bool = False) -> list[SessionInfo]:
        """Return the sessions of the project that were used last, archived or others, the last one first."""
        return await self.store.recent_sessions(self.project.id, limit, is_archived=is_archived)

    async def update(self, session_id: str, request: UpdateSession) -> SessionInfo:
        """Rename, archive or pin a session; does not change `time.updated`."""

        def change(info: SessionInfo) -> SessionInfo:
            if request.title is not None:
                info = info.changed(title=request.title)
            if request.archived is not None:
                info = info.changed(time=info.time.changed(archived=request.archived or None))
            if request.pinned is not None:
                others = {key: value for key, value in (info.metadata or {}).items() if key != PINNED_KEY}
                info = info.changed(metadata={**others, PINNED_KEY: True} if request.pinned else others or None)
            return info

        return await self.store.update(session_id, change, touch=False)

    async def totals(self, session_id: str) -> SessionTotals:
        """Return the totals of the session and its subagent sessions; the cost includes titles and discarded summaries."""
        family = await self.family(await self.get(session_id))
        return _add_up([(info, await self.store.messages(info.id)) for info in family])

    async def costs(self) -> dict[str, float]:
        """Return the cost of each session of the project in USD, without those that cost nothing. Raises StorageError.

        Titles and discarded summaries are included; subagent sessions and messages that a fork copied are not.
        """
        return _floats(await asyncio.to_thread(self.sums.get().costs))

    async def cost(self, session_id: str) -> float:
        """Return the cost of one session in USD, as `costs` does. Raises NotFoundError, StorageError."""
        return float(await asyncio.to_thread(self.sums.get().cost, [await self.get(session_id)]))

    async def family_costs(self, session_ids: Sequence[str], is_archived: bool = False) -> dict[str, float]:
        """Return the cost of these sessions with their agents' sessions in USD, without those that cost nothing.

        Raises StorageError. What counts is in `SessionsFacet.family_costs`.
        """
        return _floats(await asyncio.to_thread(self.sums.get().family_costs, session_ids, is_archived=is_archived))

    async def total_cost(self, is_archived: bool = False) -> float:
        """Return the cost of all sessions that are not archived, or of those that are, in USD. Raises StorageError."""
        return float(await asyncio.to_thread(self.sums.get().spent, is_archived=is_archived))

    async def usage(self, since: int = 0) -> "ProjectUsage":
        """Return what the sessions of the project used that were changed since then, in ms since 1970. Raises StorageError."""
        found, _ = await asyncio.to_thread(self.sums.get().total, since)
        return found

    async def recover_all(self, recover: Callable[[str], Awaitable[int]]) -> int:
        """Call `recover` for every session that a killed process left open; returns the number of repaired messages."""
        return await self._recover(await asyncio.to_thread(self.locks.killed_runs), recover)

    async def recover_agents(self, session_id: str, recover: Callable[[str], Awaitable[int]]) -> int:
        """Do the same for the sessions whose parent this is."""
        children = [child.id for child in await self.store.children(session_id)]
        return await self._recover(await asyncio.to_thread(self.locks.killed_of, children) if children else (), recover)

    async def _recover(self, session_ids: Sequence[str], recover: Callable[[str], Awaitable[int]]) -> int:
        recovered = 0
        for session_id in session_ids:
            with suppress(
                BusyError, NotFoundError
            ):  # another process has it, or it was killed while it deleted the session
                async with self.store.locked(session_id):
                    recovered += await recover(session_id)
        return recovered

    async def family(self, info: SessionInfo) -> list[SessionInfo]:
        """Return a session, then its subagent sessions at every depth."""
        family = [info]
        for child in await self.store.children(info.id):
            family.extend(await self.family(child))
        return family


class SessionApprovals(Struct, frozen=True):
    """The mode of approvals of a session, in its metadata; `default` is that of sessions without one.

    An agent's session has the mode of the session that started it.
    """

    store: SessionStore
    default: Approvals

    async def approvals(self, session_id: str) -> Approvals:
        """Return the mode of a session. Raises NotFoundError."""
        info = await self.store.get(session_id)
        seen = {info.id}
        while info.parent_id is not None and info.parent_id not in seen:
            seen.add(info.parent_id)
            try:
                info = await self.store.get(info.parent_id)
            except NotFoundError:  # the parent was deleted
                break
        found = (info.metadata or {}).get(APPROVALS_KEY)
        return APPROVALS[APPROVALS.index(found)] if found in APPROVALS else self.default

    async def set_approvals(self, session_id: str, approvals: Approvals) -> None:
        """Change the mode of a session; calls that ask from now on follow it. Raises NotFoundError, StorageError."""

        def change(info: SessionInfo) -> SessionInfo:
            return info.changed(metadata={**(info.metadata or {}), APPROVALS_KEY: approvals})

        await self.store.update(session_id, change, touch=False)
