"""What faces may ask of the folder that is worked in: rules, what can be chosen, settings, the project, files, open screens."""

from collections.abc import Sequence
from typing import Protocol

from opencode_tui.schema.catalog import (
    AgentSummary,
    CommandSummary,
    Notices,
    ProviderSummary,
    SkillSummary,
    ToolSummary,
)
from opencode_tui.schema.file import ChangedFile, FileContent, FileEntry, FindKind, LineMatch
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.permission import PermissionReport, PermissionRules, Rule
from opencode_tui.schema.project import Places, ProjectInfo
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.screen_event import ScreenEvent
from opencode_tui.schema.trust import TrustReport


class RulesFacet(Protocol):
    """What the agent may do, and why."""

    async def list(self, agent: str | None) -> PermissionRules:
        """Return an agent's rules (the default one's without a name) and the grants of this worktree."""
        ...

    async def explain(
        self, permission: str, subject: str, *, agent: str | None = None, extra: Sequence[Rule] = ()
    ) -> PermissionReport:
        """Return why an act would be allowed, asked for or denied; `extra` rules are tried as if they stood last."""
        ...

    async def grants(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Return the grants that `revoke` would forget."""
        ...

    async def revoke(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Forget what was allowed for good; returns what was forgotten."""
        ...


class CatalogFacet(Protocol):
    """What can be chosen."""

    async def models(self) -> Sequence[Model]:
        """Return the models that can be used here, each with what a conversation may take (`usable`)."""
        ...

    async def all_models(self) -> Sequence[Model]:
        """Return the models of every known provider, with a key or without."""
        ...

    async def providers(self, *, only_ready: bool = False) -> Sequence[ProviderSummary]:
        """Return every known provider, or those that can be asked now."""
        ...

    async def commands(self) -> Sequence[CommandSummary]:
        """Return the slash commands."""
        ...

    async def tools(self) -> Sequence[ToolSummary]:
        """Return the tools in the order in which the model sees them."""
        ...

    async def skills(self) -> Sequence[SkillSummary]:
        """Return the skills by name."""
        ...

    async def default_model(self) -> ModelRef:
        """Return the model that answers when none is named."""
        ...

    async def agents(self) -> Sequence[AgentSummary]:
        """Return the agents, the default one first."""
        ...

    async def describe_agent(self, name: str) -> JsonObject:
        """Return {agent, rules, prompt, tools} of one agent; raises ConfigError for an unknown one."""
        ...


class SettingsFacet(Protocol):
    """What the settings of this folder say that a person should know."""

    async def notices(self) -> Notices:
        """Return warnings, and what is not in force because the folder is not trusted."""
        ...

    async def store_key(self, provider_id: str, key: str) -> None:
        """Keep a provider's key; it counts when the folder is opened next."""
        ...

    async def forget_key(self, provider_id: str) -> bool:
        """Forget a provider's key; tells whether there was one."""
        ...

    async def effective(self) -> JsonObject:
        """Return the settings in force under OpenCode's key names, secrets covered."""
        ...

    async def trust_report(self) -> TrustReport:
        """Return what the folder's own files would start or loosen. Raises TrustError for a folder that cannot be trusted."""
        ...

    async def trust(self, seen: str) -> None:
        """Trust the content that a report was about; it counts when the folder is opened next.

        Raises TrustError when the content is another one by now.
        """
        ...


class ProjectFacet(Protocol):
    """What is worked on."""

    async def current(self) -> ProjectInfo:
        """Return the folder's project."""
        ...

    async def all(self) -> Sequence[ProjectInfo]:
        """Return every project that was ever worked on."""
        ...

    async def places(self) -> Places:
        """Return the folders of the person, of the program and of the work."""
        ...

    async def branch(self) -> str | None:
        """Return the branch that is checked out; None without one."""
        ...


class FilesFacet(Protocol):
    """Files of the work tree; paths are relative to the folder."""

    async def find(self, query: str, *, kind: FindKind = "all", limit: int = 100) -> Sequence[str]:
        """Return files and folders whose names are like `query`, the most alike first; folders end with a slash."""
        ...

    async def search(self, pattern: str, *, limit: int = 100) -> Sequence[LineMatch]:
        """Return lines that match a regular expression. Raises ToolError for a wrong one."""
        ...

    async def list(self, path: str) -> Sequence[FileEntry]:
        """Return a folder's entries, folders first. Raises NotFoundError, also for what lies outside."""
        ...

    async def read(self, path: str) -> FileContent:
        """Return what a file holds. Raises NotFoundError, also for what lies outside."""
        ...

    async def changed(self) -> Sequence[ChangedFile]:
        """Return the files that differ from the last commit, by path; none without git. Raises GitUnavailableError."""
        ...


class ScreenFacet(Protocol):
    """The screens that are open for this folder."""

    async def tell(self, event: ScreenEvent) -> None:
        """Have all of them do something; nobody has to listen."""
        ...
