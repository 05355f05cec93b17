"""The facets of the folder inside the process: each hands on to the engine and has no logic of its own."""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from opencode_tui.config.auth import AuthStore
from opencode_tui.config.redact import redact_settings
from opencode_tui.engine.agent_report import describe_agent
from opencode_tui.engine.engine import Engine
from opencode_tui.engine.instance import Instance
from opencode_tui.engine.skill.skills import Skill
from opencode_tui.schema.catalog import (
    AgentSummary,
    CommandSummary,
    Notices,
    ProviderSummary,
    SkillSummary,
    ToolSummary,
)
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.project import Places, ProjectInfo
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.screen_event import ScreenEvent

if TYPE_CHECKING:
    from opencode_tui.engine.file.browser import FileBrowser
    from opencode_tui.engine.file.finder import FileFinder
    from opencode_tui.schema.file import ChangedFile, FileContent, FileEntry, FindKind, LineMatch
    from opencode_tui.schema.trust import TrustReport


class LocalCatalog:
    """Models and agents of the instance."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def models(self) -> Sequence[Model]:
        """Return the models that can be used here."""
        instance = self._instance
        return await asyncio.to_thread(lambda: instance.context().with_room(instance.catalog.models()))

    async def all_models(self) -> Sequence[Model]:
        """Return the models of every known provider."""
        return await asyncio.to_thread(self._instance.catalog.all_models)

    async def providers(self, *, only_ready: bool = False) -> Sequence[ProviderSummary]:
        """Return the providers."""
        return await asyncio.to_thread(self._instance.catalog.providers, only_ready=only_ready)

    async def commands(self) -> Sequence[CommandSummary]:
        """Return the slash commands."""
        return self._instance.extensions.commands.all()

    async def tools(self) -> Sequence[ToolSummary]:
        """Return the tools."""
        specs = await asyncio.to_thread(self._instance.tools.specs, lambda _name: True)
        return [ToolSummary(id=spec.name, description=spec.description, parameters=spec.parameters) for spec in specs]

    async def skills(self) -> Sequence[SkillSummary]:
        """Return the skills."""
        return await asyncio.to_thread(lambda: [_skill(skill) for skill in self._instance.extensions.skills.all()])

    async def default_model(self) -> ModelRef:
        """Return the model that answers when none is named."""
        return self._instance.catalog.default_model()

    async def agents(self) -> Sequence[AgentSummary]:
        """Return the agents, the default one first."""
        return [AgentSummary.model_validate(agent.to_dict()) for agent in self._instance.agents.all()]

    async def describe_agent(self, name: str) -> JsonObject:
        """Return what one agent is made of."""
        return describe_agent(name, agents=self._instance.agents, tools=self._instance.tools)


class LocalSettings:
    """The loaded settings, and the store of keys."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._instance = instance
        self._paths = engine.core.paths
        self._auth = AuthStore(paths=engine.core.paths)

    async def notices(self) -> Notices:
        """Return what a person should know of them."""
        config = self._instance.config
        settings = (str(notice) for notice in config.warnings)
        warnings = [*settings, *self._instance.warnings, *self._instance.extensions.warnings]
        return Notices(warnings=warnings, ignored=[str(notice) for notice in config.ignored])

    async def store_key(self, provider_id: str, key: str) -> None:
        """Keep a key."""
        await asyncio.to_thread(self._auth.login, provider_id, key)

    async def forget_key(self, provider_id: str) -> bool:
        """Forget a key."""
        return await asyncio.to_thread(self._auth.logout, provider_id)

    async def effective(self) -> JsonObject:
        """Return the settings in force, secrets covered."""
        return redact_settings(self._instance.config.effective)

    async def trust_report(self) -> "TrustReport":
        """Return what needs trust."""
        from opencode_tui.config.trust.inspection import report_trust  # only who decides needs it

        return await asyncio.to_thread(report_trust, self._instance.directory, paths=self._paths)

    async def trust(self, seen: str) -> None:
        """Trust what was seen."""
        from opencode_tui.config.trust.inspection import grant_seen

        await asyncio.to_thread(grant_seen, self._instance.directory, seen, paths=self._paths)


class LocalFiles:
    """The instance's work tree; what looks into it is loaded when somebody looks."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._engine = engine
        self._instance = instance

    @cached_property
    def _finder(self) -> "FileFinder":
        from opencode_tui.engine.file.finder import FileFinder

        return FileFinder(directory=self._instance.project.directory, clock=self._engine.core.clock)

    @cached_property
    def _browser(self) -> "FileBrowser":
        from opencode_tui.engine.file.browser import FileBrowser

        project = self._instance.project
        return FileBrowser(directory=project.directory, worktree=project.worktree)

    async def find(self, query: str, *, kind: "FindKind" = "all", limit: int = 100) -> Sequence[str]:
        """Find by name."""
        return await self._finder.find(query, kind=kind, limit=limit)

    async def search(self, pattern: str, *, limit: int = 100) -> Sequence["LineMatch"]:
        """Find by content."""
        from opencode_tui.engine.file.line_search import search_lines  # as above

        return await search_lines(self._instance.directory, pattern, limit=limit)

    async def list(self, path: str) -> Sequence["FileEntry"]:
        """List a folder."""
        return await asyncio.to_thread(self._browser.entries, path)

    async def read(self, path: str) -> "FileContent":
        """Read a file."""
        return await asyncio.to_thread(self._browser.read, path)

    async def changed(self) -> Sequence["ChangedFile"]:
        """Compare with the last commit."""
        from opencode_tui.engine.file.git_status import changed_files  # as above
        from opencode_tui.engine.project.git import SafeGit

        project = self._instance.project
        if project.repository is None:
            return []
        git = SafeGit(project.worktree, environ=self._engine.core.environ)
        return await changed_files(git, project.repository, directory=project.directory)


class LocalScreen:
    """The bus, for those who watch the folder."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._bus = engine.bus
        self._directory = str(instance.directory)

    async def tell(self, event: ScreenEvent) -> None:
        """Have the screens do something."""
        self._bus.publish(event, directory=self._directory)


class LocalProject:
    """The instance's project, and all others."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._core = engine.core
        self._instance = instance

    async def current(self) -> ProjectInfo:
        """Return the folder's project."""
        return (await self._core.projects.open(self._instance.project)).info

    async def all(self) -> Sequence[ProjectInfo]:
        """Return every known project."""
        return await self._core.projects.all()

    async def places(self) -> Places:
        """Return the folders."""
        paths, project = self._core.paths, self._instance.project
        return Places(
            home=str(paths.home),
            state=str(paths.state),
            config=str(paths.config),
            data=str(paths.data),
            worktree=str(project.worktree),
            directory=str(project.directory),
        )

    async def branch(self) -> str | None:
        """Return the branch that is checked out."""
        return await asyncio.to_thread(lambda: self._instance.project.branch)


def _skill(skill: Skill) -> SkillSummary:
    """Return a skill with its text; of one that cannot be read any more the reason stands in its place."""
    try:
        content = skill.read()
    except ToolError as error:
        content = str(error)
    return SkillSummary(name=skill.name, description=skill.description, location=str(skill.path), content=content)
