"""Asks the person at the terminal whether a call may go on.

Nothing is preselected: an empty line only asks again, and what was typed before the question appeared does not answer it.
"""

from collections.abc import Sequence
from pathlib import Path

from opencode_tui.cli.cells import clip
from opencode_tui.cli.permission_question import Question, render_keys, render_question
from opencode_tui.cli.permission_reason import judge
from opencode_tui.cli.style import Style, Token
from opencode_tui.cli.terminal import say
from opencode_tui.cli.terminal_lines import TerminalLines
from opencode_tui.client.client import Client
from opencode_tui.schema.error import OpencodeError, StorageError
from opencode_tui.schema.message import AssistantMessage
from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.permission import PermissionRequest, Reply, Rule
from opencode_tui.tui.permission_words import short_source, subject_of
from opencode_tui.tui.safe_text import make_safe

_RECENT_MESSAGES = 5
"""Among so many newest messages the one is looked for whose call asks."""

_WORDS: dict[str, Reply] = {
    "y": "once",
    "yes": "once",
    "once": "once",
    "a": "always",
    "always": "always",
    "n": "reject",
    "no": "reject",
    "reject": "reject",
}


class PermissionPrompt:
    """Puts questions one after another and sends the answers."""

    def __init__(self, terminal: TerminalLines | None, client: Client, style: Style) -> None:
        self._terminal = terminal
        self._client = client
        self._style = style

    async def is_open(self, request: PermissionRequest) -> bool:
        """Tell whether a question still waits: the answer to another one may have settled it."""
        return any(pending.id == request.id for pending in await self._client.permissions.pending())

    async def ask(self, request: PermissionRequest) -> None:
        """Show a question, wait for the answer, send it, and leave a line that says it; a terminal that is gone rejects."""
        terminal = self._terminal
        if terminal is None:
            await self._client.permissions.reply(request.id, "reject")
            return
        question = await self._question(request)
        terminal.forget_typed()
        terminal.show(render_question(question, self._style))
        reply, word = await self._read_answer(terminal, request)
        try:
            await self._client.permissions.reply(request.id, reply, word or None)
        except StorageError as error:
            say(f"{error}; allowed this once")
            reply = "once"
        terminal.show(self._decision(question, reply, word))

    async def _question(self, request: PermissionRequest) -> Question:
        part, agent = await self._call(request)
        rules, stands = await self._rules(agent)
        return Question(request, judge(request, rules, stands), Path.cwd(), part)

    async def _call(self, request: PermissionRequest) -> tuple[ToolPart | None, str | None]:
        """Return the call that asks, and its agent."""
        if request.tool is None:
            return None, None
        for message in reversed(await self._client.messages.list(request.session_id, _RECENT_MESSAGES)):
            if message.info.id == request.tool.message_id and isinstance(message.info, AssistantMessage):
                calls = (part for part in message.parts if isinstance(part, ToolPart))
                part = next((call for call in calls if call.call_id == request.tool.call_id), None)
                return part, message.info.agent or message.info.mode
        return None, None

    async def _rules(self, agent: str | None) -> tuple[Sequence[Rule], Sequence[str]]:
        """Return the rules of an agent and where each stands."""
        if not agent:
            return [], []
        try:
            found, places = await self._client.rules.list(agent), await self._client.project.places()
        except OpencodeError:
            return [], []  # an agent that is gone: the question is put without its rules
        return found.rules, [short_source(source, places) for source in found.sources]

    async def _read_answer(self, terminal: TerminalLines, request: PermissionRequest) -> tuple[Reply, str]:
        """Return the answer, with a word to the agent if it is a no; the end of input is one."""
        while line := await terminal.read("> "):
            reply = _WORDS.get(line.strip().lower())
            if reply == "reject":
                return reply, (await terminal.read("  A word to the agent, or enter for none: ")).strip()
            if reply is not None and (reply == "once" or request.always):
                return reply, ""
            terminal.show("\n".join(render_keys(request, self._style)) + "\n")
        terminal.show("\n")
        return "reject", ""

    def _decision(self, question: Question, reply: Reply, word: str) -> str:
        sign, token, text = _DECISIONS[reply]
        subject = (
            ", ".join(question.request.always) if reply == "always" else subject_of(question.request, question.call)
        )
        told = f"{text}  {make_safe(_first(subject))}" + (f"  you said: {make_safe(word)}" if word else "")
        told = clip(told, (self._style.columns() or 200) - 2, self._style.words("…"))
        return f"{self._style.paint(self._style.words(sign), token)} {self._style.paint(told, 'muted')}\n"


_DECISIONS: dict[Reply, tuple[str, Token, str]] = {
    "once": ("✓", "success", "Allowed once"),
    "always": ("✓", "success", "Allowed from now on"),
    "reject": ("■", "warning", "Rejected"),
}


def _first(text: str) -> str:
    lines: Sequence[str] = text.strip().splitlines()
    return lines[0] if lines else ""
