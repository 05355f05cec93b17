"""Answering a question of an agent that runs elsewhere, and interrupting sessions there."""

import os
import sys
from collections.abc import Sequence

import click

from opencode_tui.cli.engine_access import open_every_folder
from opencode_tui.cli.run.permission_prompt import PermissionPrompt
from opencode_tui.cli.run.question_prompt import QuestionPrompt, read_answer
from opencode_tui.cli.run.terminal_lines import TerminalLines, open_terminal
from opencode_tui.cli.session_choice import session_title
from opencode_tui.cli.style import style_of
from opencode_tui.cli.terminal import say
from opencode_tui.client.client import Client
from opencode_tui.client.inbox import call_of
from opencode_tui.schema.api.inbox import Asked, Running
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.error import BusyError, ConfigError, NotFoundError
from opencode_tui.schema.event.event import QuestionAsked
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.text.inbox import question_line
from opencode_tui.text.permission import choices_of
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import make_safe

_YES, _NO = ("yes", "y"), ("no", "n")
_RULES = ("always", "a", "edit", "e", "host", "h")
"""Keys of a question that change rules: they are chosen where the rule is shown."""


async def answer_question(request_id: str, words: Sequence[str]) -> int:
    """Answer a question by its ID; return 1 if it no longer waits: the ID was right when `ps` listed it.

    Raises ConfigError for an answer that it does not take.
    """
    if not request_id.startswith(("per_", "que_")):
        raise ConfigError(
            f"{request_id} is not the ID of a question; an answer names the question: see `opencode-tui ps`, "
            f"or leave the answer out to be asked"
        )
    async with open_every_folder() as inbox:
        try:
            client, asked = await inbox.find(request_id)
        except NotFoundError as error:
            say(str(error))
            return 1
        line = make_safe(question_line(asked, await call_of(client, asked.session_id, asked.tool)))
        if isinstance(asked, PermissionRequest):
            reply, feedback = read_reply(asked, " ".join(words))
            is_done = await client.permissions.reply(asked.id, reply, feedback)
            said = "allowed once" if reply == "once" else "rejected"
        else:
            is_done = await client.questions.reply(asked.id, _answers(asked, words))
            said = "answered"
    say(f"{said}: {line}" if is_done else f"answered meanwhile elsewhere: {line}")
    return 0 if is_done else 1


async def ask_here(name: str) -> int:
    """Show a question, or the questions of a session, at the terminal and send what is answered; return 1 if nothing asks.

    Raises ConfigError without a terminal.
    """
    descriptor = open_terminal()
    if descriptor is None:
        raise ConfigError("not a terminal: pass the answer: yes, no or a text")
    style = style_of(sys.stderr, os.environ)
    terminal = TerminalLines(descriptor, err=sys.stderr)
    async with open_every_folder() as inbox:
        try:
            if name.startswith("ses_"):
                rows = [row for row in await inbox.rows() if row.info.id == name]
                found = [await inbox.find(one.asked.id) for row in rows for one in row.waiting]
            else:
                found = [await inbox.find(name)]
        except NotFoundError as error:
            say(str(error))
            return 1
        for client, asked in found:
            await _ask(
                client, asked, PermissionPrompt(terminal, client, style), QuestionPrompt(terminal, client, style)
            )
    if not found:
        say(f"{name} asks nothing; see `opencode-tui ps`")
    return 0 if found else 1


async def _ask(client: Client, asked: Asked, permissions: PermissionPrompt, questions: QuestionPrompt) -> None:
    """Ask one at the terminal, unless it was answered while the one before it was asked."""
    if isinstance(asked, PermissionRequest):
        if await permissions.is_open(asked):
            await permissions.ask(asked)
    else:
        await questions.ask(QuestionAsked.model_validate(asked.to_dict()))


async def stop_sessions(session_ids: Sequence[str], *, dry_run: bool, is_sure: bool) -> int:
    """Interrupt sessions, all that run without ids; return 1 when one was not interrupted. Asks before it interrupts all.

    Raises ConfigError for an ID that no session has, before any is interrupted.
    """
    async with open_every_folder() as inbox:
        rows = [row for row in await inbox.rows() if row.state != "stopped"]
        chosen = [row for row in rows if not session_ids or row.info.id in session_ids]
        missing = set(session_ids) - {row.info.id for row in chosen}
        if missing and (unknown := await inbox.unknown(sorted(missing))):
            raise ConfigError(f"no session {unknown[0]}; see `opencode-tui ps`")
        for session_id in sorted(missing):
            say(f"{session_id} does not run; see `opencode-tui ps`")
        for row in chosen:
            if dry_run or (not session_ids and not is_sure):
                say(f"{'would stop' if dry_run else 'to stop'} {_named(row)}")
        if dry_run or not chosen:
            if not chosen and not missing:
                say("nothing runs")
            return 1 if missing else 0
        if not session_ids and not is_sure and not _confirm(f"Stop {plural(len(chosen), 'session')}?"):
            say("nothing stopped")
            return 1
        failed = len(missing)
        for row in chosen:
            try:
                await inbox.stop(row.info.id, background=True)
            except (NotFoundError, BusyError) as error:  # it ended meanwhile, or its process takes no requests
                say(str(error))
                failed += 1
                continue
            ended = f", {plural(len(row.background), 'background command')} ended" if row.background else ""
            say(f"stopped {_named(row)}{ended}")
    return 1 if failed else 0


def read_reply(request: PermissionRequest, text: str) -> tuple[Reply, str | None]:
    """Return the reply that a typed answer means, and what the agent is told with a rejection. Raises ConfigError."""
    word = text.strip().lower()
    acts = {choice.key: choice.act for choice in choices_of(request)}
    if word in _YES or acts.get(word[:1] if word in ("keep", "remove") else word) == "once":
        return "once", None
    if word in _NO or acts.get(word[:1] if word == "remove" else word) in ("leave", "reject"):
        return "reject", None
    if not word or word in _RULES:
        raise ConfigError(
            f"{text!r} is no answer here: yes, no, or what the agent should do instead; without an answer all choices are shown"
        )
    return "reject", text.strip()


def _answers(request: QuestionRequest, words: Sequence[str]) -> list[list[str]]:
    """Return an answer for each question. Raises ConfigError for another number of them."""
    given = [" ".join(words)] if len(request.questions) == 1 else list(words)
    if len(given) != len(request.questions) or not all(one.strip() for one in given):
        raise ConfigError(
            f"{request.id} asks {plural(len(request.questions), 'question')}: pass an answer for each, quoted"
        )
    return [read_answer(text, question) for text, question in zip(given, request.questions, strict=True)]


def _named(row: Running) -> str:
    return f'{row.info.id}  "{make_safe(session_title(row.info))}"'


def _confirm(question: str) -> bool:
    if not (sys.stdin is not None and sys.stdin.isatty()):  # pyright: ignore[reportUnnecessaryComparison] - None when closed
        raise ConfigError("not a terminal: pass --yes to stop everything")
    return click.confirm(question, default=False, err=True)
