"""The lexers of source code, and the kinds of its pieces that get a color. Pygments is imported with the first code."""

from functools import cache, lru_cache
from typing import Any

MAX_COLORED = 24_000
"""Characters above which a text gets no colors: finding them would hold up the screen."""


@cache
def piece_kind(token: Any) -> str:
    """Return the kind of a token of Pygments: comment, builtin, keyword, function, string or number; empty without a color."""
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    table: tuple[tuple[Any, str], ...] = (
        (Comment, "comment"),
        (Keyword.Type, "builtin"),
        (Keyword, "keyword"),
        (Operator.Word, "keyword"),
        (Name.Builtin, "builtin"),
        (Name.Function, "function"),
        (Name.Class, "function"),
        (Name.Decorator, "function"),
        (Name.Tag, "keyword"),
        (Name.Attribute, "function"),
        (String, "string"),
        (Number, "number"),
    )
    return next((kind for parent, kind in table if token in parent), "")


@lru_cache(64)
def lexer_by_name(name: str) -> Any:
    """Return the lexer of a language, None for an unknown one."""
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType] - its options are open
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def lexer_by_path(path: str) -> Any:
    """Return the lexer that the name of a file asks for, None for an unknown one."""
    return _lexer_by_file_name(path.rpartition("/")[2])


@lru_cache(256)
def _lexer_by_file_name(name: str) -> Any:
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(name)
    return None if found is None else found(stripnl=False, ensurenl=False)
