"""The facets of a folder over HTTP: which route of the server answers each method."""

from collections.abc import Sequence
from urllib.parse import quote

from opencode_tui.client.facets.folder import (
    CatalogFacet,
    FilesFacet,
    LanguagesFacet,
    McpFacet,
    PermissionsFacet,
    ProjectFacet,
    QuestionsFacet,
    RulesFacet,
    ScreenFacet,
    SettingsFacet,
    SignInsFacet,
)
from opencode_tui.client.remote_facets.session import RemoteFacet
from opencode_tui.client.remote_link import Link
from opencode_tui.schema.api.catalog import (
    AgentSummary,
    ProviderFacts,
    ProviderSummary,
    SandboxState,
    SkillSummary,
    StatusFacts,
    ToolSummary,
)
from opencode_tui.schema.api.file import ChangedFile, FileContent, FileEntry, FindKind, LineMatch
from opencode_tui.schema.api.folder import CommandSummary, Notices
from opencode_tui.schema.api.language import FormatterState, LanguageServerState, Symbol
from opencode_tui.schema.api.mcp import (
    McpAdd,
    McpCall,
    McpPrompt,
    McpResource,
    McpServerStatus,
    McpSignIn,
    McpSignInCode,
    McpTool,
)
from opencode_tui.schema.api.project import Places, ProjectInfo, UpdateProject
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.api.sign_in import (
    SignInAccount,
    SignInAddress,
    SignInDone,
    SignInRequest,
    SignInStarted,
)
from opencode_tui.schema.api.trust import TrustGrant, TrustReport
from opencode_tui.schema.api.worktree import CreateWorktree, WorktreeChoice, WorktreeInfo
from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.event.screen_event import ScreenEvent
from opencode_tui.schema.http_headers import OWN
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.permission import (
    Approvals,
    ApprovalsMode,
    PermissionReply,
    PermissionReport,
    PermissionRequest,
    PermissionRules,
    Reply,
    Rule,
)
from opencode_tui.schema.record import JsonObject, Record


class _Permissions(RemoteFacet):
    async def pending(self) -> Sequence[PermissionRequest]:
        return await self._link.records("/permission", PermissionRequest)

    async def reply(
        self,
        request_id: str,
        reply: Reply,
        message: str | None = None,
        *,
        always: Sequence[str] | None = None,
        host: bool = False,
    ) -> bool:
        patterns = None if always is None else list(always)
        answer = PermissionReply(reply=reply, message=message, always=patterns, host=host or None)
        return await _was_open(self._link, f"/permission/{request_id}/reply", answer.to_dict())

    async def approvals(self, session_id: str) -> Approvals:
        return (await self._link.get(f"{OWN}/session/{session_id}/approvals", ApprovalsMode)).approvals

    async def set_approvals(self, session_id: str, mode: Approvals) -> None:
        await self._link.value("PUT", f"{OWN}/session/{session_id}/approvals", ApprovalsMode(approvals=mode))


class _Questions(RemoteFacet):
    async def pending(self) -> Sequence[QuestionRequest]:
        return await self._link.records("/question", QuestionRequest)

    async def reply(self, request_id: str, answers: Sequence[Sequence[str]]) -> bool:
        given = {"answers": [list(labels) for labels in answers]}
        return await _was_open(self._link, f"/question/{request_id}/reply", given)

    async def reject(self, request_id: str) -> bool:
        return await _was_open(self._link, f"/question/{request_id}/reject", {})


class _Rules(RemoteFacet):
    async def list(self, agent: str | None) -> PermissionRules:
        return await self._link.get(f"{OWN}/rules", PermissionRules, {"agent": agent})

    async def explain(
        self, permission: str, subject: str, *, agent: str | None = None, extra: Sequence[Rule] = ()
    ) -> PermissionReport:
        asked = {"permission": permission, "subject": subject, "extra": [rule.to_dict() for rule in extra]}
        named = {"agent": agent} if agent is not None else {}
        return await self._link.send("POST", f"{OWN}/rules/explain", PermissionReport, {**asked, **named})

    async def grants(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        return await self._link.records(f"{OWN}/rules/grants", Rule, {"permission": permission, "pattern": pattern})

    async def revoke(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        query = {"permission": permission, "pattern": pattern}
        return [
            Rule.model_validate(rule) for rule in await self._link.value("DELETE", f"{OWN}/rules/grants", query=query)
        ]


class _Catalog(RemoteFacet):
    async def models(self) -> Sequence[Model]:
        return await self._link.records(f"{OWN}/model", Model)

    async def all_models(self) -> Sequence[Model]:
        return await self._link.records(f"{OWN}/model", Model, {"all": True})

    async def refresh_models(self, *, is_forced: bool = False) -> Sequence[str]:
        return await self._link.value("POST", f"{OWN}/model/refresh", query={"is_forced": is_forced})

    async def providers(self, *, only_ready: bool = False) -> Sequence[ProviderSummary]:
        facts = await self._link.records(f"{OWN}/provider", ProviderFacts, {"only_ready": only_ready})
        return [fact.whole() for fact in facts]

    async def local_servers(self) -> Sequence[str]:
        return await self._link.value("POST", f"{OWN}/model/local")

    async def try_provider(self, provider_id: str) -> str:
        return await self._link.value("POST", f"{OWN}/provider/{quote(provider_id, safe='')}/try")

    async def commands(self) -> Sequence[CommandSummary]:
        return await self._link.records("/command", CommandSummary)

    async def tools(self) -> Sequence[ToolSummary]:
        return await self._link.records("/experimental/tool", ToolSummary)

    async def skills(self) -> Sequence[SkillSummary]:
        return await self._link.records("/skill", SkillSummary)

    async def default_model(self) -> ModelRef:
        return await self._link.get(f"{OWN}/model/default", ModelRef)

    async def agents(self) -> Sequence[AgentSummary]:
        return await self._link.records("/agent", AgentSummary)

    async def describe_agent(self, name: str) -> JsonObject:
        return await self._link.value("GET", f"{OWN}/agent", query={"name": name})


class _Settings(RemoteFacet):
    async def notices(self) -> Notices:
        return await self._link.get(f"{OWN}/notices", Notices)

    async def newer_version(self) -> str:
        return await self._link.value("GET", f"{OWN}/newer-version")

    async def sandbox(self) -> SandboxState:
        return await self._link.get(f"{OWN}/sandbox", SandboxState)

    async def status_text(self, facts: StatusFacts) -> str:
        return await self._link.value("POST", f"{OWN}/status-text", facts)

    async def store_key(self, provider_id: str, key: str) -> None:
        await self._link.value("PUT", f"/auth/{provider_id}", {"type": "api", "key": key})

    async def key_override(self, provider_id: str) -> str:
        return await self._link.value("GET", f"{OWN}/auth/{provider_id}/override")

    async def delete_key(self, provider_id: str) -> bool:
        return await self._link.value("DELETE", f"{OWN}/auth/{provider_id}")

    async def effective(self) -> JsonObject:
        return await self._link.value("GET", f"{OWN}/config")

    async def own(self) -> JsonObject:
        return await self._link.value("GET", "/global/config")

    async def change(self, change: JsonObject) -> JsonObject:
        return await self._link.value("PATCH", "/config", change)

    async def trust_report(self) -> TrustReport:
        return await self._link.get(f"{OWN}/trust", TrustReport)

    async def trust(self, seen: str) -> None:
        await self._link.value("POST", f"{OWN}/trust", TrustGrant(seen=seen))


class _SignIns(RemoteFacet):
    async def accounts(self) -> Sequence[SignInAccount]:
        return await self._link.records(f"{OWN}/account", SignInAccount)

    async def begin(self, request: SignInRequest) -> SignInStarted:
        return await self._link.send("POST", f"{OWN}/sign-in", SignInStarted, request)

    async def wait(self, sign_in_id: str) -> SignInDone:
        async with self._link.stream("POST", f"{OWN}/sign-in/{quote(sign_in_id, safe='')}/wait", Record()) as answer:
            return SignInDone.model_validate_json(await answer.aread())

    async def paste(self, sign_in_id: str, address: str) -> None:
        path = f"{OWN}/sign-in/{quote(sign_in_id, safe='')}/address"
        await self._link.value("POST", path, SignInAddress(address=address))

    async def cancel(self, sign_in_id: str) -> None:
        await self._link.value("DELETE", f"{OWN}/sign-in/{quote(sign_in_id, safe='')}")

    async def select(self, account_id: str) -> None:
        await self._link.value("POST", f"{OWN}/account/{quote(account_id, safe='')}/select")

    async def sign_out(self, account_id: str) -> str:
        return await self._link.value("DELETE", f"{OWN}/account/{quote(account_id, safe='')}")


class _Project(RemoteFacet):
    async def current(self) -> ProjectInfo:
        return await self._link.get("/project/current", ProjectInfo)

    async def all(self) -> Sequence[ProjectInfo]:
        return await self._link.records("/project", ProjectInfo)

    async def update(self, project_id: str, request: UpdateProject) -> ProjectInfo:
        return await self._link.send("PATCH", f"/project/{project_id}", ProjectInfo, request)

    async def worktrees(self) -> Sequence[str]:
        return await self._link.value("GET", "/experimental/worktree")

    async def create_worktree(self, request: CreateWorktree) -> WorktreeInfo:
        return await self._link.send("POST", "/experimental/worktree", WorktreeInfo, request)

    async def remove_worktree(self, directory: str) -> None:
        await self._link.value("DELETE", "/experimental/worktree", WorktreeChoice(directory=directory))

    async def reset_worktree(self, directory: str) -> None:
        await self._link.value("POST", "/experimental/worktree/reset", WorktreeChoice(directory=directory))

    async def places(self) -> Places:
        return await self._link.get("/path", Places)

    async def branch(self) -> str | None:
        return (await self._link.value("GET", "/vcs")).get("branch")


class _Files(RemoteFacet):
    async def find(self, query: str, *, kind: FindKind = "all", limit: int = 100) -> Sequence[str]:
        asked = {"query": query, "type": None if kind == "all" else kind, "limit": limit}
        return await self._link.value("GET", "/find/file", query=asked)

    async def search(self, pattern: str, *, limit: int = 100) -> Sequence[LineMatch]:
        return await self._link.records(f"{OWN}/find", LineMatch, {"pattern": pattern, "limit": limit})

    async def list(self, path: str) -> Sequence[FileEntry]:
        return await self._link.records("/file", FileEntry, {"path": path})

    async def read(self, path: str) -> FileContent:
        return await self._link.get("/file/content", FileContent, {"path": path})

    async def changed(self) -> Sequence[ChangedFile]:
        return await self._link.records("/file/status", ChangedFile)


class _Languages(RemoteFacet):
    async def servers(self) -> Sequence[LanguageServerState]:
        return await self._link.records(f"{OWN}/lsp", LanguageServerState)

    async def restart(self, server_id: str) -> bool:
        return await self._link.value("POST", f"{OWN}/lsp/{quote(server_id, safe='')}/restart")

    async def symbols(self, query: str) -> Sequence[Symbol]:
        return await self._link.records("/find/symbol", Symbol, {"query": query})

    async def formatters(self) -> Sequence[FormatterState]:
        return await self._link.records("/formatter", FormatterState)


class _Screen(RemoteFacet):
    async def publish(self, event: ScreenEvent) -> None:
        properties = event.to_dict()
        kind = properties.pop("type")
        await self._link.value("POST", "/tui/publish", {"type": kind, "properties": properties})


class _Mcp(RemoteFacet):
    async def servers(self) -> Sequence[McpServerStatus]:
        return await self._link.records(f"{OWN}/mcp", McpServerStatus)

    async def tools(self, name: str) -> Sequence[McpTool]:
        return await self._link.records(f"{OWN}/mcp/{quote(name, safe='')}/tools", McpTool)

    async def prompts(self) -> Sequence[McpPrompt]:
        return await self._link.records(f"{OWN}/mcp-prompts", McpPrompt)

    async def resources(self) -> Sequence[McpResource]:
        return await self._link.records(f"{OWN}/mcp-resources", McpResource)

    async def connect(self, name: str) -> McpServerStatus:
        return await self._change(name, "connect")

    async def disconnect(self, name: str) -> McpServerStatus:
        return await self._change(name, "disconnect")

    async def restart(self, name: str) -> McpServerStatus:
        return await self._change(name, "restart")

    async def add(self, request: McpAdd) -> McpServerStatus:
        return await self._link.send("POST", f"{OWN}/mcp", McpServerStatus, request)

    async def begin_sign_in(self, name: str) -> McpSignIn:
        return await self._link.send("POST", f"/mcp/{quote(name, safe='')}/auth", McpSignIn, Record())

    async def sign_in(self, name: str) -> McpServerStatus:
        async with self._link.stream("POST", f"{OWN}/mcp/{quote(name, safe='')}/sign-in", Record()) as answer:
            return McpServerStatus.model_validate_json(await answer.aread())

    async def finish_sign_in(self, name: str, request: McpSignInCode) -> McpServerStatus:
        return await self._link.send("POST", f"{OWN}/mcp/{quote(name, safe='')}/sign-in/code", McpServerStatus, request)

    async def sign_out(self, name: str) -> bool:
        return bool(await self._link.value("DELETE", f"{OWN}/mcp/{quote(name, safe='')}/sign-in"))

    async def call(self, name: str, request: McpCall) -> JsonObject:
        async with self._link.stream("POST", f"{OWN}/mcp/{quote(name, safe='')}/call", request) as answer:
            return load_json(await answer.aread())

    async def _change(self, name: str, action: str) -> McpServerStatus:
        return await self._link.send("POST", f"{OWN}/mcp/{quote(name, safe='')}/{action}", McpServerStatus, Record())


class RemoteFolderFacets:
    """The facets of the folder of a server's client."""

    def bind_folder(self, link: Link) -> None:
        """Make the facets those of a server."""
        self.permissions: PermissionsFacet = _Permissions(link)
        self.questions: QuestionsFacet = _Questions(link)
        self.rules: RulesFacet = _Rules(link)
        self.catalog: CatalogFacet = _Catalog(link)
        self.settings: SettingsFacet = _Settings(link)
        self.sign_ins: SignInsFacet = _SignIns(link)
        self.project: ProjectFacet = _Project(link)
        self.files: FilesFacet = _Files(link)
        self.mcp: McpFacet = _Mcp(link)
        self.languages: LanguagesFacet = _Languages(link)
        self.screen: ScreenFacet = _Screen(link)


async def _was_open(link: Link, path: str, body: object) -> bool:
    try:
        await link.value("POST", path, body)
    except NotFoundError:
        return False
    return True
