"""What is remembered about answers: how often each grant decided, equal answers `once`, grants that are switched off.

Record `permission_memory/{projectID}`, a kind of our own next to the grants, so that no other program and no older version takes a
grant that is off for one that holds. The worktrees of a project share it and see only their own rows. Nothing here allows
anything: without the record, or with a damaged one, questions are asked as ever. Source: docs/internals/permissions.md#memory.
"""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from pathlib import Path

from opencode_tui.engine.permission.grants import OUTSIDE, Grant, Lock
from opencode_tui.schema.api.grants import StoredGrant
from opencode_tui.schema.error import NotFoundError, OpencodeError
from opencode_tui.schema.field import Field
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.permission import PermissionRequest, Rule
from opencode_tui.schema.record import JsonObject, Record, ValidationError
from opencode_tui.storage.storage import Storage

SUGGEST_AFTER = 3
"""Equal answers `once` after which a question suggests its rule."""

MOST_ANSWERS = 200
"""Kinds of questions whose answers are counted, the latest."""

KEY = "permission_memory"

logger = logging.getLogger(__name__)

_Name = tuple[str, str]


class GrantUse(Record):
    """How often a grant decided, and when it did so last (ms since 1970)."""

    worktree: str
    permission: str
    pattern: str
    used: int = 0
    last_used: int = 0


class OnceAnswers(Record):
    """How often questions with the same rule got `once`; none suggests the rule any more if the user `declined` it."""

    worktree: str
    permission: str
    patterns: Sequence[str]
    count: int = 0
    last: int = 0
    declined: bool = False


class Memory(Record):
    """All rows of a project."""

    uses: Sequence[GrantUse] = ()
    once: Sequence[OnceAnswers] = ()
    off: Sequence[Grant] = Field(default_factory=tuple[Grant, ...])


class PermissionMemory:
    """The memory of one worktree; `start` runs work in the background."""

    def __init__(
        self,
        *,
        store: Storage,
        lock: Lock,
        project_id: str,
        worktree: Path,
        clock: Clock,
        start: Callable[[Coroutine[None, None, None]], object],
    ) -> None:
        self._store = store
        self._lock = lock
        self._key = (KEY, project_id)
        self._worktree = os.path.realpath(worktree)
        self._clock = clock
        self._start = start
        self._uses: Counter[_Name] = Counter()
        self._storing: asyncio.Task[None] | None = None

    def count_uses(self, grants: Iterable[Rule]) -> None:
        """Count grants that have decided; they are stored in the background."""
        self._uses.update((grant.permission, grant.pattern) for grant in grants)
        if self._uses and self._storing is None:
            self._start(self.flush())

    async def flush(self) -> None:
        """Store what is counted; returns when it is stored, also what another task stores, which may be canceled meanwhile."""
        while self._uses or self._storing is not None:
            storing = self._storing
            if storing is None:
                counted, self._uses = self._uses, Counter()
                storing = self._storing = asyncio.create_task(self._update(partial(self._with_uses, counted=counted)))
            try:
                await asyncio.shield(storing)
            except OpencodeError as error:
                if self._storing is storing:
                    logger.warning("cannot count the use of a grant: %s", error)
            finally:
                if storing.done() and self._storing is storing:
                    self._storing = None

    async def count_once(self, request: PermissionRequest) -> None:
        """Count an answer `once` to a question that has a rule; a failure is logged."""
        if not _has_rule(request):
            return
        try:
            await self._change_once(request, lambda one: one.changed(count=one.count + 1, last=self._clock()))
        except OpencodeError as error:
            logger.warning("cannot count an answer: %s", error)

    async def decline(self, request: PermissionRequest) -> None:
        """Do not suggest the rule of a question any more. Raises StorageError."""
        await self._change_once(request, lambda one: one.changed(declined=True, last=self._clock()))

    async def suggests(self, request: PermissionRequest) -> int:
        """Return how often questions with the same rule got `once`, if that is often enough to suggest the rule; else 0."""
        if not _has_rule(request):
            return 0
        wanted = _once_name(request)
        found = next((one for one in (await self._read()).once if self._is_here(one) and _name_of(one) == wanted), None)
        return found.count if found is not None and not found.declined and found.count >= SUGGEST_AFTER else 0

    async def listed(self, grants: Sequence[Grant]) -> list[StoredGrant]:
        """Return grants that hold, then those that are switched off, with their use."""
        memory = await self._read()
        uses = {(one.permission, one.pattern): one for one in memory.uses if self._is_here(one)}
        on = {(grant.permission, grant.pattern) for grant in grants}
        off = [grant for grant in self._off(memory) if (grant.permission, grant.pattern) not in on]
        found: list[StoredGrant] = []
        for grant, is_on in [*((one, True) for one in grants), *((one, False) for one in off)]:
            name = (grant.permission, grant.pattern)
            use = uses.get(name)
            waiting, created = self._uses[name], grant.metadata.get("created")
            found.append(
                StoredGrant(
                    permission=grant.permission,
                    pattern=grant.pattern,
                    action="allow",
                    is_on=is_on,
                    is_outside=grant.is_outside,
                    access=(grant.subject or "any") if grant.permission == OUTSIDE else None,
                    created=created if isinstance(created, int) else None,
                    used=(use.used if use is not None else 0) + waiting,
                    last_used=self._clock() if waiting else use.last_used if use is not None else None,
                )
            )
        return found

    async def off(self, permission: str, pattern: str | None = None) -> list[Grant]:
        """Return the grants of a permission, or of a pattern of it, that are switched off."""
        return [one for one in self._off(await self._read()) if _matches(one, permission, pattern)]

    async def add_off(self, grants: Sequence[Grant]) -> None:
        """Keep grants as switched off. Raises StorageError."""

        def change(memory: Memory) -> Memory:
            names = {(one.permission, one.pattern) for one in grants}
            others = [one for one in memory.off if not self._is_own(one) or (one.permission, one.pattern) not in names]
            return memory.changed(off=[*others, *grants])

        await self._update(change)

    async def remove_off(self, permission: str, pattern: str | None = None) -> list[Grant]:
        """Delete grants that are switched off, and return them. Raises StorageError."""
        found = await self.off(permission, pattern)

        def change(memory: Memory) -> Memory:
            kept = [one for one in memory.off if not (self._is_own(one) and _matches(one, permission, pattern))]
            return memory.changed(off=kept)

        if found:
            await self._update(change)
        return found

    async def evict_uses(self, permission: str, pattern: str | None = None) -> None:
        """Delete the counts of grants that were revoked. Raises StorageError."""

        def change(memory: Memory) -> Memory:
            kept = [one for one in memory.uses if not (self._is_here(one) and _matches(one, permission, pattern))]
            return memory.changed(uses=kept)

        if any(self._is_here(one) and _matches(one, permission, pattern) for one in (await self._read()).uses):
            await self._update(change)

    def _off(self, memory: Memory) -> list[Grant]:
        return [grant for grant in memory.off if self._is_own(grant)]

    def _is_own(self, grant: Grant) -> bool:
        return grant.metadata.get("worktree") == self._worktree

    def _is_here(self, row: GrantUse | OnceAnswers) -> bool:
        return row.worktree == self._worktree

    async def _change_once(self, request: PermissionRequest, change: Callable[[OnceAnswers], OnceAnswers]) -> None:
        wanted = _once_name(request)

        def add(memory: Memory) -> Memory:
            same = [one for one in memory.once if self._is_here(one) and _name_of(one) == wanted]
            new = OnceAnswers(worktree=self._worktree, permission=wanted[0], patterns=list(wanted[1]))
            others = [one for one in memory.once if one not in same]
            return memory.changed(once=[*others, change(same[0] if same else new)][-MOST_ANSWERS:])

        await self._update(add)

    def _with_uses(self, memory: Memory, *, counted: Counter[_Name]) -> Memory:
        now, left = self._clock(), dict(counted)
        rows: list[GrantUse] = []
        for one in memory.uses:
            number = left.pop((one.permission, one.pattern), 0) if self._is_here(one) else 0
            rows.append(one.changed(used=one.used + number, last_used=now) if number else one)
        rows += [
            GrantUse(worktree=self._worktree, permission=name, pattern=pattern, used=number, last_used=now)
            for (name, pattern), number in left.items()
        ]
        return memory.changed(uses=rows)

    async def _read(self) -> Memory:
        try:
            return Memory.model_validate_json(await self._store.read(self._key))
        except NotFoundError:
            return Memory()
        except (OpencodeError, ValidationError) as error:
            logger.warning("cannot read what is remembered about permissions: %s", error)
            return Memory()

    async def _update(self, change: Callable[[Memory], Memory]) -> None:
        def apply(old: JsonObject) -> JsonObject:
            try:
                memory = Memory.model_validate(old)
            except ValidationError:
                memory = Memory()
            return change(memory).to_dict()

        await self._store.update(self._key, apply, self._lock(), default={})


def _matches(row: Grant | GrantUse, permission: str, pattern: str | None) -> bool:
    return row.permission == permission and pattern in (None, row.pattern)


def _has_rule(request: PermissionRequest) -> bool:
    """Return whether a question has a rule to suggest; that an agent repeats itself is asked again and again on purpose."""
    return bool(request.always) and request.permission != "doom_loop"


def _once_name(request: PermissionRequest) -> tuple[str, tuple[str, ...]]:
    """Return what answers are counted for: of paths outside the project the same path, and the same use of it."""
    access, path = request.metadata.get("access"), request.metadata.get("filepath")
    if request.permission == OUTSIDE and isinstance(access, str):
        return f"{OUTSIDE} {access}", (str(path),)
    return request.permission, tuple(sorted(request.always))


def _name_of(one: OnceAnswers) -> tuple[str, tuple[str, ...]]:
    return one.permission, tuple(sorted(one.patterns))
