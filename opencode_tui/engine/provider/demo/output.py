"""Reads what tools answered, so that the demo model quotes real results and never its own expectations."""

import re
from pathlib import PurePosixPath

from msgspec import Struct

_NUMBERED = re.compile(r"^\s*(\d+): ?(.*)$")
_MORE = re.compile(r"(?:has more lines|output truncated|use 'offset'|more lines)", re.IGNORECASE)
_MATCH_LINE = re.compile(r"^\s+Line (\d+): ?(.*)$")
_QUOTED_LINES = 30
_QUOTED_WIDTH = 160


class ReadText(Struct, frozen=True):
    """Lines of a file as the read tool gave them; `is_whole` is False when the file goes on."""

    lines: tuple[str, ...]
    is_whole: bool

    @property
    def text(self) -> str:
        """The lines joined by newlines, without the last one."""
        return "\n".join(self.lines)


def read_lines(output: str) -> ReadText | None:
    """Return the numbered lines of a read result, None when it holds none (an empty file, a folder, an image)."""
    body = re.sub(r"<system-reminder>.*?</system-reminder>", "", output, flags=re.DOTALL).replace("<content>", "")
    numbered = [(int(match[1]), match[2]) for line in body.split("\n") if (match := _NUMBERED.match(line))]
    lines = [text for position, (number, text) in enumerate(numbered) if number == numbered[0][0] + position]
    tail = "\n".join(line for line in body.split("\n")[-5:] if not _NUMBERED.match(line))
    while lines and not lines[-1]:
        lines.pop()
    return ReadText(tuple(lines), is_whole=_MORE.search(tail) is None) if numbered else None


def read_paths(output: str) -> list[str]:
    """Return the paths that a glob result lists."""
    lines = [line.strip() for line in output.split("\n")]
    return [line for line in lines if line and not line.startswith(("(", "<", "No files")) and ": " not in line]


def read_matches(output: str) -> list[str]:
    """Return a grep result as `path:line: text`."""
    found: list[str] = []
    path = ""
    for line in output.split("\n"):
        if match := _MATCH_LINE.match(line):
            found.append(f"{path}:{match[1]}: {match[2].strip()}")
        elif line.endswith(":") and not line.startswith(("Found ", "(")):
            path = line[:-1]
    return found


def split_notes(output: str) -> tuple[str, str]:
    """Return a command's own output, and on one line what the tool noted beside it (an exit code, a timeout)."""
    printed, _, notes = output.partition("<bash_metadata>")
    return printed.strip("\n"), one_line(notes.partition("</bash_metadata>")[0])


def quote(text: str, *, language: str = "", keep_end: bool = False) -> str:
    """Return the text as a fenced block of at most 30 lines, with a word on what was left out."""
    lines = [line if len(line) <= _QUOTED_WIDTH else line[:_QUOTED_WIDTH] + "…" for line in text.split("\n")]
    left_out = len(lines) - _QUOTED_LINES
    if left_out > 0:
        lines = lines[-_QUOTED_LINES:] if keep_end else lines[:_QUOTED_LINES]
    fence = "```" if "```" not in text else "````"
    note = f"\n({left_out} {'earlier' if keep_end else 'more'} lines)" if left_out > 0 else ""
    return f"{fence}{language}\n" + "\n".join(lines) + f"\n{fence}{note}"


def one_line(text: str) -> str:
    """Return the text on one line of at most 300 characters, as an error is told."""
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:299] + "…"


def outline(path: str, lines: tuple[str, ...]) -> str:
    """Return what can be said about a file by counting: its size and its headings or definitions."""
    patterns = {
        ".md": r"^(#{1,3} .+)$",
        ".py": r"^((?:async )?(?:def|class) \w+)",
        ".js": r"^(?:export )?((?:async )?(?:function|class|const) \w+)",
        ".ts": r"^(?:export )?((?:async )?(?:function|class|const|interface|type) \w+)",
        ".rs": r"^(?:pub )?((?:fn|struct|enum|trait|mod) \w+)",
        ".go": r"^((?:func|type) \w+)",
    }
    words = sum(len(line.split()) for line in lines)
    counted = f"`{path}` has {count(len(lines), 'line')} and {count(words, 'word')}."
    pattern = patterns.get(PurePosixPath(path).suffix)
    marks = [match[1] for line in lines if pattern and (match := re.match(pattern, line))]
    if marks:
        return f"{counted} It holds:\n\n" + "\n".join(f"- `{mark}`" for mark in marks[:25])
    opening = next((line.strip() for line in lines if line.strip()), "")
    return f"{counted} It begins: “{one_line(opening)}”" if opening else counted


def count(number: int, noun: str) -> str:
    """Return `1 line`, `2 lines`, `3 matches`."""
    plural = noun + ("es" if noun.endswith(("ch", "s")) else "s")
    return f"{number} {noun if number == 1 else plural}"
