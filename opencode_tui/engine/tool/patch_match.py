"""Puts the chunks of a patch into a file's text: every place is searched in order, and lines that stay are the file's own."""

from collections.abc import Callable, Sequence

from opencode_tui.engine.tool.files import TextFile
from opencode_tui.engine.tool.indent import reindent
from opencode_tui.engine.tool.patch import Chunk, Sign
from opencode_tui.schema.error import ToolError

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
        "\u2026": "...",
    }
)


def _plain(line: str) -> str:
    return line.strip().translate(_PLAIN)


_FORMS: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip, _plain)
"""How lines are compared, strict to loose."""


def apply_chunks(file: TextFile, chunks: Sequence[Chunk]) -> str:
    """Return the text after all chunks, ending in a line end; raises ToolError when one has no place."""
    raw = file.text.split("\n")
    if raw[-1] == "":
        raw.pop()
    lines = [line.removesuffix("\r") for line in raw]
    done: list[str] = []
    taken = at = 0
    for chunk in chunks:
        at = _after_context(lines, chunk, at, file)
        start, length, added = _place(lines, chunk, at, file)
        done += raw[taken:start]
        done += _merge(chunk, raw[start : start + length], added, file)
        taken = at = start + length
    done += raw[taken:]
    if done and file.format.newline == "\r\n" and not file.text.endswith("\n"):
        done[-1] = done[-1].removesuffix("\r") + "\r"
    return "".join(line + "\n" for line in done)


def _after_context(lines: Sequence[str], chunk: Chunk, at: int, file: TextFile) -> int:
    if chunk.context is None:
        return at
    found = _seek(lines, [chunk.context], at)
    if not found:
        raise ToolError(
            f"{file.path} has no line {chunk.context!r} after line {at}; read the file and write the patch again"
        )
    return found[0] + 1


def _place(lines: Sequence[str], chunk: Chunk, at: int, file: TextFile) -> tuple[int, int, list[str]]:
    """Return where a chunk's old lines stand, how many they are, and its added lines, indented as there."""
    old = chunk.old
    added = [text for sign, text in chunk.lines if sign == "+"]
    if not old:
        return (at if chunk.context and not chunk.at_end else len(lines)), 0, added
    tail = len(lines) - len(old)
    if chunk.at_end and tail >= at and _seek(lines[tail:], old, 0):
        return tail, len(old), _indented(added, old, lines[tail:])
    found = _seek(lines, old, at)
    if not found and old[-1] == "" and len(old) > 1:
        # Models end a chunk with a blank line that is none of the file's.
        chunk.lines = _without_last_blank(chunk.lines)
        return _place(lines, chunk, at, file)
    if not found:
        raise ToolError(
            f"{file.path} does not hold these lines after line {at}: {_quoted(old)}; read it and write the patch again"
        )
    start = found[-1] if chunk.at_end else found[0]
    is_exact = list(lines[start : start + len(old)]) == old
    if len(found) > 1 and not is_exact and not chunk.at_end:
        numbers = ", ".join(str(index + 1) for index in found[:8])
        raise ToolError(
            f"{file.path} has lines like {_quoted(old)} at {numbers}; quote them exactly or add an @@ line before"
        )
    return start, len(old), _indented(added, old, lines[start : start + len(old)])


def _seek(lines: Sequence[str], wanted: Sequence[str], at: int) -> list[int]:
    """Return all places from `at` on where these lines stand, by the strictest form that finds any."""
    for form in _FORMS:
        shown, sought = [form(line) for line in lines[at:]], [form(line) for line in wanted]
        count = len(sought)
        found = [
            at + index
            for index in range(len(shown) - count + 1)
            if shown[index] == sought[0] and shown[index : index + count] == sought
        ]
        if found:
            return found
    return []


def _merge(chunk: Chunk, present: Sequence[str], added: Sequence[str], file: TextFile) -> list[str]:
    """Return the chunk's lines after it: those that stay as the file has them, the new ones with its line end."""
    end = "\r" if file.format.newline == "\r\n" else ""
    kept, fresh = iter(present), iter(added)
    merged: list[str] = []
    for sign, _ in chunk.lines:
        match sign:
            case "+":
                merged.append(next(fresh) + end)
            case "-":
                next(kept)
            case _:
                merged.append(next(kept))
    return merged


def _indented(added: list[str], old: Sequence[str], present: Sequence[str]) -> list[str]:
    shift = reindent(old, present[: len(old)])
    text = shift.apply("\n".join(added)) if shift and added else None
    return added if text is None else text.split("\n")


def _without_last_blank(lines: Sequence[tuple[Sign, str]]) -> list[tuple[Sign, str]]:
    last = max(index for index, (sign, text) in enumerate(lines) if sign != "+" and text == "")
    return [*lines[:last], *lines[last + 1 :]]


def _quoted(lines: Sequence[str]) -> str:
    return repr("\n".join(lines))[:200]
