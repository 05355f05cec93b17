"""The facets of a folder: its files, settings, permissions and project. How they are written: `call`."""

from collections.abc import Sequence
from typing import Protocol

from opencode_tui.client.facets.call import opencode, ours
from opencode_tui.schema.api.catalog import (
    AgentSummary,
    ApiKey,
    Notification,
    ProviderSummary,
    SandboxState,
    SkillSummary,
    StatusFacts,
    ToolSummary,
)
from opencode_tui.schema.api.file import ChangedFile, FileContent, FileEntry, FindKind, LineMatch
from opencode_tui.schema.api.folder import CommandSummary, Notices
from opencode_tui.schema.api.grants import GrantChange, GrantSwitch, PermissionRules
from opencode_tui.schema.api.language import FormatterState, LanguageServerState, Symbol
from opencode_tui.schema.api.mcp import (
    McpAdd,
    McpCall,
    McpPrompt,
    McpResource,
    McpServerStatus,
    McpSignIn,
    McpSignInCode,
    McpStore,
    McpTool,
    McpWait,
    StoredIn,
)
from opencode_tui.schema.api.plugin import InstalledPlugin, PluginSwitch
from opencode_tui.schema.api.project import Places, ProjectInfo, UpdateProject
from opencode_tui.schema.api.question import QuestionAnswers, QuestionRequest
from opencode_tui.schema.api.setting import ChangedSetting, SettingChange, SettingList
from opencode_tui.schema.api.sign_in import SignInAccount, SignInAddress, SignInDone, SignInRequest, SignInStarted
from opencode_tui.schema.api.trust import TrustGrant, TrustReport
from opencode_tui.schema.api.worktree import CreateWorktree, WorktreeChoice, WorktreeInfo
from opencode_tui.schema.event.screen_event import ScreenEvent
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.permission import (
    Approvals,
    ApprovalsMode,
    OpenPermission,
    PermissionReply,
    PermissionReport,
    PermissionRequest,
    Reply,
    Rule,
    RuleQuestion,
)
from opencode_tui.schema.record import JsonObject


class PermissionsFacet(Protocol):
    """Permission requests that wait for the user."""

    @opencode("GET", "/permission")
    async def pending(self) -> Sequence[PermissionRequest]:
        """Return them, oldest first."""
        ...

    @ours("POST", "/permission")
    async def open(self, given: OpenPermission) -> PermissionRequest:
        """Ask the user for what a client does itself; return the request, whose reply is an event."""
        ...

    @opencode("POST", "/permission/{request_id}/reply", body=PermissionReply, is_false_if_gone=True)
    async def reply(
        self,
        request_id: str,
        reply: Reply,
        message: str | None = None,
        *,
        always: Sequence[str] | None = None,
        host: bool = False,
    ) -> bool:
        """Answer a request; return whether it was still open.

        `always` are the patterns that an `always` reply grants, else those of the request; with `host` it grants the host that
        the request suggests. Raises ConfigError for patterns that
        cannot be granted, StorageError when a grant could not be stored: the call is then allowed this once.
        """
        ...

    @ours("POST", "/permission/{request_id}/decline-rule", is_false_if_gone=True)
    async def decline(self, request_id: str) -> bool:
        """Do not suggest the rule of a request any more, which stays open; return whether it still was.

        Such a request has `allowedBefore` in its metadata, the number of equal answers `once`. Raises StorageError.
        """
        ...

    @ours("GET", "/session/{session_id}/approvals", field="approvals")
    async def approvals(self, session_id: str) -> Approvals:
        """Return the mode of approvals of a session. Raises NotFoundError."""
        ...

    @ours("PUT", "/session/{session_id}/approvals", body=ApprovalsMode)
    async def set_approvals(self, session_id: str, approvals: Approvals) -> None:
        """Change the mode of approvals of a session, also for a run that works on it. Raises NotFoundError."""
        ...


class QuestionsFacet(Protocol):
    """Questions of tools that wait for the user."""

    @opencode("GET", "/question")
    async def pending(self) -> Sequence[QuestionRequest]:
        """Return them, oldest first."""
        ...

    @opencode("POST", "/question/{request_id}/reply", body=QuestionAnswers, is_false_if_gone=True)
    async def reply(self, request_id: str, answers: Sequence[Sequence[str]]) -> bool:
        """Answer each question with the chosen labels, or with free text; return whether the request was still open."""
        ...

    @opencode("POST", "/question/{request_id}/reject", is_false_if_gone=True)
    async def reject(self, request_id: str) -> bool:
        """Dismiss a request, which ends the turn; return whether it was still open."""
        ...


class RulesFacet(Protocol):
    """Permission rules and their explanation."""

    @ours("GET", "/rules")
    async def list(self, agent: str | None) -> PermissionRules:
        """Return an agent's rules (the default one's without a name) and the grants of this worktree."""
        ...

    @ours("POST", "/rules/explain", body=RuleQuestion)
    async def explain(
        self, permission: str, subject: str, *, agent: str | None = None, extra: Sequence[Rule] = ()
    ) -> PermissionReport:
        """Return why an action would be allowed, asked for or denied; `extra` rules are evaluated after all others."""
        ...

    @ours("GET", "/rules/grants")
    async def grants(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Return the grants that `revoke` would delete, also those that are switched off."""
        ...

    @ours("DELETE", "/rules/grants")
    async def revoke(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Delete permanent grants; return those that were deleted."""
        ...

    @ours("POST", "/rules/grants/switch", body=GrantSwitch)
    async def switch(self, permission: str, pattern: str | None, *, is_on: bool) -> Sequence[Rule]:
        """Switch the grants of a permission, or of one pattern of it, on or off; return those that were switched."""
        ...

    @ours("POST", "/rules/grants/change", body=GrantChange)
    async def change(self, permission: str, pattern: str, new_pattern: str) -> Rule:
        """Give a grant that is on another pattern; return it. Raises NotFoundError, ConfigError for an empty pattern."""
        ...


class CatalogFacet(Protocol):
    """Models, agents, commands, tools and skills."""

    @ours("GET", "/model")
    async def models(self) -> Sequence[Model]:
        """Return the models that can be used here, each with the tokens that a conversation can use (`usable`)."""
        ...

    @ours("GET", "/model/all")
    async def all_models(self) -> Sequence[Model]:
        """Return the models of every known provider, with a key or without."""
        ...

    @ours("GET", "/model/named")
    async def named_model(self, name: str) -> Model:
        """Return the model `provider/model` as a request would use it, listed or not. Raises ConfigError, ModelNotFoundError."""
        ...

    @ours("POST", "/model/refresh")
    async def refresh_models(self, *, is_forced: bool = False) -> Sequence[str]:
        """Read newer lists of models if they are due; return a line for each that changed, with `is_forced` for each.

        Takes up to half a minute for each list. Raises ConfigError where it is forced but switched off.
        """
        ...

    @ours("GET", "/provider")
    async def providers(self, *, only_ready: bool = False) -> Sequence[ProviderSummary]:
        """Return every known provider, or those that are ready to be used."""
        ...

    @ours("POST", "/model/local")
    async def local_servers(self) -> Sequence[str]:
        """Look for servers of models on this machine; return a line for each, and for each model whose context is small.

        Their models are in the lists from then on.
        """
        ...

    @ours("GET", "/provider/{provider_id}/access")
    async def describe_access(self, provider_id: str) -> str:
        """Return what keeps requests from being sent to a provider, such as a missing key, empty if nothing does; sends none.

        Raises ModelNotFoundError for an unknown provider.
        """
        ...

    @ours("POST", "/provider/{provider_id}/try")
    async def try_provider(self, provider_id: str) -> str:
        """Return what keeps a provider from being used, empty if nothing does; sends its cheapest request."""
        ...

    @opencode("GET", "/command")
    async def commands(self) -> Sequence[CommandSummary]:
        """Return the slash commands."""
        ...

    @opencode("GET", "/experimental/tool")
    async def tools(self) -> Sequence[ToolSummary]:
        """Return the tools in the order in which the model sees them."""
        ...

    @opencode("GET", "/skill")
    async def skills(self) -> Sequence[SkillSummary]:
        """Return the skills by name."""
        ...

    @ours("GET", "/model/default")
    async def default_model(self) -> ModelRef:
        """Return the default model."""
        ...

    @opencode("GET", "/agent")
    async def agents(self) -> Sequence[AgentSummary]:
        """Return the agents, the default one first."""
        ...

    @ours("GET", "/agent")
    async def describe_agent(self, name: str) -> JsonObject:
        """Return {agent, rules, prompt, tools} of one agent; raises ConfigError for an unknown one."""
        ...


class SettingsFacet(Protocol):
    """The settings of this folder, keys and trust."""

    @ours("GET", "/notices")
    async def notices(self) -> Notices:
        """Return warnings, and settings that are ignored because the folder is not trusted."""
        ...

    @ours("GET", "/newer-version")
    async def newer_version(self) -> str:
        """Return the newest published version if it is newer than this program and `autoupdate` is `notify`, else an empty text.

        Looks once a day, for some seconds.
        """
        ...

    @ours("GET", "/sandbox")
    async def sandbox(self) -> SandboxState:
        """Return how commands are confined in this folder; the first call tries it out."""
        ...

    @ours("POST", "/status-text")
    async def status_text(self, facts: StatusFacts) -> str:
        """Return the line of the command of the status line, not made safe; empty without a command. Raises OpencodeError."""
        ...

    @ours("POST", "/notify")
    async def notify(self, facts: Notification) -> None:
        """Run the command of `tui.notify` to its end, if there is one. Raises OpencodeError when it fails."""
        ...

    @opencode("PUT", "/auth/{provider_id}", body=ApiKey)
    async def store_key(self, provider_id: str, key: str) -> None:
        """Store a provider's key; requests that start later use it."""
        ...

    @ours("GET", "/auth/{provider_id}/override")
    async def key_override(self, provider_id: str) -> str:
        """Return one line about a key in the settings that is used instead of a stored one; empty without one."""
        ...

    @ours("DELETE", "/auth/{provider_id}")
    async def delete_key(self, provider_id: str) -> bool:
        """Delete a provider's key; return whether there was one."""
        ...

    @ours("GET", "/config")
    async def effective(self) -> JsonObject:
        """Return the effective settings under OpenCode's key names, secrets redacted."""
        ...

    @opencode("GET", "/global/config")
    async def own(self) -> JsonObject:
        """Return the settings in the user's own file, secrets redacted. Raises ConfigError."""
        ...

    @opencode("PATCH", "/config")
    async def change(self, change: JsonObject) -> JsonObject:
        """Merge values into the user's own settings file; return the effective settings with them, secrets redacted.

        Values that are in effect already are not written, whatever source they are from. The others are used from the next time
        the folder is opened. Raises ConfigError when they are not valid, StorageError; then the file is
        unchanged.
        """
        ...

    @ours("GET", "/settings")
    async def all(self) -> SettingList:
        """Return each setting with its type, its value in the files as they are now, and its source. Raises ConfigError."""
        ...

    @ours("PATCH", "/setting")
    async def change_one(self, change: SettingChange) -> ChangedSetting:
        """Write one setting into the user's file or that of the project, or remove it there.

        It is used from the next time the folder is opened. Raises ConfigError when the settings with it are not valid, or
        StorageError; then the file is unchanged.
        """
        ...

    @ours("GET", "/installed-plugin")
    async def plugins(self) -> Sequence[InstalledPlugin]:
        """Return the installed plugins by name. Raises ConfigError."""
        ...

    @ours("POST", "/installed-plugin/switch")
    async def switch_plugin(self, request: PluginSwitch) -> None:
        """Give an installed plugin an effect, or none, from the next time a folder is opened. Raises ConfigError."""
        ...

    @ours("GET", "/trust")
    async def trust_report(self) -> TrustReport:
        """Return what the folder's config would start or loosen. Raises TrustError for a folder that cannot be trusted."""
        ...

    @ours("POST", "/trust", body=TrustGrant)
    async def trust(self, seen: str) -> None:
        """Trust the content that a report was about; it takes effect the next time the folder is opened.

        Raises TrustError when the content has changed since.
        """
        ...


class SignInsFacet(Protocol):
    """Sign-ins with the browser to providers, and the accounts of ChatGPT."""

    @ours("GET", "/account")
    async def accounts(self) -> Sequence[SignInAccount]:
        """Return the accounts, signed in or not, in the order of their first sign-in."""
        ...

    @ours("POST", "/sign-in")
    async def begin(self, request: SignInRequest) -> SignInStarted:
        """Begin a sign-in and open the browser; return its ID and its address. It ends after some minutes.

        Raises ConfigError for a provider without one, NotFoundError for an unknown account, SignInError.
        """
        ...

    @ours("POST", "/sign-in/{sign_in_id}/wait", waits=True)
    async def wait(self, sign_in_id: str) -> SignInDone:
        """Return who signed in. Cancellation does not end the sign-in. Raises SignInError, NotFoundError, StorageError."""
        ...

    @ours("POST", "/sign-in/{sign_in_id}/address", body=SignInAddress)
    async def paste(self, sign_in_id: str, address: str) -> None:
        """Go on with the whole address that the browser shows at the end.

        Raises SignInError for another address, with which the sign-in still waits, NotFoundError.
        """
        ...

    @ours("DELETE", "/sign-in/{sign_in_id}")
    async def cancel(self, sign_in_id: str) -> None:
        """End a sign-in; nothing of it is stored. One that has ended stays as it is."""
        ...

    @ours("POST", "/account/{account_id}/select")
    async def select(self, account_id: str) -> None:
        """Use an account from now on. Raises NotFoundError, StorageError."""
        ...

    @ours("DELETE", "/account/{account_id}")
    async def sign_out(self, account_id: str) -> str:
        """Revoke and delete the tokens of an account; return why they could not be revoked, empty if they were.

        Raises NotFoundError, StorageError.
        """
        ...


class ProjectFacet(Protocol):
    """The folder's project, and all known projects."""

    @opencode("GET", "/project/current")
    async def current(self) -> ProjectInfo:
        """Return the folder's project."""
        ...

    @opencode("GET", "/project")
    async def all(self) -> Sequence[ProjectInfo]:
        """Return every known project."""
        ...

    @opencode("PATCH", "/project/{project_id}")
    async def update(self, project_id: str, request: UpdateProject) -> ProjectInfo:
        """Change the name, icon or commands of a project. Raises NotFoundError, StorageError."""
        ...

    @opencode("GET", "/experimental/worktree")
    async def worktrees(self) -> Sequence[str]:
        """Return the folders of the project's linked worktrees, in the order of discovery."""
        ...

    @opencode("POST", "/experimental/worktree")
    async def create_worktree(self, request: CreateWorktree) -> WorktreeInfo:
        """Create a worktree with a new branch next to the project's folder.

        Its files are written afterwards, then the start commands run in its sandbox; `worktree.ready` or `worktree.failed` follows.
        Raises ConfigError without a repository, GitUnavailableError.
        """
        ...

    @opencode("DELETE", "/experimental/worktree", body=WorktreeChoice)
    async def remove_worktree(self, directory: str) -> None:
        """Remove a worktree with its ignored files; its branch stays while it has commits that exist nowhere else.

        Raises NotFoundError, BusyError while a session runs there, ConfigError when it has uncommitted changes or new files.
        """
        ...

    @opencode("POST", "/experimental/worktree/reset", body=WorktreeChoice)
    async def reset_worktree(self, directory: str) -> None:
        """Move the branch of a worktree to the default branch, then run the project's start command; raises as `remove_worktree`.

        Commits that would exist nowhere else keep a branch of their own; ignored files stay.
        """
        ...

    @opencode("GET", "/path")
    async def places(self) -> Places:
        """Return the folders of the user, of the program and of the project."""
        ...

    @opencode("GET", "/vcs", field="branch")
    async def branch(self) -> str | None:
        """Return the branch that is checked out; None without one."""
        ...


class FilesFacet(Protocol):
    """Files of the work tree; paths are relative to the folder."""

    @opencode("GET", "/find/file")
    async def find(self, query: str, *, kind: FindKind = "all", limit: int = 100) -> Sequence[str]:
        """Return files and folders whose names match `query`, best matches first; folders end with a slash.

        Over HTTP `limit` is 200 at most, as in OpenCode's API.
        """
        ...

    @ours("GET", "/find/names")
    async def names(self) -> Sequence[str]:
        """Return all files and folders in no order; folders end with a slash."""
        ...

    @ours("GET", "/find")
    async def search(self, pattern: str, *, limit: int = 100) -> Sequence[LineMatch]:
        """Return lines that match a regular expression. Raises ToolError for a wrong one."""
        ...

    @opencode("GET", "/file")
    async def list(self, path: str) -> Sequence[FileEntry]:
        """Return a folder's entries, folders first. Raises NotFoundError, also for a path outside."""
        ...

    @opencode("GET", "/file/content")
    async def read(self, path: str) -> FileContent:
        """Return the content of a file. Raises NotFoundError, also for a path outside."""
        ...

    @ours("GET", "/file/bytes")
    async def read_bytes(self, path: str) -> FileContent:
        """Return the content of any file as base64; raises as `read`."""
        ...

    @opencode("GET", "/file/status")
    async def changed(self) -> Sequence[ChangedFile]:
        """Return the files that differ from the last commit, by path; none without git. Raises GitUnavailableError."""
        ...


class McpFacet(Protocol):
    """The MCP servers of the folder. All methods that name a server raise NotFoundError for an unknown one."""

    @ours("GET", "/mcp")
    async def servers(self) -> Sequence[McpServerStatus]:
        """Return the state of each, in the order of the settings; starts none."""
        ...

    @ours("GET", "/mcp/{name}/tools")
    async def tools(self, name: str) -> Sequence[McpTool]:
        """Return the known tools of a server, by name; starts it not."""
        ...

    @ours("GET", "/mcp-prompts")
    async def prompts(self) -> Sequence[McpPrompt]:
        """Return the known prompts of all that are switched on."""
        ...

    @ours("GET", "/mcp-resources")
    async def resources(self) -> Sequence[McpResource]:
        """Return the known resources of all that are switched on."""
        ...

    @ours("POST", "/mcp/{name}/connect")
    async def connect(self, name: str) -> McpServerStatus:
        """Switch a server on, start it, wait for its lists, and return its state, which names a failure."""
        ...

    @ours("POST", "/mcp-lists", waits=True)
    async def wait_listed(self, request: McpWait) -> Sequence[McpServerStatus]:
        """Wait until the lists of all that are switched on are known; return the states of those that have none then."""
        ...

    @ours("POST", "/mcp/{name}/disconnect")
    async def disconnect(self, name: str) -> McpServerStatus:
        """End a server, and switch it off until `connect` or until the folder is closed."""
        ...

    @ours("POST", "/mcp/{name}/restart")
    async def restart(self, name: str) -> McpServerStatus:
        """End a server and start it again; return as `connect`."""
        ...

    @ours("POST", "/mcp")
    async def add(self, request: McpAdd) -> McpServerStatus:
        """Add or replace a server until the folder is closed, start it, and return its state. Raises ConfigError."""
        ...

    @ours("POST", "/mcp/store")
    async def store(self, request: McpStore) -> StoredIn:
        """Write a server into the settings of the user, or of the folder, and return the file; it is not started.

        Raises ConfigError for a name that is there already and a file that cannot be read, StorageError.
        """
        ...

    @opencode("POST", "/mcp/{name}/auth")
    async def begin_sign_in(self, name: str) -> McpSignIn:
        """Begin a sign-in, which ends in the background; return its address, that of one that waits already if there is one.

        Raises ConfigError for a server without sign-in, SignInError.
        """
        ...

    @ours("POST", "/mcp/{name}/sign-in", waits=True)
    async def sign_in(self, name: str) -> McpServerStatus:
        """Open the browser, wait some minutes for the user, connect, and return the state. Raises as `begin_sign_in`.

        It joins a sign-in that has begun. Cancellation does not end that; without a browser `mcp.browser.open.failed` is published.
        """
        ...

    @ours("POST", "/mcp/{name}/sign-in/code")
    async def finish_sign_in(self, name: str, request: McpSignInCode) -> McpServerStatus:
        """End a sign-in that has begun with what the browser shows, connect, and return the state. Raises as `begin_sign_in`."""
        ...

    @ours("DELETE", "/mcp/{name}/sign-in")
    async def sign_out(self, name: str) -> bool:
        """Delete the tokens of a server, cancel a sign-in and end the server; return whether there were any tokens."""
        ...

    @ours("POST", "/mcp/{name}/call", waits=True)
    async def call(self, name: str, request: McpCall) -> JsonObject:
        """Return what a tool answers, as the protocol writes it. For the user: no rule is asked. Raises OpencodeError."""
        ...


class LanguagesFacet(Protocol):
    """The language servers of the folder."""

    @ours("GET", "/lsp")
    async def servers(self) -> Sequence[LanguageServerState]:
        """Return those that run or ran, then those that fit the project; starts none."""
        ...

    @ours("GET", "/lsp/left-out")
    async def describe_left_out(self) -> str:
        """Return the folders of the project that `servers` does not examine, empty if there is none."""
        ...

    @ours("POST", "/lsp/{server_id}/restart")
    async def restart(self, server_id: str) -> bool:
        """Stop the servers of this id and start them again; return whether there were any."""
        ...

    @opencode("GET", "/find/symbol")
    async def symbols(self, query: str) -> Sequence[Symbol]:
        """Return the symbols of the project that match, of the servers that run."""
        ...

    @opencode("GET", "/formatter")
    async def formatters(self) -> Sequence[FormatterState]:
        """Return the known formatters, and which of them run after an edit."""
        ...


class ScreenFacet(Protocol):
    """The screens that are open for this folder."""

    @opencode("POST", "/tui/publish")
    async def publish(self, event: ScreenEvent) -> None:
        """Send an event to all of them; without an open screen nothing happens."""
        ...
