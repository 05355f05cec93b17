"""Permission requests: decide, ask the user, wait for the reply and apply it.

Every published request ends with exactly one `permission.replied`: for the first reply, for a rejection or grant that also decides
it, or, as `reject`, when the task that asked is canceled. Later replies have no effect. Call all methods on the event loop.
Source: docs/internals/permissions.md#requests.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.config.sources.project_file import is_secret
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.decision import (
    Query,
    always_of,
    has_changed_since_grant,
    is_always_outside,
    is_granted,
    open_patterns,
    with_approvals,
    with_forms,
)
from opencode_tui.engine.permission.grants import NETWORK, OUTSIDE, Grants
from opencode_tui.engine.permission.path_forms import PathForms
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.permission.ruleset import grantable
from opencode_tui.schema.error import ConfigError, PermissionRefused, RejectedError
from opencode_tui.schema.event.event import PermissionAsked, PermissionReplied
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.permission import (
    ALLOWED_BEFORE,
    Approvals,
    OpenPermission,
    PermissionRequest,
    Reply,
    Rule,
    Ruleset,
    ToolCallRef,
)
from opencode_tui.schema.session.sandbox import KEY, sandbox_of
from opencode_tui.schema.tools import row_of

if TYPE_CHECKING:
    from opencode_tui.engine.permission.memory import PermissionMemory

Publish = Callable[[PermissionAsked | PermissionReplied], None]
Advise = Callable[[PermissionRequest], Awaitable[Literal["ask", "allow", "deny"]]]
"""Returns the decision of plugins about a request before the user is asked."""


_CHANGED = "Its definition has changed since you always allowed it."


class _Pending(Struct, frozen=True):
    """A pending request; `undecided` are the patterns that the user must allow, each with its query.

    `answer` is whether only the host that it names was allowed.
    """

    request: PermissionRequest
    undecided: Sequence[tuple[Query, str]]
    answer: asyncio.Future[bool]

    @property
    def is_optional(self) -> bool:
        """Whether a rejection concerns this request alone."""
        return self.undecided[0][0].is_optional

    def is_covered(self, grants: Sequence[Rule]) -> bool:
        """Return whether grants allow everything that the request is about."""
        return all(is_granted(query, pattern, grants) for query, pattern in self.undecided)

    def resolve(self, error: PermissionRefused | None, *, is_host: bool) -> None:
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(is_host)
        else:
            self.answer.set_exception(error)


class PermissionService:
    """The permission requests of all sessions of one folder."""

    def __init__(
        self,
        *,
        publish: Publish,
        identifier: Identifier,
        grants: Grants,
        advise: Advise | None = None,
        has_sandbox: Callable[[], Awaitable[bool]] | None = None,
        reaches_host: Callable[[str], Awaitable[bool]] | None = None,
        allows_outside: bool = False,
        approvals: Callable[[str], Awaitable[Approvals]] | None = None,
        memory: "Lazy[PermissionMemory] | None" = None,
    ) -> None:
        """`approvals` returns the mode of a session, without it all are normal. `memory` counts answers and the use of grants.

        `has_sandbox` returns whether commands are confined here, `reaches_host` whether confined ones reach a host, an empty one
        for any; `allows_outside`: automatic answers may leave the sandbox.
        """
        self._has_sandbox = has_sandbox
        self._reaches_host = reaches_host
        self._allows_outside = allows_outside
        self._approvals = approvals
        self._memory = memory
        self._advise = advise
        self._publish = publish
        self._identifier = identifier
        self._grants = grants
        self._pending: dict[str, _Pending] = {}

    async def ask(self, query: Query, *, layers: Sequence[Ruleset], policy: Policy) -> bool:
        """Return when the call is allowed, True if the user allowed only the host that it names, which keeps it in the sandbox.

        `layers` are the rulesets that must all allow it: the session's and its parents'. Waits for the user without a limit.
        Raises DeniedError, RejectedError, PermissionRefused where an answer could not be stored, or what the policy raises.
        """
        undecided = [(one, pattern) for one in (query, *query.also) for pattern in open_patterns(one, layers)]
        if not undecided:
            return False
        grants = await self._current_grants()
        undecided = self._without_granted(undecided, grants)
        if not undecided:
            return False
        request = await self._marked(self._request(query, undecided), undecided)
        definitions = [(one, pattern) for one, pattern in undecided if one.permission != OUTSIDE]
        if any(has_changed_since_grant(one, pattern, grants) for one, pattern in definitions):
            request = request.changed(metadata={**request.metadata, "reasons": [_CHANGED]})
        if await self._is_advised(request) or policy.decide(request):
            return False
        if self._memory is not None and (count := await self._memory.get().suggests(request)):
            request = _suggested(request, count)
        return await self._wait(_Pending(request, undecided, asyncio.get_running_loop().create_future()))

    def open(self, given: OpenPermission) -> PermissionRequest:
        """Return a request of a client, which waits for the user like those of tools; nothing here waits for the reply."""
        query = Query(
            session_id=given.session_id,
            permission=given.permission,
            patterns=given.patterns,
            always=given.always,
            metadata=given.metadata,
            tool=given.tool,
            is_optional=True,
        )
        undecided = [(query, pattern) for pattern in query.patterns]
        answer = asyncio.get_running_loop().create_future()
        answer.add_done_callback(
            lambda done: done.cancelled() or done.exception()
        )  # an error that no one reads is logged
        pending = _Pending(self._request(query, undecided), undecided, answer)
        self._pending[pending.request.id] = pending
        self._publish(PermissionAsked.model_validate(pending.request.to_dict()))
        return pending.request

    async def reply(
        self,
        request_id: str,
        reply: Reply,
        message: str | None = None,
        *,
        always: Sequence[str] | None = None,
        host: bool = False,
    ) -> bool:
        """Reply to a request and return whether it was still pending.

        `always` stores the grant first (of the patterns `always`, else of the request's), then allows every pending request that
        it covers; with `host` it stores the host that the request names instead. `reject` rejects the other pending requests of
        the session too, with the same message. Raises ConfigError for an `always` that is not possible, StorageError when a grant
        cannot be stored; then the one call is allowed all the same, and with `host` refused: it must not leave the sandbox.
        """
        pending = self._pending.get(request_id)
        if pending is None:
            return False
        if reply == "always":
            if host:
                await self._allow_always(pending, NETWORK, [_host_of(pending.request)], is_host=True)
            else:
                await self._allow_always(pending, pending.request.permission, _checked(pending.request, always))
            return True
        self._pending.pop(request_id)
        if reply == "once":
            self._close(pending, "once")
            if self._memory is not None:
                await self._memory.get().count_once(pending.request)
        else:
            self._reject(pending, message)
        return True

    async def decline(self, request_id: str) -> bool:
        """Do not suggest the rule of a request any more, which stays open; return whether it is pending. Raises StorageError."""
        pending = self._pending.get(request_id)
        if pending is None or self._memory is None:
            return False
        await self._memory.get().decline(pending.request)
        return True

    def pending(self, session_id: str | None = None) -> list[PermissionRequest]:
        """Return the pending requests, oldest first: all, or those of one session."""
        return [
            pending.request
            for pending in self._pending.values()
            if session_id is None or pending.request.session_id == session_id
        ]

    async def approvals(self, session_id: str) -> Approvals:
        """Return the mode of a session."""
        return "normal" if self._approvals is None else await self._approvals(session_id)

    def policy_of(self, approvals: Approvals, policy: Policy) -> Policy:
        """Return the policy of a run whose session has this mode of approvals."""
        if approvals == "auto":
            return policy.automatic(outside=self._allows_outside)
        return policy.with_outside() if self._allows_outside else policy

    async def is_always_outside(self, query: Query) -> bool:
        """Return whether the user always lets the commands of a query run outside the sandbox."""
        return is_always_outside(query, await self._current_grants())

    def _without_granted(
        self, undecided: Sequence[tuple[Query, str]], grants: Sequence[Rule]
    ) -> list[tuple[Query, str]]:
        """Return what no grant decides; those that do are counted."""
        left: list[tuple[Query, str]] = []
        used: list[Rule] = []
        for query, pattern in undecided:
            deciding = next((grant for grant in grants if is_granted(query, pattern, [grant])), None)
            if deciding is None:
                left.append((query, pattern))
            elif deciding not in used:
                used.append(deciding)
        if self._memory is not None and used:
            self._memory.get().count_uses(used)
        return left

    async def _marked(self, request: PermissionRequest, undecided: Sequence[tuple[Query, str]]) -> PermissionRequest:
        """Return the request of a tool with `outside` in its metadata if a confined command could not do the same."""
        if KEY in request.metadata or self._has_sandbox is None:
            return request
        reaches_out = (
            request.permission == "external_directory"
            or bool(request.metadata.get("protected"))
            or bool(request.metadata.get("local"))
            or (request.permission == "read" and any(map(is_secret, request.patterns)))
            or any(query.is_foreign for query, _ in undecided)
        )
        if not reaches_out and row_of(request.permission).kind != "fetch":
            return request
        if not await self._has_sandbox() or not (reaches_out or await self._fetches_outside(request)):
            return request
        return request.changed(metadata={**request.metadata, "outside": True})

    async def _fetches_outside(self, request: PermissionRequest) -> bool:
        """Return whether a request fetches from a host that confined commands do not reach."""
        if self._reaches_host is None:
            return True
        names_hosts = row_of(request.permission).argument == "address"
        hosts = [urlsplit(one).hostname or "" for one in request.patterns] if names_hosts else [""]
        return not all([await self._reaches_host(host) for host in hosts])

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

    async def _wait(self, pending: _Pending) -> bool:
        request = pending.request
        self._pending[request.id] = pending
        self._publish(PermissionAsked.model_validate(request.to_dict()))
        try:
            return await pending.answer
        finally:
            if self._pending.pop(request.id, None) is not None:
                self._publish_reply(pending, "reject")

    async def _allow_always(
        self, pending: _Pending, permission: str, patterns: Sequence[str], *, is_host: bool = False
    ) -> None:
        self._pending.pop(pending.request.id)
        is_stored = False
        try:
            if patterns:
                facts = sandbox_of(pending.request.metadata)
                is_refused = facts is not None and facts.kind == "refused"
                shown = pending.undecided[0][0]
                subject = shown.subject if permission == shown.permission else ""
                outside = is_refused and permission == "bash"
                await self._grants.add(permission, patterns, outside=outside, subject=subject)
            is_stored = True
        finally:
            if is_host and not is_stored:
                self._close(pending, "reject", PermissionRefused(f"Access to {patterns[0]} could not be stored"))
            else:
                self._close(pending, "always", is_host=is_host)
        grants = await self._current_grants()
        for other in list(self._pending.values()):
            if other.is_covered(grants):
                self._pending.pop(other.request.id, None)
                self._close(other, "always")

    def _reject(self, pending: _Pending, message: str | None) -> None:
        session_id = pending.request.session_id
        others = [
            other
            for other in self._pending.values()
            if other.request.session_id == session_id and not pending.is_optional and not other.is_optional
        ]
        for rejected in (pending, *others):
            self._pending.pop(rejected.request.id, None)
            self._close(rejected, "reject", RejectedError(message or None))

    def _close(
        self, pending: _Pending, reply: Reply, error: PermissionRefused | None = None, *, is_host: bool = False
    ) -> None:
        pending.resolve(error, is_host=is_host)
        self._publish_reply(pending, reply)

    def _publish_reply(self, pending: _Pending, reply: Reply) -> None:
        request = pending.request
        self._publish(PermissionReplied(session_id=request.session_id, request_id=request.id, reply=reply))

    def _request(self, query: Query, undecided: Sequence[tuple[Query, str]]) -> PermissionRequest:
        """Return the request for the first query with undecided patterns; `query` has what all of them share."""
        shown = undecided[0][0]
        return PermissionRequest(
            id=self._identifier.ascending("per"),
            session_id=query.session_id,
            permission=shown.permission,
            patterns=list(shown.patterns),
            metadata=dict(query.metadata),
            always=always_of(shown, [pattern for one, pattern in undecided if one is shown]),
            tool=query.tool,
        )


def _suggested(request: PermissionRequest, count: int) -> PermissionRequest:
    """Return a request that suggests its rule: for one file outside the project that file, not its folder."""
    changed = request.changed(metadata={**request.metadata, ALLOWED_BEFORE: count})
    path = request.metadata.get("filepath")
    if request.permission != OUTSIDE or not isinstance(path, str) or path == request.metadata.get("parentDir"):
        return changed
    return changed.changed(always=grantable([path]))


def _host_of(request: PermissionRequest) -> str:
    """Return the host that the request suggests to allow. Raises ConfigError without one."""
    facts = sandbox_of(request.metadata)
    if facts is None or not facts.allows:
        raise ConfigError("this request names no host that could be allowed; reply with once or reject")
    return facts.allows


def _checked(request: PermissionRequest, always: Sequence[str] | None) -> list[str]:
    """Return the patterns to grant. Raises ConfigError for edited ones that cannot be stored."""
    if always is None:
        return list(request.always)
    if not request.always:
        raise ConfigError("this request can only be allowed once; reply with once or reject")
    patterns = [pattern.strip() for pattern in always]
    if not patterns or not all(patterns):
        raise ConfigError("always needs at least one pattern, and none of them empty")
    return patterns


class CallPermission(Struct, frozen=True):
    """Sends the permission requests of one tool call; a tool receives an instance as its `ask`.

    Each request calls `layers` and reads the session's mode, so that changes apply immediately; `tool` is None for requests of a
    slash command. `waiting` is entered while the user may have to reply. `forms` are the spellings of the project's paths.
    """

    service: PermissionService
    session_id: str
    tool: ToolCallRef | None
    layers: Callable[[], Sequence[Ruleset]]
    policy: Policy
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    forms: PathForms | None = None

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
        await self.query(
            Query(
                session_id=self.session_id,
                permission=permission,
                patterns=patterns,
                always=always,
                metadata=metadata or {},
                must_ask=must_ask,
            )
        )

    async def query(self, query: Query) -> bool:
        """Return when the call is allowed, True if only the host that it names was. Raises PermissionRefused.

        The query's session and call become those of this call.
        """
        mode = await self.service.approvals(self.session_id)
        asked = replace(query, session_id=self.session_id, tool=self.tool)
        if self.forms is not None:
            asked = with_forms(asked, self.forms)
        policy = self.service.policy_of(mode, self.policy)
        with self.waiting():
            return await self.service.ask(with_approvals(asked, mode), layers=self.layers(), policy=policy)

    async def is_always_outside(self, query: Query) -> bool:
        """Return whether the user always lets the commands of a query run outside the sandbox."""
        return await self.service.is_always_outside(query)

    def rules(self) -> Sequence[Ruleset]:
        """Return the rulesets that must all allow the call."""
        return self.layers()
