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
from opencode_tui.tui.permission_words import once_of, rule_words, subject_of, title_of


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
        match self.request.permission:
            case "external_directory":
                return f"It lies outside of {self.directory}."
            case "doom_loop":
                return "The same calls come again and again."
            case _:
                return " ".join([*self._reasons(), *self._place()])

    def _reasons(self) -> list[str]:
        told: list[str] = []
        asking = [one for one in self.verdicts if one.action == "ask"]
        if self.request.metadata.get("opaque") and not any(one.note for one in asking):
            told.append("What it does cannot be known before it runs.")
        if self.request.metadata.get("network"):
            told.append("It uses the network.")
        if asking and len(self.verdicts) > 1:
            one = "One part asks" if len(asking) == 1 else f"{len(asking)} parts ask"
            told.append(f"{one}, so the whole command asks.")
        elif asking and (note := asking[0].note):
            told.append(f"{note[0].upper()}{note[1:]}.")
        elif asking:
            who = f"Agent {self.agent} asks" if self.agent else "It asks"
            told.append(f"{who} before this ({self.reason(asking[0])}).")
        return told

    def _place(self) -> list[str]:
        if self.request.permission != "bash":
            return []
        home = self.places.home.rstrip("/") if self.places is not None else ""
        folder = str(self.directory)
        short = f"~{folder[len(home) :]}" if home and folder.startswith(f"{home}/") else folder
        return [f"It runs in {short}."]

    def reason(self, verdict: Verdict) -> str:
        """Why the rules say so, in a few words, with the file that the rule stands in; raw."""
        if verdict.grant is not None:
            return f"you allowed {verdict.grant.pattern} for good"
        if verdict.note:
            return verdict.note
        if verdict.rule is None:
            return "no rule names it"
        return rule_words(verdict.rule, verdict.permission, verdict.source, self.places)


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
