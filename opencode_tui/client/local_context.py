"""Contexts inside the process: each verb hands on to the engine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opencode_tui.engine.instance import Instance
from opencode_tui.engine.permission.policy import Policy

if TYPE_CHECKING:
    from opencode_tui.schema.compaction import CompactionReport, CompactSession
    from opencode_tui.schema.context import ContextView, PruneReport, RequestView


class LocalContext:
    """Contexts of the sessions of an instance."""

    def __init__(self, instance: Instance, policy: Policy) -> None:
        self._instance = instance
        self._policy = policy

    async def items(self, session_id: str) -> "ContextView":
        """Return what the next request would carry."""
        return await self._instance.context().view(session_id)

    async def request(self, session_id: str) -> "RequestView":
        """Return the next request."""
        return await self._instance.context().request(session_id)

    async def prune(
        self, session_id: str, part_ids: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> "PruneReport":
        """Leave outputs out."""
        return await self._instance.pruning().prune(session_id, part_ids, dry_run=dry_run)

    async def restore(
        self, session_id: str, part_ids: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> "PruneReport":
        """Bring outputs back."""
        return await self._instance.pruning().restore(session_id, part_ids, dry_run=dry_run)

    async def compact(self, session_id: str, wish: "CompactSession") -> "CompactionReport":
        """Summarise a session."""
        compaction = self._instance.compaction()
        return await compaction.compact(session_id, wish, prompter=self._instance.prompts, policy=self._policy)
