"""Asks the person at the terminal whether a call may go on.

Nothing is preselected: an empty line only asks again, and what was typed before the question appeared does not answer it. The
terminal is read apart from standard input, which may be a pipe.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from opencode_tui.cli.cells import clip
from opencode_tui.cli.permission_question import Question, render_keys, render_question
from opencode_tui.cli.permission_reason import judge
from opencode_tui.cli.style import Style, Token
from opencode_tui.cli.terminal import make_safe, say
from opencode_tui.client.client import Client
from opencode_tui.schema.error import OpencodeError, StorageError
from opencode_tui.schema.message import AssistantMessage
from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.permission import PermissionRequest, Reply, Rule

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


def open_terminal() -> int | None:
    """Return a descriptor of the person's terminal, None when there is none to ask at."""
    if not sys.stderr.isatty():
        return None
    if sys.stdin is not None and sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] - None when closed
        return sys.stdin.fileno()
    try:
        return os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return None


class PermissionPrompt:
    """Puts questions one after another and sends the answers. `style` is that of `err`."""

    def __init__(self, terminal: int | None, client: Client, *, err: TextIO, style: Style) -> None:
        self._terminal = terminal
        self._client = client
        self._err = err
        self._style = style

    async def is_open(self, request: PermissionRequest) -> bool:
        """Tell whether a question still waits: the answer to another one may have settled it."""
        return any(pending.id == request.id for pending in await self._client.permissions.pending())

    async def ask(self, request: PermissionRequest) -> None:
        """Show a question, wait for the answer, send it, and leave a line that says it; a terminal that is gone rejects."""
        if self._terminal is None:
            await self._client.permissions.reply(request.id, "reject")
            return
        question = await self._question(request)
        _forget_typed(self._terminal)
        self._write(render_question(question, self._style))
        reply = await self._read_reply(request)
        word = await self._read_line("  A word to the agent, or enter for none: ") if reply == "reject" else None
        try:
            await self._client.permissions.reply(request.id, reply, (word or "").strip() or None)
        except StorageError as error:
            say(f"{error}; allowed this once")
            reply = "once"
        self._write(self._decision(question, reply, (word or "").strip()))

    async def _question(self, request: PermissionRequest) -> Question:
        part, agent = await self._call(request)
        rules = await self._rules(agent) if agent else []
        return Question(request, judge(request, rules), Path.cwd(), part)

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

    async def _rules(self, agent: str) -> list[Rule]:
        try:
            described = await self._client.catalog.describe_agent(agent)
        except OpencodeError:
            return []  # an agent that is gone: the question is put without its rules
        return [Rule.model_validate(rule) for rule in described["rules"]]

    async def _read_reply(self, request: PermissionRequest) -> Reply:
        """Return the answer; the end of input rejects."""
        while line := await self._read_line("> "):
            reply = _WORDS.get(line.strip().lower())
            if reply is not None and (reply != "always" or request.always):
                return reply
            self._write("\n".join(render_keys(request, self._style)) + "\n")
        self._write("\n")
        return "reject"

    async def _read_line(self, label: str) -> str:
        """Return the next line with its line feed, empty at the end of input; can be cancelled."""
        self._write(label)
        terminal = self._terminal
        if terminal is None:
            return ""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(terminal, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        except asyncio.CancelledError:
            self._write("\n")
            raise
        finally:
            loop.remove_reader(terminal)
        try:
            return os.read(terminal, 4096).decode("utf-8", "replace")
        except OSError:  # the terminal was closed
            return ""

    def _decision(self, question: Question, reply: Reply, word: str) -> str:
        sign, token, text = _DECISIONS[reply]
        subject = ", ".join(question.request.always) if reply == "always" else question.subject
        told = f"{text}  {make_safe(_first(subject))}" + (f"  you said: {make_safe(word)}" if word else "")
        told = clip(told, (self._style.columns() or 200) - 2, self._style.words("…"))
        return f"{self._style.paint(self._style.words(sign), token)} {self._style.paint(told, 'muted')}\n"

    def _write(self, text: str) -> None:
        self._err.write(text)
        self._err.flush()


_DECISIONS: dict[Reply, tuple[str, Token, str]] = {
    "once": ("✓", "success", "Allowed once"),
    "always": ("✓", "success", "Allowed from now on"),
    "reject": ("■", "warning", "Rejected"),
}


def _first(text: str) -> str:
    lines: Sequence[str] = text.strip().splitlines()
    return lines[0] if lines else ""


def _forget_typed(terminal: int) -> None:
    """Drop what was typed before the question could be read."""
    try:
        import termios  # absent on Windows
    except ImportError:
        return
    with suppress(termios.error):
        termios.tcflush(terminal, termios.TCIFLUSH)
