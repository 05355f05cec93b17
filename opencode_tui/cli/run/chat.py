"""`opencode-tui --plain`: the chat in lines, for a screen reader, a braille line or a serial console.

No alternate screen, no redrawn lines, no colors: what is printed stays. One line is one prompt; `/help` lists the commands.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from heapq import nlargest
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from opencode_tui.cli.engine_access import with_shared_client
from opencode_tui.cli.environment import say_warnings
from opencode_tui.cli.run.answer_text import AnswerText
from opencode_tui.cli.run.report import TerminalReporter
from opencode_tui.cli.run.terminal_lines import TerminalLines, open_terminal
from opencode_tui.cli.run.turn import (
    CheckAlone,
    Request,
    RunPrompts,
    Work,
    answer,
    first_words,
    make_command,
    make_prompt,
    set_check,
)
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.style import PLAIN, Style, style_of
from opencode_tui.cli.terminal import say
from opencode_tui.client.policy import AskPerson
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import CreateSession, ForkSession, PromptInput, ShellInput, UpdateSession
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.model import ModelRef, require_model_ref
from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.schema.session.undo import UndoOnly
from opencode_tui.text.cost import plan_text
from opencode_tui.text.notices import placed_warnings
from opencode_tui.text.quantity import age, amount, money, plural
from opencode_tui.text.safe_text import make_safe
from opencode_tui.text.variant import choosable_variants, default_words

if TYPE_CHECKING:
    from opencode_tui.client.client import Client

LISTED = 20
"""Sessions that `/sessions` lists."""

_UNDO_BOTH_OR_ONE = "Undo? y both, c conversation only, f files only, n nothing: "

_UNDO_ANSWERS: Mapping[str, UndoOnly | None] = {
    **dict.fromkeys(("y", "yes", "b", "both")),
    **dict.fromkeys(("c", "conversation"), "conversation"),
    **dict.fromkeys(("f", "files"), "files"),
}
"""What each answer limits an undo to, None for no limit."""


def open_chat(options: Mapping[str, Any]) -> int:
    """Read prompts from the terminal until the end of input; return the exit code."""
    terminal = open_terminal()
    if terminal is None:
        say('--plain needs a terminal; without one use `opencode-tui run "..."`')
        return 2
    lines = TerminalLines(terminal, err=sys.stderr)

    async def work(client: "Client") -> int:
        chat = PlainChat(client, lines, replace(style_of(sys.stderr, os.environ), is_live=False, colors=None))
        await chat.start(options)
        return await chat.run()

    return with_shared_client(work)


class PlainChat:
    """The shown session, the selected agent and model, and the commands."""

    def __init__(self, client: "Client", lines: TerminalLines, style: Style) -> None:
        self._client = client
        self._lines = lines
        self._style = style
        self._session: SessionInfo | None = None
        self._listed: list[ListedSession] = []
        self._model: ModelRef | None = None
        self._agent: str | None = None
        self._turn: asyncio.Task[object] | None = None
        self._is_done = False
        self._commands: Mapping[str, tuple[str, Callable[[str], Awaitable[None]]]] = {
            "help": ("list the commands", self._help),
            "new": ("start a new session", self._new),
            "sessions": ("list sessions; /open N opens one", self._sessions),
            "open": ("N or ID: open a session and print it", self._open),
            "show": ("print the conversation again", self._show),
            "rename": ("TITLE: rename the session", self._rename),
            "fork": ("fork the session and continue in the fork", self._fork),
            "undo": ("undo the last turn, its file changes or both, after a preview", self._undo),
            "redo": ("redo what was undone", self._redo),
            "diff": ("file changes of the session", self._diff),
            "compact": ("summarize older messages", self._compact),
            "until": ("COMMAND: work until it passes; off removes it", self._until),
            "cost": ("tokens and cost of the session", self._cost),
            "model": ("PROVIDER/MODEL: change the model; alone lists them", self._choose_model),
            "variant": ("NAME: change the model's variant; alone lists them", self._choose_variant),
            "agent": ("NAME: change the agent; alone lists them", self._choose_agent),
            "quit": ("quit (also ctrl+d)", self._quit),
        }

    async def start(self, options: Mapping[str, Any]) -> None:
        """Open the session of the command line. Raises OpencodeError."""
        self._model = require_model_ref(options["model"], "--model") if options["model"] else None
        self._agent = options["agent"]
        self._variant: str | None = options.get("variant")
        if self._variant is not None:
            named = PromptInput(model=self._model, agent=self._agent, variant=self._variant, parts=[])
            await self._client.prompts.check(named)
        if options["session_id"]:
            self._session = await choose_session(self._client, options["session_id"])
        elif options["is_continued"]:
            self._session = await self._client.sessions.latest()
        if options["is_forked"] and self._session is not None:
            self._session = await self._client.sessions.fork(self._session.id, ForkSession())
        notices = await self._client.settings.notices()
        others = [*map(str, notices.ignored), *filter(None, [notices.undo_off])]
        say_warnings([*placed_warnings(notices), *(("", one) for one in others)])
        self._print("Plain mode. One line is one prompt, a backslash at its end continues it, ! runs a shell command.")
        self._print("/help lists the commands, ctrl+c interrupts a turn, ctrl+d quits.")
        if self._session is not None:
            await self._show("")
        if options["is_choosing"]:
            await self._sessions("")
        if options["prompt"]:
            await self._guarded(self._handle(options["prompt"]))

    async def run(self) -> int:
        """Read and handle prompts until the end of input."""
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupt)
        while not self._is_done:
            text = await self._read()
            if text is None:
                self._print("")
                break
            if text.strip():
                await self._guarded(self._handle(text.strip()))
        if self._session is not None:
            self._print(f"opencode-tui --plain -s {self._session.id}")
        return 0

    def _interrupt(self) -> None:
        if self._turn is not None and not self._turn.done():
            self._turn.cancel()
        else:
            self._print("\nNothing is running; ctrl+d quits.")

    async def _read(self) -> str | None:
        """Return the next prompt, with continued lines; None at the end of input."""
        pieces: list[str] = []
        while line := await self._lines.read("> " if not pieces else ". "):
            text = line.rstrip("\r\n")
            if not text.endswith("\\"):
                return "\n".join([*pieces, text])
            pieces.append(text[:-1])
        return "\n".join(pieces) if pieces else None

    async def _guarded(self, work: Awaitable[None]) -> None:
        """Do the work; report its failure in one line. An interruption ends only the work."""
        self._turn = asyncio.ensure_future(work)
        try:
            await self._turn
        except OpencodeError as error:
            say(str(error))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # a signal that ends the program
                raise
            self._print("Interrupted.")
        finally:
            self._turn = None

    async def _handle(self, text: str) -> None:
        if text.startswith("!"):
            await self._shell(text[1:].strip())
            return
        name, _, rest = text[1:].partition(" ") if text.startswith("/") else ("", "", "")
        if name in self._commands:
            await self._commands[name][1](rest.strip())
        elif name and ("/" not in name or name in {one.name for one in await self._client.catalog.commands()}):
            await self._send(
                await make_command(
                    self._client, name, arguments=rest, piped="", attached=(), model=self._model, agent=self._agent
                ),
                text,
            )
        else:
            await self._send(
                await make_prompt(
                    self._client, typed=text, piped="", attached=(), model=self._model, agent=self._agent
                ),
                text,
            )

    async def _send(self, request: Request, text: str) -> None:
        await self._answer(request.changed(variant=self._variant), await self._opened(text))

    async def _until(self, command: str) -> None:
        if not command:
            self._print("Name the command, for example /until make test.")
        elif command != "off":
            session = await self._opened(f"Until {command}")
            await set_check(self._client, session.id, command)
            await self._answer(CheckAlone(self._agent, self._model, self._variant), session)
        elif self._session is not None:
            await self._client.prompts.remove_check(self._session.id)
            self._print("The check is off.")

    async def _answer(self, request: Work, session: SessionInfo) -> None:
        plain = replace(style_of(sys.stdout, os.environ), is_live=False, colors=None)
        reporter = TerminalReporter(session.id, answer=AnswerText(sys.stdout, plain), err=sys.stderr, style=self._style)
        prompts = RunPrompts(self._lines, self._client, self._style, AskPerson())
        await answer(self._client, session, request, reporter, prompts)

    async def _shell(self, command: str) -> None:
        session = await self._opened(command)
        given = ShellInput(command=command, agent=self._agent, model=self._model)
        message = await self._client.prompts.shell(session.id, given)
        for part in message.parts:
            if isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted):
                self._print(make_safe(part.state.output.rstrip("\n"), multiline=True) or "(no output)")
            elif isinstance(part, ToolPart) and isinstance(part.state, ToolStateError):
                say(part.state.error)

    async def _opened(self, text: str) -> SessionInfo:
        if self._session is None:
            self._session = await self._client.sessions.create(CreateSession(title=first_words(text)))
        return self._session

    def _shown(self) -> SessionInfo:
        if self._session is None:
            raise OpencodeError("no session yet; send a prompt or open one")
        return self._session

    def _print(self, text: str) -> None:
        self._lines.show(self._style.words(text) + "\n")

    async def _help(self, _rest: str) -> None:
        for name, (words, _) in self._commands.items():
            self._print(f"/{name}  {words}")
        for command in await self._client.catalog.commands():
            self._print(make_safe(f"/{command.name}  {' '.join((command.description or '').split())}"))

    async def _new(self, _rest: str) -> None:
        self._session = None
        self._print("New session.")

    async def _sessions(self, _rest: str) -> None:
        infos = await self._client.sessions.listed()
        roots = [info for info in infos if not info.parent_id and not info.is_archived]
        self._listed = nlargest(LISTED, roots, key=attrgetter("updated"))
        now = max((info.updated for info in self._listed), default=0)
        for number, info in enumerate(self._listed, start=1):
            self._print(make_safe(f"{number}  {info.title}  {age(info.updated, now)}"))
        if not self._listed:
            self._print("No sessions yet.")

    async def _open(self, rest: str) -> None:
        if rest.isdecimal() and 1 <= int(rest) <= len(self._listed):
            rest = self._listed[int(rest) - 1].id
        if not rest:
            raise ConfigError("/open needs a number of /sessions or a session ID")
        self._session = await choose_session(self._client, rest)
        await self._show("")

    async def _show(self, _rest: str) -> None:
        from opencode_tui.cli.commands.session.conversation import render_conversation

        session = await self._client.sessions.get(self._shown().id)
        lines = render_conversation(session, await self._client.messages.list(session.id), PLAIN)
        self._print("\n".join(lines).rstrip("\n"))

    async def _rename(self, rest: str) -> None:
        if not rest:
            raise ConfigError("/rename needs a title")
        self._session = await self._client.sessions.update(self._shown().id, UpdateSession(title=rest))
        self._print(make_safe(f"Renamed to {rest}"))

    async def _fork(self, _rest: str) -> None:
        self._session = await self._client.sessions.fork(self._shown().id, ForkSession())
        self._print("Forked; the original session is unchanged.")

    async def _undo(self, _rest: str) -> None:
        from opencode_tui.cli.commands.session.undo import describe_undo

        session = self._shown()
        preview = await self._client.undo.preview(session.id)
        self._print("\n".join(describe_undo(preview, preview.scope, self._client.directory, "would undo", PLAIN)))
        has_files = bool(preview.restored or preview.deleted)
        answers = _UNDO_ANSWERS if has_files else {"y": None, "yes": None}
        question = _UNDO_BOTH_OR_ONE if has_files else "Undo? y or n: "
        answer = (await self._lines.read(question)).strip().lower()
        if answer not in answers:
            self._print("Nothing was changed.")
            return
        message_id = preview.scope.message_id if preview.scope else None
        report = await self._client.undo.revert(session.id, message_id, only=answers[answer])
        self._print("\n".join(describe_undo(report, report.scope, self._client.directory, "undid", PLAIN)))
        self._print("/redo restores it until you send a new prompt.")

    async def _redo(self, _rest: str) -> None:
        from opencode_tui.cli.commands.session.undo import describe_undo

        report = await self._client.undo.unrevert(self._shown().id)
        self._print("\n".join(describe_undo(report, None, self._client.directory, "redid what was undone", PLAIN)))

    async def _diff(self, _rest: str) -> None:
        from opencode_tui.cli.commands.session.undo import all_changes, render_change

        changes = await all_changes(self._client, self._shown().id)
        self._print("\n\n".join(render_change(change, PLAIN) for change in changes) or "No file changes.")

    async def _compact(self, _rest: str) -> None:
        self._print("Summarizing older messages.")
        await self._client.context.compact(self._shown().id, CompactSession(model=self._model))
        self._print("Compacted.")

    async def _cost(self, _rest: str) -> None:
        totals = await self._client.sessions.totals(self._shown().id)
        tokens = f"{amount(totals.input)} tokens in, {amount(totals.output)} out, {amount(totals.cached)} cached"
        messages = [one.info for one in await self._client.messages.list(self._shown().id)]
        plan = plan_text(messages)
        cost = [] if plan and not totals.cost else [money(totals.cost)]
        self._print(", ".join([plural(totals.steps, "request"), tokens, *cost]))
        if plan:
            self._print(plan)

    async def _choose_model(self, rest: str) -> None:
        if rest:
            self._model, self._variant = (await self._client.catalog.named_model(rest)).ref, None
            self._print(make_safe(f"Model {rest}"))
            return
        current = self._model or await self._client.catalog.default_model()
        for model in await self._client.catalog.models():
            self._print(make_safe(f"{'* ' if model.ref == current else '  '}{model.ref}"))

    async def _choose_variant(self, rest: str) -> None:
        model = self._model or await self._client.catalog.default_model()
        if rest and rest != "default":
            await self._client.prompts.check(PromptInput(model=model, agent=self._agent, variant=rest, parts=[]))
        if rest:
            self._variant = None if rest == "default" else rest
            self._print(make_safe(f"Variant {rest}"))
            return
        known = next((one for one in await self._client.catalog.models() if one.ref == model), None)
        if known is None or not known.variants:
            self._print(make_safe(f"{model} has no variants"))
            return
        default = default_words(known)
        choosable = choosable_variants(known)
        chosen = self._variant if self._variant in choosable else None
        for name in choosable:
            self._print(make_safe(f"{'* ' if name == chosen else '  '}{name or default}"))

    async def _choose_agent(self, rest: str) -> None:
        agents = [one for one in await self._client.catalog.agents() if one.mode != "subagent" and not one.hidden]
        if rest and rest not in {one.name for one in agents}:
            raise ConfigError(f"unknown agent {rest}; available: {', '.join(one.name for one in agents)}")
        if rest:
            self._agent = rest
            self._print(make_safe(f"Agent {rest}"))
            return
        for one in agents:
            self._print(make_safe(f"{'* ' if one.name == (self._agent or agents[0].name) else '  '}{one.name}"))

    async def _quit(self, _rest: str) -> None:
        self._is_done = True
