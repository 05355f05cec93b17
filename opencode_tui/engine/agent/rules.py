"""Lists, explains and tests the permission rules of one folder's agents, and lists and revokes grants."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.config.redact import redact_settings
from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.grants import Grant, Grants
from opencode_tui.engine.permission.ruleset import disabled
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.tool.registry import ToolRegistry
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.permission import PermissionReport, Rule
from opencode_tui.schema.record import JsonObject

if TYPE_CHECKING:
    from opencode_tui.engine.permission.memory import PermissionMemory
    from opencode_tui.schema.api.grants import PermissionRules

TRIED = "the rule being tested"
"""The origin of a rule that is only being tested."""


class AgentRules(Struct, frozen=True):
    """The permission rules of the agents of one folder.

    `tier` returns the sandbox that works here, or "none"; in the folders `protected` every edit needs approval. `prompt` returns
    the system prompt of an agent without its own, which is that of its model.
    """

    agents: AgentRegistry
    tools: ToolRegistry
    grants_store: Grants
    memory: "Lazy[PermissionMemory]"
    project: Project
    home: Path
    tier: Callable[[], Awaitable[str]]
    protected: Collection[Path]
    prompt: Callable[[AgentInfo], str]

    def describe(self, name: str) -> JsonObject:
        """Return {agent, rules, prompt, tools}; of the rules the last match wins. Raises ConfigError for an unknown name.

        Raises ModelNotFoundError for one without a prompt whose model does not exist.
        """
        agent = self._agent(name)
        hidden = disabled(self.tools.names, agent.permission)
        facts = agent.to_dict()
        facts["options"] = redact_settings(facts.get("options") or {})
        rules = facts.pop("permission", [])
        facts.pop("prompt", None)
        return {
            "agent": facts,
            "rules": rules,
            "prompt": agent.prompt or self.prompt(agent),
            "tools": [tool for tool in self.tools.names if tool not in hidden],
        }

    async def list(self, agent: str | None) -> "PermissionRules":
        """Return the rules of an agent (default: the default agent) and the grants of this worktree."""
        from opencode_tui.schema.api.grants import PermissionRules  # most runs list none

        chosen, grants = self._agent(agent), await self.grants_store.listed()
        return PermissionRules(
            agent=chosen.name,
            rules=chosen.permission,
            grants=[*grants],
            sources=self.agents.origins(chosen),
            stored=await self.memory.get().listed(grants),
        )

    async def explain(
        self, permission: str, subject: str, *, agent: str | None = None, extra: Sequence[Rule] = ()
    ) -> PermissionReport:
        """Return why a tool call on `subject` would be allowed, asked or denied; `extra` rules come after all others.

        `subject` is a command line for `bash`, a path for `read` and `edit`, else a pattern.
        """
        from opencode_tui.engine.agent.explain import ExplainScope, explain  # imports the bash tool

        chosen, project = self._agent(agent), self.project
        scope = ExplainScope(
            rules=[*chosen.permission, *extra],
            origins=[*self.agents.origins(chosen), *[TRIED] * len(extra)],
            grants=await self.grants_store.listed(),
            directory=project.directory,
            worktree=project.worktree,
            copy_of=project.origins,
            home=self.home,
            tier=await self.tier() if permission == "bash" else "none",
            protected=self.protected,
        )
        return await explain(permission, subject, scope)

    async def grants(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Return the grants that `revoke` would delete, also those that are switched off."""
        on = [
            grant
            for grant in await self.grants_store.listed()
            if grant.permission == permission and pattern in (None, grant.pattern)
        ]
        return [*on, *await self._only_off(permission, pattern, on)]

    async def revoke(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Delete the grants of a permission, or of one pattern of it, and return them."""
        on = await self.grants_store.revoke(permission, pattern)
        off = await self._only_off(permission, pattern, on)
        await self.memory.get().remove_off(permission, pattern)
        await self.memory.get().evict_uses(permission, pattern)
        return [*on, *off]

    async def _only_off(self, permission: str, pattern: str | None, on: Sequence[Grant]) -> Sequence[Grant]:
        known = {one.pattern for one in on}
        return [one for one in await self.memory.get().off(permission, pattern) if one.pattern not in known]

    async def switch(self, permission: str, pattern: str | None, *, is_on: bool) -> Sequence[Rule]:
        """Switch the grants of a permission, or of one pattern of it, on or off; return them."""
        if is_on:
            found = await self.memory.get().off(permission, pattern)
            await self.grants_store.restore(found)
            await self.memory.get().remove_off(permission, pattern)
            return found
        found = [
            grant
            for grant in await self.grants_store.listed()
            if grant.permission == permission and pattern in (None, grant.pattern)
        ]
        if found:
            await self.memory.get().add_off(found)
            await self.grants_store.revoke(permission, pattern)
        return found

    async def change(self, permission: str, pattern: str, new_pattern: str) -> Rule:
        """Give a grant that is on another pattern, and return it; its count starts at zero."""
        new = new_pattern.strip()
        if not new:
            raise ConfigError("a grant needs a pattern; revoke it instead")
        grant = await self.grants_store.replace(permission, pattern, new)
        await self.memory.get().evict_uses(permission, pattern)
        return grant

    def _agent(self, name: str | None) -> AgentInfo:
        if name is None:
            return self.agents.default()
        agent = self.agents.get(name)
        if agent is None:
            raise ConfigError(f"Unknown agent {name!r}. Agents: {', '.join(one.name for one in self.agents.all())}")
        return agent
