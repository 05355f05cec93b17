"""Contexts inside the process: each verb hands on to the engine."""

from opencode_tui.engine.instance import Instance
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.schema.compaction import CompactionReport, CompactSession


class LocalContext:
    """Contexts of the sessions of an instance."""

    def __init__(self, instance: Instance, policy: Policy) -> None:
        self._instance = instance
        self._policy = policy

    async def compact(self, session_id: str, wish: CompactSession) -> CompactionReport:
        """Summarise a session."""
        compaction = self._instance.compaction()
        return await compaction.compact(session_id, wish, prompter=self._instance.prompts, policy=self._policy)
