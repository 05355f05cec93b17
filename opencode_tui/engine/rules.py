"""The rules in force in a folder, for people: list, explain, try, revoke."""

from collections.abc import Sequence
from pathlib import Path

from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.permission.grants import Grants
from opencode_tui.engine.project.discover import Project
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.permission import PermissionReport, PermissionRules, Rule

TRIED = "what you try"
"""Where a rule stands that only this question knows."""


class Rules:
    """What the agents of one folder may do."""

    def __init__(self, *, agents: AgentRegistry, grants: Grants, project: Project, home: Path) -> None:
        self._agents = agents
        self._grants = grants
        self._project = project
        self._home = home

    async def list(self, agent: str | None) -> PermissionRules:
        """Return an agent's rules (the default one's without a name) and the grants of this worktree."""
        chosen = self._agent(agent)
        return PermissionRules(
            agent=chosen.name,
            rules=chosen.permission,
            grants=[*await self._grants.listed()],
            sources=self._agents.origins(chosen),
        )

    async def explain(
        self, permission: str, subject: str, *, agent: str | None = None, extra: Sequence[Rule] = ()
    ) -> PermissionReport:
        """Return why an act would be allowed, asked for or denied; `extra` rules are tried as if they stood last."""
        from opencode_tui.engine.permission_report import Act, explain  # loads the shell tool's machinery

        chosen = self._agent(agent)
        return await explain(
            Act(permission, subject),
            rules=[*chosen.permission, *extra],
            origins=[*self._agents.origins(chosen), *[TRIED] * len(extra)],
            grants=await self._grants.listed(),
            directory=self._project.directory,
            worktree=self._project.worktree,
            home=self._home,
        )

    async def grants(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Return the grants that `revoke` would forget."""
        return [
            grant
            for grant in await self._grants.listed()
            if grant.permission == permission and pattern in (None, grant.pattern)
        ]

    async def revoke(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Forget what was allowed for good, all of a permission or one pattern of it; returns what was forgotten."""
        return await self._grants.revoke(permission, pattern)

    def _agent(self, name: str | None) -> AgentInfo:
        if name is None:
            return self._agents.default()
        agent = self._agents.get(name)
        if agent is None:
            raise ConfigError(f"no agent {name!r}; there are {', '.join(one.name for one in self._agents.all())}")
        return agent
