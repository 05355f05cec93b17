"""The facets of the folder over HTTP."""

from collections.abc import Sequence

from opencode_tui.client.remote_link import Link
from opencode_tui.schema.catalog import (
    AgentSummary,
    CommandSummary,
    Notices,
    ProviderFacts,
    ProviderSummary,
    SkillSummary,
    ToolSummary,
)
from opencode_tui.schema.file import ChangedFile, FileContent, FileEntry, FindKind, LineMatch
from opencode_tui.schema.header import OWN
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.permission import PermissionReport, PermissionRules, Rule
from opencode_tui.schema.project import Places, ProjectInfo
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.screen_event import ScreenEvent
from opencode_tui.schema.trust import TrustGrant, TrustReport


class RemoteRules:
    """What may be done in the server's folder."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def list(self, agent: str | None) -> PermissionRules:
        """Return an agent's rules and the grants."""
        return await self._link.get(f"{OWN}/rules", PermissionRules, {"agent": agent})

    async def explain(
        self, permission: str, subject: str, *, agent: str | None = None, extra: Sequence[Rule] = ()
    ) -> PermissionReport:
        """Return why an act would be allowed, asked for or denied."""
        asked = {"permission": permission, "subject": subject, "extra": [rule.to_dict() for rule in extra]}
        named = {"agent": agent} if agent is not None else {}
        return await self._link.send("POST", f"{OWN}/rules/explain", PermissionReport, {**asked, **named})

    async def grants(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Return the grants that `revoke` would forget."""
        return await self._link.records(f"{OWN}/rules/grants", Rule, {"permission": permission, "pattern": pattern})

    async def revoke(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Forget what was allowed for good."""
        query = {"permission": permission, "pattern": pattern}
        return [
            Rule.model_validate(rule) for rule in await self._link.value("DELETE", f"{OWN}/rules/grants", query=query)
        ]


class RemoteCatalog:
    """What can be chosen on the server."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def models(self) -> Sequence[Model]:
        """Return the models that can be used there."""
        return await self._link.records(f"{OWN}/model", Model)

    async def all_models(self) -> Sequence[Model]:
        """Return the models of every known provider."""
        return await self._link.records(f"{OWN}/model", Model, {"all": True})

    async def providers(self, *, only_ready: bool = False) -> Sequence[ProviderSummary]:
        """Return the providers."""
        facts = await self._link.records(f"{OWN}/provider", ProviderFacts, {"only_ready": only_ready})
        return [fact.whole() for fact in facts]

    async def commands(self) -> Sequence[CommandSummary]:
        """Return the slash commands."""
        return await self._link.records("/command", CommandSummary)

    async def tools(self) -> Sequence[ToolSummary]:
        """Return the tools."""
        return await self._link.records("/experimental/tool", ToolSummary)

    async def skills(self) -> Sequence[SkillSummary]:
        """Return the skills."""
        return await self._link.records("/skill", SkillSummary)

    async def default_model(self) -> ModelRef:
        """Return the model that answers when none is named."""
        return await self._link.get(f"{OWN}/model/default", ModelRef)

    async def agents(self) -> Sequence[AgentSummary]:
        """Return the agents, the default one first."""
        return await self._link.records("/agent", AgentSummary)

    async def describe_agent(self, name: str) -> JsonObject:
        """Return what one agent is made of."""
        return await self._link.value("GET", f"{OWN}/agent", query={"name": name})


class RemoteSettings:
    """The server's settings."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def notices(self) -> Notices:
        """Return what a person should know of them."""
        return await self._link.get(f"{OWN}/notices", Notices)

    async def store_key(self, provider_id: str, key: str) -> None:
        """Keep a key."""
        await self._link.value("PUT", f"/auth/{provider_id}", {"type": "api", "key": key})

    async def forget_key(self, provider_id: str) -> bool:
        """Forget a key."""
        return await self._link.value("DELETE", f"{OWN}/auth/{provider_id}")

    async def effective(self) -> JsonObject:
        """Return the settings in force, secrets covered."""
        return await self._link.value("GET", f"{OWN}/config")

    async def trust_report(self) -> TrustReport:
        """Return what needs trust."""
        return await self._link.get(f"{OWN}/trust", TrustReport)

    async def trust(self, seen: str) -> None:
        """Trust what was seen."""
        await self._link.value("POST", f"{OWN}/trust", TrustGrant(seen=seen))


class RemoteFiles:
    """The server's work tree."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def find(self, query: str, *, kind: FindKind = "all", limit: int = 100) -> Sequence[str]:
        """Find by name."""
        asked = {"query": query, "type": None if kind == "all" else kind, "limit": limit}
        return await self._link.value("GET", "/find/file", query=asked)

    async def search(self, pattern: str, *, limit: int = 100) -> Sequence[LineMatch]:
        """Find by content."""
        return await self._link.records(f"{OWN}/find", LineMatch, {"pattern": pattern, "limit": limit})

    async def list(self, path: str) -> Sequence[FileEntry]:
        """List a folder."""
        return await self._link.records("/file", FileEntry, {"path": path})

    async def read(self, path: str) -> FileContent:
        """Read a file."""
        return await self._link.get("/file/content", FileContent, {"path": path})

    async def changed(self) -> Sequence[ChangedFile]:
        """Compare with the last commit."""
        return await self._link.records("/file/status", ChangedFile)


class RemoteScreen:
    """All screens that the server serves for this folder."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def tell(self, event: ScreenEvent) -> None:
        """Have the screens do something."""
        properties = event.to_dict()
        kind = properties.pop("type")
        await self._link.value("POST", "/tui/publish", {"type": kind, "properties": properties})


class RemoteProject:
    """What is worked on there."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def current(self) -> ProjectInfo:
        """Return the folder's project."""
        return await self._link.get("/project/current", ProjectInfo)

    async def all(self) -> Sequence[ProjectInfo]:
        """Return every known project."""
        return await self._link.records("/project", ProjectInfo)

    async def places(self) -> Places:
        """Return the folders."""
        return await self._link.get("/path", Places)

    async def branch(self) -> str | None:
        """Return the branch that is checked out."""
        return (await self._link.value("GET", "/vcs")).get("branch")
