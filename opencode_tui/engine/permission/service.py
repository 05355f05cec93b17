"""Permission requests: decide, ask the user, wait for the reply and apply it.

Every published request ends with exactly one `permission.replied`: for the first reply, for a rejection or grant that also decides
it, or, as `reject`, when the task that asked is canceled. Later replies have no effect. Call all methods on the event loop.
Source: reference, section 27; SPEC, section 3, "children" and "always".
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Literal

from msgspec import Struct

from opencode_tui.engine.permission.decision import Query, is_granted, open_patterns
from opencode_tui.engine.permission.grants import Grants
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.schema.error import PermissionRefused, RejectedError
from opencode_tui.schema.event.event import PermissionAsked, PermissionReplied
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.permission import PermissionRequest, Reply, Rule, Ruleset, ToolCallRef

Publish = Callable[[PermissionAsked | PermissionReplied], None]
Advise = Callable[[PermissionRequest], Awaitable[Literal["ask", "allow", "deny"]]]
"""Returns the decision of plugins about a request before the user is asked."""


class _Pending(Struct, frozen=True):
    """A pending request; `undecided` are the patterns that the user must allow."""

    request: PermissionRequest
    query: Query
    undecided: Sequence[str]
    answer: asyncio.Future[None]

    def resolve(self, error: RejectedError | None) -> None:
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(None)
        else:
            self.answer.set_exception(error)


class PermissionService:
    """The permission requests of all sessions of one folder."""

    def __init__(
        self, *, publish: Publish, identifier: Identifier, grants: Grants, advise: Advise | None = None
    ) -> None:
        self._advise = advise
        self._publish = publish
        self._identifier = identifier
        self._grants = grants
        self._pending: dict[str, _Pending] = {}

    async def ask(self, query: Query, *, layers: Sequence[Ruleset], policy: Policy) -> None:
        """Return when the call is allowed. `layers` are the rulesets that must all allow it: the session's and its parents'.

        Waits for the user without a limit. Raises DeniedError, RejectedError, or what the policy raises.
        """
        undecided = open_patterns(query, layers)
        if not undecided:
            return
        grants = await self._current_grants()
        undecided = [pattern for pattern in undecided if not is_granted(query, pattern, grants)]
        if not undecided:
            return
        request = self._request(query)
        if await self._is_advised(request) or policy.decide(request):
            return
        await self._wait(_Pending(request, query, undecided, asyncio.get_running_loop().create_future()))

    async def reply(self, request_id: str, reply: Reply, message: str | None = None) -> bool:
        """Reply to a request and return whether it was still pending.

        `always` stores the grant first, then allows every pending request that it covers. `reject` rejects the other pending
        requests of the session too, with the same message. Raises StorageError when a grant cannot be stored; the one call is
        allowed all the same.
        """
        pending = self._pending.pop(request_id, None)
        if pending is None:
            return False
        match reply:
            case "once":
                self._close(pending, "once")
            case "always":
                await self._allow_always(pending)
            case "reject":
                self._reject(pending, message)
        return True

    def pending(self, session_id: str | None = None) -> list[PermissionRequest]:
        """Return the pending requests, oldest first: all, or those of one session."""
        return [
            pending.request
            for pending in self._pending.values()
            if session_id is None or pending.request.session_id == session_id
        ]

    async def _is_advised(self, request: PermissionRequest) -> bool:
        """Return whether a plugin allows the request. Raises PermissionRefused when one denies it."""
        advice = await self._advise(request) if self._advise is not None else "ask"
        if advice == "deny":
            wanted = ", ".join(repr(pattern) for pattern in request.patterns)
            raise PermissionRefused(f"A plugin denies {request.permission} for {wanted}; use another approach")
        return advice == "allow"

    async def _current_grants(self) -> Sequence[Rule]:
        while True:
            version = self._grants.version
            grants = await self._grants.rules()
            if version == self._grants.version:
                return grants

    async def _wait(self, pending: _Pending) -> None:
        request = pending.request
        self._pending[request.id] = pending
        self._publish(PermissionAsked.model_validate(request.model_dump()))
        try:
            await pending.answer
        finally:
            if self._pending.pop(request.id, None) is not None:
                self._publish_reply(pending, "reject")

    async def _allow_always(self, pending: _Pending) -> None:
        try:
            if pending.request.always:
                await self._grants.add(pending.request.permission, pending.request.always)
        finally:
            self._close(pending, "always")
        grants = await self._current_grants()
        for other in list(self._pending.values()):
            if all(is_granted(other.query, pattern, grants) for pattern in other.undecided):
                self._pending.pop(other.request.id, None)
                self._close(other, "always")

    def _reject(self, pending: _Pending, message: str | None) -> None:
        session_id = pending.request.session_id
        others = [other for other in self._pending.values() if other.request.session_id == session_id]
        for rejected in (pending, *others):
            self._pending.pop(rejected.request.id, None)
            self._close(rejected, "reject", RejectedError(message or None))

    def _close(self, pending: _Pending, reply: Reply, error: RejectedError | None = None) -> None:
        pending.resolve(error)
        self._publish_reply(pending, reply)

    def _publish_reply(self, pending: _Pending, reply: Reply) -> None:
        request = pending.request
        self._publish(PermissionReplied(session_id=request.session_id, request_id=request.id, reply=reply))

    def _request(self, query: Query) -> PermissionRequest:
        return PermissionRequest(
            id=self._identifier.ascending("per"),
            session_id=query.session_id,
            permission=query.permission,
            patterns=list(query.patterns),
            metadata=dict(query.metadata),
            always=list(query.always),
            tool=query.tool,
        )


class CallPermission(Struct, frozen=True):
    """Sends the permission requests of one tool call; a tool receives an instance as its `ask`.

    Each request calls `layers`, so that changed rules apply immediately.
    """

    service: PermissionService
    session_id: str
    tool: ToolCallRef
    layers: Callable[[], Sequence[Ruleset]]
    policy: Policy

    async def __call__(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        always: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        must_ask: Collection[str] = (),
    ) -> None:
        """Return when the call is allowed. Raises PermissionRefused."""
        query = Query(
            session_id=self.session_id,
            permission=permission,
            patterns=patterns,
            always=always,
            metadata=metadata or {},
            tool=self.tool,
            must_ask=must_ask,
        )
        await self.service.ask(query, layers=self.layers(), policy=self.policy)
