"""One turn of `run`: choose the session, send the request, report events, clean up."""

import asyncio
import base64
import os
import sys
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from msgspec import Struct

from opencode_tui.cancellation import consume_error
from opencode_tui.cli.engine_access import with_client, with_server, with_session_client
from opencode_tui.cli.environment import say_warnings
from opencode_tui.cli.errors import CHECK_FAILS, DONE, FAILED, drop_closed_output
from opencode_tui.cli.progress_line import progress_line
from opencode_tui.cli.run.json_report import JsonReporter
from opencode_tui.cli.run.piped import NAMED_AFTER_S, piped_text
from opencode_tui.cli.run.terminal_lines import TerminalLines, open_terminal
from opencode_tui.cli.style import Style, style_of
from opencode_tui.cli.terminal import say
from opencode_tui.client.policy import AskPerson, Policy, choose_policy
from opencode_tui.schema.api.mcp import LISTS_S, McpWait
from opencode_tui.schema.api.request import (
    CommandInput,
    CreateSession,
    FileInput,
    ForkSession,
    PromptInput,
    PromptPart,
    TextInput,
    UpdateSession,
)
from opencode_tui.schema.error import (
    ApprovalUnavailableError,
    ConfigError,
    OpencodeError,
    OutsideRefusedError,
    PermissionRefused,
    RunAborted,
)
from opencode_tui.schema.event.event import (
    BusLagged,
    Event,
    MessageUpdated,
    PartGrowth,
    PartProgress,
    PartUpdated,
    PermissionAsked,
    QuestionAsked,
)
from opencode_tui.schema.model import ModelRef, require_model_ref
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import SessionInfo, is_default_title
from opencode_tui.schema.session.stored_error import describe_stored
from opencode_tui.text.model_line import model_line, session_of_line
from opencode_tui.text.notices import placed_warnings

if TYPE_CHECKING:
    from opencode_tui.cli.run.permission_prompt import PermissionPrompt
    from opencode_tui.cli.run.question_prompt import QuestionPrompt
    from opencode_tui.cli.run.report import TerminalReporter
    from opencode_tui.client.client import Client, EventReader

    Reporter = TerminalReporter | JsonReporter
    """Shows the events of a session."""

# The request of `run`: a prompt with its attachments and `@` references, or a slash command. Piped text is data: `@` in it
# attaches nothing. With a check and no message it is a run of the check.


class CheckAlone(Struct, frozen=True):
    """A run of the session's check, with the agent and model of the turns that its failures start."""

    agent: str | None
    model: ModelRef | None
    variant: str | None


Request = PromptInput | CommandInput
Work = Request | CheckAlone


async def make_prompt(
    client: "Client",
    *,
    typed: str,
    piped: str,
    attached: Sequence[FileInput],
    model: ModelRef | None,
    agent: str | None,
) -> PromptInput:
    """Return the prompt for a message and its attachments."""
    parts: list[PromptPart] = [*attached]
    text = "\n".join(one for one in (typed, piped) if one.strip())
    if text:
        parts.append(TextInput.trusted(text=text))
    parts += (await client.prompts.expand(typed))[1:]
    return PromptInput.trusted(model=model, agent=agent, parts=parts)


async def make_command(
    client: "Client",
    name: str,
    *,
    arguments: str,
    piped: str,
    attached: Sequence[FileInput],
    model: ModelRef | None,
    agent: str | None,
) -> CommandInput:
    """Return the request for a slash command; raises ConfigError for an unknown one."""
    known = [command.name for command in await client.catalog.commands()]
    if name.removeprefix("/") not in known:
        raise ConfigError(f"unknown command {name!r}; available: {', '.join(known)}")
    given = list(attached)
    if piped.strip():
        given.append(
            _with_data(FileInput(mime="text/plain", filename="stdin", url=""), piped.encode("utf-8", "replace"))
        )
    return CommandInput(
        command=name.removeprefix("/"),
        arguments=arguments,
        model=str(model) if model else None,
        agent=agent,
        parts=given or None,
    )


async def check(client: "Client", request: Work, model: ModelRef | None) -> None:
    """Raise ConfigError or ModelNotFoundError if a new session could not run the request."""
    if isinstance(request, PromptInput):
        await client.prompts.check(request)
    elif isinstance(request, CheckAlone):
        named = PromptInput(model=request.model, agent=request.agent, variant=request.variant, parts=[])
        await client.prompts.check(named)
    else:
        await client.prompts.check(PromptInput(model=model, agent=request.agent, variant=request.variant, parts=[]))


async def send(client: "Client", session_id: str, request: Work) -> MessageWithParts:
    """Send the request and return the response."""
    if isinstance(request, CommandInput):
        return await client.prompts.command(session_id, request)
    if isinstance(request, CheckAlone):
        from opencode_tui.schema.api.until import RunCheck  # few runs have a check

        wish = RunCheck(goes_on=True, agent=request.agent, model=request.model, variant=request.variant)
        await client.prompts.run_check(session_id, wish)
        return (await client.messages.list(session_id, 1))[-1]
    return await client.prompts.prompt(session_id, request)


async def attach(files: Sequence[str], *, is_remote: bool) -> list[FileInput]:
    """Return the attachments for files; for a remote engine, which cannot read them, with their bytes.

    Raises ConfigError for a file that does not exist or cannot be read.
    """
    if not files:
        return []
    from opencode_tui.engine.session.request.attachment import file_input  # much of the engine

    found: list[FileInput] = []
    for name in files:
        path = Path(name)
        if not await asyncio.to_thread(path.exists):
            raise ConfigError(f"--file {name}: no such file or folder")
        given = await asyncio.to_thread(file_input, path)
        found.append(await asyncio.to_thread(_with_content, given, path) if is_remote else given)
    return found


def _with_content(given: FileInput, path: Path) -> FileInput:
    """Return the attachment with the file's bytes."""
    try:
        return _with_data(given, path.read_bytes())
    except OSError as error:
        raise ConfigError(f"--file {path}: cannot read it ({error.strerror})") from error


def _with_data(given: FileInput, data: bytes) -> FileInput:
    return given.changed(url=f"data:{given.mime};base64,{base64.b64encode(data).decode('ascii')}")


TITLE_LENGTH = 50
_NEWEST = 20
"""Messages among which the last request usually is."""

LAST_WORDS_S = 10.0
"""Seconds that an answer may still take after the reader of the output closed it; a tool call ends them."""

ABORT_GRACE_MS = 2_000
"""Milliseconds that an interrupted turn gets to close its records."""


class TurnOptions(Struct, frozen=True):
    """The options of `run`; `message` comes from the arguments, `piped` from standard input."""

    message: str
    piped: str = ""
    command: str | None = None
    is_continued: bool = False
    session_id: str | None = None
    is_fork: bool = False
    model: ModelRef | None = None
    agent: str | None = None
    variant: str | None = None
    style: str = "default"
    files: tuple[str, ...] = ()
    title: str | None = None
    auto: Literal["inside", "outside"] | None = None
    attach: str | None = None
    is_shared: bool = False
    until: str | None = None
    max_turns: int | None = None

    @classmethod
    def from_command_line(cls, options: Mapping[str, Any]) -> Self:
        """Return the options with the piped text. Raises ConfigError for invalid combinations."""
        if options["is_continued"] and options["session_id"]:
            raise ConfigError("use either --continue or --session")
        if options["is_fork"] and not (options["is_continued"] or options["session_id"]):
            raise ConfigError("--fork needs --continue or --session ID")
        model = require_model_ref(options["model"], "--model") if options["model"] else None
        if options["max_turns"] is not None and options["until"] is None:
            raise ConfigError("--max-turns needs --until COMMAND")
        if options["until"] is not None and not options["until"].strip():
            raise ConfigError("--until is empty; give a command line")
        message = " ".join(options["message"])
        has_work = bool(message.strip() or options["files"] or options["command"] or options["until"])
        piped = piped_text(is_needed=not has_work)
        if not (has_work or piped.strip()):
            raise ConfigError('no message given, e.g. opencode-tui run "explain this folder"')
        fields = {
            name: options[name]
            for name in (
                "is_continued",
                "is_fork",
                "session_id",
                "agent",
                "variant",
                "style",
                "files",
                "title",
                "auto",
                "command",
                "attach",
                "is_shared",
                "until",
                "max_turns",
            )
        }
        return cls(message=message, piped=piped, model=model, **fields)


class RunScope:
    """Selects the events of one run; created before it starts."""

    def __init__(self) -> None:
        self._started: set[str] = set()
        self.is_at_tool = False
        """Whether the newest part of the run is a tool call."""

    def has(self, event: Event) -> bool:
        """Return whether an event concerns a message that started in this run, or no message."""
        match event:
            case MessageUpdated():
                if event.info.time.completed is None:
                    self._started.add(event.info.id)
                return event.info.id in self._started
            case PartUpdated():
                if is_ours := event.part.message_id in self._started:
                    self.is_at_tool = isinstance(event.part, ToolPart)
                return is_ours
            case PartGrowth() | PartProgress():
                return event.message_id in self._started
            case _:
                return True


class RunPrompts:
    """Prompts of a run, loaded with the first question. `policy` decides first: a server does not have ours."""

    def __init__(self, lines: TerminalLines | None, client: "Client", style: Style, policy: Policy) -> None:
        self._policy = policy
        self._lines = lines
        self._client = client
        self._style = style

    @cached_property
    def permissions(self) -> "PermissionPrompt":
        """Return the prompt for permission requests."""
        from opencode_tui.cli.run.permission_prompt import PermissionPrompt

        return PermissionPrompt(self._lines, self._client, self._style)

    @cached_property
    def questions(self) -> "QuestionPrompt":
        """Return the prompt for questions of the agent."""
        from opencode_tui.cli.run.question_prompt import QuestionPrompt

        return QuestionPrompt(self._lines, self._client, self._style)

    async def decide(self, request: PermissionRequest) -> bool:
        """Reply without asking the user if the policy can decide; return whether it did."""
        try:
            if not self._policy.decide(request):
                return False
            await self._client.permissions.reply(request.id, "once")
        except PermissionRefused as error:
            await self._client.permissions.reply(request.id, "reject", str(error))
        return True


class ReportRefusals(Policy):
    """Writes calls that are denied for lack of a terminal to stderr; the JSON report does not show them to the user."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def decide(self, request: PermissionRequest) -> bool:
        """Return what the policy returns. Raises PermissionRefused."""
        try:
            return self._policy.decide(request)
        except (ApprovalUnavailableError, OutsideRefusedError) as error:
            if request.permission != "question":
                say(str(error))
            raise

    def automatic(self, *, outside: bool) -> Policy:
        """Return the policy that answers itself, with the same reports."""
        return ReportRefusals(self._policy.automatic(outside=outside))

    def with_outside(self) -> Policy:
        """Return the policy whose own answers may leave the sandbox, with the same reports."""
        return ReportRefusals(self._policy.with_outside())


async def _end_background(client: "Client") -> None:
    """End the background commands, which would end with this program, and report them."""
    if client.ends_runs:
        for one in await client.background.end():
            words = one.command.strip().splitlines()[0]
            say(f"stopped the {one.noun} {one.id}, which ends with the program: {words}")
            if undone := one.format_undone():
                say(undone)


def run_turn(options: TurnOptions) -> int:
    """Run one turn and return the exit code. Ctrl-C aborts it cleanly and raises KeyboardInterrupt."""
    try:
        return _run_turn(options)
    except BrokenPipeError:  # before the turn, or after it
        drop_closed_output()
        return FAILED


def _run_turn(options: TurnOptions) -> int:
    terminal = open_terminal()
    policy = choose_policy(auto=options.auto, has_terminal=terminal is not None)
    if options.style == "json":
        policy = ReportRefusals(policy)
    lines = None if terminal is None else TerminalLines(terminal, err=sys.stderr)
    style = style_of(sys.stderr, os.environ)

    async def work(client: "Client") -> int:
        reported = await _report_notices(client)
        request = await _request(client, options)
        session = await _choose_session(client, options, request)
        await wait_for_tools(client)
        if options.is_shared:
            await _share(client, session)
        if options.until is not None:
            await set_check(client, session.id, options.until, options.max_turns)
        prompts = RunPrompts(lines, client, style, AskPerson() if client.ends_runs else policy)
        code = await answer(client, session, request, _reporter(session, options, style), prompts)
        if options.until is not None and code == DONE and not await _has_passed(client, session.id):
            code = CHECK_FAILS
        await _end_background(client)
        await _report_notices(client, reported)
        return code

    if options.attach:
        return with_server(work, options.attach)
    if options.session_id or options.is_continued:
        return with_session_client(work, policy=policy)
    return with_client(work, policy=policy)


async def wait_for_tools(client: "Client") -> None:
    """Wait until the tools of the MCP servers are known, so that the turn has them; name those that are not there."""
    waiting = asyncio.create_task(client.mcp.wait_listed(McpWait(seconds=LISTS_S)))
    try:
        done, _ = await asyncio.wait({waiting}, timeout=NAMED_AFTER_S)
        if not done:
            late = [one.name for one in await client.mcp.servers() if not one.is_listed and one.state != "disabled"]
            servers = f"the MCP server{'' if len(late) == 1 else 's'} {', '.join(late)}"
            say(f"waiting for the tools of {servers}, at most {LISTS_S:g} s")
        missing = await waiting
    finally:
        waiting.cancel()
    for one in missing:
        reason = one.error or f"it has not answered within {LISTS_S:g} s"
        say(
            f"the MCP server {one.name} has no tools in this turn: {reason}; `opencode-tui mcp debug {one.name}` shows more"
        )


async def set_check(client: "Client", session_id: str, command: str, turns: int | None = None) -> None:
    """Set the check of a session, whose failures start at most `turns` turns, by default ten."""
    from opencode_tui.schema.api.until import SetCheck  # few runs have a check
    from opencode_tui.schema.session.until import MAX_TURNS

    await client.prompts.set_check(session_id, SetCheck(command=command, turns=turns or MAX_TURNS))


async def _has_passed(client: "Client", session_id: str) -> bool:
    """Return whether the last run of the session's check passed."""
    from opencode_tui.schema.session.until import until_of

    until = until_of(await client.sessions.get(session_id))
    return until is not None and until.last is not None and until.last.has_passed


def _reporter(session: SessionInfo, options: TurnOptions, style: Style) -> "Reporter":
    if options.style == "json":
        return JsonReporter(session.id)
    from opencode_tui.cli.run.answer_text import AnswerText  # not for JSON
    from opencode_tui.cli.run.report import TerminalReporter

    answer = AnswerText(sys.stdout, style_of(sys.stdout, os.environ))
    return TerminalReporter(session.id, answer=answer, err=sys.stderr, style=style)


async def _share(client: "Client", session: SessionInfo) -> None:
    """Share the session and write its link to stderr; when that fails, the reason, and the turn continues."""
    try:
        shared = await client.sharing.share(session.id)
    except OpencodeError as error:
        say(f"not shared: {error}")
        return
    if shared.share is not None:
        say(f"shared: {shared.share.url}")


async def _report_notices(client: "Client", reported: Collection[str] = ()) -> set[str]:
    """Write new warnings about the settings to stderr; return all that were written."""
    notices = await client.settings.notices()
    others = [*map(str, notices.ignored), *filter(None, [notices.undo_off])]
    placed = [*placed_warnings(notices), *(("", one) for one in others)]
    say_warnings([one for one in placed if one[1] not in reported])
    return {*reported, *(line for _, line in placed)}


async def answer(
    client: "Client", session: SessionInfo, request: Work, reporter: "Reporter", prompts: RunPrompts
) -> int:
    """Send the request and show events until the session is idle; return the exit code.

    If interrupted, abort the turn cleanly, show the remaining events, and raise. If the reader of the output closed it, abort the
    turn too, unless it has ended: then its end decides about the code.
    """
    with client.events() as events:
        scope = RunScope()
        follower = asyncio.create_task(_follow(client, session.id, events, scope, reporter, prompts))
        turn = asyncio.create_task(send(client, session.id, request))
        turn.add_done_callback(consume_error)  # a second signal ends the wait for it
        try:
            await asyncio.wait({follower, turn}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if _has_closed(follower):  # often with the last words
                await _wait_for_last_words(events, scope, turn)
            await _end(client, session, follower, turn)
            if _has_closed(follower):
                drop_closed_output()
            with dropping_closed_output():
                if follower.cancelled():
                    _show_rest(events, scope, reporter, turn)
                else:
                    reporter.close()
        if _has_closed(follower) and _was_interrupted(turn):
            say(CLOSED)
            return FAILED
        if not (follower.cancelled() or _has_closed(follower)):
            follower.result()
        info = turn.result().info
    if not isinstance(info, AssistantMessage) or info.shown_error is None:
        return 0
    say(describe_stored(info.shown_error, info.provider_id, info.model_id))
    return 0 if info.failure is None else 1


CLOSED = 'the reader closed standard output, so the turn was interrupted; `opencode-tui run -c "go on"` continues it'


def _has_closed(follower: "asyncio.Task[None]") -> bool:
    """Return whether the events could not be shown because no one reads the output any more."""
    return follower.done() and not follower.cancelled() and isinstance(follower.exception(), BrokenPipeError)


def _was_interrupted(turn: "asyncio.Task[MessageWithParts]") -> bool:
    return turn.cancelled() or isinstance(turn.exception(), RunAborted)


@contextmanager
def dropping_closed_output() -> Generator[None]:
    """Write nothing more when the reader of the output closes it inside the context."""
    try:
        yield
    except BrokenPipeError:
        drop_closed_output()


async def _belongs(client: "Client", session_id: str, asking: str) -> bool:
    """Return whether a session that asks something is this one or a subagent session of it."""
    while asking != session_id:
        parent = (await client.sessions.get(asking)).parent_id
        if parent is None:
            return False
        asking = parent
    return True


async def _follow(
    client: "Client",
    session_id: str,
    events: "EventReader",
    scope: RunScope,
    reporter: "Reporter",
    prompts: RunPrompts,
) -> None:
    async for envelope in events:
        event = envelope.event
        if model_line(event) and (about := session_of_line(event)) and not await _belongs(client, session_id, about):
            continue
        if scope.has(event):
            reporter.show(event)
        for asked in await _asked(client, event):
            if await _belongs(client, session_id, asked.session_id):  # else another client of the engine asked for that
                await _ask(asked, reporter, prompts)


async def _asked(client: "Client", event: Event) -> Sequence[PermissionAsked | QuestionAsked]:
    """Return what an event asks; after lost events all that waits, since those that asked it may be among them."""
    if isinstance(event, PermissionAsked | QuestionAsked):
        return [event]
    if not isinstance(event, BusLagged):
        return ()
    return [
        *(PermissionAsked.model_validate(one.to_dict()) for one in await client.permissions.pending()),
        *(QuestionAsked.model_validate(one.to_dict()) for one in await client.questions.pending()),
    ]


async def _ask(asked: PermissionAsked | QuestionAsked, reporter: "Reporter", prompts: RunPrompts) -> None:
    if isinstance(asked, QuestionAsked):
        reporter.pause()
        await prompts.questions.ask(asked)
    elif not await prompts.decide(asked) and await prompts.permissions.is_open(asked):
        reporter.pause()
        await prompts.permissions.ask(asked)


async def _wait_for_last_words(events: "EventReader", scope: RunScope, turn: "asyncio.Task[MessageWithParts]") -> None:
    """Wait until the turn ends, at most `LAST_WORDS_S`; not while it calls a tool, which would do more than answer."""

    async def reach_tool() -> None:
        while not scope.is_at_tool:
            scope.has((await anext(events)).event)

    tool = asyncio.create_task(reach_tool())
    tool.add_done_callback(consume_error)
    await asyncio.wait({tool, turn}, timeout=LAST_WORDS_S, return_when=asyncio.FIRST_COMPLETED)
    tool.cancel()


async def _end(
    client: "Client", session: SessionInfo, follower: "asyncio.Task[None]", turn: "asyncio.Task[MessageWithParts]"
) -> None:
    """Wait for both tasks; abort an unfinished turn, which gets some time to close its records."""
    if not turn.done():
        await client.prompts.abort(session.id)
        await asyncio.wait({turn}, timeout=ABORT_GRACE_MS / 1000)
        turn.cancel()
    follower.cancel()
    await asyncio.wait({follower, turn})


def _show_rest(
    events: "EventReader", scope: RunScope, reporter: "Reporter", turn: "asyncio.Task[MessageWithParts]"
) -> None:
    """Show the remaining events of the turn."""
    try:
        while (envelope := events.poll()) is not None:
            if scope.has(envelope.event):
                reporter.show(envelope.event)
        reporter.end(None if turn.cancelled() or turn.exception() else turn.result())
    finally:
        reporter.close()


async def _choose_session(client: "Client", options: TurnOptions, request: Work) -> SessionInfo:
    if options.session_id:
        from opencode_tui.cli.session_choice import choose_session

        return await _continue(client, options, await choose_session(client, options.session_id))
    if options.is_continued:
        latest = await client.sessions.latest()
        if latest is not None:
            return await _continue(client, options, latest)
        say("no earlier session in this project; starting a new one")
    await check(client, request, options.model)
    with progress_line("Making the session"):
        return await client.sessions.create(CreateSession.trusted(title=options.title or _title(options)))


async def _continue(client: "Client", options: TurnOptions, session: SessionInfo) -> SessionInfo:
    """Return the session, or a fork of it, titled by the options. Raises ConfigError, ModelNotFoundError for unknown names."""
    if options.variant is not None or options.model is not None or options.agent is not None:
        model = options.model or await _last_model(client, session.id)
        named = PromptInput(model=model, agent=options.agent, variant=options.variant, parts=[])
        await client.prompts.check(named)
    here, there = client.directory, Path(session.directory)
    if not (here.is_relative_to(there) or there.is_relative_to(here)):
        say(f"session {session.id} runs in {there}; this turn runs in {here}")
    if not options.is_fork:
        if is_default_title(session.title) and session.parent_id is None:
            return await client.sessions.update(session.id, UpdateSession(title=options.title or _title(options)))
        return session
    with progress_line("Making the fork"):
        fork = await client.sessions.fork(session.id, ForkSession())
    return await client.sessions.update(fork.id, UpdateSession(title=options.title)) if options.title else fork


async def _last_model(client: "Client", session_id: str) -> ModelRef | None:
    messages = await client.messages.list(session_id, _NEWEST)
    if not any(isinstance(one.info, UserMessage) for one in messages):
        messages = await client.messages.list(session_id)
    return next((one.info.model for one in reversed(messages) if isinstance(one.info, UserMessage)), None)


def _title(options: TurnOptions) -> str:
    """Return the title of a session by its first request."""
    command = f"/{options.command.removeprefix('/')}" if options.command else ""
    text = f"{command} {options.message} {options.piped}"
    if not text.strip() and not options.files and options.until:
        text = f"Until {options.until}"
    return first_words(text if text.strip() else " ".join(Path(name).name for name in options.files))


def first_words(text: str) -> str:
    """Return the start of a request as a title."""
    return " ".join(text.split())[:TITLE_LENGTH].rstrip()


async def _request(client: "Client", options: TurnOptions) -> Work:
    if options.until is not None and not (
        options.message.strip() or options.piped.strip() or options.files or options.command
    ):
        return CheckAlone(options.agent, options.model, options.variant)
    attached = await attach(options.files, is_remote=options.attach is not None)
    if options.command is not None:
        command = await make_command(
            client,
            options.command,
            arguments=options.message,
            piped=options.piped,
            attached=attached,
            model=options.model,
            agent=options.agent,
        )
        return command.changed(variant=options.variant)
    prompt = await make_prompt(
        client,
        typed=options.message,
        piped=options.piped,
        attached=attached,
        model=options.model,
        agent=options.agent,
    )
    return prompt.changed(variant=options.variant)
