"""What the `session` commands do."""

import sys
import time
from collections.abc import Sequence

import click

from opencode_tui.cli.conversation import render_conversation
from opencode_tui.cli.door import with_client
from opencode_tui.cli.table import age, render_table
from opencode_tui.cli.terminal import make_safe, print_json, print_result, say
from opencode_tui.client.local import LocalClient
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.request import UpdateSession
from opencode_tui.schema.session import SessionInfo


def list_sessions(*, limit: int | None, style: str) -> None:
    """Print the sessions, the last used first."""
    infos = sorted(with_client(_all), key=lambda info: info.time.updated, reverse=True)[:limit]
    if style == "json":
        print_json([info.to_dict() for info in infos])
    elif not infos:
        say('no sessions in this project yet; begin one with: opencode-tui run "explain this folder"')
    else:
        print_result(render_table(["ID", "TITLE", "USED", "CHANGED"], [_row(info) for info in infos]))


def show_session(session_id: str, *, limit: int | None) -> None:
    """Print a conversation."""

    async def work(client: LocalClient) -> str:
        info = await client.sessions.get(session_id)
        return render_conversation(info, await client.messages.list(session_id, limit))

    print_result(with_client(work))


def show_tree() -> None:
    """Print the sessions as a tree; what belongs to none that still exists stands at the top."""
    infos = with_client(_all)
    known = {info.id for info in infos}
    below: dict[str, list[SessionInfo]] = {}
    for info in infos:
        origin = _origin(info)
        below.setdefault(origin if origin in known else "", []).append(info)
    lines: list[str] = []

    def add(parent: str, indent: str) -> None:
        children = sorted(below.get(parent, []), key=lambda info: info.time.updated, reverse=True)
        for number, info in enumerate(children, start=1):
            is_last = number == len(children)
            branch = "" if not parent else "└ " if is_last else "├ "
            lines.append(f"{indent}{branch}{info.id}  {info.title}{_kind(info)}  {age(info.time.updated, _now())}")
            add(info.id, indent if not parent else indent + ("  " if is_last else "│ "))

    add("", "")
    if lines:
        print_result("\n".join(lines))
    else:
        say("no sessions in this project yet")


def rename_session(session_id: str, title: str, *, dry_run: bool) -> None:
    """Change the title."""
    wanted = title.strip()
    if not wanted:
        raise ConfigError("the new title is empty; give one")

    async def work(client: LocalClient) -> SessionInfo:
        info = await client.sessions.get(session_id)
        return info if dry_run else await client.sessions.update(session_id, UpdateSession(title=wanted))

    before = with_client(work)
    if dry_run:
        say(f"would rename {before.title!r} to {wanted!r}")
    else:
        print_result(f"{before.id}  {before.title}")


def delete_session(session_id: str, *, dry_run: bool, is_sure: bool) -> int:
    """Delete after a preview; without a terminal only with --yes."""

    async def preview(client: LocalClient) -> list[SessionInfo]:
        return [await client.sessions.get(session_id), *await _descendants(client, session_id)]

    doomed = with_client(preview)
    for info in doomed:
        say(f"{'would delete' if dry_run else 'delete'} {info.id}  {info.title}")
    if dry_run:
        return 0
    if not is_sure:
        if not sys.stdin.isatty():
            raise ConfigError("deleting asks first and there is no terminal; add --yes")
        if not click.confirm("Delete for good? Your files stay as they are", err=True):
            say("nothing was deleted")
            return 1

    async def work(client: LocalClient) -> None:
        await client.sessions.remove(session_id)

    with_client(work)
    print_result(f"deleted {len(doomed)} session{'s' if len(doomed) != 1 else ''}")
    return 0


async def _all(client: LocalClient) -> Sequence[SessionInfo]:
    return await client.sessions.list()


async def _descendants(client: LocalClient, session_id: str) -> list[SessionInfo]:
    found: list[SessionInfo] = []
    for child in await client.sessions.children(session_id):
        found += [child, *await _descendants(client, child.id)]
    return found


def _origin(info: SessionInfo) -> str:
    if info.parent_id:
        return info.parent_id
    forked = (info.metadata or {}).get("forkedFrom")
    return str(forked.get("sessionID", "")) if isinstance(forked, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - JSON


def _kind(info: SessionInfo) -> str:
    return "" if info.parent_id or not _origin(info) else "  (fork)"


def _row(info: SessionInfo) -> list[str]:
    changed = f"+{info.summary.additions} −{info.summary.deletions}" if info.summary else ""
    return [info.id, make_safe(info.title), age(info.time.updated, _now()), changed]


def _now() -> int:
    return time.time_ns() // 1_000_000
