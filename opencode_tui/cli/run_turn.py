"""One turn: choose the session, send the request, report what happens, end in order."""

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from opencode_tui.cli.answer_text import AnswerText
from opencode_tui.cli.door import with_client
from opencode_tui.cli.permission_prompt import PermissionPrompt
from opencode_tui.cli.run_json import JsonReporter
from opencode_tui.cli.run_report import TerminalReporter
from opencode_tui.cli.run_scope import RunScope
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.style import Style, style_of
from opencode_tui.cli.terminal import say
from opencode_tui.cli.terminal_lines import TerminalLines, open_terminal
from opencode_tui.client.client import Client, EventReader
from opencode_tui.client.local import choose_policy
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.session.attachment import file_input
from opencode_tui.schema.error import ConfigError, NobodyToAskError, OpencodeError
from opencode_tui.schema.event import Event, PermissionAsked
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.message import AssistantMessage
from opencode_tui.schema.model import ModelRef, parse_model_ref
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.request import CreateSession, PromptInput, PromptPart, TextInput
from opencode_tui.schema.session import SessionInfo

TITLE_LENGTH = 50
ABORT_GRACE_MS = 2_000
"""Milliseconds that an interrupted turn has to close its records: more than an idle machine takes; Ctrl-C cuts them off."""


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """What the command line asked for."""

    message: str
    is_continued: bool = False
    session_id: str | None = None
    model: ModelRef | None = None
    agent: str | None = None
    style: str = "default"
    files: tuple[str, ...] = ()
    title: str | None = None
    auto: bool = False

    @classmethod
    def from_command_line(cls, options: Mapping[str, Any]) -> Self:
        """Return the options with the piped-in text appended. Raises ConfigError for what makes no sense."""
        if options["is_continued"] and options["session_id"]:
            raise ConfigError("--continue and --session exclude each other; give one of them")
        model = parse_model_ref(options["model"]) if options["model"] else None
        if options["model"] and model is None:
            raise ConfigError(
                f"--model {options['model']!r} is not of the form provider/model; see `opencode-tui models`"
            )
        message = "\n".join(text for text in (" ".join(options["message"]), _piped_text()) if text.strip())
        if not message and not options["files"]:
            raise ConfigError('nothing to do; give a message: opencode-tui run "explain this folder"')
        fields = {
            name: options[name] for name in ("is_continued", "session_id", "agent", "style", "files", "title", "auto")
        }
        return cls(message=message, model=model, **fields)


class Reporter(Protocol):
    """Shows what happens in a session."""

    def show(self, event: Event) -> None:
        """Take in one event."""
        ...

    def pause(self) -> None:
        """Leave the terminal to a question."""
        ...

    def end(self, answer: MessageWithParts | None) -> None:
        """Tell that the turn is over; without an answer it has failed or was interrupted."""
        ...

    def close(self) -> None:
        """Leave the terminal tidy."""
        ...


def run_turn(options: TurnOptions) -> int:
    """Run one turn and return the exit code; Ctrl-C ends it in order and raises KeyboardInterrupt."""
    terminal = open_terminal()
    policy = choose_policy(auto=options.auto, has_terminal=terminal is not None)
    if options.style == "json":
        policy = _TellRefusals(policy)
    lines = None if terminal is None else TerminalLines(terminal, err=sys.stderr)
    style = style_of(sys.stderr, os.environ)

    async def work(client: Client) -> int:
        await _tell_notices(client)
        request = await _request(options)
        session = await _choose_session(client, options, request)
        questions = PermissionPrompt(lines, client, style)
        return await _answer(client, session, request, _reporter(session, options, style), questions)

    return with_client(work, policy=policy)


class _TellRefusals:
    """Says on stderr what is refused because nobody can be asked; people read it in the tool's line instead."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def settle(self, request: PermissionRequest) -> bool:
        """Return what the policy returns. Raises PermissionRefused."""
        try:
            return self._policy.settle(request)
        except NobodyToAskError as error:
            say(str(error))
            raise


def _reporter(session: SessionInfo, options: TurnOptions, style: Style) -> Reporter:
    if options.style == "json":
        return JsonReporter(session.id)
    answer = AnswerText(sys.stdout, style_of(sys.stdout, os.environ))
    return TerminalReporter(session.id, answer=answer, err=sys.stderr, style=style)


async def _tell_notices(client: Client) -> None:
    notices = await client.settings.notices()
    for line in [*notices.warnings, *notices.ignored]:
        say(line)


async def _answer(
    client: Client, session: SessionInfo, request: PromptInput, reporter: Reporter, questions: PermissionPrompt
) -> int:
    """Send the request and show what follows, until the session is idle; returns the exit code.

    Interrupted, or with nobody left to read the output, it ends the turn in order, shows what that left, and raises.
    """
    with client.events() as events:
        scope = RunScope()
        follower = asyncio.create_task(_follow(events, scope, reporter, questions))
        turn = asyncio.create_task(client.prompts.prompt(session.id, request))
        try:
            await asyncio.wait({follower, turn}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(client, session, follower, turn)
            if follower.cancelled():
                _show_rest(events, scope, reporter, turn)
        if not follower.cancelled():
            follower.result()
        answer = turn.result()
    if isinstance(answer.info, AssistantMessage) and answer.info.error is not None:
        say(str(getattr(answer.info.error.data, "message", "") or answer.info.error.name))
        return 1
    return 0


async def _follow(events: EventReader, scope: RunScope, reporter: Reporter, questions: PermissionPrompt) -> None:
    async for envelope in events:
        event = envelope.event
        if scope.has(event):
            reporter.show(event)
        if isinstance(event, PermissionAsked) and await questions.is_open(event):
            reporter.pause()
            await questions.ask(event)


async def _end(
    client: Client, session: SessionInfo, follower: "asyncio.Task[None]", turn: "asyncio.Task[MessageWithParts]"
) -> None:
    """Wait for both tasks: a turn that is not over is aborted, and has some time to close its records."""
    if not turn.done():
        await client.prompts.abort(session.id)
        await asyncio.wait({turn}, timeout=ABORT_GRACE_MS / 1000)
        turn.cancel()
    follower.cancel()
    await asyncio.wait({follower, turn})


def _show_rest(
    events: EventReader, scope: RunScope, reporter: Reporter, turn: "asyncio.Task[MessageWithParts]"
) -> None:
    """Show what the turn told before it ended."""
    try:
        while (envelope := events.poll()) is not None:
            if scope.has(envelope.event):
                reporter.show(envelope.event)
        reporter.end(None if turn.cancelled() or turn.exception() else turn.result())
    finally:
        reporter.close()


async def _choose_session(client: Client, options: TurnOptions, request: PromptInput) -> SessionInfo:
    if options.session_id:
        return await choose_session(client, options.session_id)
    if options.is_continued:
        latest = await client.sessions.latest()
        if latest is not None:
            return latest
        say("no earlier session in this project; beginning a new one")
    await client.prompts.check(request)
    title = options.title or " ".join(options.message.split())[:TITLE_LENGTH].rstrip()
    return await client.sessions.create(CreateSession(title=title or None))


async def _request(options: TurnOptions) -> PromptInput:
    parts: list[PromptPart] = []
    for name in options.files:
        path = Path(name)
        if not await asyncio.to_thread(path.exists):
            raise ConfigError(f"--file {name}: there is no such file or folder")
        parts.append(await asyncio.to_thread(file_input, path))
    if options.message:
        parts.append(TextInput(text=options.message))
    return PromptInput(model=options.model, agent=options.agent, parts=parts)


def _piped_text() -> str:
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] - None without a stdin
        return ""
    try:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    except OSError as error:
        raise OpencodeError(
            f"standard input cannot be read ({error.strerror}); give the message as an argument"
        ) from error
