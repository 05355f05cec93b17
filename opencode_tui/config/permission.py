"""Permission settings as ordered rules: `{tool: action}` or `{tool: {pattern: action}}`, in the order of the file.

The last rule that matches wins. Rules of a later file stand behind those of an earlier one, so that later means stronger also for
a pattern that both speak of; a rule for `*` replaces what stands before it, because nothing before it could win any more.
Source: reference, section 27.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

_PIECES = {"*": ".*", "?": "."}
_ACTIONS = ("ask", "allow", "deny")

PERMISSIONS = frozenset({
    "read", "edit", "glob", "grep", "list", "bash", "task", "external_directory", "todowrite", "todoread", "question", "webfetch",
    "websearch", "codesearch", "lsp", "doom_loop", "skill", "plan_enter", "plan_exit", "write", "patch", "multiedit",
    "apply_patch", "recall", "batch",
})  # fmt: skip
"""What rules are about; tools of MCP servers come on top, their names hold an underscore."""


def is_action(value: object) -> bool:
    """Tell whether a value is one of ask, allow, deny."""
    return isinstance(value, str) and value in _ACTIONS


def normalise(value: Any) -> Any:
    """Return a permission setting in its shortest form: a lone action applies to all tools, `{"*": x}` is x.

    What is not of the right shape is left as it is, for the validation to name.
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


def merge(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """Return both normalised settings as one that decides as the later one's rules behind the earlier one's.

    Exact as long as no two different wildcards over tools overlap; nobody but `*` is usual there.
    """
    result = dict(earlier)
    for tool, rules in later.items():
        patterns = _patterns(rules)
        if not is_wildcard(tool):
            result[tool] = _shorten(_behind(_remove(result, tool), patterns))
        elif "*" in patterns:
            result = {name: kept for name, kept in result.items() if not covers(tool, name)}
            result[tool] = _shorten(patterns)
        else:
            for name in [name for name in result if not is_wildcard(name) and covers(tool, name)]:
                result[name] = _shorten(_behind(_remove(result, name), patterns))
            result[tool] = _shorten(_behind(_patterns(result.get(tool, {})), patterns))
    return result


def is_wildcard(tool: str) -> bool:
    """Tell whether a name of tools stands for several."""
    return "*" in tool or "?" in tool


def covers(wildcard: str, name: str) -> bool:
    """Tell whether a wildcard over tools covers a name (or another wildcard)."""
    return re.fullmatch("".join(_PIECES.get(letter, re.escape(letter)) for letter in wildcard), name) is not None


def _remove(settings: dict[str, Any], tool: str) -> dict[str, Any]:
    """Remove a tool's rules and return them, followed by those of the wildcards that stood behind and covered it."""
    if tool not in settings:
        return {}
    names = list(settings)
    rules = _patterns(settings[tool])
    for name in names[names.index(tool) + 1 :]:
        if is_wildcard(name) and covers(name, tool):
            rules = _behind(rules, _patterns(settings[name]))
    del settings[tool]
    return rules


def _patterns(rules: Any) -> dict[str, Any]:
    return dict(cast("dict[str, Any]", rules)) if isinstance(rules, dict) else {"*": rules}


def _behind(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """Return both as one list; a pattern that comes again moves to its new place, `*` replaces everything before it."""
    merged = dict(earlier)
    for pattern, action in later.items():
        merged.pop(pattern, None)
        if pattern == "*":
            merged.clear()
        merged[pattern] = action
    return merged


def iterate(setting: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield (tool, pattern, action) of a normalised setting in order; what is of a wrong shape is passed by."""
    if not isinstance(setting, dict):
        return
    for tool, rules in cast("dict[str, Any]", setting).items():
        if isinstance(rules, dict):
            for pattern, action in cast("dict[str, Any]", rules).items():
                yield tool, pattern, action
        else:
            yield tool, "*", rules
