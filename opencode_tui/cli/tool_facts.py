"""What a finished tool call says of itself in a few words: counts, exit code, time. Source: design, visual, section 6."""

from typing import Any

from msgspec import Struct

from opencode_tui.cli.style import Token
from opencode_tui.schema.tool_state import ToolStateCompleted
from opencode_tui.tui.quantity import duration, plural
from opencode_tui.tui.tool_facts import changed_lines, exit_of, read_count, todos_of

_COUNTED = {"grep": ("matches", "match"), "glob": ("count", "file"), "list": ("count", "entry")}


class Fact(Struct, frozen=True):
    """A few words and their look; `short` is what is left of them in a narrow line, `is_time` lets the time go first."""

    text: str
    token: Token = "muted"
    short: str = ""
    is_time: bool = False


def facts_of(tool: str, state: ToolStateCompleted) -> list[Fact]:
    """Return the facts in the order in which they stand: counts, then the time if it was a second or more."""
    facts = _changes(tool, state.metadata) or _counts(tool, state)
    seconds = ((state.time.end or state.time.start) - state.time.start) / 1000
    if seconds >= 1:
        facts.append(Fact(duration(seconds), is_time=True))
    return facts


def is_bad_exit(state: ToolStateCompleted) -> bool:
    """Tell whether a command ended with another code than 0, or was stopped."""
    return bool(exit_of(state))


def _counts(tool: str, state: ToolStateCompleted) -> list[Fact]:
    if is_bad_exit(state):
        code = state.metadata["exit"]
        return [Fact("stopped" if code is None else f"exit {code}", "warning", short="" if code is None else str(code))]
    match tool:
        case "read":
            count, noun = read_count(state.output)
            return [Fact(plural(count, noun), short=str(count))] if count else []
        case "todowrite" | "todoread":
            items = todos_of(state.metadata)
            done = sum(item.get("status") in ("completed", "cancelled") for item in items)
            return [Fact(f"{done} of {len(items)}")] if items else []
        case _ if tool in _COUNTED:
            key, noun = _COUNTED[tool]
            count = state.metadata.get(key)
            return [Fact(plural(count, noun), short=str(count))] if isinstance(count, int) else []
        case _:
            return []


def _changes(tool: str, metadata: dict[str, Any]) -> list[Fact]:
    counts = changed_lines(tool, metadata)
    if counts is None:
        return []
    is_new = tool == "write" and metadata.get("exists") is False
    added = Fact(f"+{counts[0]}", "added", short=f"+{counts[0]}")
    return [added] if is_new else [added, Fact(f"−{counts[1]}", "removed", short=f"−{counts[1]}")]
