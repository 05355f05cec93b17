"""Actions that pick something out of the conversation: a response or code block to copy, a file to open in the editor."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.schema.session.tool_state import ToolStateError
from opencode_tui.text.code_blocks import CodeBlock, code_blocks
from opencode_tui.text.file_references import FileReference, references_in, references_of_call
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import output_line, screen_line
from opencode_tui.text.tool import relative
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.conversation.tools import renderer_of
from opencode_tui.tui.dialogs.overlay import Choice, ListContent
from opencode_tui.tui.external_editor import open_file
from opencode_tui.tui.state.message import AnyItem, CompactionItem, GrowingItem, TextItem, ToolItem, UserItem

MOST_FILES = 300
"""Maximum number of files in the list."""

MOST_TEXTS = 500
"""Maximum number of responses and code blocks in the list."""

LARGEST = 2_000_000
"""Bytes of a file up to which the list shows the line that is meant."""


@action("messages_copy_part", loads="the responses")
async def copy_part(chat: Chat) -> None:
    """Choose a response or a code block, the latest first, and copy it."""
    await chat.control.load_whole()
    parts = await asyncio.to_thread(parts_to_copy, list(chat.control.transcript.items))
    if not parts:
        chat.show_note("note", "No response to copy yet")
        return
    choices = [Choice(str(at), _first_line(one.text), key=one.note, group=one.group) for at, one in enumerate(parts)]

    def done(chosen: str | None) -> None:
        if chosen is not None:
            one = parts[int(chosen)]
            chat.app.copy_to_clipboard(one.text)
            chat.show_note("done", "Copied", one.note)

    def preview(chosen: str) -> Sequence[str]:
        return [output_line(line) for line in parts[int(chosen)].text.split("\n", 40)[:40]]

    content = ListContent(choices, hint="Copy a response or a code block", enter="copy", preview=preview)
    chat.app.open_overlay(content, done)


@action("file_open")
async def open_file_of_conversation(chat: Chat) -> None:
    """Open a file that the conversation names, the last ones first in the list."""
    await chat.load_whole()
    await _open_from(chat, list(reversed(chat.control.transcript.items)))


def open_item(chat: Chat, item: AnyItem) -> None:
    """Open a file that an item names."""
    chat.do(_open_from(chat, [item]))


async def _open_from(chat: Chat, items: Sequence[AnyItem]) -> None:
    """Open the file that the items name; choose if they name several."""
    root = chat.control.client.directory
    named = await asyncio.to_thread(files_of, items, root)
    if not named:
        is_far = not chat.control.is_alone and not await asyncio.to_thread(root.is_dir)
        words = "The files are on the server" if is_far else "No file is named here"
        chat.show_note("note", words, "they can be opened only where they are" if is_far else "")
    elif len(named) == 1:
        await open_at(chat, named[0])
    else:
        _choose(chat, named, root)


def _choose(chat: Chat, named: "Sequence[NamedFile]", root: Path) -> None:
    choices = [
        Choice(str(at), screen_line(relative(one.reference.label, str(root))), one.text) for at, one in enumerate(named)
    ]

    def done(chosen: str | None) -> None:
        if chosen is not None:
            chat.do(open_at(chat, named[int(chosen)]))

    chat.app.open_overlay(ListContent(choices, hint="Open in your editor", enter="open"), done)


async def open_at(chat: Chat, file: "NamedFile") -> None:
    """Open a file in the user's editor. Raises OpencodeError."""
    reference = file.reference
    if await open_file(chat.app, file.path, reference.line, reference.column):
        chat.refresh_all()


class CopiedPart(Struct, frozen=True):
    """A text to copy; `note` says what it is, `group` is the request that it answers. Only these two are safe texts."""

    text: str
    note: str
    group: str


def parts_to_copy(items: Sequence[AnyItem]) -> list[CopiedPart]:
    """Return the responses, each followed by its code blocks; the latest first."""
    turns: list[list[CopiedPart]] = []
    group = ""
    for item in items:
        if isinstance(item, UserItem) and not item.is_hidden:
            group = _first_line(item.text)
        elif isinstance(item, TextItem) and not item.is_hidden:
            text = item.text.strip("\n")
            whole = CopiedPart(text, f"response, {plural(text.count(chr(10)) + 1, 'line')}", group)
            turns.append([whole, *(CopiedPart(one.text, describe_block(one), group) for one in code_blocks(text))])
    return [part for turn in reversed(turns) for part in turn][:MOST_TEXTS]


def describe_block(block: CodeBlock) -> str:
    """Return the language and the size of a block, `python, 3 lines`."""
    return f"{screen_line(block.language) or 'code'}, {plural(block.lines, 'line')}"


def _first_line(text: str) -> str:
    return screen_line(next((line.strip() for line in text.split("\n") if line.strip()), ""))


class NamedFile(Struct, frozen=True):
    """An existing file that the conversation names; `text` is the line that is meant, safe, empty if unknown."""

    reference: FileReference
    path: Path
    text: str = ""


def files_of(items: Iterable[AnyItem], root: Path) -> list[NamedFile]:
    """Return the existing files that the items name, each place once. Blocks on the disk."""
    found: dict[tuple[Path, int], FileReference] = {}
    known: dict[str, Path | None] = {}
    for item in items:
        for reference in references_of(item):
            if reference.path not in known:
                known[reference.path] = _existing(reference.path, root)
            path = known[reference.path]
            if path is not None:
                found.setdefault((path, reference.line), reference)
        if len(found) >= MOST_FILES:
            break
    lines: dict[Path, Sequence[str]] = {}
    named: list[NamedFile] = []
    for (path, line), reference in list(found.items())[:MOST_FILES]:
        if line and path not in lines:
            lines[path] = _lines_of(path)
        text = lines[path][line - 1] if line and line <= len(lines[path]) else ""
        named.append(NamedFile(reference, path, screen_line(text.strip())))
    return named


def references_of(item: AnyItem) -> Sequence[FileReference]:
    """Return the places in files that an item names."""
    match item:
        case ToolItem(part=part):
            state = part.state
            text = state.error if isinstance(state, ToolStateError) else renderer_of(part.tool).text(part)
            return references_of_call(part, text)
        case UserItem():
            return [*references_in(item.text), *(FileReference(name) for name in item.attachments)]
        case GrowingItem():
            return references_in(item.text)
        case CompactionItem():
            return references_in(item.summary)
        case _:
            return ()


def _existing(written: str, root: Path) -> Path | None:
    """Return the file that a written path means: below the folder, without the `a/` and `b/` of a diff, or absolute."""
    try:
        path = Path(written).expanduser()
        places = (
            [root / path] if path.parts[:1] not in (("a",), ("b",)) else [root / path, root.joinpath(*path.parts[1:])]
        )
        return next((place for place in places if place.is_file()), None)
    except (OSError, RuntimeError, ValueError):  # not a path after all: too long, no such user, a zero byte
        return None


def _lines_of(path: Path) -> Sequence[str]:
    try:
        return path.read_text("utf-8", "replace").split("\n") if path.stat().st_size <= LARGEST else ()
    except OSError:  # cannot be read: the editor will report it
        return ()
