"""What killed agents had changed in worktrees of their own: it is put on branches, as when an agent ends."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from msgspec import Struct

from opencode_tui.engine.file.task_repository import LeftAgent, left_agents
from opencode_tui.engine.session.agent_worktree import collect_changes
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.agent_branch import AgentBranch, with_branch
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.task_folders import list_left_agents

logger = logging.getLogger(__name__)


class LeftAgents(Struct, frozen=True):
    """Finds what killed agents had changed; `say` shows the user a line about it in a session."""

    store: SessionStore
    environ: Mapping[str, str]
    say: Callable[[str, str], None]

    async def recover(self, session_id: str) -> list[str]:
        """Put what killed agents of a session had changed on branches, remove their clones, and return texts for the model.

        What cannot be read is logged, and stays for the user.
        """
        listed = await asyncio.to_thread(list_left_agents, find_paths(self.environ))
        if not listed:  # before all sessions of the project are examined
            return []
        children = {child.id: child for child in await self.store.children(session_id)}
        if not any(one.session_id in children for one in listed):
            return []
        texts: list[str] = []
        try:
            async with left_agents(self.environ, children) as found:
                for left in found:
                    texts.append(await self._recover(session_id, children[left.session_id], left))
        except OpencodeError as error:
            logger.warning("session %s: what killed agents changed is not looked for: %s", session_id, error)
        return [text for text in texts if text]

    async def _recover(self, session_id: str, child: SessionInfo, left: LeftAgent) -> str:
        branch = AgentBranch(base=left.tree.commit)
        try:
            if left.tree.commit and await asyncio.to_thread(left.tree.top.is_dir):
                branch, _ = await collect_changes(left.repository, left.tree, child, f"Interrupted: {child.title}")
                await self.store.update(child.id, lambda info: with_branch(info, branch), touch=False)
            await left.repository.remove(left.name)
        except OpencodeError as error:
            logger.warning("what the agent %s changed stays in %s: %s", child.id, left.tree.top, error)
            self.say(session_id, f"What a killed agent changed stays in {left.tree.top}: {error}")
            return ""
        if not branch.commit:
            return ""
        self.say(session_id, f"What a killed agent had changed is on the branch {branch.branch}.")
        return (
            f"The agent of the task {child.id} ({child.title}) was killed in the middle of its work. What it had changed is on the "
            f"branch {branch.branch}: task with this task_id continues it, with apply the changes are applied."
        )
