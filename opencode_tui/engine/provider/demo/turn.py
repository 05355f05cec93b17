"""The present turn as the demo model sees it: what was asked, what it did about it so far, what it may use."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from opencode_tui.engine.provider.stream import (
    AssistantEntry,
    CallBlock,
    LlmRequest,
    ModelMessage,
    ResultBlock,
    TextBlock,
    ToolEntry,
    UserEntry,
)

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_LATE = re.compile(
    r"<system-reminder>\s*The user sent the following message:\n(?P<text>.*?)\n\s*Please address this message.*?</system-reminder>",
    re.DOTALL,
)
_ATTACHED = re.compile(r"Called the \w+ tool|<(?:path|file|content|directories)>", re.IGNORECASE)
_DIRECTORY = re.compile(r"^\s*Working directory: (.+)$", re.MULTILINE)


class Done(Struct, frozen=True):
    """A call of this turn and its answer."""

    call: CallBlock
    result: ResultBlock


class Turn(Struct, frozen=True):
    """What matters of a request: `asked` are the person's texts (late ones after the first), `done` what was called since.

    `latest_file` and `latest_plan` come from the whole history before this turn; `is_first` tells that nothing was answered yet.
    """

    asked: tuple[str, ...]
    done: tuple[Done, ...]
    offered: frozenset[str]
    directory: str
    latest_file: str | None
    latest_plan: tuple[str, ...]
    is_first: bool

    def offers(self, tool: str) -> bool:
        """Tell whether the tool may be called."""
        return tool in self.offered


def read_turn(request: LlmRequest) -> Turn:
    """Return the present turn of a request."""
    start = max((i for i, entry in enumerate(request.messages) if _plain_text(entry)), default=len(request.messages))
    before, now = request.messages[:start], request.messages[start:]
    asked = [_plain_text(now[0])] if now else []
    asked += [match["text"].strip() for entry in now for block in _texts(entry) for match in _LATE.finditer(block)]
    described = _DIRECTORY.search("\n".join(request.system))
    return Turn(
        asked=tuple(asked),
        done=tuple(_done(now)),
        offered=frozenset(tool.name for tool in request.tools) if request.tool_choice != "none" else frozenset[str](),
        directory=described[1].strip() if described else "",
        latest_file=_latest_file(before),
        latest_plan=_latest_plan(before),
        is_first=not any(isinstance(entry, AssistantEntry) for entry in before),
    )


def last_user_text(request: LlmRequest) -> str:
    """Return all text of the last user entry, reminders included."""
    users = [entry for entry in request.messages if isinstance(entry, UserEntry)]
    return "\n".join(_texts(users[-1])) if users else ""


def last_words(request: LlmRequest) -> str:
    """Return the last block of text that the person wrote, without what the program added; empty when there is none."""
    written = [text for entry in request.messages for text in plain_texts(entry)]
    return written[-1] if written else ""


def plain_texts(entry: ModelMessage) -> list[str]:
    """Return the person's own words in an entry, block by block: no reminders, no attached files."""
    texts = [_REMINDER.sub("", text).strip() for text in _texts(entry)]
    return [text for text in texts if text and not _ATTACHED.match(text)]


def _done(messages: tuple[ModelMessage, ...]) -> Iterator[Done]:
    made = {
        block.id: block
        for entry in messages
        if isinstance(entry, AssistantEntry)
        for block in entry.content
        if isinstance(block, CallBlock)
    }
    for entry in messages:
        if isinstance(entry, ToolEntry):
            yield from (Done(made[result.id], result) for result in entry.results if result.id in made)


def _texts(entry: ModelMessage) -> list[str]:
    return (
        [block.text for block in entry.content if isinstance(block, TextBlock)] if isinstance(entry, UserEntry) else []
    )


def _plain_text(entry: ModelMessage) -> str:
    return "\n".join(plain_texts(entry))


def _latest_file(messages: tuple[ModelMessage, ...]) -> str | None:
    named = [
        path for done in _done(messages) if (path := _text(done.call.input, "filePath")) and not done.result.is_error
    ]
    return named[-1] if named else None


def _latest_plan(messages: tuple[ModelMessage, ...]) -> tuple[str, ...]:
    written = [done for done in _done(messages) if done.call.tool == "todowrite" and not done.result.is_error]
    if not written:
        return ()
    todos: list[dict[str, Any]] = written[-1].call.input.get("todos", [])
    return tuple(content for todo in todos if todo.get("status") != "completed" and (content := _text(todo, "content")))


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
