"""`opencode-tui export`: a session as JSON, as Markdown, or as a page of HTML."""

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.completion_values import complete_sessions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opencode_tui.client.client import Client
    from opencode_tui.redaction.session import Redactor
    from opencode_tui.schema.session.history import MessageWithParts
    from opencode_tui.schema.session.session import SessionInfo


@click.command()
@click.argument("session_id", metavar="[ID]", required=False, shell_complete=complete_sessions)
@click.option("--json", "is_json", is_flag=True, help="Print JSON (default).")
@click.option("--markdown", metavar="FILE", help="Write Markdown to a new file (- prints it).")
@click.option("--html", "page", metavar="FILE", help="Write a page of HTML to a new file (- prints it).")
@click.option("--redact", "is_redacted", is_flag=True, help="Leave out secrets and personal data; reports how many.")
@click.option("--without", "tools", metavar="TOOL", multiple=True, help="Leave out the outputs of a tool (repeatable).")
def export(
    session_id: str | None,
    is_json: bool,
    markdown: str | None,
    page: str | None,
    is_redacted: bool,
    tools: tuple[str, ...],
) -> None:
    """Print a session as JSON: {info, messages: [{info, parts}]}. Without an ID the latest one.

    --html writes a self-contained page. --redact replaces keys, passwords, e-mail addresses, the contents of .env files, your
    user name and your home folder with placeholders.
    """
    from opencode_tui.cli.engine_access import with_client  # not for the help
    from opencode_tui.cli.progress_line import progress_line
    from opencode_tui.cli.terminal import print_json

    if sum((is_json, markdown is not None, page is not None)) > 1:
        raise click.UsageError("--json, --markdown and --html exclude each other.")

    async def work(client: "Client") -> "tuple[SessionInfo, list[MessageWithParts]]":
        info = await _choose(client, session_id)
        return info, list(await client.messages.list(info.id))

    info, messages = with_client(work, doing="Reading the session")
    if is_redacted or tools:
        from opencode_tui.text.export.redact import redact_info, redact_messages, users_redactor

        redactor = users_redactor(tools, is_full=is_redacted)
        info, messages = redact_info(info, redactor), list(redact_messages(messages, redactor))
        _report(redactor)
    if markdown is not None:
        from opencode_tui.text.conversation import to_markdown

        _write([to_markdown(info, messages)], markdown)
    elif page is None:
        with nullcontext() if sys.stdout.isatty() else progress_line("Writing the session"):
            print_json({"info": info.to_dict(), "messages": [message.to_dict() for message in messages]})
    else:
        _write_page(info, messages, page)


async def _choose(client: "Client", session_id: str | None) -> "SessionInfo":
    from opencode_tui.cli.session_choice import choose_session
    from opencode_tui.schema.error import NotFoundError

    info = await choose_session(client, session_id) if session_id else await client.sessions.latest()
    if info is None:
        raise NotFoundError("no session to export in this project (see `opencode-tui session list`)")
    return info


def _report(redactor: "Redactor") -> None:
    from opencode_tui.cli.terminal import say
    from opencode_tui.text.export.redact import describe_counts

    words = describe_counts(redactor.counts)
    say(f"left out: {words}" if words else "left out: nothing was found; read the export before you send it")


def _write_page(info: "SessionInfo", messages: "list[MessageWithParts]", name: str) -> None:
    from opencode_tui.text.export.html import session_page

    _write(session_page(info, messages), name)


def _write(pieces: "Iterable[str]", name: str) -> None:
    """Write to a new file and print its path, or to stdout for `-`."""
    from pathlib import Path

    from opencode_tui.cli.progress_line import progress_line
    from opencode_tui.cli.terminal import print_result
    from opencode_tui.client.user_files import write_new

    if name == "-":
        for piece in pieces:
            sys.stdout.write(piece)
        return
    path = Path(name).expanduser()
    with progress_line("Writing the file"):
        size = write_new(path, pieces)
    print_result(f"{path} ({-(-size // 1024)} KB)")
