"""Permission settings as ordered rules: `{tool: action}` or `{tool: {pattern: action}}`, in the order of the file.

The last rule that matches wins. Rules of a later file come after those of an earlier one, also for a pattern in both; a rule for
`*` replaces all rules before it, because none of them could win.
Source: docs/internals/permissions.md#rules.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from opencode_tui.schema import tools

_CACHED_PATTERNS = 2_048
_ACTIONS = ("ask", "allow", "deny")

PERMISSIONS = frozenset({*tools.PERMISSIONS, "external_directory", "doom_loop"})
"""Permissions that rules can name, besides tools of MCP servers, whose names contain an underscore."""


def is_action(value: object) -> bool:
    """Return whether a value is one of ask, allow, deny."""
    return isinstance(value, str) and value in _ACTIONS


def normalize(value: Any) -> Any:
    """Return a permission setting in its shortest form: a lone action applies to all tools, `{"*": x}` is x.

    A value of another shape is returned unchanged; the validation reports it.
    """
    if is_action(value):
        return {"*": value}
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, Any]", value)
    return {tool: _shorten(rules) for tool, rules in items.items()}


def _shorten(rules: Any) -> Any:
    if isinstance(rules, dict):
        patterns = cast("dict[str, Any]", rules)
        if list(patterns) == ["*"] and is_action(patterns["*"]):
            return patterns["*"]
    return cast("Any", rules)


def merge(earlier: dict[str, Any], later: dict[str, Any], *, is_exact: bool = False) -> dict[str, Any]:
    """Return one normalized setting that decides like the rules of `earlier` followed by those of `later`.

    A wildcard over tools that is repeated behind another one that overlaps it is written with one more star, which means the
    same. One without a star cannot be: with `is_exact` that raises ValueError, else its rules stay where it was.
    """
    result = dict(earlier)
    for tool, rules in later.items():
        patterns = _patterns(rules)
        if not is_wildcard(tool):
            result[tool] = _shorten(_append(_remove(result, tool), patterns))
        elif "*" in patterns:
            result = {name: kept for name, kept in result.items() if not covers(tool, name)}
            result[tool] = _shorten(patterns)
        else:
            for name in [name for name in result if not is_wildcard(name) and covers(tool, name)]:
                result[name] = _shorten(_append(_remove(result, name), patterns))
            key = last_spelling(tool, result)
            if is_exact and _is_overlapped(key, result):
                raise ValueError(f"{tool!r} overlaps another wildcard between its rules; write a `*` in place of a `?`")
            result[key] = _shorten(_append(_patterns(result.get(key, {})), patterns))
    return result


def last_spelling(tool: str, settings: dict[str, Any]) -> str:
    """Return the spelling of a tool or wildcard whose rules come after those of all other wildcards that overlap it."""
    spelling = tool
    while "*" in spelling and _is_overlapped(spelling, settings):
        spelling = spelling.replace("*", "**", 1)
    return spelling


def _is_overlapped(wildcard: str, settings: dict[str, Any]) -> bool:
    names = list(settings)
    later = names[names.index(wildcard) + 1 :] if wildcard in settings else []
    return any(is_wildcard(name) and _overlap(name, wildcard) for name in later)


def _overlap(one: str, other: str) -> bool:
    """Return whether two wildcards may cover one name: not when their starts or ends differ."""
    heads = (re.split(r"[*?]", one, maxsplit=1)[0], re.split(r"[*?]", other, maxsplit=1)[0])
    tails = (re.split(r"[*?]", one)[-1], re.split(r"[*?]", other)[-1])
    size, end = min(len(heads[0]), len(heads[1])), min(len(tails[0]), len(tails[1]))
    return heads[0][:size] == heads[1][:size] and tails[0][len(tails[0]) - end :] == tails[1][len(tails[1]) - end :]


def is_wildcard(tool: str) -> bool:
    """Return whether the name of a tool is a wildcard."""
    return "*" in tool or "?" in tool


def covers(wildcard: str, name: str) -> bool:
    """Return whether a wildcard over tools covers a name (or another wildcard)."""
    return compile_wildcard(wildcard).fullmatch(name) is not None


@lru_cache(maxsize=_CACHED_PATTERNS)
def compile_wildcard(pattern: str) -> re.Pattern[str]:
    """Return the expression for a whole text: `*` is any characters, `?` is one, anything else is itself."""
    return compile_letters([(letter, False) for letter in re.sub(r"\*+", "*", pattern)])


def compile_letters(letters: Sequence[tuple[str, bool]]) -> re.Pattern[str]:
    """Return the expression for a wildcard given as letters, each with whether it is the character itself though a wildcard."""
    # Each piece between stars matches at its first position without backtracking (an atomic group): time is linear in the text.
    pieces = [""]
    for letter, is_literal in letters:
        if letter == "*" and not is_literal:
            pieces.append("")
        else:
            pieces[-1] += "." if letter == "?" and not is_literal else re.escape(letter)
    head, *tail = pieces
    if not tail:
        return re.compile(head, re.DOTALL)
    middle = "".join(f"(?>.*?{piece})" for piece in tail[:-1] if piece)
    return re.compile(f"{head}{middle}.*{tail[-1]}", re.DOTALL)


def _remove(settings: dict[str, Any], tool: str) -> dict[str, Any]:
    """Remove a tool's rules and return them, followed by those of the later wildcards that cover it."""
    if tool not in settings:
        return {}
    names = list(settings)
    rules = _patterns(settings[tool])
    for name in names[names.index(tool) + 1 :]:
        if is_wildcard(name) and covers(name, tool):
            rules = _append(rules, _patterns(settings[name]))
    del settings[tool]
    return rules


def _patterns(rules: Any) -> dict[str, Any]:
    return dict(cast("dict[str, Any]", rules)) if isinstance(rules, dict) else {"*": rules}


def _append(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """Return the rules of both; a repeated pattern moves to its later position, `*` replaces everything before it."""
    merged = dict(earlier)
    for pattern, action in later.items():
        merged.pop(pattern, None)
        if pattern == "*":
            merged.clear()
        merged[pattern] = action
    return merged


def iterate(setting: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield (tool, pattern, action) of a normalized setting in order; a setting of another shape yields nothing."""
    if not isinstance(setting, dict):
        return
    for tool, rules in cast("dict[str, Any]", setting).items():
        if isinstance(rules, dict):
            for pattern, action in cast("dict[str, Any]", rules).items():
                yield tool, pattern, action
        else:
            yield tool, "*", rules
