"""A permission request with its call and its verdicts, read before it is shown."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.client.client import Client
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.permission import PermissionReport, PermissionRequest, Verdict
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.text.permission import (
    Choice,
    choices_of,
    is_command,
    reason_of,
    reasons_of,
    sandbox_facts,
    subject_of,
    title_of,
)


class PermissionCase(Struct, frozen=True):
    """A request, the call that needs it, the verdicts; `origin` names the session if it is not the shown one."""

    request: PermissionRequest
    directory: Path
    report: PermissionReport | None = None
    call: ToolPart | None = None
    agent: str = ""
    origin: str = ""
    places: Places | None = None
    """The folders for short paths; without them paths are absolute."""
    no_sandbox: str = ""
    """Why no sandbox works here; unsafe."""

    @property
    def title(self) -> str:
        """The question."""
        return title_of(self.request)

    @property
    def choices(self) -> Sequence[Choice]:
        """The keys that answer."""
        return choices_of(self.request)

    @property
    def subject(self) -> str:
        """The subject: the full command, the folders, the paths; unsafe."""
        return subject_of(self.request, self.call)

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty if there is none."""
        return str(self.request.metadata.get("diff") or "")

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The verdict on each part."""
        return self.report.verdicts if self.report is not None else ()

    @property
    def why(self) -> str:
        """The reasons of the request, as sentences; unsafe."""
        reasons = reasons_of(
            self.request,
            self.verdicts,
            self.directory,
            agent=self.agent,
            places=self.places,
            no_sandbox=self.no_sandbox,
        )
        return " ".join(reasons)

    def reason(self, verdict: Verdict) -> str:
        """Return the rule that decides, with its file; unsafe."""
        return reason_of(verdict, self.places)


async def load_case(client: Client, request: PermissionRequest, *, origin: str) -> PermissionCase:
    """Return the request with its call and its verdicts; what cannot be read is omitted."""
    call, agent = await _call(client, request)
    case = PermissionCase(request, client.directory, None, call, agent, origin)
    facts = sandbox_facts(request)
    try:
        case = replace(case, places=await client.project.places())
        if facts.is_afterwards:
            return case
        if facts.tier == "none":
            case = replace(case, no_sandbox=(await client.settings.sandbox()).reason)
        permission = "bash" if is_command(request) else request.permission
        report = await client.rules.explain(permission, case.subject, agent=agent or None)
    except OpencodeError:
        return case  # an agent that is gone: the question is put without its rules
    return replace(case, report=report)


async def _call(client: Client, request: PermissionRequest) -> tuple[ToolPart | None, str]:
    if request.tool is None:
        return None, ""
    try:
        message = await client.messages.get(request.session_id, request.tool.message_id)
    except OpencodeError:
        return None, ""
    calls = (part for part in message.parts if isinstance(part, ToolPart))
    call = next((part for part in calls if part.call_id == request.tool.call_id), None)
    agent = (message.info.agent or message.info.mode) if isinstance(message.info, AssistantMessage) else ""
    return call, agent
