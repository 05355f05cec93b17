"""Results of Codex's tools as outcomes of ours: text for the model, facts and changes for the screen."""

import re
from collections.abc import Sequence

from opencode_tui.engine.tool.edit.diff import TextDiff, compare
from opencode_tui.engine.tool.edit.patch import AddFile, DeleteFile, parse_patch
from opencode_tui.extras.importing.conversation import (
    Outcome,
    file_fields,
    headed,
    patch_metadata,
    rejection,
    relative,
)
from opencode_tui.extras.importing.json_lines import as_objects, as_text, decode_object
from opencode_tui.extras.importing.tool_names import map_arguments, map_tool
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

_EXIT = re.compile(r"(?:^|\n)(?:Exit code: |Process exited with code )(-?\d{1,3})(?:\n|$)")
_OUTPUT = "Output:\n"
_HEAD = 400
"""Characters at the beginning of a command's output that can hold its exit code."""

_INTERRUPTED = ("aborted", "Wall time: ")
_FAILED = (
    "unsupported call",
    "unsupported custom tool call",
    "failed to parse function arguments",
    "apply_patch verification failed",
    "err: ",
)
_PATCH = re.compile(r"\*\*\* Begin Patch\n.*?\*\*\* End Patch", re.DOTALL)
_STATES = {"in_progress": "in_progress", "completed": "completed"}

Change = tuple[str, str, str, TextDiff]
"""The change of one file: its path, the kind (add, update, delete, move), its new path, the diff."""


def call_of(payload: JsonObject) -> tuple[str, JsonObject]:
    """Return our name and arguments of a call; arguments that are no JSON object are kept as text."""
    name = as_text(payload.get("name")) or "unknown"
    kind = payload.get("type")
    if kind == "local_shell_call":
        action = as_object(payload.get("action"))
        given = {key: action[key] for key in ("command", "timeout_ms", "workdir", "working_directory") if key in action}
        return "bash", map_arguments("bash", given)
    if kind == "custom_tool_call":
        return map_tool(name), map_arguments(map_tool(name), {"input": as_text(payload.get("input"))})
    written = payload.get("arguments")
    found = decode_object(as_text(written).encode("utf-8", "replace")) if isinstance(written, str) else written
    given = as_object(found)
    if not given and as_text(written).strip() not in ("", "{}"):
        given = {"arguments": as_text(written)}
    match name:
        case "update_plan":
            return "todowrite", {"todos": todos_of(given)}
        case "view_image":
            return "read", {"filePath": as_text(given.get("path"))}
        case "spawn_agent":
            prompt = as_text(given.get("message")) or as_text(given.get("prompt"))
            agent = as_text(given.get("agent_type")) or "general"
            task = as_text(given.get("task_name")) or next(iter(prompt.strip().splitlines()), "")[:80]
            return "task", {"description": task, "prompt": prompt, "subagent_type": agent}
        case _:
            return map_tool(name), map_arguments(map_tool(name), given)


def todos_of(given: JsonObject) -> list[JsonObject]:
    """Return the steps of a plan as todos."""
    return [
        {
            "content": as_text(step.get("step")),
            "status": _STATES.get(as_text(step.get("status")), "pending"),
            "priority": "medium",
            "id": str(number),
        }
        for number, step in enumerate(as_objects(given.get("plan")), 1)
    ]


def outcome_of(
    tool: str, given: JsonObject, payload: JsonObject, changes: Sequence[Change], time: int, root: str
) -> Outcome:
    """Return what came of a call from the item with its output, and from the changes of files that were reported."""
    text, exit_code, attachments, succeeded = _output(payload.get("output"))
    stopped = text.startswith(_INTERRUPTED[0]) or (
        text.startswith(_INTERRUPTED[1]) and "\naborted by user" in text[:_HEAD]
    )
    if stopped:
        return Outcome("Tool execution aborted by the user", time, is_error=True, stop_reason="interrupted")
    if "rejected by user" in text[:_HEAD]:
        return rejection(time)
    if text.startswith(_FAILED) or succeeded is False:
        return Outcome(text or "The call failed.", time, is_error=True)
    match tool:
        case "bash":
            body = text.partition(_OUTPUT)[2] if _OUTPUT in text[:_HEAD] else text
            shown: JsonObject = {"output": body, "description": as_text(given.get("justification"))}
            if exit_code is not None:
                shown["exit"] = exit_code
            return Outcome(text, time, metadata=shown, attachments=attachments)
        case "apply_patch":
            return _patched(given, text, exit_code, changes, time, root)
        case "todowrite":
            todos = as_objects(given.get("todos"))
            waiting = sum(todo.get("status") != "completed" for todo in todos)
            return Outcome(text, time, f"{waiting} todos", {"todos": todos})
        case "read":
            path = as_text(given.get("filePath"))
            note = text or "Image read; it is attached."
            return Outcome(
                note, time, relative(path, root), {"preview": note, "truncated": False, "loaded": []}, attachments
            )
        case _:
            return Outcome(text, time, attachments=attachments)


def media_of(block: JsonObject) -> JsonObject | None:
    """Return an image of a message as an attachment, None for another block."""
    url = block.get("image_url")
    address = as_text(url) or as_text(as_object(url).get("url"))
    if block.get("type") not in ("input_image", "image_url", "image") or not address:
        return None
    mime = address[5:].partition(";")[0] if address.startswith("data:") else "image/png"
    return file_fields(address, mime, "image")


def patch_in(command: object) -> str:
    """Return the patch that a command applies, empty for another command."""
    found = _PATCH.search(as_text(command)) if "apply_patch" in as_text(command)[:200] else None
    return found[0] if found else ""


def reported_changes(payload: JsonObject, root: str) -> list[Change]:
    """Return the changes of files that an event reports."""
    listed = as_object(payload.get("changes")) or as_object(as_object(payload.get("item")).get("changes"))
    changes: list[Change] = []
    for path, value in listed.items():
        change = as_object(value)
        # Early versions put the kind around its fields: {"update": {"unified_diff": …}}.
        kind = as_text(change.get("type")) or next(iter(change), "")
        inner = change if change.get("type") else as_object(change.get(kind))
        target = as_text(inner.get("move_path"))
        name = relative(target or path, root)
        match kind:
            case "add":
                changes.append((path, "add", "", compare(name, "", as_text(inner.get("content")))))
            case "delete":
                changes.append((path, "delete", "", compare(name, as_text(inner.get("content")), "")))
            case "update":
                diff = headed(name, as_text(inner.get("unified_diff")))
                changes.append((path, "move" if target else "update", target, diff))
            case _:
                pass
    return changes


def _patched(
    given: JsonObject, text: str, exit_code: int | None, changes: Sequence[Change], time: int, root: str
) -> Outcome:
    succeeded = bool(changes) or exit_code == 0 or text.startswith("Success")
    if not succeeded:
        return Outcome(text or "The patch was not applied.", time, is_error=True)
    shown = changes or _written_changes(as_text(given.get("patchText")), root)
    title = f"{len(shown)} {'file' if len(shown) == 1 else 'files'}"
    return Outcome(text, time, title, patch_metadata(shown, root))


def _written_changes(patch: str, root: str) -> list[Change]:
    """Return the changes as a patch itself has them, without true line numbers."""
    try:
        sections = parse_patch(patch)
    except ToolError:
        return []
    changes: list[Change] = []
    for section in sections:
        path = section.path if section.path.startswith("/") else f"{root.rstrip('/')}/{section.path}"
        match section:
            case AddFile():
                changes.append((path, "add", "", compare(section.path, "", section.content)))
            case DeleteFile():
                changes.append((path, "delete", "", TextDiff("", 0, 0)))
            case _:
                hunks: list[str] = []
                for chunk in section.chunks:
                    old, new = (sum(sign in (" ", own) for sign, _ in chunk.lines) for own in "-+")
                    body = "".join(f"{sign}{line}\n" for sign, line in chunk.lines)
                    hunks.append(f"@@ -1,{old} +1,{new} @@\n{body}")
                target = section.move_to or ""
                changes.append((path, "move" if target else "update", target, headed(section.path, "".join(hunks))))
    return changes


def _output(value: object) -> tuple[str, int | None, list[JsonObject], bool | None]:
    """Return an output's text, exit code, attachments, and whether the call succeeded; None where it does not say."""
    found = as_object(value)
    said = found.get("success")
    succeeded = said if isinstance(said, bool) else None
    inner: object = next((found[key] for key in ("content", "output") if found.get(key) is not None), value)
    blocks = as_objects(inner)
    media = [one for block in blocks if (one := media_of(block)) is not None]
    text = as_text(inner) or "\n".join(as_text(block.get("text")) for block in blocks if as_text(block.get("text")))
    if text.startswith('{"output"'):
        wrapped = as_object(decode_object(text.encode("utf-8", "replace")))
        if wrapped:
            status = as_object(wrapped.get("metadata")).get("exit_code")
            return as_text(wrapped.get("output")), status if isinstance(status, int) else None, media, succeeded
    code = _EXIT.search(text[:_HEAD])
    return text, int(code[1]) if code else None, media, succeeded
