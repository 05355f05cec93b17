"""What a request says: the person's own words, and the names of what they attached; pure."""

from collections.abc import Iterable

from opencode_tui.schema.part import AnyPart, FilePart, SubtaskPart, TextPart


def prompt_words(parts: Iterable[AnyPart]) -> tuple[str, tuple[str, ...]]:
    """Return the text of a request's parts and its attachments; a file that the text names is none."""
    texts: list[str] = []
    names: list[str] = []
    for part in parts:
        if isinstance(part, TextPart) and not part.synthetic:
            texts.append(part.text)
        elif isinstance(part, SubtaskPart):
            texts.append(f"@{part.agent} {part.description}")
        elif isinstance(part, FilePart) and (part.source is None or part.source.text.value not in "".join(texts)):
            names.append(part.filename or part.mime)
    return "\n".join(text.strip("\n") for text in texts if text.strip()), tuple(names)
