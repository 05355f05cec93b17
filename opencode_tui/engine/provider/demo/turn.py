"""The current turn for the demo model; titles and summaries from the words of the conversation. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    LlmRequest,
    ModelMessage,
    ResultBlock,
    TextBlock,
    ToolEntry,
    UserEntry,
)

_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
_TAGS = re.compile(f"({_REMINDER}|{_REMINDER_END})")  # linear, unlike an expression for a whole reminder
_MESSAGE_START, _MESSAGE_END = "The user sent the following message:\n", "\nPlease address this message"
_ATTACHED = re.compile(r"Called the \w+ tool|<(?:path|file|content|directories)>", re.IGNORECASE)
_DIRECTORY = re.compile(r"^\s*Working directory: (.+)$", re.MULTILINE)
_TITLE_LENGTH = 50
_CALLED = re.compile(r"^\[called (\w+) (\{.*\})\]$", re.MULTILINE)
_RESULT = re.compile(r"\[\w+ (gave|failed)\]\s")


class Done(Struct, frozen=True):
    """A call of this turn and its result."""

    call: CallBlock
    result: ResultBlock


class Turn(Struct, frozen=True):
    """The current turn: `asked` are the user's texts (queued ones after the first), `done` the calls since.

    `latest_file` and `latest_plan` come from the history before this turn; `is_first` is true without an earlier response.
    """

    asked: tuple[str, ...]
    done: tuple[Done, ...]
    tools: frozenset[str]
    directory: str
    latest_file: str | None
    latest_plan: tuple[str, ...]
    is_first: bool


def read_turn(request: LlmRequest) -> Turn:
    """Return the current turn of a request."""
    start = max((at for at, entry in enumerate(request.messages) if plain_texts(entry)), default=len(request.messages))
    before, now = request.messages[:start], request.messages[start:]
    asked = ["\n".join(plain_texts(now[0]))] if now else []
    reminders = (reminder for entry in now for text in _texts(entry) for reminder in split_reminders(text)[1])
    asked += [text for reminder in reminders if (text := _wrapped_message(reminder))]
    described = _DIRECTORY.search("\n".join(request.system))
    worked = [done for done in _done(before) if not done.result.is_error]
    files = [str(done.call.input["filePath"]) for done in worked if "filePath" in done.call.input]
    plans: list[list[dict[str, Any]]] = [
        done.call.input.get("todos", []) for done in worked if done.call.tool == "todowrite"
    ]
    return Turn(
        asked=tuple(asked),
        done=tuple(_done(now)),
        tools=frozenset(tool.name for tool in request.tools) if request.tool_choice != "none" else frozenset[str](),
        directory=described[1].strip() if described else "",
        latest_file=files[-1] if files else None,
        latest_plan=tuple(str(todo["content"]) for todo in plans[-1] if todo["status"] != "completed") if plans else (),
        is_first=not any(isinstance(entry, AssistantEntry) for entry in before),
    )


def plain_texts(entry: ModelMessage) -> list[str]:
    """Return the user's texts in an entry by block, without reminders and attached files."""
    texts = [split_reminders(text)[0].strip() for text in _texts(entry)]
    return [text for text in texts if text and not _ATTACHED.match(text)]


def split_reminders(text: str) -> tuple[str, list[str]]:
    """Return a text without the program's reminders, and their texts; one without an end is part of the text."""
    kept: list[str] = []
    reminders: list[str] = []
    opened: list[str] | None = None
    for piece in _TAGS.split(text):
        if opened is None and piece == _REMINDER:
            opened = []
        elif opened is not None and piece == _REMINDER_END:
            reminders.append("".join(opened))
            opened = None
        else:
            (kept if opened is None else opened).append(piece)
    return "".join(kept if opened is None else [*kept, _REMINDER, *opened]), reminders


def _wrapped_message(reminder: str) -> str:
    """Return the message of the user that a reminder wraps, else an empty text."""
    _, _, wrapped = reminder.partition(_MESSAGE_START)
    return wrapped.rpartition(_MESSAGE_END)[0].strip()


def asks_for_summary(request: LlmRequest) -> bool:
    """Return whether the request is for a summary."""
    users = [entry for entry in request.messages if isinstance(entry, UserEntry)]
    return not request.tools and any(
        "summarize the conversation" in text for entry in users[-1:] for text in _texts(entry)
    )


def title_of(request: LlmRequest) -> str:
    """Return the first words of the user's latest text, at most 50 characters."""
    written = [text for entry in request.messages for text in plain_texts(entry)]
    line = " ".join(written[-1].split()) if written else "Demo"
    if len(line) > _TITLE_LENGTH:
        line = line[: _TITLE_LENGTH - 1].rsplit(" ", 1)[0].rstrip(" ,.;:") + "…"
    return line[0].upper() + line[1:]


def summarize(request: LlmRequest) -> str:
    """Return the requests and calls of the conversation in order."""
    texts = [
        block.text
        for entry in request.messages
        if not isinstance(entry, ToolEntry)
        for block in entry.content
        if isinstance(block, TextBlock)
    ]
    requests = [text for entry in request.messages for text in plain_texts(entry) if not _RESULT.match(text)]
    asked = [one_line(text) for text in requests if "summarize the conversation" not in text]
    ends = [found[1] for text in texts if (found := _RESULT.match(text))]
    calls = [found for text in texts for found in _CALLED.finditer(text)]
    done = [_describe(found[1], found[2], end) for found, end in zip(calls, [*ends, *[""] * len(calls)], strict=False)]
    sections = (
        f"## {head}\n" + "\n".join(f"- {line}" for line in lines[-40:])
        for head, lines in (("Goal", asked), ("Done", done))
        if lines
    )
    return "\n\n".join([*sections, "This summary is a list made by the built-in demo script."])


def one_line(text: str) -> str:
    """Return the text on one line of at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:299] + "…"


def _describe(tool: str, arguments: str, end: str) -> str:
    try:
        given: dict[str, Any] = json.loads(arguments)
    except ValueError:
        given = {}
    subject = next((str(given[key]) for key in ("filePath", "command", "pattern", "path") if key in given), "")
    return f"{tool} {subject}".strip() + (" (failed)" if end == "failed" else "")


def _done(messages: tuple[ModelMessage, ...]) -> Iterator[Done]:
    calls = {
        block.id: block
        for entry in messages
        if isinstance(entry, AssistantEntry)
        for block in entry.content
        if isinstance(block, CallBlock)
    }
    for entry in messages:
        if isinstance(entry, ToolEntry):
            yield from (Done(calls[result.id], result) for result in entry.results if result.id in calls)


def _texts(entry: ModelMessage) -> list[str]:
    blocks = entry.content if isinstance(entry, UserEntry) else ()
    return [block.text for block in blocks if isinstance(block, TextBlock)]
