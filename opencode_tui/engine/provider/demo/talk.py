"""What the demo model says where no tool can be used: titles and summaries, made from the conversation's own words."""

import json
import re

from opencode_tui.engine.provider.demo.output import one_line
from opencode_tui.engine.provider.demo.turn import last_words, plain_texts
from opencode_tui.engine.provider.stream import LlmRequest, ModelMessage, TextBlock, ToolEntry
from opencode_tui.schema.record import JsonObject

_TITLE_LENGTH = 50
_CALLED = re.compile(r"^\[called (\w+) (\{.*\})\]$", re.MULTILINE)
_RESULT = re.compile(r"\[\w+ (gave|failed)\]\s")
_SUBJECTS = ("filePath", "command", "pattern", "path")


def title_of(request: LlmRequest) -> str:
    """Return the first words of the latest thing that the person said, at most 50 characters."""
    line = " ".join(last_words(request).split()) or "Demo"
    if len(line) > _TITLE_LENGTH:
        line = line[: _TITLE_LENGTH - 1].rsplit(" ", 1)[0].rstrip(" ,.;:") + "…"
    return line[0].upper() + line[1:]


def summarise_conversation(request: LlmRequest) -> str:
    """Return what was asked and what was called, in order: nothing that is not in the conversation."""
    told = [block.text for entry in request.messages for block in _text_blocks(entry)]
    asked = [one_line(text) for text in _said(request) if "summarize the conversation" not in text]
    ends = [found[1] for text in told if (found := _RESULT.match(text))]
    made = [found for text in told for found in _CALLED.finditer(text)]
    ends += [""] * (len(made) - len(ends))
    acts = [_act(found[1], found[2], end) for found, end in zip(made, ends, strict=False)]
    sections = ["## Goal\n" + _bullets(asked or ["nothing yet"]), "## Done\n" + _bullets(acts or ["nothing yet"])]
    return "\n\n".join(
        [*sections, "This summary was made by the built-in demo, a script: it lists, it does not judge."]
    )


def _said(request: LlmRequest) -> list[str]:
    """Return what the person wrote, block by block: results of calls stand beside it as text."""
    return [text for entry in request.messages for text in plain_texts(entry) if not _RESULT.match(text)]


def _act(tool: str, arguments: str, end: str) -> str:
    given = _object(arguments)
    subject = next((str(given[key]) for key in _SUBJECTS if key in given), "")
    return f"{tool} {subject}".strip() + (" (failed)" if end == "failed" else "")


def _object(text: str) -> JsonObject:
    try:
        value: JsonObject = json.loads(text)
    except ValueError:
        return {}
    return value


def _text_blocks(entry: ModelMessage) -> list[TextBlock]:
    return [] if isinstance(entry, ToolEntry) else [block for block in entry.content if isinstance(block, TextBlock)]


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines[-40:])
