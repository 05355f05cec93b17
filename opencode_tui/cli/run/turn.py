"""One turn: choose the session, send the request, report what happens, end in order."""

import asyncio
import os
import sys
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from msgspec import Struct

from opencode_tui.cli.engine_access import with_client, with_server
from opencode_tui.cli.run.json_report import JsonReporter
from opencode_tui.cli.run.request import Request, attach, check, make_command, make_prompt, send
from opencode_tui.cli.run.terminal_lines import TerminalLines, open_terminal
from opencode_tui.cli.style import Style, style_of
from opencode_tui.cli.terminal import say
from opencode_tui.client.local import choose_policy
from opencode_tui.engine.permission.policy import AskPerson, Policy
from opencode_tui.schema.api.request import CreateSession, ForkSession, UpdateSession
from opencode_tui.schema.error import ConfigError, NobodyToAskError, OpencodeError, PermissionRefused
from opencode_tui.schema.event.event import (
    Event,
    MessageUpdated,
    PartGrowth,
    PartProgress,
    PartUpdated,
    PermissionAsked,
    QuestionAsked,
)
from opencode_tui.schema.model import ModelRef, parse_model_ref
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.session import SessionInfo, is_default_title

if TYPE_CHECKING:
    from opencode_tui.cli.run.permission_prompt import PermissionPrompt
    from opencode_tui.cli.run.question_prompt import QuestionPrompt
    from opencode_tui.client.client import Client, EventReader

TITLE_LENGTH = 50
ABORT_GRACE_MS = 2_000
"""Milliseconds that an interrupted turn has to close its records: more than an idle machine takes; Ctrl-C cuts them off."""


class TurnOptions(Struct, frozen=True):
    """What the command line asked for; `message` was typed, `piped` came in by standard input."""

    message: str
    piped: str = ""
    command: str | None = None
    is_continued: bool = False
    session_id: str | None = None
    is_fork: bool = False
    model: ModelRef | None = None
    agent: str | None = None
    style: str = "default"
    files: tuple[str, ...] = ()
    title: str | None = None
    auto: bool = False
    attach: str | None = None

    @classmethod
    def from_command_line(cls, options: Mapping[str, Any]) -> Self:
        """Return the options with the piped-in text. Raises ConfigError for what makes no sense."""
        if options["is_continued"] and options["session_id"]:
            raise ConfigError("use either --continue or --session")
        if options["is_fork"] and not (options["is_continued"] or options["session_id"]):
            raise ConfigError("--fork needs --continue or --session ID: it forks that session and goes on in the fork")
        model = parse_model_ref(options["model"]) if options["model"] else None
        if options["model"] and model is None:
            raise ConfigError(
                f"--model {options['model']!r} is not of the form provider/model; see `opencode-tui models`"
            )
        message, piped = " ".join(options["message"]), _piped_text()
        if not (message.strip() or piped.strip() or options["files"] or options["command"]):
            raise ConfigError('no message given, e.g. opencode-tui run "explain this folder"')
        fields = {
            name: options[name]
            for name in (
                "is_continued",
                "is_fork",
                "session_id",
                "agent",
                "style",
                "files",
                "title",
                "auto",
                "command",
                "attach",
            )
        }
        return cls(message=message, piped=piped, model=model, **fields)


class RunScope:
    """Follows the events of one run, from before it began."""

    def __init__(self) -> None:
        self._begun: set[str] = set()

    def has(self, event: Event) -> bool:
        """Tell whether an event is about a message that began in this run, or about no message."""
        match event:
            case MessageUpdated():
                if event.info.time.completed is None:
                    self._begun.add(event.info.id)
                return event.info.id in self._begun
            case PartUpdated():
                return event.part.message_id in self._begun
            case PartGrowth() | PartProgress():
                return event.message_id in self._begun
            case _:
                return True


class RunPrompts:
    """How the person is asked; loaded with the first question. `policy` answers first: a server knows nothing of ours."""

    def __init__(self, lines: TerminalLines | None, client: "Client", style: Style, policy: Policy) -> None:
        self._policy = policy
        self._lines = lines
        self._client = client
        self._style = style

    @cached_property
    def permissions(self) -> "PermissionPrompt":
        """Asks whether a call may go on."""
        from opencode_tui.cli.run.permission_prompt import PermissionPrompt

        return PermissionPrompt(self._lines, self._client, self._style)

    @cached_property
    def questions(self) -> "QuestionPrompt":
        """Puts the agent's own questions."""
        from opencode_tui.cli.run.question_prompt import QuestionPrompt

        return QuestionPrompt(self._lines, self._client, self._style)

    async def decides(self, request: PermissionRequest) -> bool:
        """Answer a question without the person, if the policy can; tells whether it did."""
        try:
            if not self._policy.decide(request):
                return False
            await self._client.permissions.reply(request.id, "once")
        except PermissionRefused as error:
            await self._client.permissions.reply(request.id, "reject", str(error))
        return True


class ReportRefusals:
    """Says on stderr what is refused because nobody can be asked; people read it in the tool's line instead."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def decide(self, request: PermissionRequest) -> bool:
        """Return what the policy returns. Raises PermissionRefused."""
        try:
            return self._policy.decide(request)
        except NobodyToAskError as error:
            if request.permission != "question":
                say(str(error))
            raise


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
        policy = ReportRefusals(policy)
    lines = None if terminal is None else TerminalLines(terminal, err=sys.stderr)
    style = style_of(sys.stderr, os.environ)

    async def work(client: "Client") -> int:
        told = await _report_notices(client)
        request = await _request(client, options)
        session = await _choose_session(client, options, request)
        prompts = RunPrompts(lines, client, style, policy if options.attach else AskPerson())
        code = await _answer(client, session, request, _reporter(session, options, style), prompts)
        await _report_notices(client, told)
        return code

    return with_server(work, options.attach) if options.attach else with_client(work, policy=policy)


def _reporter(session: SessionInfo, options: TurnOptions, style: Style) -> Reporter:
    if options.style == "json":
        return JsonReporter(session.id)
    from opencode_tui.cli.run.answer_text import AnswerText  # programs that read JSON need not wait for it
    from opencode_tui.cli.run.report import TerminalReporter

    answer = AnswerText(sys.stdout, style_of(sys.stdout, os.environ))
    return TerminalReporter(session.id, answer=answer, err=sys.stderr, style=style)


async def _report_notices(client: "Client", told: Collection[str] = ()) -> set[str]:
    """Say what a person should know of their settings and was not told yet; returns all of it."""
    notices = await client.settings.notices()
    lines = [*notices.warnings, *notices.ignored]
    for line in lines:
        if line not in told:
            say(line)
    return {*told, *lines}


async def _answer(
    client: "Client", session: SessionInfo, request: Request, reporter: Reporter, prompts: RunPrompts
) -> int:
    """Send the request and show what follows, until the session is idle; returns the exit code.

    Interrupted, or with nobody left to read the output, it ends the turn in order, shows what that left, and raises.
    """
    with client.events() as events:
        scope = RunScope()
        follower = asyncio.create_task(_follow(events, scope, reporter, prompts))
        turn = asyncio.create_task(send(client, session.id, request))
        try:
            await asyncio.wait({follower, turn}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(client, session, follower, turn)
            if follower.cancelled():
                _show_rest(events, scope, reporter, turn)
            else:
                reporter.close()
        if not follower.cancelled():
            follower.result()
        answer = turn.result()
    if isinstance(answer.info, AssistantMessage) and answer.info.error is not None:
        say(str(getattr(answer.info.error.data, "message", "") or answer.info.error.name))
        return 1
    return 0


async def _follow(events: "EventReader", scope: RunScope, reporter: Reporter, prompts: RunPrompts) -> None:
    async for envelope in events:
        event = envelope.event
        if scope.has(event):
            reporter.show(event)
        if isinstance(event, PermissionAsked) and not await prompts.decides(event):
            if not await prompts.permissions.is_open(event):
                continue
            reporter.pause()
            await prompts.permissions.ask(event)
        elif isinstance(event, QuestionAsked):
            reporter.pause()
            await prompts.questions.ask(event)


async def _end(
    client: "Client", session: SessionInfo, follower: "asyncio.Task[None]", turn: "asyncio.Task[MessageWithParts]"
) -> None:
    """Wait for both tasks: a turn that is not over is aborted, and has some time to close its records."""
    if not turn.done():
        await client.prompts.abort(session.id)
        await asyncio.wait({turn}, timeout=ABORT_GRACE_MS / 1000)
        turn.cancel()
    follower.cancel()
    await asyncio.wait({follower, turn})


def _show_rest(
    events: "EventReader", scope: RunScope, reporter: Reporter, turn: "asyncio.Task[MessageWithParts]"
) -> None:
    """Show what the turn told before it ended."""
    try:
        while (envelope := events.poll()) is not None:
            if scope.has(envelope.event):
                reporter.show(envelope.event)
        reporter.end(None if turn.cancelled() or turn.exception() else turn.result())
    finally:
        reporter.close()


async def _choose_session(client: "Client", options: TurnOptions, request: Request) -> SessionInfo:
    if options.session_id:
        from opencode_tui.cli.session_choice import choose_session  # a new session is not chosen

        return await _continue(client, options, await choose_session(client, options.session_id))
    if options.is_continued:
        latest = await client.sessions.latest()
        if latest is not None:
            return await _continue(client, options, latest)
        say("no earlier session in this project; beginning a new one")
    await check(client, request, options.model)
    return await client.sessions.create(CreateSession(title=options.title or _first_words(options)))


async def _continue(client: "Client", options: TurnOptions, session: SessionInfo) -> SessionInfo:
    """Return the session, or a fork of it, which takes the name that was given for a new one."""
    here, there = client.directory, Path(session.directory)
    if not (here.is_relative_to(there) or there.is_relative_to(here)):
        say(f"session {session.id} works in {there}; this turn works in {here}")
    if not options.is_fork:
        if is_default_title(session.title) and session.parent_id is None:
            return await client.sessions.update(session.id, UpdateSession(title=options.title or _first_words(options)))
        return session
    fork = await client.sessions.fork(session.id, ForkSession())
    return await client.sessions.update(fork.id, UpdateSession(title=options.title)) if options.title else fork


def _first_words(options: TurnOptions) -> str:
    """Return what a session is called after its first request."""
    command = f"/{options.command.removeprefix('/')}" if options.command else ""
    words = f"{command} {options.message} {options.piped}".split() or [Path(name).name for name in options.files]
    return " ".join(words)[:TITLE_LENGTH].rstrip()


async def _request(client: "Client", options: TurnOptions) -> Request:
    attached = await attach(options.files, is_elsewhere=options.attach is not None)
    if options.command is not None:
        return await make_command(
            client,
            options.command,
            arguments=options.message,
            piped=options.piped,
            attached=attached,
            model=options.model,
            agent=options.agent,
        )
    return await make_prompt(
        client,
        typed=options.message,
        piped=options.piped,
        attached=attached,
        model=options.model,
        agent=options.agent,
    )


def _piped_text() -> str:
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] - None without a stdin
        return ""
    try:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    except OSError as error:
        raise OpencodeError(
            f"standard input cannot be read ({error.strerror}); give the message as an argument"
        ) from error
