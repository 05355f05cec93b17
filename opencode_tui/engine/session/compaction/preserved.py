"""Pure: what a compaction preserves by code, independent of the model: the user's last request, their rules, todos, files.

It is a text of the marker message, built from the records at each compaction, so that nothing is lost from summary to summary.
Rules in files are not included: they are part of every system prompt. Source: docs/internals/compaction.md#what-is-kept-verbatim.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.session.request.history import compaction_of
from opencode_tui.engine.session.tokens.characters import CHARACTERS
from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import FilePart, PatchPart, SubtaskPart, TextPart, ToolPart
from opencode_tui.schema.session.session import Todo
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.schema.tools import row_of

HEAD = "Kept verbatim from the summarized messages:"
_LAST_SHARE, _RULES_SHARE, _EARLIER_SHARE = 4, 16, 16
"""Shares of the usable context for the last request, the rules and earlier requests: one part in so many."""
_MAX_RULES, _MAX_EARLIER = 4_000, 4_000
"""Maximum tokens of rules and of earlier requests, however large the context."""
_RULE_LENGTH, _REQUEST_LENGTH, _COMMAND_LENGTH = 500, 800, 300
_MAX_CHANGED, _MAX_READ = 80, 15
_CLOSED = ("completed", "cancelled")

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_STANDING = re.compile(
    r"\b(?:always|never|from now on|every time|whenever|at all times|must(?: not|n't)?|do not|don't|only ever|remember|"
    r"immer|niemals?|ab jetzt|merk dir|toujours|jamais|désormais|siempre|nunca|a partir de ahora|sempre|mai|"
    r"всегда|никогда|отныне)\b|总是|始终|永远|从现在|以后|每次|必须|务必|不要|不得|禁止|切勿|记住|常に|必ず|今後|毎回|禁止|覚えて|しないで|항상|절대|반드시",
    re.IGNORECASE,
)


class PreservedSources(Struct, frozen=True):
    """The input: all messages of the session, its open and closed todos, the folder that paths are relative to.

    `commands` are the session's background commands that run now.
    `room` is the usable context in tokens; messages from `tail_id` on are still sent in full.
    """

    messages: Sequence[MessageWithParts]
    todos: Sequence[Todo]
    worktree: Path
    room: int
    tail_id: str | None = None
    commands: Sequence[BackgroundCommand] = ()


def preserved_text(sources: PreservedSources) -> str:
    """Return the preserved text, in sections; empty when there is nothing to preserve."""
    asked = [(message.info.id, text) for message in sources.messages if (text := user_text(message))]
    old, is_last_sent = _before_tail(asked, sources)
    sections = [
        ("The user's rules", _rules(old, sources.room)),
        ("Earlier user requests", _earlier(old if is_last_sent else old[:-1], sources.room)),
        ("Open todos", [_todo_line(todo) for todo in sources.todos if todo.status not in _CLOSED]),
        ("Background commands that run, for bash_output", [_command_line(one, sources) for one in sources.commands]),
        ("Files changed", _files(sources, _changed_files(sources.messages), _MAX_CHANGED)),
        ("Files read last", _files(sources, _read_files(sources.messages), _MAX_READ)),
        ("The user's last request", [] if is_last_sent or not old else [_last(old[-1], sources.room)]),
    ]
    blocks = [f"## {title}\n" + "\n".join(lines) for title, lines in sections if lines]
    return "\n\n".join([HEAD, *blocks]) if blocks else ""


def user_text(message: MessageWithParts) -> str:
    """Return what the user wrote in a message, attachments by name; empty for any other message."""
    if not isinstance(message.info, UserMessage) or compaction_of(message) is not None:
        return ""
    words: list[str] = []
    for part in message.parts:
        match part:
            case TextPart() if not part.synthetic and not part.ignored:
                words.append(part.text.strip())
            case FilePart():
                words.append(f"[attached: {part.filename or part.mime}]")
            case SubtaskPart():
                words.append(part.prompt.strip())
            case _:
                pass
    return "\n".join(word for word in words if word)


def _before_tail(asked: list[tuple[str, str]], sources: PreservedSources) -> tuple[list[str], bool]:
    """Return the requests that are no longer sent, and whether the last one still is."""
    order = {message.info.id: place for place, message in enumerate(sources.messages)}
    start = order.get(sources.tail_id or "", len(order))
    old = [text for message_id, text in asked if order[message_id] < start]
    return old, len(old) < len(asked)


def _last(text: str, room: int) -> str:
    return _cut_middle(text, room // _LAST_SHARE * CHARACTERS)


def _rules(requests: Sequence[str], room: int) -> list[str]:
    """Return the sentences in which the user stated a lasting rule, oldest first; the newest have precedence."""
    found = dict.fromkeys(rule for text in requests for rule in _rule_sentences(text))
    return [f"- {rule}" for rule in _newest(list(found), min(_MAX_RULES, room // _RULES_SHARE) * CHARACTERS)]


def _rule_sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        if _STANDING.search(sentence):
            yield _cut_middle(" ".join(sentence.split()), _RULE_LENGTH)


def _earlier(requests: Sequence[str], room: int) -> list[str]:
    short = [_cut_middle(" ".join(text.split()), _REQUEST_LENGTH) for text in requests]
    return [f"- {text}" for text in _newest(short, min(_MAX_EARLIER, room // _EARLIER_SHARE) * CHARACTERS)]


def _newest(texts: Sequence[str], limit: int) -> list[str]:
    """Return as many of the newest texts as fit into `limit` characters, oldest first."""
    kept: list[str] = []
    for text in reversed(texts):
        limit -= len(text) + 3
        if limit < 0:
            break
        kept.append(text)
    return kept[::-1]


def _todo_line(todo: Todo) -> str:
    mark = {"in_progress": "in progress"}.get(todo.status, todo.status)
    return f"- [{mark}] {todo.content}"


def _command_line(command: BackgroundCommand, sources: PreservedSources) -> str:
    words = _cut_middle(" ".join(command.command.split()), _COMMAND_LENGTH)
    folder = _relative(command.directory, sources.worktree)
    return f"- {command.id}: {words}" + ("" if folder == "." else f" (in {folder})")


def _files(sources: PreservedSources, paths: Sequence[str], most: int) -> list[str]:
    """Return the latest paths in order of last use, relative to the worktree when they are in it."""
    shown = list(dict.fromkeys(_relative(path, sources.worktree) for path in reversed(paths)))
    left = [f"- (and {len(shown) - most} older ones)"] if len(shown) > most else []
    return [*left, *(f"- {path}" for path in reversed(shown[:most]))]


def _changed_files(messages: Sequence[MessageWithParts]) -> list[str]:
    found: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, PatchPart):
                found.extend(part.files)
            elif isinstance(part, ToolPart) and row_of(part.tool).edits and isinstance(part.state, ToolStateCompleted):
                found.extend(_paths(part.state))
    return found


def _read_files(messages: Sequence[MessageWithParts]) -> list[str]:
    return [
        path
        for message in messages
        for part in message.parts
        if isinstance(part, ToolPart) and part.tool == "read" and isinstance(part.state, ToolStateCompleted)
        for path in _paths(part.state)
    ]


def _paths(state: ToolStateCompleted) -> list[str]:
    """Return the files that a call names, or that its patch changed."""
    patched: list[dict[str, object]] = state.metadata.get("files") or []
    given = [state.input.get("filePath"), *(file.get("movePath") or file.get("filePath") for file in patched)]
    return [path for path in given if isinstance(path, str) and path]


def _relative(path: str, worktree: Path) -> str:
    given = Path(path)
    return str(given.relative_to(worktree)) if given.is_relative_to(worktree) else path


def _cut_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} […{len(text) - 2 * half} characters left out…] {text[-half:]}"
