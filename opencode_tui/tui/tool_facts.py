"""What a call says of itself in a few words: counts, exit code, test results; pure. Source: design, visual, section 6."""

import re
from typing import Any, cast

from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.tool_state import ToolStateCompleted

_READ_LINE = re.compile(r"^\d+: ", re.MULTILINE)
_ENTRIES = re.compile(r"<entries>\n(.*?)\n\n\(", re.DOTALL)
_RESULT = re.compile(r"\b(\d+) (failed|passed|errors?)\b")
_TESTS = re.compile(r"\b(?:\d+ (?:failed|passed|errors?)|test result|Tests:)\b")
_LAST = 2_000
"""Letters at the end of an output in which a test run says how it went."""


def changed_lines(tool: str, metadata: dict[str, Any]) -> tuple[int, int] | None:
    """Return the lines that an edit added and removed, None when it says nothing of them."""
    listed: list[object] = metadata.get("files") or [] if tool == "apply_patch" else [metadata.get("filediff")]
    changes = [cast(JsonObject, change) for change in listed if isinstance(change, dict)]
    if not changes:
        return None
    added, removed = (sum(_number(change.get(name)) for change in changes) for name in ("additions", "deletions"))
    return added, removed


def read_count(output: str) -> tuple[int, str]:
    """Return how much of a file or folder the model was shown: a number and `line` or `entry`; 0 for neither."""
    if "<type>directory</type>" in output and (entries := _ENTRIES.search(output)):
        return len(entries[1].splitlines()), "entry"
    return len(_READ_LINE.findall(output)), "line"


def exit_of(state: ToolStateCompleted) -> int | None:
    """Return a command's exit code; -1 when it was stopped, None when the call is no command."""
    if "exit" not in state.metadata:
        return None
    code = state.metadata["exit"]
    return code if isinstance(code, int) else -1


def outcome_of_tests(output: str) -> str:
    """Return what a test run says at its end, as `1 failed` or `214 passed`; empty when the output is none."""
    end = output[-_LAST:].rstrip()
    line = next((one for one in reversed(end.split("\n")) if _TESTS.search(one)), "")
    found = {word.rstrip("s"): number for number, word in _RESULT.findall(line)}
    for word in ("failed", "error", "passed"):
        if word in found and found[word] != "0":
            return f"{found[word]} {word}" + ("s" if word == "error" and found[word] != "1" else "")
    return ""


def todos_of(metadata: dict[str, Any]) -> list[JsonObject]:
    """Return the items of a todo call."""
    items = metadata.get("todos")
    return [cast(JsonObject, item) for item in cast("list[object]", items) if isinstance(item, dict)] if items else []


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
