"""`opencode-tui export`: a session as JSON, as Markdown, or as a page of HTML."""

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.completion_values import complete_sessions
from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.progress_line import progress_line
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.terminal import json_text, print_result, say
from opencode_tui.client.user_files import write_new
from opencode_tui.schema.error import SessionError
from opencode_tui.text.conversation import to_markdown
from opencode_tui.text.export.html import session_page
from opencode_tui.text.export.redact import describe_counts, redact_info, redact_messages, users_redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from opencode_tui.client.client import Client
    from opencode_tui.client.local import LocalClient
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
    if sum((is_json, markdown is not None, page is not None)) > 1:
        raise click.UsageError("--json, --markdown and --html exclude each other.")

    async def work(client: "LocalClient") -> "tuple[SessionInfo, Iterable[MessageWithParts]]":
        info = await _choose(client, session_id)
        return info, await client.stored_messages(info.id)

    info, messages = with_client(work)
    redactor = None
    if is_redacted or tools:
        redactor = users_redactor(tools, is_full=is_redacted)
        info, messages = redact_info(info, redactor), redact_messages(messages, redactor)
    if markdown is not None:
        _write(to_markdown(info, messages), markdown)
    elif page is None:
        _write(_json(info, messages), "-")
    else:
        _write_page(info, messages, page)
    if redactor is not None:
        _report(redactor)


async def _choose(client: "Client", session_id: str | None) -> "SessionInfo":
    info = await choose_session(client, session_id) if session_id else await client.sessions.latest()
    if info is None:
        raise SessionError("no session to export in this project (see `opencode-tui session list`)")
    return info


def _report(redactor: "Redactor") -> None:
    words = describe_counts(redactor.counts)
    say(f"left out: {words}" if words else "left out: nothing was found; read the export before you send it")


def _json(info: "SessionInfo", messages: "Iterable[MessageWithParts]") -> "Iterator[str]":
    """Yield the JSON as `print_json` would write all of it."""
    yield f'{{\n  "info": {json_text(info.to_dict(), 1)},\n  "messages": ['
    end = "]"
    for message in messages:
        yield f"{',' if end != ']' else ''}\n    {json_text(message.to_dict(), 2)}"
        end = "\n  ]"
    yield f"{end}\n}}\n"


def _write_page(info: "SessionInfo", messages: "Iterable[MessageWithParts]", name: str) -> None:
    with progress_line("Reading the session"):
        read = list(messages)  # the list of prompts and the sums come first
    _write(session_page(info, read), name)


def _write(pieces: "Iterable[str]", name: str) -> None:
    """Write to a new file and print its path, or to stdout for `-`."""
    from pathlib import Path

    if name == "-":
        # Progress is no line between those of the output.
        with nullcontext() if sys.stdout.isatty() else progress_line("Writing the session"):
            for piece in pieces:
                sys.stdout.write(piece)
        return
    path = Path(name).expanduser()
    with progress_line("Writing the file"):
        size = write_new(path, pieces)
    print_result(f"{path} ({-(-size // 1024)} KB)")
