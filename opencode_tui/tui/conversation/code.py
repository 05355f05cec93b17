"""Source text with its colors: pieces of each line with a token of the palette."""

from functools import lru_cache
from typing import Any

MAX_LETTERS = 24_000
"""Above this a text has no colors: finding them would hold up the screen."""

CodeLine = list[tuple[str, str]]
"""Pieces of one line: text, palette token."""

DIFFS = frozenset({"diff", "patch", "udiff"})
"""Languages of a change; each of its lines has one color."""


def color_lines(lines: list[str], language: str) -> list[CodeLine]:
    """Return the lines (safe texts) with the colors of a language's name; `text` alone when it is unknown."""
    if language in DIFFS:
        return [[(line, _diff_token(lines, at))] if line else [] for at, line in enumerate(lines)]
    lexer = _lexer_by_name(language) if language else None
    return _color(lines, lexer)


def color_file(lines: list[str], path: str) -> list[CodeLine]:
    """Return the lines with the colors that the file's name asks for."""
    name = path.rpartition("/")[2]
    ending = name.rpartition(".")[2] if "." in name else name
    return _color(lines, _lexer_by_ending(name if "." not in name else f"x.{ending}"))


def _color(lines: list[str], lexer: Any) -> list[CodeLine]:
    plain: list[CodeLine] = [[(line, "text")] if line else [] for line in lines]
    if lexer is None or sum(map(len, lines)) > MAX_LETTERS:
        return plain
    colored: list[CodeLine] = [[]]
    for kind, value in lexer.get_tokens("\n".join(lines)):
        token = _token(kind)
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


@lru_cache(256)
def _token(kind: Any) -> str:
    from pygments.token import Comment, Keyword, Name, Number, Operator, String  # with the first code that is seen

    table = (
        (Comment, "code_comment"),
        (Keyword.Type, "code_builtin"),
        (Keyword, "code_keyword"),
        (Operator.Word, "code_keyword"),
        (Name.Builtin, "code_builtin"),
        (Name.Function, "code_function"),
        (Name.Class, "code_function"),
        (Name.Decorator, "code_function"),
        (Name.Tag, "code_keyword"),
        (Name.Attribute, "code_function"),
        (String, "code_string"),
        (Number, "code_number"),
    )
    return next((token for parent, token in table if kind in parent), "text")


@lru_cache(64)
def _lexer_by_name(name: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType] - its options are open
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(64)
def _lexer_by_ending(name: str) -> Any:
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(name)
    return None if found is None else found(stripnl=False, ensurenl=False)
