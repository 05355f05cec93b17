"""`opencode-tui ps`, `answer` and `stop`: what runs, waits for you and ended since you looked, in all folders."""

import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.commands.answering import answer_question, ask_here, stop_sessions
from opencode_tui.cli.engine_access import open_every_folder, run_main
from opencode_tui.cli.session_choice import session_title
from opencode_tui.cli.style import style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.schema.api.inbox import Ended, InboxView, Running
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.record import JsonObject
from opencode_tui.text.inbox import ENDED_STATES, STATES, line_of, question_line, silent_line
from opencode_tui.text.quantity import age, money, short_path, token_words

if TYPE_CHECKING:
    from opencode_tui.client.inbox import Inbox

_WATCH_S = 1.0
"""Seconds between two looks."""


logger = logging.getLogger(__name__)


@click.command(short_help="List what runs and what asks you.")
@click.option("--watch", is_flag=True, help="Update the list as it changes, until Ctrl+C.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def ps(watch: bool, style: str) -> None:
    """List sessions of all folders that ask you something, were stopped or work; what needs you comes first.

    Below them are the sessions that ended since you looked: at this list in a terminal, at its page, or at the session.

    \b
    opencode-tui ps                  what runs, and the questions with their IDs
    opencode-tui answer per_01… yes  answer one
    opencode-tui stop ses_01…        interrupt one
    """
    run_main(lambda: _show(is_watching=watch, is_json=style == "json"))


@click.command(short_help="Answer a question that `ps` lists.")
@click.argument("name", metavar="ID")
@click.argument("words", nargs=-1, metavar="[yes|no|TEXT]…")
def answer(name: str, words: tuple[str, ...]) -> int:
    """Answer a question of an agent in any folder; `opencode-tui ps` lists them.

    In a terminal, with the ID of a question or of a session, the whole question is shown and asked. With an answer, ID is that
    of the question: so it never answers one that you have not seen.

    \b
    opencode-tui answer per_01… yes               allow it once
    opencode-tui answer per_01… no                reject it
    opencode-tui answer per_01… "use make test"   reject it and say why
    opencode-tui answer que_01… 2                 choose the second option
    """
    return run_main(lambda: answer_question(name, words) if words else ask_here(name))


@click.command(short_help="Interrupt sessions that `ps` lists.")
@click.argument("session_ids", nargs=-1, metavar="ID…")
@click.option("--all", "is_all", is_flag=True, help="Everything that runs, in all folders.")
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
@click.option("-y", "--yes", is_flag=True, help="Skip confirmation.")
def stop(session_ids: tuple[str, ...], is_all: bool, dry_run: bool, yes: bool) -> int:
    """Interrupt sessions in any folder, with their subagents and background commands.

    Nothing is undone: the session stays, and continues with your next prompt.
    """
    if bool(session_ids) == is_all:
        raise click.UsageError("name the sessions, or pass --all; `opencode-tui ps` lists them")
    return run_main(lambda: stop_sessions(session_ids, dry_run=dry_run, is_sure=yes))


async def _show(*, is_watching: bool, is_json: bool) -> None:
    shown: object = None
    while True:
        async with open_every_folder(says_waits=shown is None) as inbox:
            view = await inbox.view()
            now = system_clock()
            listed: object = _facts(view, now) if is_json else _table(view, now)
            if listed != shown:
                if is_json:
                    print_json(listed)
                else:
                    if is_watching:
                        click.clear()
                    sys.stdout.write(f"{listed}\n")
                    sys.stdout.flush()
                for pid in view.silent:
                    say(silent_line(pid))
            shown = listed
            if not is_watching:
                if not is_json and sys.stdout.isatty():
                    await _look(inbox, view)
                return
        await asyncio.sleep(_WATCH_S)


async def _look(inbox: "Inbox", view: InboxView) -> None:
    """Record that the user has seen what ended; where nothing can be written, it is listed again."""
    try:
        await inbox.look_at_all(view)
    except StorageError as error:
        logger.info("%s", error)


def _table(view: InboxView, now: int) -> str:
    rows, style = view.rows, style_of(sys.stdout, os.environ)
    if not rows and not view.ended:
        return style.paint("nothing runs", "muted")
    home = os.path.expanduser("~")
    cells = [
        [
            STATES[row.state],
            row.info.id,
            session_title(row.info),
            line_of(row, now),
            short_path(row.info.directory, home) + (f" ({row.branch})" if row.branch else ""),
            token_words(row.totals.input + row.totals.output),
            money(row.totals.cost),
            age(row.info.time.updated, now),
        ]
        for row in rows
    ]
    cells += [
        [
            ENDED_STATES[one.state],
            one.info.id,
            session_title(one.info),
            one.said,
            short_path(one.info.directory, home),
            "",
            money(one.cost),
            age(one.at, now),
        ]
        for one in view.ended
    ]
    heads = ("STATE", "SESSION", "TITLE", "WHAT", "FOLDER", "TOKENS", "COST", "USED")
    whole = ("STATE", "SESSION", "TOKENS", "COST", "USED")
    hints = [
        f"answer: opencode-tui answer {asked.id} {'yes|no|TEXT' if asked.id.startswith('per_') else 'TEXT'}"
        for row in rows
        for asked in (one.asked for one in row.waiting)
    ]
    hints += [f"continue: opencode-tui -s {row.info.id}" for row in rows if row.state == "stopped"]
    spare = ("TOKENS", "COST", "USED", "FOLDER")
    table = render_table(heads, cells, style, numbers=("TOKENS", "COST", "USED"), whole=whole, spare=spare)
    return "\n".join([table, *(style.paint(hint, "muted") for hint in hints)])


def _facts(view: InboxView, now: int) -> list[JsonObject]:
    """Return what runs and waits, then what ended since the user looked, as JSON data."""
    return [*(_running_facts(row, now) for row in view.rows), *(_ended_facts(one) for one in view.ended)]


def _ended_facts(one: Ended) -> JsonObject:
    """Return a session that ended as JSON data; `updated` is when, in ms since 1970, `cost` in USD."""
    return {
        "sessionID": one.info.id,
        "title": one.info.title,
        "directory": one.info.directory,
        "state": one.state,
        "line": one.said,
        "asks": [],
        "reachable": False,
        "cost": one.cost,
        "updated": one.at,
    }


def _running_facts(row: Running, now: int) -> JsonObject:
    """Return a session as JSON data; `updated` is in ms since 1970, `cost` in USD."""
    asks = [
        {
            "id": one.asked.id,
            "kind": "permission" if one.permission is not None else "question",
            "question": question_line(one.asked, one.call),
        }
        for one in row.waiting
    ]
    return {
        "sessionID": row.info.id,
        "title": row.info.title,
        "directory": row.info.directory,
        "branch": row.branch,
        "state": row.state,
        "line": line_of(row, now),
        "asks": asks,
        "left": row.left,
        "background": [command.id for command in row.background],
        "process": row.pid,
        "reachable": row.is_reachable,
        "tokens": row.totals.input + row.totals.output,
        "cost": row.totals.cost,
        "updated": row.info.time.updated,
    }
