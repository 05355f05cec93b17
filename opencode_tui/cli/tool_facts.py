"""What a finished tool call says of itself in a few words: counts, exit code, time. Source: design, visual, section 6."""

import re
from typing import Any, cast

from opencode_tui.cli.style import Token
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.tool_state import ToolStateCompleted
from opencode_tui.schema.value import immutable
from opencode_tui.tui.quantity import duration, plural

_READ_LINE = re.compile(r"^\d+: ", re.MULTILINE)
_ENTRIES = re.compile(r"<entries>\n(.*?)\n\n\(", re.DOTALL)
_COUNTED = {"grep": ("matches", "match"), "glob": ("count", "file"), "list": ("count", "entry")}


@immutable
class Fact:
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
    return "exit" in state.metadata and state.metadata["exit"] != 0


def todos_of(state: ToolStateCompleted) -> list[JsonObject]:
    """Return the items of a todo call."""
    items = state.metadata.get("todos")
    return [cast(JsonObject, item) for item in cast("list[object]", items) if isinstance(item, dict)] if items else []


def _counts(tool: str, state: ToolStateCompleted) -> list[Fact]:
    if is_bad_exit(state):
        code = state.metadata["exit"]
        return [Fact("stopped" if code is None else f"exit {code}", "warning", short="" if code is None else str(code))]
    match tool:
        case "read":
            return _read_count(state.output)
        case "todowrite" | "todoread":
            items = todos_of(state)
            done = sum(item.get("status") in ("completed", "cancelled") for item in items)
            return [Fact(f"{done} of {len(items)}")] if items else []
        case _ if tool in _COUNTED:
            key, noun = _COUNTED[tool]
            count = state.metadata.get(key)
            return [Fact(plural(count, noun), short=str(count))] if isinstance(count, int) else []
        case _:
            return []


def _read_count(output: str) -> list[Fact]:
    """Count what the model was shown: numbered lines of a file, or a folder's entries."""
    entries = _ENTRIES.search(output)
    if "<type>directory</type>" in output and entries:
        count = len(entries[1].splitlines())
        return [Fact(plural(count, "entry"), short=str(count))]
    count = len(_READ_LINE.findall(output))
    return [Fact(plural(count, "line"), short=str(count))] if count else []


def _changes(tool: str, metadata: dict[str, Any]) -> list[Fact]:
    listed: list[object] = metadata.get("files") or [] if tool == "apply_patch" else [metadata.get("filediff")]
    changes = [cast(JsonObject, change) for change in listed if isinstance(change, dict)]
    if not changes:
        return []
    added, removed = (sum(_number(change.get(name)) for change in changes) for name in ("additions", "deletions"))
    is_new = tool == "write" and metadata.get("exists") is False
    counts = [Fact(f"+{added}", "added", short=f"+{added}")]
    return counts if is_new else [*counts, Fact(f"−{removed}", "removed", short=f"−{removed}")]


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
