"""Exports of a session to a file: as Markdown, a page of HTML or JSON, with or without secrets."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.dialogs.overlay import Choice, ListContent
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel


def _nothing() -> None: ...


class _Format(Struct, frozen=True):
    """A format by the ending of its files."""

    ending: str
    name: str
    note: str
    is_redacted: bool = False


_FORMATS: Mapping[str, _Format] = {
    "markdown": _Format(".md", "Markdown", "to read and to paste"),
    "page": _Format(".html", "Web page", "a self-contained page"),
    "json": _Format(".json", "JSON", "for opencode-tui import"),
    "safe-page": _Format(".html", "Web page without secrets", "no keys, addresses, names", is_redacted=True),
    "safe-markdown": _Format(".md", "Markdown without secrets", "the same", is_redacted=True),
}


@action("session_export", with_words=True)
def export_shown(chat: Chat, words: str = "") -> None:
    """Export the shown session to a file of this name, whose ending decides about the format; ask for both without one."""
    info = chat.shown_session()
    if info is None:
        return
    if words:
        chat.do(_export(chat, info.id, words, is_redacted=False))
    else:
        export(chat, info.id)


def export(chat: Chat, session_id: str, after: Callable[[], object] = _nothing) -> None:
    """Ask for a format and a file name, then export there; `after` is called when nothing is exported."""
    choices = [
        Choice(name, one.name, one.note, group="Without secrets" if one.is_redacted else "All of it")
        for name, one in _FORMATS.items()
    ]

    def done(chosen: str | None) -> None:
        if chosen is None:
            after()
        else:
            _ask(chat, session_id, _FORMATS[chosen], after)

    chat.app.open_overlay(ListContent(choices, hint="Export this session as", enter="choose", is_marked=False), done)


def _ask(chat: Chat, session_id: str, chosen: _Format, after: Callable[[], object]) -> None:
    def done(name: str) -> None:
        chat.panels.close()
        if name:
            chat.do(_export(chat, session_id, name, is_redacted=chosen.is_redacted))
        else:
            after()

    def back() -> None:
        chat.panels.close()
        after()

    ask = TextAsk(
        f"Export as {chosen.name[0].lower()}{chosen.name[1:]}" if chosen.name != "JSON" else "Export as JSON",
        "write",
        text=f"session-{session_id[:8]}{chosen.ending}",
        hint="a new file in this folder",
    )
    chat.panels.open(TextPanel(ask, done=done, back=back))


async def _export(chat: Chat, session_id: str, name: str, *, is_redacted: bool) -> None:
    """Write the session to a new file in the format of the name's ending, else Markdown. Raises OpencodeError."""
    with chat.waiting("Exporting"):
        client = chat.control.client
        info, messages = await client.sessions.get(session_id), await client.messages.list(session_id)
        folder = client.directory
        done = await asyncio.to_thread(partial(_write, folder, name, info, messages, is_redacted=is_redacted))
    chat.show_note("done", "Exported", done)


def _write(
    folder: Path, name: str, info: SessionInfo, messages: Sequence[MessageWithParts], *, is_redacted: bool
) -> str:
    """Write a session to a new file; return its name in the folder and what was left out. Blocks. Raises OpencodeError."""
    from opencode_tui.client.user_files import write_new

    path, report = folder / Path(name).expanduser(), ""
    if is_redacted:
        from opencode_tui.text.export.redact import describe_counts, redact_info, redact_messages, users_redactor

        redactor = users_redactor()
        info, messages = redact_info(info, redactor), list(redact_messages(messages, redactor))
        words = describe_counts(redactor.counts)
        report = f"left out: {words}" if words else "nothing to leave out was found; read it before you send it"
    write_new(path, _pieces(path.suffix.lower(), info, messages))
    shown = path.relative_to(folder) if path.is_relative_to(folder) else path
    return f"{screen_line(str(shown))}  {report}".rstrip()


def _pieces(ending: str, info: SessionInfo, messages: Sequence[MessageWithParts]) -> Iterable[str]:
    match ending:
        case ".html" | ".htm":
            from opencode_tui.text.export.html import session_page

            return session_page(info, messages)
        case ".json":
            whole = {"info": info.to_dict(), "messages": [message.to_dict() for message in messages]}
            return [json.dumps(whole, indent=2, ensure_ascii=False), "\n"]
        case _:
            from opencode_tui.text.conversation import to_markdown

            return to_markdown(info, messages)
