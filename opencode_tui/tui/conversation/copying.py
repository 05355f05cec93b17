"""What a selection of drawn lines is as text: without gutter and padding, wrapped lines joined again."""

from collections.abc import Iterable

from opencode_tui.tui.conversation.page import Line


def copy_lines(lines: Iterable[Line], first: int, last: int | None) -> str:
    """Return the lines' text, from letter `first` of the first one up to letter `last` of the last one (None: to its end)."""
    texts: list[str] = []
    joint = ""
    chosen = list(lines)
    for number, line in enumerate(chosen):
        text = line.strip.text
        start = max(line.copies_from, first) if not number else line.copies_from
        end = last if number == len(chosen) - 1 and last is not None else len(text)
        texts += [joint, text[start:end].rstrip()]
        joint = line.joint
    return "".join(texts)
