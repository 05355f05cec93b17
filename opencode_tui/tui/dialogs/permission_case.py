"""What a permission question is about, with what the rules say of it: read before it is shown."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.client.client import Client
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.message import AssistantMessage
from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.permission import PermissionReport, PermissionRequest, Verdict
from opencode_tui.schema.project import Places
from opencode_tui.text.permission import once_of, reason_of, reasons_of, subject_of, title_of


class PermissionCase(Struct, frozen=True):
    """A request, the call that needs it, the verdicts; `origin` names the session when it is not the one that is shown."""

    request: PermissionRequest
    directory: Path
    report: PermissionReport | None = None
    call: ToolPart | None = None
    agent: str = ""
    origin: str = ""
    places: Places | None = None
    """The folders by which files are named in short; without them they are named in full."""

    @property
    def title(self) -> str:
        """The question."""
        return title_of(self.request)

    @property
    def once(self) -> str:
        """What the key for once does."""
        return once_of(self.request)

    @property
    def subject(self) -> str:
        """What the act is about: the whole command, the folders, the paths; raw."""
        return subject_of(self.request, self.call)

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty when it is about none."""
        return str(self.request.metadata.get("diff") or "")

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """What the rules say of each part."""
        return self.report.verdicts if self.report is not None else ()

    @property
    def why(self) -> str:
        """Why it is asked, in sentences; raw."""
        return " ".join(reasons_of(self.request, self.verdicts, self.directory, agent=self.agent, places=self.places))

    def reason(self, verdict: Verdict) -> str:
        """Return why the rules decide so, in a few words, with the file of the rule; raw."""
        return reason_of(verdict, self.places)


async def load_case(client: Client, request: PermissionRequest, *, origin: str) -> PermissionCase:
    """Return the request with its call and its verdicts; what cannot be read is left out."""
    call, agent = await _call(client, request)
    case = PermissionCase(request, client.directory, None, call, agent, origin)
    try:
        places = await client.project.places()
        report = await client.rules.explain(request.permission, case.subject, agent=agent or None)
    except OpencodeError:
        return case  # an agent that is gone: the question is put without its rules
    return replace(case, report=report, places=places)


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
