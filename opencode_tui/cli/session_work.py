"""What the `session` commands do."""

import os
import sys
from collections.abc import Sequence

import click

from opencode_tui.cli.conversation import render_conversation
from opencode_tui.cli.door import with_client
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.session_tree import grow_tree
from opencode_tui.cli.style import style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.fork import fork_origin
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.request import UpdateSession
from opencode_tui.schema.session import SessionInfo
from opencode_tui.text.quantity import age, plural

_NONE_YET = 'no sessions in this project yet; begin one with: opencode-tui run "explain this folder"'


def list_sessions(*, limit: int | None, style: str) -> None:
    """Print the sessions, the last used first."""
    infos = sorted(with_client(_all), key=lambda info: info.time.updated, reverse=True)[:limit]
    if style == "json":
        print_json([info.to_dict() for info in infos])
    elif not infos:
        say(_NONE_YET)
    else:
        now = system_clock()
        rows = [[info.id, _title(info), age(info.time.updated, now), *_changes(info)] for info in infos]
        heads = ["ID", "TITLE", "USED", "+", "−"]
        _print_table(heads if any(row[3] for row in rows) else heads[:3], rows)


def show_session(session_id: str, *, limit: int | None) -> None:
    """Print a conversation."""

    async def work(client: Client) -> str:
        info = await choose_session(client, session_id)
        messages = await client.messages.list(info.id, limit)
        return render_conversation(info, messages, style_of(sys.stdout, os.environ))

    sys.stdout.write(with_client(work) + "\n")


def show_tree() -> None:
    """Print the sessions as a tree."""
    twigs = grow_tree(with_client(_all))
    if not twigs:
        say(_NONE_YET)
        return
    now = system_clock()
    rows = [
        [
            twig.info.id,
            f"{twig.branch}{twig.kind}{' ' if twig.kind else ''}{_title(twig.info)}",
            age(twig.info.time.updated, now),
        ]
        for twig in twigs
    ]
    _print_table(["ID", "TITLE", "USED"], rows)


def rename_session(session_id: str, title: str, *, dry_run: bool) -> None:
    """Change the title; white space in it becomes single blanks."""
    wanted = " ".join(title.split())
    if not wanted:
        raise ConfigError("the new title is empty; give one")

    async def work(client: Client) -> SessionInfo:
        info = await choose_session(client, session_id)
        if not dry_run:
            await client.sessions.update(info.id, UpdateSession(title=wanted))
        return info

    before = with_client(work)
    say(f'{"would rename" if dry_run else "renamed"} {before.id}: "{_title(before)}" to "{wanted}"')


def delete_session(session_id: str, *, dry_run: bool, is_sure: bool) -> int:
    """Delete after a preview; without a terminal only with --yes."""

    async def preview(client: Client) -> tuple[list[SessionInfo], int]:
        info = await choose_session(client, session_id)
        doomed = [info, *await _descendants(client, info.id)]
        ids = {one.id for one in doomed}
        origins = [fork_origin(one) for one in await client.sessions.list() if one.id not in ids]
        return doomed, sum(origin is not None and origin.session_id in ids for origin in origins)

    doomed, forks = with_client(preview)
    now = system_clock()
    for info in doomed:
        verb = "would delete" if dry_run else "deleting" if is_sure else "to delete"
        say(f'{verb} {info.id}  "{_title(info)}", used {age(info.time.updated, now)} ago')
    if forks:
        say(f"{plural(forks, 'fork')} of it {'stays' if forks == 1 else 'stay'} whole")
    if dry_run:
        return 0
    if not is_sure and not _confirm(len(doomed)):
        say("nothing was deleted")
        return 1

    async def work(client: Client) -> None:
        await client.sessions.remove(session_id)

    with_client(work)
    say(f"deleted {plural(len(doomed), 'session')}; your files stay as they are")
    return 0


def _confirm(count: int) -> bool:
    """Ask; only a typed yes is one. Raises ConfigError where nobody can be asked."""
    if not (sys.stdin is not None and sys.stdin.isatty()):  # pyright: ignore[reportUnnecessaryComparison] - None when closed
        raise ConfigError("deleting asks first and there is no terminal to ask at; add --yes")
    return click.confirm(f"Delete {plural(count, 'session')} for good?", default=False, err=True)


def _print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    style = style_of(sys.stdout, os.environ)
    sys.stdout.write(
        render_table(heads, [row[: len(heads)] for row in rows], style, numbers={"USED", "+", "−"}, whole={"ID"}) + "\n"
    )


async def _all(client: Client) -> Sequence[SessionInfo]:
    return await client.sessions.list()


async def _descendants(client: Client, session_id: str) -> list[SessionInfo]:
    found: list[SessionInfo] = []
    for child in await client.sessions.children(session_id):
        found += [child, *await _descendants(client, child.id)]
    return found


def _title(info: SessionInfo) -> str:
    return " ".join(info.title.split()) or "(no title)"


def _changes(info: SessionInfo) -> list[str]:
    if info.summary is None or not (info.summary.additions or info.summary.deletions):
        return ["", ""]
    return [f"+{info.summary.additions}", f"−{info.summary.deletions}"]
