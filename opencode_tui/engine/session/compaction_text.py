"""Pure: the request for a summary: the conversation as plain text, made to fit, and what is asked of the model.

Calls and their results are told as text: a summary is asked for without tools, and providers refuse calls of tools that a request
does not offer. What does not fit is shortened, never sent to be refused: media first, then the oldest tool outputs, then the oldest
long texts, at last whole messages from the beginning on.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from opencode_tui.engine.provider.stream import (
    AssistantEntry,
    CallBlock,
    MediaBlock,
    ModelMessage,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    UserEntry,
)

Measure = Callable[[str], int]
"""Tells how many tokens a text takes."""

MEDIA_TOKENS = 1_600
"""Tokens that an image is counted as; documents take more, and are the first to go."""

LEFT_OUT = "(Older messages were left out here: the conversation is too long.)"
_SHORT_OUTPUT, _SHORT_TEXT = 300, 1_500
"""Characters to which tool outputs and texts are shortened."""


@dataclass(slots=True)
class _Bit:
    """A piece of the conversation as it is told to the summarising model."""

    role: Literal["user", "assistant"]
    kind: Literal["text", "call", "result", "media"]
    text: str
    media: MediaBlock | None = None
    is_fixed: bool = False


def plain_talk(
    entries: Sequence[ModelMessage],
    *,
    room: int | None,
    measure: Measure,
    instruction: str,
    has_summary: bool = False,
) -> tuple[ModelMessage, ...]:
    """Return the conversation as text within `room` tokens (any size without it), closed by the instruction.

    With `has_summary` it begins with an earlier summary, which stays whole: it stands for everything before.
    """
    bits = [bit for entry in entries for bit in _bits(entry)]
    if has_summary:
        answer = next((place for place, bit in enumerate(bits) if bit.role == "assistant"), -1)
        for bit in bits[: answer + 1]:
            bit.is_fixed = True
    if room is not None:
        bits = _fitting(bits, room - measure(instruction), measure)
    if bits and bits[0].role == "assistant":
        bits.insert(0, _Bit("user", "text", LEFT_OUT))
    return tuple(_assembled([*bits, _Bit("user", "text", instruction)]))


def _bits(entry: ModelMessage) -> Iterator[_Bit]:
    match entry:
        case UserEntry():
            for block in entry.content:
                yield _media_bit(block) if isinstance(block, MediaBlock) else _Bit("user", "text", block.text)
        case AssistantEntry():
            for block in entry.content:
                match block:
                    case TextBlock():
                        yield _Bit("assistant", "text", block.text)
                    case CallBlock():
                        arguments = json.dumps(block.input, ensure_ascii=False)
                        yield _Bit("assistant", "call", f"[called {block.tool} {arguments}]")
                    case ThinkingBlock():
                        pass
        case ToolEntry():
            for result in entry.results:
                yield from _result_bits(result)


def _result_bits(result: ResultBlock) -> Iterator[_Bit]:
    yield _Bit("user", "result", f"[{result.tool} {'failed' if result.is_error else 'gave'}]\n{result.text}")
    yield from map(_media_bit, result.media)


def _media_bit(block: MediaBlock) -> _Bit:
    return _Bit("user", "media", f"[attachment {block.filename or block.mime}]", block)


def _fitting(bits: list[_Bit], room: int, measure: Measure) -> list[_Bit]:
    """Return the bits shortened, oldest first, until they fit."""
    excess = sum(_size(bit, measure) for bit in bits) - room
    for shorten in (_without_media, _short_output, _short_text):
        for bit in bits:
            if excess <= 0:
                return bits
            if bit.is_fixed:
                continue
            before = _size(bit, measure)
            shorten(bit)
            excess -= before - _size(bit, measure)
    return _without_beginning(bits, excess, measure) if excess > 0 else bits


def _without_beginning(bits: list[_Bit], excess: int, measure: Measure) -> list[_Bit]:
    """Return the bits without the oldest ones, and with the last one cut if even that is too large."""
    start = at = sum(bit.is_fixed for bit in bits)
    while excess > 0 and at < len(bits) - 1:
        excess -= _size(bits[at], measure)
        at += 1
    if excess > 0 and bits:
        size = max(1, _size(bits[-1], measure))
        bits[-1].text = bits[-1].text[: max(0, size - excess) * len(bits[-1].text) // size]
    return bits if at == start else [*bits[:start], _Bit("user", "text", LEFT_OUT), *bits[at:]]


def _size(bit: _Bit, measure: Measure) -> int:
    return MEDIA_TOKENS if bit.media is not None else measure(bit.text)


def _without_media(bit: _Bit) -> None:
    bit.media = None


def _short_output(bit: _Bit) -> None:
    if bit.kind in ("result", "call"):
        bit.text = _shortened(bit.text, _SHORT_OUTPUT)


def _short_text(bit: _Bit) -> None:
    bit.text = _shortened(bit.text, _SHORT_TEXT)


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _assembled(bits: Sequence[_Bit]) -> Iterator[ModelMessage]:
    for role, group in groupby(bits, lambda bit: bit.role):
        if role == "user":
            yield UserEntry(tuple(bit.media or TextBlock(bit.text) for bit in group))
        else:
            yield AssistantEntry((TextBlock("\n".join(bit.text for bit in group)),))
