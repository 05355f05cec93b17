"""What a tool call is called and what it is about, in the person's words; pure."""

import os
from typing import cast

from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.tool_state import ToolStateCompleted, ToolStateError, ToolStateUnion
from opencode_tui.tui.safe_text import screen_line

_NAMES = {
    "apply_patch": "Patch",
    "multiedit": "Edit",
    "webfetch": "Fetch",
    "todowrite": "Todo",
    "todoread": "Todo",
    "question": "Ask",
}
_KNOWN = frozenset({"read", "write", "edit", "bash", "grep", "glob", "list", "task", "skill", "recall"})
_VERBS = {
    "read": "Reading",
    "write": "Writing",
    "edit": "Editing",
    "multiedit": "Editing",
    "bash": "Running",
    "grep": "Searching for",
    "glob": "Looking for",
    "list": "Listing",
    "webfetch": "Fetching",
}
BY_PATH = frozenset({"read", "write", "edit", "multiedit", "list"})
"""Tools whose argument is a path: it is cut at its front."""

_BY_USER = "The user "

REFUSED = {"rejected": "rejected", "denied": "denied by rule"}
"""What is said of a call that was not carried out, by its stop reason."""

_KEYS = ("filePath", "command", "pattern", "path", "url", "description", "name", "query")
_LONG = 400


def error_of(state: ToolStateError) -> str:
    """Return why a call failed or was refused, for the user; the stored text is written for the model. Not safe yet."""
    return f"You {state.error.removeprefix(_BY_USER)}" if state.error.startswith(_BY_USER) else state.error


def name_of(tool: str) -> str:
    """Return what a tool is called; a plugin's tool has its own name."""
    return _NAMES.get(tool) or (tool.capitalize() if tool in _KNOWN else screen_line(tool))


def activity_of(part: ToolPart, root: str = "") -> str:
    """Return what a running call does, as `Running pytest -q`; safe, one line."""
    return f"{_VERBS.get(part.tool) or f'Running {name_of(part.tool)}'} {argument_of(part, root)}".rstrip()


def argument_of(part: ToolPart, root: str = "") -> str:
    """Return what the call is about, in one safe line; paths below `root` are told from there."""
    state = part.state
    given = state.input
    if part.tool in BY_PATH:
        title = getattr(state, "title", None) or ""
        path = given.get("filePath") or given.get("path")
        return _line(title or (relative(str(path), root) if path else "" if state.status == "pending" else "."))
    match part.tool:
        case "apply_patch":
            return _patched(state)
        case "task":
            agent, text = str(given.get("subagent_type") or ""), str(given.get("description") or "")
            return _line(f"{agent}: {text}" if agent else text)
        case "grep" | "glob":
            pattern = str(given.get("pattern") or "")
            path = given.get("path")
            said = f'"{pattern}"' if part.tool == "grep" and pattern else pattern
            return _line(said + (f" in {relative(str(path), root)}" if path else ""))
        case "question":
            return _questions(given)
        case _:
            texts = (given.get(key) for key in _KEYS)
            found = next((text for text in texts if isinstance(text, str) and text.strip()), "")
            return _line(found or getattr(state, "title", None) or "")


def relative(path: str, root: str) -> str:
    """Return a path below a folder as it is told from there, any other as it is."""
    base = root.rstrip("/")
    if not base or not path.startswith(base):
        return path
    if path.rstrip("/") == base:
        return "."
    if path[len(base)] != "/":
        return path
    return os.path.relpath(path, base) + ("/" if path.endswith("/") else "")


def _patched(state: ToolStateUnion) -> str:
    if not isinstance(state, ToolStateCompleted):
        return ""
    files: list[object] = state.metadata.get("files") or []
    names = [str(cast(JsonObject, file).get("relativePath", "")) for file in files if isinstance(file, dict)]
    return _line(", ".join(names) or state.title)


def _questions(given: JsonObject) -> str:
    asked: list[object] = given.get("questions") or []
    first = next((cast(JsonObject, one) for one in asked if isinstance(one, dict)), JsonObject())
    return _line(str(first.get("question") or first.get("header") or ""))


def _line(text: str) -> str:
    head, newline, rest = text.strip()[:_LONG].partition("\n")
    return screen_line(head.rstrip()) + (" …" if newline and rest.strip() else "")
