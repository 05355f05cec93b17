"""Finds words in what the model no longer sees of a session: the summarized messages, and outputs that were pruned.

The passages with the rarest words come first, of equal ones the newest. Source: docs/internals/compaction.md#recall.
"""

import asyncio
import json
import math
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.history import compaction_of, filter_compacted
from opencode_tui.engine.session.revert.range import visible
from opencode_tui.engine.tool.kit import Excerpt
from opencode_tui.schema.session.history import MessageWithParts, conversation
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import AnyPart, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError

MOST = 8
"""Excerpts of one search."""

_LENGTH, _OVERLAP = 800, 100
"""Characters of a passage, and those that the next one repeats where a line is longer."""

_WORD = re.compile(r"\w+")
_UNSEARCHED = ("recall", "todoread")
"""Calls whose outputs repeat what is elsewhere."""


async def search_history(store: SessionStore, session_id: str, words: str) -> Sequence[Excerpt]:
    """Return the passages that have these words, the best first."""
    info = await store.get(session_id)
    messages = visible(await store.tail(session_id), info.revert)
    return await asyncio.to_thread(find_excerpts, messages, words)


class _Passage(Struct, frozen=True):
    """A passage, and which of the words it has."""

    excerpt: Excerpt
    place: int
    found: Sequence[str]


def find_excerpts(messages: Sequence[MessageWithParts], words: str) -> Sequence[Excerpt]:
    """Return the passages of the messages that are not sent which have these words. Blocks."""
    wanted = list(dict.fromkeys(word.casefold() for word in _WORD.findall(words)))
    passages = [
        _Passage(excerpt, place, found)
        for place, excerpt in enumerate(_excerpts(messages))
        if (found := _found(excerpt.text, wanted))
    ]
    counts = {word: sum(word in one.found for one in passages) for word in wanted}
    phrase = " ".join(wanted)

    def rank(one: _Passage) -> tuple[float, int]:
        score = sum(math.log(1 + len(passages) / counts[word]) for word in one.found)
        has_phrase = len(wanted) > 1 and phrase in " ".join(_WORD.findall(one.excerpt.text.casefold()))
        return (score * (2 if has_phrase else 1), one.place)

    return [one.excerpt for one in sorted(passages, key=rank, reverse=True)[:MOST]]


def _found(text: str, wanted: Sequence[str]) -> list[str]:
    low = text.casefold()
    return [word for word in wanted if word in low]


def _excerpts(messages: Sequence[MessageWithParts]) -> Iterator[Excerpt]:
    """Yield the passages of what is not sent, oldest first."""
    sent = {message.info.id for message in filter_compacted(messages)}
    for message in conversation(messages):
        is_summary = isinstance(message.info, AssistantMessage) and bool(message.info.summary)
        if is_summary or compaction_of(message) is not None:
            continue
        for part in message.parts:
            if message.info.id not in sent or _is_cleared(part):
                yield from _of_part(message, part)


def _is_cleared(part: AnyPart) -> bool:
    return (
        isinstance(part, ToolPart)
        and isinstance(part.state, ToolStateCompleted)
        and part.state.time.compacted is not None
    )


def _of_part(message: MessageWithParts, part: AnyPart) -> Iterator[Excerpt]:
    name, time = message.info.id, message.info.time.created
    match part:
        case TextPart() if not part.synthetic:
            who = "the user" if message.info.role == "user" else "you"
            yield from (Excerpt(who, text, name, time) for text in _cut(part.text))
        case ReasoningPart():
            yield from (Excerpt("you, thinking", text, name, time) for text in _cut(part.text))
        case ToolPart() if part.tool not in _UNSEARCHED:
            given = json.dumps(part.state.input, ensure_ascii=False)
            texts = _cut(f"{given}\n{_output(part)}")
            yield from (Excerpt(f"the call {part.tool}", text, name, time, part.call_id) for text in texts)
        case _:
            pass


def _output(part: ToolPart) -> str:
    match part.state:
        case ToolStateCompleted():
            return part.state.output
        case ToolStateError():
            return part.state.error
        case _:
            return ""


def _cut(text: str) -> Iterator[str]:
    """Yield passages of whole lines; a longer line in pieces that overlap."""
    passage = ""
    for line in text.splitlines(keepends=True):
        if len(passage) + len(line) > _LENGTH and passage.strip():
            yield passage.strip()
            passage = ""
        while len(line) > _LENGTH:
            yield line[:_LENGTH].strip()
            line = line[_LENGTH - _OVERLAP :]
        passage += line
    if passage.strip():
        yield passage.strip()
