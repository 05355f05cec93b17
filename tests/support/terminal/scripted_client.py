"""A client whose answers a test scripts: the same picture every time."""

import asyncio
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, cast

from opencode_tui.client.client import Client
from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.api.catalog import AgentSummary, ProviderSummary, SandboxState
from opencode_tui.schema.api.context import ContextView
from opencode_tui.schema.api.folder import CommandSummary, Notices
from opencode_tui.schema.api.grants import PermissionRules
from opencode_tui.schema.api.importing import ImportStore
from opencode_tui.schema.api.inbox import AskedReasons, Done, InboxView
from opencode_tui.schema.api.language import LanguageServerState, Symbol
from opencode_tui.schema.api.mcp import McpServerStatus, McpTool
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.api.review import TreeChanges
from opencode_tui.schema.api.search import SearchResult
from opencode_tui.schema.api.setting import SettingList
from opencode_tui.schema.api.side_question import SideAnswer
from opencode_tui.schema.api.sign_in import SignInAccount, SignInStarted
from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.api.trust import TrustReport
from opencode_tui.schema.error import ConfigError, NotFoundError
from opencode_tui.schema.event.event import Envelope, Event
from opencode_tui.schema.model import Limit, Model, ModelRef
from opencode_tui.schema.permission import PermissionReport, PermissionRequest
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.listed import listed
from opencode_tui.schema.session.outline import OutlinedMessage
from opencode_tui.schema.session.session import AnyStatus, SessionInfo, Todo
from opencode_tui.schema.session.undo import RevertPreview
from opencode_tui.schema.totals import SessionTotals
from tests.support.sessions.records import SESSION, session_info
from tests.support.terminal.conversation import NOON, ROOT

SONNET = Model(
    provider_id="anthropic",
    model_id="claude-sonnet-4",
    name="Claude Sonnet 4",
    limit=Limit(context=200_000, output=32_000),
    usable=168_000,
)


def session(
    title: str, *, id: str = SESSION, updated: int = NOON, created: int | None = None, **fields: Any
) -> SessionInfo:
    """A session of the folder; it began at noon at the latest, before its messages."""
    created = min(updated, NOON) if created is None else created
    return session_info(id, created=created, updated=updated, project_id="p", directory=ROOT, title=title, **fields)


@dataclass
class Script:
    """What the client answers."""

    sessions: list[SessionInfo] = field(default_factory=list[SessionInfo])
    messages: list[MessageWithParts] = field(default_factory=list[MessageWithParts])
    statuses: dict[str, AnyStatus] = field(default_factory=dict[str, AnyStatus])
    permissions: list[PermissionRequest] = field(default_factory=list[PermissionRequest])
    questions: list[QuestionRequest] = field(default_factory=list[QuestionRequest])
    todos: list[Todo] = field(default_factory=list[Todo])
    diffs: list[FileDiff] = field(default_factory=list[FileDiff])
    tree: TreeChanges = field(default_factory=lambda: TreeChanges(hooks=[], files=[]))
    costs: dict[str, float] = field(default_factory=dict[str, float])
    asked_costs: list[Sequence[str]] = field(default_factory=list[Sequence[str]])
    """The sessions of each call that asked for costs."""
    report: PermissionReport | None = None
    undo: RevertPreview | None = None
    context: ContextView | None = None
    plan: str = ""
    found: SearchResult = field(default_factory=lambda: SearchResult(groups=[]))
    files: list[str] = field(default_factory=list[str])
    mcp: list[McpServerStatus] = field(default_factory=list[McpServerStatus])
    mcp_tools: list[McpTool] = field(default_factory=list[McpTool])
    commands: list[CommandSummary] = field(default_factory=list[CommandSummary])
    models: list[Model] = field(default_factory=lambda: [SONNET])
    notices: Notices = field(default_factory=Notices)
    trust: TrustReport | None = None
    sandbox: SandboxState = field(default_factory=lambda: SandboxState(tier="bubblewrap"))
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    listed_settings: SettingList = field(default_factory=lambda: SettingList(settings=[], user_file="/home/you/x.json"))
    done: list[Done] = field(default_factory=list[Done])
    inbox: InboxView = field(default_factory=lambda: InboxView(rows=[], silent=[]))
    looks: list[tuple[str | None, int]] = field(default_factory=list[tuple[str | None, int]])
    background: list[BackgroundCommand] = field(default_factory=list[BackgroundCommand])
    languages: list[LanguageServerState] = field(default_factory=list[LanguageServerState])
    symbols: list[Symbol] = field(default_factory=list[Symbol])
    branch: str | None = "main"
    status_text: str = ""
    can_import: bool = False
    providers: list[ProviderSummary] = field(default_factory=list[ProviderSummary])
    rules: PermissionRules | None = None
    totals: SessionTotals = field(default_factory=SessionTotals)
    trash: list[TrashedSession] = field(default_factory=list[TrashedSession])
    stores: list[ImportStore] = field(default_factory=list[ImportStore])
    accounts: list[SignInAccount] = field(default_factory=list[SignInAccount])
    sign_in_url: str = ""
    aside: SideAnswer | None = None
    directory: Path = Path("/home/you/src/csvkit")


class _Events:
    def __init__(self) -> None:
        self.waiting: asyncio.Queue[Envelope] = asyncio.Queue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def __aiter__(self) -> AsyncIterator[Envelope]:
        return self

    async def __anext__(self) -> Envelope:
        return await self.waiting.get()

    def poll(self) -> Envelope | None:
        return None if self.waiting.empty() else self.waiting.get_nowait()


class _Facet:
    """Answers each method of a facet with what it was given under its name: a value, or a function of the arguments."""

    def __init__(self, **answers: Any) -> None:
        self._answers = answers

    def answer(self, **answers: Any) -> None:
        """Answer these methods otherwise; a function may be a coroutine."""
        self._answers.update(answers)

    def __getattr__(self, name: str) -> Any:
        if name not in self._answers:
            raise AssertionError(f"the script has no answer to {name}")
        answer = self._answers[name]

        async def method(*arguments: Any, **named: Any) -> Any:
            found = answer(*arguments, **named) if callable(answer) else answer
            return await found if isawaitable(found) else found

        return method


def _context(script: Script) -> ContextView:
    """Return the script's context; raise as for a session without a model where it has none."""
    if script.context is None:
        raise ConfigError("the script has no context")
    return script.context


def _family_costs(script: Script, session_ids: Sequence[str]) -> dict[str, float]:
    script.asked_costs.append(session_ids)
    return {one: cost for one in session_ids if (cost := _family_cost(script, one))}


def _family_cost(script: Script, session_id: str) -> float:
    below = (one.id for one in script.sessions if one.parent_id == session_id)
    return round(script.costs.get(session_id, 0.0) + sum(_family_cost(script, one) for one in below), 9)


class ScriptedClient:
    """The client of one script; `send` publishes an event."""

    ends_runs = True
    terminals = 0
    can_detach = False

    def __init__(self, script: Script) -> None:
        self.script = script
        self.directory = script.directory
        self._events = _Events()
        self.sessions = _Facet(
            list=lambda: list(script.sessions),
            get=lambda wanted: _found(script.sessions, wanted),
            latest=lambda: next(iter(script.sessions), None),
            costs=lambda: dict(script.costs),
            family_costs=lambda ids, _is_archived=False: _family_costs(script, ids),
            total_cost=lambda is_archived=False: 0.0 if is_archived else sum(script.costs.values()),
            listed=lambda is_everywhere=False: [listed(one) for one in script.sessions],
            everywhere=lambda: list(script.sessions),
            totals=lambda _id: script.totals,
            todos=lambda _id: script.todos,
            diff=lambda _id, _message=None: script.diffs,
            search=lambda request: script.found if request.query else SearchResult(groups=[]),
        )
        self.review = _Facet(changes=lambda: script.tree)
        self.messages = _Facet(
            list=lambda _id, limit=None: script.messages[-limit:] if limit else script.messages,
            ids=lambda _id: [one.info.id for one in script.messages],
            get=lambda _id, wanted: next(one for one in script.messages if one.info.id == wanted),
            named=lambda _id, ids: [one for one in script.messages if one.info.id in ids],
            outlines=lambda _id, ids: [OutlinedMessage(one, is_partial=True) for one in ids],
        )
        self.prompts = _Facet(status=lambda: dict(script.statuses), abort=True)
        self.permissions = _Facet(pending=lambda: list(script.permissions), reply=True, set_approvals=None)
        self.questions = _Facet(pending=lambda: list(script.questions))
        self.trash = _Facet(list=lambda: list(script.trash))
        self.rules = _Facet(
            list=lambda _agent: script.rules,
            explain=lambda *_, **__: script.report or PermissionReport(action="ask", verdicts=[]),
        )
        agents = [AgentSummary(name="build", mode="primary"), AgentSummary(name="plan", mode="primary")]
        agents.append(AgentSummary(name="explore", mode="subagent", description="reads, never writes"))
        self.catalog = _Facet(
            agents=agents,
            models=lambda: script.models,
            refresh_models=[],
            local_servers=[],
            default_model=lambda: (
                script.models[0].ref if script.models else ModelRef(provider_id="demo", model_id="tour")
            ),
            commands=lambda: script.commands,
            skills=list[Any](),
            providers=lambda **named: [one for one in script.providers if one.is_ready or not named.get("only_ready")],
        )
        self.sign_ins = _Facet(
            accounts=lambda: list(script.accounts),
            begin=lambda _request: SignInStarted(id="0123456789abcdef", url=script.sign_in_url),
            wait=lambda _id: asyncio.Event().wait(),
            cancel=None,
        )
        self.settings = _Facet(
            notices=lambda: script.notices,
            effective=lambda: script.settings,
            all=lambda: script.listed_settings,
            trust_report=lambda: script.trust,
            sandbox=lambda: script.sandbox,
            status_text=lambda _facts: script.status_text,
            newer_version="",
        )
        state = Path(tempfile.mkdtemp(prefix="scripted-state-"))  # the history of prompts is written there
        weakref.finalize(self, shutil.rmtree, state, ignore_errors=True)
        places = Places(
            home="/home/you",
            state=str(state),
            config="/nowhere/c",
            worktree=str(script.directory),
            directory=str(script.directory),
        )
        self.project = _Facet(places=places, branch=lambda: script.branch, current=lambda: SimpleNamespace(id="p"))
        self.files = _Facet(names=lambda: script.files, changed=lambda: script.diffs)
        self.undo = _Facet(preview=lambda *_: script.undo, recover=None)
        self.context = _Facet(items=lambda _id: _context(script), ask=lambda *_: script.aside)
        self.background = _Facet(list=lambda _id=None: list(script.background))
        self.inbox = _Facet(
            list=lambda: script.inbox,
            done=lambda _since: script.done,
            reasons=lambda *_: AskedReasons(agent="build", report=script.report, places=places),
            reply=True,
            stop=None,
            look=lambda session_id, until: script.looks.append((session_id, until)),
        )
        self.mcp = _Facet(servers=lambda: script.mcp, tools=lambda _name: script.mcp_tools, resources=[])
        self.languages = _Facet(servers=lambda: script.languages, symbols=lambda _query: script.symbols)
        self.imports = _Facet(available=lambda: script.can_import, stores=lambda: script.stores, progress=None)

    def events(self) -> _Events:
        """Return the only reader."""
        return self._events

    def send(self, *events: Event) -> None:
        """Publish these events."""
        for event in events:
            self._events.waiting.put_nowait(Envelope(str(self.directory), event))


def _found(sessions: list[SessionInfo], wanted: str) -> SessionInfo:
    for one in sessions:
        if one.id == wanted:
            return one
    raise NotFoundError(f"no session {wanted}")


def as_client(client: ScriptedClient) -> Client:
    """Return the scripted client with the type that the app expects."""
    return cast("Client", client)
