"""Agents in the form of Claude Code: the names of its tools in a text or a list, as settings."""

from collections.abc import Mapping
from typing import Any, cast

from opencode_tui.config.notice import Notice
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.tools import TOOLS

_MODELS = ("sonnet", "opus", "haiku", "inherit")
_ALL = frozenset({"*", "all", "all tools"})


def from_claude_code(values: JsonObject, source: str, warnings: list[Notice]) -> JsonObject:
    """Return the front matter of an agent with its tools as rules, and without a model that only Claude Code knows."""
    allowed, denied = values.get("tools"), values.get("disallowedTools")
    is_listed = isinstance(allowed, str | list)
    if not is_listed and denied is None and values.get("model") not in _MODELS:
        return values
    left_out = {"disallowedTools", "tools"} if is_listed else {"disallowedTools"}
    if values.get("model") in _MODELS:
        left_out.add("model")
        if values["model"] != "inherit":
            message = f"`{values['model']}` is a name of Claude Code; the default model is used; write provider/model"
            warnings.append(Notice(source, "model", message))
    kept = {name: value for name, value in values.items() if name not in left_out}
    rules = rules_of_claude_code(allowed if is_listed else None, denied)
    written = kept.get("permission")
    if not rules or not (written is None or isinstance(written, dict)):
        return kept
    return {**kept, "permission": {**rules, **cast("JsonObject", written or {})}}


def rules_of_claude_code(allowed: Any, denied: Any) -> Mapping[str, str]:
    """Return rules that deny what an agent does not have; a tool that it has keeps the rules of the user.

    A tool has its name in Claude Code or our own.
    """
    has, lacks = _names(allowed), _names(denied)
    is_limited = bool(has) and has.isdisjoint(_ALL)
    rows = [(row, {row.claude.lower(), row.name.lower()}) for row in TOOLS if row.claude]
    wrong = [row for row, names in rows if (is_limited and not names & has) or names & lacks]
    kept = {row.permission or row.name for row, _ in rows if row not in wrong}
    return {name: "deny" for row in wrong if (name := row.permission or row.name) not in kept}


def _names(value: Any) -> set[str]:
    words = value.split(",") if isinstance(value, str) else cast("list[Any]", value) if isinstance(value, list) else []
    return {str(word).partition("(")[0].strip().lower() for word in words} - {""}
