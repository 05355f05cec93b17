"""The services of an agent's worktree: programs of its own, the models, rules and questions of the session's folder."""

from functools import cached_property
from pathlib import Path

from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.permission.grants import Grants
from opencode_tui.engine.permission.service import PermissionService
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.engine.provider.spending import Spending
from opencode_tui.engine.services.folder import FolderServices
from opencode_tui.engine.services.programs import FolderPrograms
from opencode_tui.engine.session.question import QuestionService
from opencode_tui.engine.tool.truncate import Truncator


class IsolatedFolder(FolderServices):
    """The services of one agent's worktree; the sandbox, background commands and language servers end with its `background`."""

    def __init__(self, origin: FolderServices, project: Project) -> None:
        """`origin` are the services of the folder whose session started the agent, `project` is the worktree."""
        super().__init__(
            origin.core,
            project,
            origin.config,
            plugins=origin.plugins,
            skills=origin.skills,
            commands=origin.commands,
        )
        self._origin = origin

    @property
    def read_only(self) -> Path | None:
        """The checkout of the session that started the agent."""
        return self._origin.project.worktree

    @cached_property
    def programs(self) -> FolderPrograms:
        """Programs of the worktree, with the MCP servers of the session's folder."""
        made = super().programs
        made.share_servers(self._origin.programs)
        return made

    @cached_property
    def truncator(self) -> Truncator:
        """Keeps full texts where the session that started the agent may read them."""
        return self._origin.truncator

    @cached_property
    def agents(self) -> AgentRegistry:
        """The agents of the session's folder."""
        return self._origin.agents

    @cached_property
    def catalog(self) -> Catalog:
        """The models of the session's folder."""
        return self._origin.catalog

    @cached_property
    def providers(self) -> Providers:
        """The connections of the session's folder."""
        return self._origin.providers

    @cached_property
    def spending(self) -> Spending:
        """The spending of the session's folder."""
        return self._origin.spending

    @cached_property
    def grants(self) -> Grants:
        """What the user always allows in the session's folder."""
        return self._origin.grants

    @cached_property
    def permissions(self) -> PermissionService:
        """The requests of the session's folder, where the user answers."""
        return self._origin.permissions

    @cached_property
    def questions(self) -> QuestionService:
        """The questions of the session's folder, where the user answers."""
        return self._origin.questions
