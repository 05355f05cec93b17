"""Source text with its colors: pieces of each line with a token of the palette."""

from typing import Any

from opencode_tui.text.code_colors import MAX_COLORED, lexer_by_name, lexer_by_path, piece_kind

CodeLine = list[tuple[str, str]]
"""Pieces of one line: text, palette token."""

DIFFS = frozenset({"diff", "patch", "udiff"})
"""Languages of a change; each of its lines has one color."""


def color_lines(lines: list[str], language: str) -> list[CodeLine]:
    """Return the lines (safe texts) with the colors of a language's name; `text` alone when it is unknown."""
    if language in DIFFS:
        return [[(line, _diff_token(lines, at))] if line else [] for at, line in enumerate(lines)]
    lexer = lexer_by_name(language) if language else None
    return _color(lines, lexer)


def color_file(lines: list[str], path: str) -> list[CodeLine]:
    """Return the lines with the colors that the file's name asks for."""
    return _color(lines, lexer_by_path(path))


def _color(lines: list[str], lexer: Any) -> list[CodeLine]:
    plain: list[CodeLine] = [[(line, "text")] if line else [] for line in lines]
    if lexer is None or sum(map(len, lines)) > MAX_COLORED:
        return plain
    colored: list[CodeLine] = [[]]
    for kind, value in lexer.get_tokens("\n".join(lines)):
        token = f"code_{name}" if (name := piece_kind(kind)) else "text"
        first, *rest = value.split("\n")
        if first:
            _append(colored[-1], first, token)
        for text in rest:
            colored.append([(text, token)] if text else [])
    colored = colored[: len(lines)]
    whole = ["".join(text for text, _ in line) for line in colored]
    return colored if whole == lines else plain


def _diff_token(lines: list[str], at: int) -> str:
    """Return the token of a line of a change; the two lines that name a file are not changed lines."""
    line = lines[at]
    is_old = line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")
    is_new = line.startswith("+++ ") and at > 0 and lines[at - 1].startswith("--- ")
    if is_old or is_new or line.startswith(("@@", "diff ", "index ")):
        return "muted"
    return {"+": "diff_add", "-": "diff_del"}.get(line[0], "text")


def _append(line: CodeLine, text: str, token: str) -> None:
    if line and line[-1][1] == token:
        line[-1] = (line[-1][0] + text, token)
    else:
        line.append((text, token))
