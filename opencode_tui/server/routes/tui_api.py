"""Routes of the HTTP client that OpenCode's API does not have: sessions, prompts, context, undo, and the folder."""

from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import Field

from opencode_tui.schema.api.catalog import ProviderFacts, SandboxState, StatusFacts, provider_facts
from opencode_tui.schema.api.context import (
    CompactionReport,
    CompactSession,
    ContextView,
    PartChoice,
    PruneReport,
    RequestView,
)
from opencode_tui.schema.api.file import LineMatch
from opencode_tui.schema.api.folder import Notices
from opencode_tui.schema.api.request import PROMPT_PARTS, ForkSession, PromptInput, PromptPart, UpdateSession
from opencode_tui.schema.api.search import SearchRequest, SearchResult
from opencode_tui.schema.api.share import ShareStatus
from opencode_tui.schema.api.trust import TrustGrant, TrustReport
from opencode_tui.schema.http_headers import OWN
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.permission import ApprovalsMode, PermissionReport, PermissionRules, Rule
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.session import ForkPreview, SessionInfo
from opencode_tui.schema.session.undo import RevertPreview, RevertReport, UndoOnly
from opencode_tui.schema.totals import SessionTotals
from opencode_tui.server.answer import JSON_TYPE, answer_record, answer_records, answer_value
from opencode_tui.server.request import FolderClient, MessageId, ProviderId, SessionId
from opencode_tui.server.router import new_router

router = new_router("opencode-tui", prefix=OWN)

MessageName = Annotated[str, Field(pattern=r"^msg_[0-9A-Za-z]{1,60}$")]
PartName = Annotated[str, Field(pattern=r"^prt_[0-9A-Za-z]{1,60}$")]


@router.post("/search", response_model=SearchResult)
async def search_sessions(client: FolderClient, request: SearchRequest) -> Response:
    """Search the content of the sessions of all projects."""
    return answer_record(await client.search.find(request))


class PromptText(Record):
    """A prompt as it was typed."""

    text: str


@router.get("/session", response_model=list[SessionInfo])
async def list_sessions_newest_first(client: FolderClient) -> Response:
    """List the sessions of the folder's project, the newest first."""
    return answer_records(await client.sessions.list())


@router.get("/session/latest", response_model=SessionInfo | None)
async def get_latest_session(client: FolderClient) -> Response:
    """Return the most recently used session, null when there is none."""
    latest = await client.sessions.latest()
    return answer_value(None) if latest is None else answer_record(latest)


@router.get("/session/everywhere", response_model=list[SessionInfo])
async def list_all_sessions(client: FolderClient) -> Response:
    """List the sessions of all projects, the last used first."""
    return answer_records(await client.sessions.everywhere())


@router.patch("/session/{sessionID}", response_model=SessionInfo)
async def change_session(client: FolderClient, session_id: SessionId, change: UpdateSession) -> Response:
    """Rename, archive or pin a session."""
    return answer_record(await client.sessions.update(session_id, change))


@router.get("/share", response_model=ShareStatus)
async def get_share_status(client: FolderClient) -> Response:
    """Return where sessions can be shared, or why they cannot."""
    return answer_record(await client.sharing.status())


@router.get("/session/cost", response_model=dict[str, float])
async def get_costs(client: FolderClient) -> Response:
    """Return the cost of each session of the folder's project in USD, by its id; free ones are left out."""
    return answer_value(await client.sessions.costs())


@router.post("/session/recover", response_model=int)
async def recover_sessions(client: FolderClient) -> Response:
    """Finalize what killed processes left open; return the number of changed messages."""
    return answer_value(await client.sessions.recover_all())


@router.post("/session/{sessionID}/fork", response_model=SessionInfo)
async def fork_elsewhere(client: FolderClient, session_id: SessionId, request: ForkSession) -> Response:
    """Fork a session, in a git worktree of its own if that is wished."""
    return answer_record(await client.sessions.fork(session_id, request))


@router.post("/session/{sessionID}/fork/preview", response_model=ForkPreview)
async def preview_fork(client: FolderClient, session_id: SessionId, request: ForkSession) -> Response:
    """Return what a fork would be, without creating it."""
    return answer_record(await client.sessions.preview_fork(session_id, request))


@router.post("/session/{sessionID}/copied", response_model=bool)
async def wait_for_copies(client: FolderClient, session_id: SessionId) -> Response:
    """Answer when a fork is copied completely and no fork of it needs its records any more."""
    await client.sessions.get(session_id)
    await client.sessions.wait_copied(session_id)
    return answer_value(True)


@router.get("/session/{sessionID}/totals", response_model=SessionTotals)
async def get_totals(client: FolderClient, session_id: SessionId) -> Response:
    """Return the usage of a session and its subagent sessions."""
    return answer_record(await client.sessions.totals(session_id))


@router.post("/session/{sessionID}/abort", response_model=bool)
async def abort_run(client: FolderClient, session_id: SessionId) -> Response:
    """Interrupt the session's run; returns whether there was one."""
    await client.sessions.get(session_id)
    return answer_value(await client.prompts.abort(session_id))


@router.delete("/session/{sessionID}/queued/{messageID}", response_model=bool)
async def withdraw_request(client: FolderClient, session_id: SessionId, message_id: MessageId) -> Response:
    """Remove a request that waits for the turn before it; returns whether no step had read it yet."""
    await client.sessions.get(session_id)
    return answer_value(await client.prompts.withdraw(session_id, message_id))


@router.post("/session/{sessionID}/queued/{messageID}/send", response_model=bool)
async def send_request_now(client: FolderClient, session_id: SessionId, message_id: MessageId) -> Response:
    """Let the session read a request that waits at once; returns whether it still waited."""
    await client.sessions.get(session_id)
    return answer_value(await client.prompts.send_now(session_id, message_id))


@router.post("/prompt/check", response_model=bool)
async def check_prompt(client: FolderClient, request: PromptInput) -> Response:
    """Return true when a request for a new session could be answered, otherwise an error with the reason."""
    await client.prompts.check(request)
    return answer_value(True)


@router.post("/prompt/expand", response_model=list[PromptPart])
async def expand_prompt(client: FolderClient, typed: PromptText) -> Response:
    """Return the parts of a prompt's text: itself, the files that it names with `@`, the agents."""
    parts = list(await client.prompts.expand(typed.text))
    return Response(PROMPT_PARTS.dump_json(parts, by_alias=True), media_type=JSON_TYPE)


Word = Annotated[str, Query(max_length=4_096, pattern=r"^[^\x00]*$")]


class Act(Record):
    """A call to explain: a permission and its patterns; `extra` rules are evaluated after all others."""

    permission: str
    subject: str
    agent: str | None = absent()
    extra: list[Rule] = Field(default_factory=list[Rule])


@router.get("/rules", response_model=PermissionRules)
async def list_rules(client: FolderClient, agent: Word | None = None) -> Response:
    """Return an agent's rules (the default one's without a name) and the permanent grants of this worktree."""
    return answer_record(await client.rules.list(agent))


@router.post("/rules/explain", response_model=PermissionReport)
async def explain_act(client: FolderClient, act: Act) -> Response:
    """Return why a call would be allowed, asked or denied."""
    return answer_record(await client.rules.explain(act.permission, act.subject, agent=act.agent, extra=act.extra))


@router.get("/rules/grants", response_model=list[Rule])
async def list_grants(client: FolderClient, permission: Word, pattern: Word | None = None) -> Response:
    """Return the grants that a revocation would delete."""
    return answer_records(await client.rules.grants(permission, pattern))


@router.delete("/rules/grants", response_model=list[Rule])
async def revoke_grants(client: FolderClient, permission: Word, pattern: Word | None = None) -> Response:
    """Delete permanent grants; returns those that were deleted."""
    return answer_records(await client.rules.revoke(permission, pattern))


@router.get("/model", response_model=list[Model])
async def list_models(client: FolderClient, *, all: bool = False) -> Response:
    """List the models that can be used here, or those of every known provider."""
    return answer_records(await (client.catalog.all_models() if all else client.catalog.models()))


@router.post("/model/refresh", response_model=list[str])
async def refresh_models(client: FolderClient, *, is_forced: bool = False) -> Response:
    """Read newer lists of models if they are due, or in any case; return a line for each that changed."""
    return answer_value(list(await client.catalog.refresh_models(is_forced=is_forced)))


@router.post("/model/local", response_model=list[str])
async def find_local_servers(client: FolderClient) -> Response:
    """Look for servers of models on this machine; returns a line for each."""
    return answer_value(await client.catalog.local_servers())


@router.get("/model/default", response_model=ModelRef)
async def get_default_model(client: FolderClient) -> Response:
    """Return the default model."""
    return answer_record(await client.catalog.default_model())


@router.get("/provider", response_model=list[ProviderFacts])
async def list_provider_facts(client: FolderClient, *, only_ready: bool = False) -> Response:
    """List the known providers, or those that can be used now."""
    return answer_records([provider_facts(one) for one in await client.catalog.providers(only_ready=only_ready)])


@router.post("/provider/{providerID}/try", response_model=str)
async def try_provider(client: FolderClient, provider_id: ProviderId) -> Response:
    """Send a provider its cheapest request; returns what keeps it from being used, empty if nothing does."""
    return answer_value(await client.catalog.try_provider(provider_id))


@router.get("/agent", response_model=dict[str, Any])
async def get_agent(client: FolderClient, name: Word) -> Response:
    """Return the definition of an agent: {agent, rules, prompt, tools}."""
    return answer_value(await client.catalog.describe_agent(name))


@router.get("/notices", response_model=Notices)
async def get_notices(client: FolderClient) -> Response:
    """Return warnings about the folder's settings."""
    return answer_record(await client.settings.notices())


@router.post("/status-text", response_model=str)
async def run_status_command(client: FolderClient, facts: StatusFacts) -> Response:
    """Run the command of the status line, if the settings have one, and return its first line."""
    return answer_value(await client.settings.status_text(facts))


@router.get("/newer-version", response_model=str)
async def get_newer_version(client: FolderClient) -> Response:
    """Return the newest published version if it is newer and the settings ask for it, else an empty text."""
    return answer_value(await client.settings.newer_version())


@router.get("/sandbox", response_model=SandboxState)
async def get_sandbox(client: FolderClient) -> Response:
    """Return how commands are confined in the folder."""
    return answer_record(await client.settings.sandbox())


@router.get("/config", response_model=dict[str, Any])
async def get_settings(client: FolderClient) -> Response:
    """Return the effective settings, secrets redacted."""
    return answer_value(await client.settings.effective())


@router.get("/trust", response_model=TrustReport)
async def get_trust(client: FolderClient) -> Response:
    """Return what the folder's config would start or loosen."""
    return answer_record(await client.settings.trust_report())


@router.post("/trust", response_model=bool)
async def grant_trust(client: FolderClient, grant: TrustGrant) -> Response:
    """Trust the content that a report was about, and nothing else; it takes effect the next time the folder is opened."""
    await client.settings.trust(grant.seen)
    return answer_value(True)


@router.get("/auth/{providerID}/override", response_model=str)
async def get_key_override(client: FolderClient, provider_id: ProviderId) -> Response:
    """Return one line about a key in the settings that is used instead of a stored one; empty without one."""
    return answer_value(await client.settings.key_override(provider_id))


@router.delete("/auth/{providerID}", response_model=bool)
async def delete_key(client: FolderClient, provider_id: ProviderId) -> Response:
    """Delete a provider's key; returns whether there was one."""
    return answer_value(await client.settings.delete_key(provider_id))


@router.get("/find", response_model=list[LineMatch])
async def find_lines(
    client: FolderClient, pattern: Word, limit: Annotated[int, Query(ge=1, le=10_000)] = 100
) -> Response:
    """Find lines by a regular expression, so many at most."""
    return answer_records(await client.files.search(pattern, limit=limit))


@router.get("/session/{sessionID}/context", response_model=ContextView)
async def get_context(client: FolderClient, session_id: SessionId) -> Response:
    """Return the content of the next request, item by item."""
    return answer_record(await client.context.items(session_id))


@router.get("/session/{sessionID}/request", response_model=RequestView)
async def get_request(client: FolderClient, session_id: SessionId) -> Response:
    """Return the next request as it would be sent, keys redacted."""
    return answer_record(await client.context.request(session_id))


@router.post("/session/{sessionID}/prune", response_model=PruneReport)
async def prune_session(client: FolderClient, session_id: SessionId, choice: PartChoice | None = None) -> Response:
    """Leave the outputs of calls out of later requests: the given ones, or those that the rules choose."""
    choice = choice or PartChoice()
    return answer_record(await client.context.prune(session_id, choice.parts, dry_run=choice.dry_run))


@router.post("/session/{sessionID}/restore", response_model=PruneReport)
async def restore_session(client: FolderClient, session_id: SessionId, choice: PartChoice | None = None) -> Response:
    """Send the outputs of calls again: the given ones, or all."""
    choice = choice or PartChoice()
    return answer_record(await client.context.restore(session_id, choice.parts, dry_run=choice.dry_run))


class RevertChoice(Record):
    """The message, or its part, at which an undo starts; by default the user's last turn; and what it is limited to."""

    message_id: MessageName | None = absent()
    part_id: PartName | None = absent()
    only: UndoOnly | None = absent()


@router.post("/session/{sessionID}/compact", response_model=CompactionReport)
async def compact_session(
    client: FolderClient, session_id: SessionId, request: CompactSession | None = None
) -> Response:
    """Compact a session, or only preview it, and return a report."""
    await client.sessions.get(session_id)
    return answer_record(await client.context.compact(session_id, request or CompactSession()))


@router.post("/session/{sessionID}/recover", response_model=bool)
async def recover_session(client: FolderClient, session_id: SessionId) -> Response:
    """Finalize what a killed process left open in the session; an error while the session runs."""
    await client.undo.recover(session_id)
    return answer_value(True)


@router.get("/session/{sessionID}/approvals", response_model=ApprovalsMode)
async def get_approvals(client: FolderClient, session_id: SessionId) -> Response:
    """Return the mode of approvals of a session."""
    return answer_record(ApprovalsMode(approvals=await client.permissions.approvals(session_id)))


@router.put("/session/{sessionID}/approvals", response_model=bool)
async def set_approvals(client: FolderClient, session_id: SessionId, mode: ApprovalsMode) -> Response:
    """Change the mode of approvals of a session."""
    await client.permissions.set_approvals(session_id, mode.approvals)
    return answer_value(True)


@router.post("/session/{sessionID}/revert/preview", response_model=RevertPreview)
async def preview_revert(client: FolderClient, session_id: SessionId, choice: RevertChoice | None = None) -> Response:
    """Return what an undo would do to messages and files, without changing anything."""
    choice = choice or RevertChoice()
    return answer_record(await client.undo.preview(session_id, choice.message_id, choice.part_id, only=choice.only))


@router.get("/session/{sessionID}/revert/diff", response_model=list[FileDiff])
async def list_reverted_changes(
    client: FolderClient,
    session_id: SessionId,
    message_id: Annotated[str, Query(alias="messageID", pattern=r"^msg_[0-9A-Za-z]{1,60}$")],
    part_id: Annotated[str | None, Query(alias="partID", pattern=r"^prt_[0-9A-Za-z]{1,60}$")] = None,
) -> Response:
    """Return the file changes that an undo from a message, or a part of it, is for."""
    await client.sessions.get(session_id)
    return answer_records(await client.undo.changes(session_id, message_id, part_id))


@router.post("/session/{sessionID}/unrevert/preview", response_model=RevertPreview)
async def preview_unrevert(client: FolderClient, session_id: SessionId) -> Response:
    """Return what a redo would do to files, without changing anything."""
    return answer_record(await client.undo.preview_unrevert(session_id))


@router.post("/session/{sessionID}/revert", response_model=RevertReport)
async def revert_with_report(
    client: FolderClient, session_id: SessionId, choice: RevertChoice | None = None
) -> Response:
    """Undo, and return a report."""
    choice = choice or RevertChoice()
    return answer_record(await client.undo.revert(session_id, choice.message_id, choice.part_id, only=choice.only))


@router.post("/session/{sessionID}/unrevert", response_model=RevertReport)
async def unrevert_with_report(client: FolderClient, session_id: SessionId) -> Response:
    """Redo what the undo reverted, and return a report."""
    return answer_record(await client.undo.unrevert(session_id))
