"""Pure: titles: a message's from its own words, a session's from what a model said. Source: reference, sections 21 and 22."""

import re
from collections.abc import Sequence

from opencode_tui.schema.part import AnyPart, FilePart, SubtaskPart, TextPart

MAX_TITLE = 100
"""Characters of a title."""

_MAX_WORDS = 4_000
"""Characters of a request that a title is made from."""

_THOUGHTS = re.compile(r"<think>.*?</think>\s*", re.DOTALL)


def message_title(parts: Sequence[AnyPart]) -> str | None:
    """Return the first line of what the person wrote in a message, cut to 100 characters; None when they wrote nothing."""
    texts = (part.text for part in parts if isinstance(part, TextPart) and not part.synthetic and not part.ignored)
    return next((line[:MAX_TITLE] for text in texts if (line := _first_line(text))), None)


def clean_title(text: str) -> str | None:
    """Return the title in a model's answer: its first line that is not empty, thoughts left out; None without one."""
    line = _first_line(_THOUGHTS.sub("", text))
    if not line:
        return None
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 3] + "..."


def words_for_title(parts: Sequence[AnyPart]) -> str:
    """Return what a title can be made from: the person's words, else the subtasks', else the names of the attachments."""
    texts = [part.text for part in parts if isinstance(part, TextPart) and not part.synthetic and not part.ignored]
    tasks = [part.prompt for part in parts if isinstance(part, SubtaskPart)]
    names = [part.filename or part.mime for part in parts if isinstance(part, FilePart)]
    for found in (texts, tasks, names):
        words = "\n".join(found).strip()
        if words:
            return words[:_MAX_WORDS]
    return ""


def is_real_request(parts: Sequence[AnyPart]) -> bool:
    """Tell whether a user message is one of the person's, not one that the program wrote for the model."""
    return bool(words_for_title(parts))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
