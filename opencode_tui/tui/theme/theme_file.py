"""A theme of the person's own: a JSON file with `defs` and `theme`, as OpenCode has them; a value may differ in dark and light."""

from collections.abc import Mapping
from typing import cast

from opencode_tui.tui.theme.mixing import parse
from opencode_tui.tui.theme.seed import Seed

_NEEDED = {
    "background": ("background",),
    "text": ("text",),
    "muted": ("textMuted", "text"),
    "accent": ("primary", "accent", "secondary"),
    "success": ("success", "diffAdded"),
    "warning": ("warning", "accent", "primary"),
    "error": ("error", "diffRemoved"),
    "keyword": ("syntaxKeyword", "primary"),
    "string": ("syntaxString", "success", "diffAdded"),
    "number": ("syntaxNumber", "warning", "primary"),
    "function": ("syntaxFunction", "primary"),
    "builtin": ("syntaxType", "syntaxOperator", "secondary", "primary"),
}
"""What a palette grows from, and the names under which a file may say it, the best one first."""


def read_theme(content: object, *, dark: bool) -> Seed:
    """The basic colours of a theme file's content. Raises ValueError that names what is missing or wrong."""
    document = _mapping(content, "the file")
    theme, defs = _mapping(document.get("theme"), "`theme`"), _mapping(document.get("defs") or {}, "`defs`")
    found = {field: _colour(field, names, theme, defs, dark=dark) for field, names in _NEEDED.items()}
    return Seed(**found)


def _colour(
    field: str, names: tuple[str, ...], theme: Mapping[str, object], defs: Mapping[str, object], *, dark: bool
) -> str:
    for name in names:
        if name in theme:
            return _resolve(theme[name], theme, defs, dark=dark)
    raise ValueError(f"`theme.{names[0]}` is missing")


def _resolve(
    value: object, theme: Mapping[str, object], defs: Mapping[str, object], *, dark: bool, depth: int = 0
) -> str:
    if depth > 10:
        raise ValueError("names refer to each other in a circle")
    if isinstance(value, dict):
        sides = cast("Mapping[str, object]", value)
        value = sides.get("dark" if dark else "light")
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no colour")
    if value.startswith("#"):
        parse(value)
        return value.lower()
    target = defs.get(value, theme.get(value))
    if target is None:
        raise ValueError(f"{value!r} is neither a colour of the form #rrggbb nor a name in `defs`")
    return _resolve(target, theme, defs, dark=dark, depth=depth + 1)


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no object")
    return cast("Mapping[str, object]", value)
