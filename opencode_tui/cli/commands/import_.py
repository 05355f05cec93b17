"""`opencode-tui import`: import sessions of OpenCode, Claude Code and Codex, of an exported file or of a shared address."""

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.progress_line import progress_line
from opencode_tui.cli.style import style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.schema.api.importing import ImportReport, ImportRequest, ImportStore, ImportTool
from opencode_tui.schema.error import ConfigError
from opencode_tui.text.safe_text import make_safe

if TYPE_CHECKING:
    from rich.progress import Progress

_TOOLS: dict[str, ImportTool] = {"opencode": "opencode", "claude": "claude", "codex": "codex"}
_NAMES = {"opencode": "OpenCode", "claude": "Claude Code", "codex": "Codex"}
_HEADS = ("PROGRAM", "FOLDER", "SESSIONS", "NEW", "CONTINUED")
_SHOWN_PROBLEMS = 20
_POLL_S = 0.1
_AGE = re.compile(r"(\d{1,5})([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


class _Options(TypedDict):
    directory: str | None
    since: str | None
    sessions: tuple[str, ...]
    maps: tuple[str, ...]
    dry_run: bool
    is_sure: bool
    style: str


@click.command("import")
@click.argument("source", required=False)
@click.argument("path", required=False)
@click.option("--dir", "directory", metavar="DIR", help="Only sessions in DIR or its subfolders.")
@click.option(
    "--since", metavar="DATE", help="Only sessions used since a date (2026-01-31) or for a time (7d, 4w, 6m)."
)
@click.option("--session", "sessions", multiple=True, metavar="ID", help="Only this session (repeatable).")
@click.option("--map", "maps", multiple=True, metavar="OLD=NEW", help="Rewrite a path prefix (repeatable).")
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
@click.option("-y", "--yes", "is_sure", is_flag=True, help="Skip confirmation.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def import_sessions(source: str | None, path: str | None, **options: Unpack[_Options]) -> int:
    """Import sessions of other programs, to search, open and continue them here.

    \b
    import                         list what was found, and ask
    import opencode|claude|codex   import the sessions of one program
    import opencode PATH           … from another folder or database
    import FILE                    a session of `export`
    import https://…/share/ID      a shared session

    The source is not modified. Importing again adds only what is new. Only messages are imported: no keys, permissions, modes of
    approvals, undos or shares. A session from a file or an address works in the current folder.
    """
    directory, since, dry_run = options["directory"], options["since"], options["dry_run"]
    request = ImportRequest(
        directory=os.path.abspath(os.path.expanduser(directory)) if directory else None,
        since=_parse_since(since) if since else None,
        sessions=list(options["sessions"]) or None,
        map=_parse_maps(options["maps"]) or None,
        dry_run=dry_run,
    )
    asks = source is None and not options["is_sure"] and not dry_run
    return _import(_with_source(request, source, path), asks=asks, style=options["style"])


def _with_source(request: ImportRequest, source: str | None, path: str | None) -> ImportRequest:
    """Return the request with what the arguments name. Raises ConfigError."""
    if source is None:
        return request
    tool = _TOOLS.get(source)
    if tool is not None:
        return request.changed(tool=tool, path=os.path.abspath(os.path.expanduser(path)) if path else None)
    if path is not None:
        raise ConfigError(f"unexpected argument {path!r}: only opencode, claude and codex are followed by a path")
    if source.startswith(("http://", "https://")):
        return request.changed(source=source)
    found = Path(source).expanduser().absolute()
    if not found.exists():
        raise ConfigError(f"{source} is no program (opencode, claude, codex), no address, and no file that exists")
    if found.is_dir() or found.suffix == ".db":
        return request.changed(path=str(found))
    return request.changed(source=str(found))


def _import(request: ImportRequest, *, asks: bool, style: str) -> int:
    async def work(client: Client) -> tuple[Sequence[ImportStore], ImportReport | None]:
        found: Sequence[ImportStore] = []
        if asks or (request.source is None and style != "json"):
            with progress_line("Looking for sessions of other programs"):
                found = await client.imports.stores(request)
            if not found:
                return found, None
            if style != "json":
                _print_stores(found)
            if asks and not await asyncio.to_thread(_confirm, found):
                return found, None
        return found, await _run(client, request)

    found, report = with_client(work)
    if report is None:
        if not found:
            say(
                "no sessions of OpenCode, Claude Code or Codex found; name their folder: `opencode-tui import opencode PATH`"
            )
        return 0
    if style == "json":
        print_json(report.to_dict())
    else:
        _print_report(report, dry_run=request.dry_run)
    return 1 if report.is_cancelled else 0


def _print_stores(stores: Sequence[ImportStore]) -> None:
    home = os.path.expanduser("~")
    rows = [
        [
            store.label if store.label != "OpenCode export" else _NAMES[store.tool],
            f"~{store.path[len(home) :]}" if store.path.startswith(f"{home}/") else store.path,
            str(store.sessions),
            str(store.new),
            str(store.newer or ""),
        ]
        for store in stores
    ]
    look = style_of(sys.stdout, os.environ)
    sys.stdout.write(render_table(_HEADS, rows, look, numbers=_HEADS[2:], whole=_HEADS[2:]) + "\n")
    sys.stdout.flush()
    for store in stores:
        for problem in store.problems[:_SHOWN_PROBLEMS]:
            say(make_safe(problem))


def _confirm(stores: Sequence[ImportStore]) -> bool:
    """Return whether the user wants the import; without a terminal, or without anything new, the answer is no."""
    count = sum(store.new + store.newer for store in stores)
    if not count:
        say("nothing new to import")
        return False
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        say("Not a terminal: pass --yes to import")
        return False
    return click.confirm(f"Import {count} session{'s' if count != 1 else ''}?", default=True, err=True)


async def _run(client: Client, request: ImportRequest) -> ImportReport:
    """Import, with a progress bar in a terminal."""
    work = asyncio.ensure_future(client.imports.run(request))
    try:
        with _bar() as bar:
            task = bar.add_task("", total=None) if bar is not None else None
            while not (await asyncio.wait({work}, timeout=_POLL_S))[0]:
                progress = await client.imports.progress()
                if bar is not None and task is not None and progress is not None and progress.total:
                    title = make_safe(progress.title)
                    bar.update(task, completed=progress.done, total=progress.total, description=title)
        return work.result()
    finally:
        work.cancel()


def _bar() -> "AbstractContextManager[Progress | None]":
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False))
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _print_report(report: ImportReport, *, dry_run: bool) -> None:
    verb = "Would import" if dry_run else "Imported"
    lines = [f"{verb} {report.new} session{'s' if report.new != 1 else ''}"]
    lines += [f"{report.newer} continued"] if report.newer else []
    lines += [f"{report.same} already here"] if report.same else []
    lines += [f"{report.skipped} skipped"] if report.skipped else []
    sys.stdout.write(", ".join(lines) + "\n")
    if dry_run:
        for entry in report.sessions:
            sys.stdout.write(
                make_safe(f"  {entry.id}  {entry.messages:5} messages  {entry.directory}  {entry.title}") + "\n"
            )
    for entry in report.sessions:
        if entry.reason:
            say(make_safe(f"{entry.id} {entry.title}: {entry.reason}"))
    if report.left_out:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(report.left_out.items()))
        say(f"only messages are imported; left out, with the number of sessions: {kinds}")
    for problem in report.problems[:_SHOWN_PROBLEMS]:
        say(f"left out: {make_safe(problem)}")
    more = len(report.problems) - _SHOWN_PROBLEMS + report.omitted_problems
    if more > 0:
        say(f"… and {more} more; --format json lists them")
    if report.is_cancelled:
        say("Interrupted; what was imported stays. Run it again for the rest.")


def _parse_maps(maps: Sequence[str]) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for text in maps:
        old, equals, new = text.partition("=")
        if not (equals and old.startswith("/") and os.path.isabs(os.path.expanduser(new))):
            raise ConfigError(f"invalid --map {text!r}: expected OLD=NEW with two absolute folders")
        parsed[old] = os.path.expanduser(new)
    return parsed


def _parse_since(text: str) -> int:
    """Return a time in milliseconds since 1970. Raises ConfigError."""
    age = _AGE.fullmatch(text)
    if age is not None:
        moment = datetime.now(UTC) - timedelta(days=int(age[1]) * _DAYS[age[2]])
    else:
        try:
            moment = datetime.fromisoformat(text).astimezone()
        except ValueError as error:
            raise ConfigError(f"invalid --since {text!r}: expected a date like 2026-01-31, or 7d, 4w, 6m") from error
    return int(moment.timestamp() * 1000)
