"""The work of `session fork`."""

import shlex
import sys

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.progress_line import progress_line
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.terminal import say
from opencode_tui.client.client import Client
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.session.session import ForkPreview, SessionInfo
from opencode_tui.text.quantity import plural


def fork_session(session_id: str, *, message_id: str | None, worktree: bool, dry_run: bool) -> None:
    """Fork, print the new ID, and return when everything is copied."""
    request = ForkSession(message_id=message_id, worktree=worktree or None)

    async def work(client: Client) -> None:
        source = await choose_session(client, session_id)
        with progress_line("Reading the session"):
            preview = await client.sessions.preview_fork(source.id, request)
        if dry_run:
            _report_preview(source, preview)
            return
        with progress_line("Making the worktree" if preview.branch else "Making the fork"):
            fork = await client.sessions.fork(source.id, request)
        sys.stdout.write(f"{fork.id}\n")
        sys.stdout.flush()
        _report(fork, preview)

    with_client(work)


def _report_preview(source: SessionInfo, preview: ForkPreview) -> None:
    say(f'would fork {source.id} as "{_line(preview.title)}" with {plural(preview.messages, "message")}')
    if preview.branch:
        say(f"would create the git worktree {preview.directory} on the new branch {preview.branch}")
    _report_notes(preview)


def _report(fork: SessionInfo, preview: ForkPreview) -> None:
    say(f'forked as "{_line(fork.title)}" with {plural(preview.messages, "message")}')
    if preview.branch:
        say(f"created the git worktree {preview.directory} on the new branch {preview.branch}")
    _report_notes(preview)
    enter = f"cd {shlex.quote(fork.directory)} && " if preview.branch else ""
    say(f'continue with: {enter}opencode-tui run -s {fork.id} "…"')


def _report_notes(preview: ForkPreview) -> None:
    for note in preview.notes:
        say(note)


def _line(title: str) -> str:
    return " ".join(title.split())
