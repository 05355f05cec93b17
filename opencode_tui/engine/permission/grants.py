"""The permanent grants of the user (`always`), stored for each worktree and revocable.

Record `permission/{projectID}`: a ruleset that OpenCode can read; each of our rules has `metadata: {worktree, created}`. The
worktrees of a project share the record and see only their own rules; rules of other programs are preserved and ignored. Writing
holds the lock `store`; reading needs no lock. Source: docs/internals/permissions.md#requests.
"""

import json
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from opencode_tui.schema.error import NotFoundError, StorageError
from opencode_tui.schema.field import Field
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.record import JsonObject, Reader, ValidationError
from opencode_tui.storage.storage import Storage

OUTSIDE = "external_directory"
"""The permission of grants whose patterns are folders outside the project: reading and writing are granted apart."""

NETWORK = "network"
"""The permission of grants whose patterns are hosts that confined commands may reach."""

logger = logging.getLogger(__name__)

Lock = Callable[[], AbstractAsyncContextManager[object]]
"""Returns the lock that excludes other processes while the record changes."""


class Grant(Rule):
    """A stored rule; `metadata.worktree` is the real path of the worktree where it applies, `created` is in ms since 1970.

    With `outside` it lets commands run outside the sandbox: the user has given it after a refusal. `subject` identifies the
    definition of the tool that it was given for; of a folder outside the project it is "read" or "write", and empty in grants of
    versions that did not tell them apart, which hold for both.
    """

    metadata: JsonObject = Field(default_factory=JsonObject)

    @property
    def is_outside(self) -> bool:
        """Whether commands that the grant covers run outside the sandbox."""
        return self.metadata.get("outside") is True

    @property
    def subject(self) -> str:
        """What the grant was given for; empty where that is not compared."""
        return str(self.metadata.get("subject") or "")


_GRANTS: Reader[list[Grant]] = Reader(list[Grant])


class Grants:
    """The grants of one worktree."""

    def __init__(self, *, store: Storage, lock: Lock, project_id: str, worktree: Path, clock: Clock) -> None:
        self._store = store
        self._lock = lock
        self._key = ("permission", project_id)
        self._worktree = os.path.realpath(worktree)
        self._clock = clock
        self.version = 0
        """Increases with every grant that this object adds."""

    async def rules(self) -> list[Grant]:
        """Return the grants of this worktree; none when the record cannot be read, so that the user is asked again."""
        try:
            return await self.listed()
        except StorageError as error:
            logger.warning("cannot read the grants, asking instead: %s", error)
            return []

    async def hosts(self) -> list[str]:
        """Return the hosts that confined commands may reach."""
        return [grant.pattern for grant in await self.rules() if grant.permission == NETWORK]

    async def listed(self) -> list[Grant]:
        """Return the grants of this worktree, oldest first. Raises StorageError when the record cannot be read."""
        return [grant for grant in await self._all() if self._is_ours(grant)]

    async def add(self, permission: str, patterns: Sequence[str], *, outside: bool = False, subject: str = "") -> None:
        """Store grants for patterns; existing ones are unchanged, except that `outside` and another subject replace others.

        Raises StorageError.
        """
        metadata: JsonObject = {"worktree": self._worktree, "created": self._clock()}
        if outside:
            metadata["outside"] = True
        if subject:
            metadata["subject"] = subject

        def is_replaced(grant: Grant) -> bool:
            is_same = self._is_ours(grant) and grant.permission == permission and grant.pattern in patterns
            return is_same and (outside or (grant.subject != subject and permission != OUTSIDE))

        async with self._lock():
            grants = [grant for grant in await self._all() if not is_replaced(grant)]
            known = {
                grant.pattern
                for grant in grants
                if self._is_ours(grant)
                and grant.permission == permission
                and (permission != OUTSIDE or grant.subject in ("", subject))
            }
            new = [pattern for pattern in dict.fromkeys(patterns) if pattern not in known]
            added = [Grant(permission=permission, pattern=text, action="allow", metadata=metadata) for text in new]
            if added:
                await self._write([*grants, *added])
        self.version += 1

    async def revoke(self, permission: str, pattern: str | None = None) -> list[Grant]:
        """Delete one grant, or all of a permission, and return the deleted ones. Raises StorageError."""
        async with self._lock():
            grants = await self._all()
            revoked = [
                grant
                for grant in grants
                if self._is_ours(grant) and grant.permission == permission and pattern in (None, grant.pattern)
            ]
            if revoked:
                await self._write([grant for grant in grants if grant not in revoked])
        return revoked

    async def restore(self, grants: Sequence[Grant]) -> None:
        """Store grants as they were; those with the same pattern that there are stay. Raises StorageError."""
        async with self._lock():
            present = await self._all()
            known = {(grant.permission, grant.pattern) for grant in present if self._is_ours(grant)}
            missing = [one for one in grants if self._is_ours(one) and (one.permission, one.pattern) not in known]
            if missing:
                await self._write([*present, *missing])
        self.version += 1

    async def replace(self, permission: str, pattern: str, changed: str) -> Grant:
        """Give a grant another pattern, and return it. Raises NotFoundError, StorageError."""
        async with self._lock():
            grants = await self._all()
            mine = [one for one in grants if self._is_ours(one) and one.permission == permission]
            old = next((one for one in mine if one.pattern == pattern), None)
            if old is None:
                raise NotFoundError(f"no grant {permission} {pattern}; it may have been revoked meanwhile")
            new = old.changed(pattern=changed)
            rest = [one for one in grants if one is old or not (one in mine and one.pattern == changed)]
            await self._write([new if one is old else one for one in rest])
        self.version += 1
        return new

    def _is_ours(self, grant: Grant) -> bool:
        return grant.metadata.get("worktree") == self._worktree and grant.action == "allow"

    async def _all(self) -> list[Grant]:
        try:
            return _GRANTS.validate_json(await self._store.read(self._key))
        except NotFoundError:
            return []
        except ValidationError as error:
            name = "/".join(self._key)
            raise StorageError(
                f"record {name} is not a list of rules; repair with `opencode-tui doctor --fix`"
            ) from error

    async def _write(self, grants: Sequence[Grant]) -> None:
        data = json.dumps([_plain(grant) for grant in grants], indent=2, ensure_ascii=False)
        await self._store.write(self._key, data.encode("utf-8", "replace"))


def _plain(grant: Grant) -> JsonObject:
    fields = grant.to_dict()
    return fields if "metadata" in grant.model_fields_set else {key: fields[key] for key in fields if key != "metadata"}
