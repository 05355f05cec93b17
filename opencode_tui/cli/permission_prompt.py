"""Asks the person at the terminal whether a call may go on.

Nothing is preselected: an empty line only asks again. The terminal is read apart from standard input, which may be a pipe.
"""

import asyncio
import os
import sys
from collections.abc import Sequence

from opencode_tui.cli.style import style
from opencode_tui.cli.terminal import make_safe
from opencode_tui.client.client import PermissionsFacet
from opencode_tui.schema.permission import PermissionRequest

QUESTIONS = {
    "bash": "Run this command?",
    "edit": "Change this file?",
    "read": "Read this file?",
    "external_directory": "Use this folder outside the project?",
    "webfetch": "Fetch this page?",
    "doom_loop": "It keeps making the same call. Go on?",
}


def open_terminal() -> int | None:
    """Return a descriptor of the person's terminal, None when there is none to ask at."""
    if not sys.stderr.isatty():
        return None
    if sys.stdin.isatty():
        return sys.stdin.fileno()
    try:
        return os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return None


class PermissionPrompt:
    """Puts questions one after another and sends the answers."""

    def __init__(self, terminal: int | None, permissions: PermissionsFacet) -> None:
        self._terminal = terminal
        self._permissions = permissions

    async def ask(self, request: PermissionRequest) -> None:
        """Show a question, wait for the answer and send it; a terminal that is gone rejects."""
        if self._terminal is None:
            await self._permissions.reply(request.id, "reject")
            return
        _write(_question(request))
        while True:
            answer = (await self._read_line("> ")) or ""
            match answer.strip().lower():
                case "y" | "yes" | "once":
                    await self._permissions.reply(request.id, "once")
                    return
                case "a" | "always" if request.always:
                    await self._permissions.reply(request.id, "always")
                    return
                case "n" | "no" | "reject":
                    word = await self._read_line("A word to the agent, or enter for none: ")
                    await self._permissions.reply(request.id, "reject", (word or "").strip() or None)
                    return
                case _ if not answer:
                    await self._permissions.reply(request.id, "reject")
                    return
                case _:
                    _write(_keys(request))

    async def _read_line(self, label: str) -> str | None:
        """Return the next line with its line feed, empty at the end of input; can be cancelled."""
        _write(label)
        terminal = self._terminal
        if terminal is None:
            return ""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(terminal, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_reader(terminal)
        return os.read(terminal, 4096).decode("utf-8", "replace")


def _question(request: PermissionRequest) -> str:
    title = QUESTIONS.get(request.permission, f"Allow {request.permission}?")
    subject = "\n".join(f"    {make_safe(pattern)}" for pattern in request.patterns)
    diff = str(request.metadata.get("diff") or "")
    shown = "\n" + _indent(diff, 40) if diff else ""
    return f"\n{style('!', 'warning')} {style(title, 'bold')}\n{subject}{shown}\n{_keys(request)}"


def _keys(request: PermissionRequest) -> str:
    always = f"   a always ({_join(request.always)})" if request.always else ""
    return f"  {style(f'y once{always}   n reject', 'accent')}\n"


def _join(patterns: Sequence[str]) -> str:
    return ", ".join(make_safe(pattern) for pattern in patterns)


def _indent(text: str, limit: int) -> str:
    lines = make_safe(text, multiline=True).splitlines()
    shown = [f"    {line}" for line in lines[:limit]]
    if len(lines) > limit:
        shown.append(f"    … {len(lines) - limit} more lines")
    return "\n".join(shown)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
