"""One turn: choose the session, send the request, report what happens, end in order."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from opencode_tui.cli.door import with_client
from opencode_tui.cli.permission_prompt import PermissionPrompt, open_terminal
from opencode_tui.cli.run_json import JsonReporter
from opencode_tui.cli.run_report import TerminalReporter
from opencode_tui.cli.terminal import say
from opencode_tui.client.client import Client
from opencode_tui.client.local import choose_policy
from opencode_tui.engine.session.attachment import file_input
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.event import Event, PermissionAsked
from opencode_tui.schema.model import ModelRef, parse_model_ref
from opencode_tui.schema.request import CreateSession, PromptInput, PromptPart, TextInput
from opencode_tui.schema.session import SessionInfo

TITLE_LENGTH = 50


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

    def close(self) -> None:
        """Leave the terminal tidy."""
        ...


def run_turn(options: TurnOptions) -> int:
    """Run one turn and return the exit code; Ctrl-C ends it in order and raises KeyboardInterrupt."""
    terminal = open_terminal()
    policy = choose_policy(auto=options.auto, has_terminal=terminal is not None)

    async def work(client: Client) -> int:
        await _tell_notices(client)
        request = await _request(options)
        session = await _choose_session(client, options)
        reporter: Reporter = JsonReporter(session.id) if options.style == "json" else TerminalReporter(session.id)
        return await _answer(client, session, request, reporter, PermissionPrompt(terminal, client.permissions))

    return with_client(work, policy=policy)


async def _tell_notices(client: Client) -> None:
    notices = await client.settings.notices()
    for line in [*notices.warnings, *notices.ignored]:
        say(line)


async def _answer(
    client: Client, session: SessionInfo, request: PromptInput, reporter: Reporter, questions: PermissionPrompt
) -> int:
    with client.events() as events:

        async def follow() -> None:
            async for envelope in events:
                reporter.show(envelope.event)
                if isinstance(envelope.event, PermissionAsked):
                    reporter.close()
                    await questions.ask(envelope.event)

        follower = asyncio.create_task(follow())
        try:
            answer = await client.prompts.prompt(session.id, request)
        finally:
            follower.cancel()
            await asyncio.wait({follower})
            while (envelope := events.poll()) is not None:
                reporter.show(envelope.event)
            reporter.close()
    return 1 if getattr(answer.info, "error", None) is not None else 0


async def _choose_session(client: Client, options: TurnOptions) -> SessionInfo:
    if options.session_id:
        return await client.sessions.get(options.session_id)
    if options.is_continued:
        latest = await client.sessions.latest()
        if latest is not None:
            return latest
        say("no earlier session in this project; beginning a new one")
    title = options.title or " ".join(options.message.split())[:TITLE_LENGTH]
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
