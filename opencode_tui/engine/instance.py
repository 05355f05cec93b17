"""Everything that is bound to one folder: its project, settings, agents, tools, permissions, and the verbs on its sessions."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.config.load import LoadedConfig
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.extensions import Extensions
from opencode_tui.engine.permission.grants import Grants
from opencode_tui.engine.permission.service import PermissionService
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.engine.rules import Rules
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.part_edits import PartEdits
from opencode_tui.engine.session.prompt import SessionPrompt
from opencode_tui.engine.session.question import QuestionService
from opencode_tui.engine.session.sessions import Sessions
from opencode_tui.engine.session.shell import SessionShell
from opencode_tui.engine.session.template import ReferencePlace, expand_prompt
from opencode_tui.engine.session.todo_store import SessionTodos
from opencode_tui.engine.session.undo import SessionUndo
from opencode_tui.engine.tool.registry import ToolRegistry
from opencode_tui.schema.request import PromptPart

if TYPE_CHECKING:
    from opencode_tui.engine.session.costs import SessionCosts
    from opencode_tui.engine.session.fork import SessionForks
    from opencode_tui.engine.session.manual_compaction import ManualCompaction
    from opencode_tui.engine.session.pruning import SessionPruning
    from opencode_tui.engine.session.session_context import SessionContext


class Instance(Struct, frozen=True):
    """One folder's services, built complete by `wire.build_instance`."""

    directory: Path
    project: Project
    config: LoadedConfig
    warnings: list[str]
    agents: AgentRegistry
    catalog: Catalog
    providers: Providers
    tools: ToolRegistry
    extensions: Extensions
    references: ReferencePlace
    permissions: PermissionService
    questions: QuestionService
    grants: Grants
    rules: Rules
    sessions: Sessions
    costs: "Callable[[], SessionCosts]"
    undo: SessionUndo
    forks: "Callable[[], SessionForks]"
    parts: PartEdits
    todos: SessionTodos
    prompts: SessionPrompt
    shell: SessionShell
    compaction: "Callable[[], ManualCompaction]"
    pruning: "Callable[[], SessionPruning]"
    context: "Callable[[], SessionContext]"
    background: Background

    async def expand(self, text: str) -> list[PromptPart]:
        """Return the parts of a prompt's text: the text, and the files and agents that it refers to."""
        return await asyncio.to_thread(expand_prompt, text, self.references)

    async def close(self) -> None:
        """End what runs beside the turns, the providers' connections and processes, and the plugins' view of the events."""
        await self.background.close()
        await self.extensions.plugins.close()
        await self.providers.close()
