"""Results of Claude Code's tools as outcomes of ours: text for the model, facts and changes for the screen."""

import re
from collections.abc import Mapping

from opencode_tui.engine.tool.edit.diff import TextDiff, compare
from opencode_tui.extras.importing.conversation import (
    Outcome,
    edit_metadata,
    file_fields,
    headed,
    rejection,
    relative,
)
from opencode_tui.extras.importing.json_lines import as_count, as_objects, as_text
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,3})\n?")
_REJECTED = "The user doesn't want to "
_FEEDBACK = "the user said:\n"
INTERRUPTED = "[Request interrupted by user"
_ERROR_TAG = re.compile(r"</?tool_use_error>")
_NUMBERED = re.compile(r"^ *(\d+)(?:→|\t)", re.MULTILINE)
_AGENTS = {"general-purpose": "general", "Explore": "explore", "Plan": "plan"}
_TODO_STATES = frozenset({"pending", "in_progress", "completed", "cancelled"})


TASK_TOOLS = frozenset({"TaskCreate", "TaskUpdate", "TaskList", "TaskGet"})
"""The tools with which newer versions keep their list of todos."""


def apply_task(tasks: dict[str, JsonObject], tool: str, given: JsonObject, details: JsonObject) -> None:
    """Change the tasks, by their ids, as a call did whose result has these details."""
    if tool == "TaskCreate":
        task_id = as_text(as_object(details.get("task")).get("id")) or str(len(tasks) + 1)
        tasks[task_id] = {"subject": as_text(given.get("subject")), "id": task_id, "status": "pending"}
    elif tool == "TaskUpdate" and as_text(given.get("taskId")) in tasks:
        tasks[as_text(given.get("taskId"))] |= {key: given[key] for key in ("subject", "status") if key in given}


def open_tasks(tasks: Mapping[str, JsonObject]) -> list[JsonObject]:
    """Return the tasks that are not deleted."""
    return [task for task in tasks.values() if task.get("status") != "deleted"]


def agent_of(name: str) -> str:
    """Return our agent for a subagent's type there; others keep their name."""
    return _AGENTS.get(name, name or "general")


def todo_items(value: object) -> list[JsonObject]:
    """Return a list of todos in our form, from either TodoWrite's items or those of the task tools."""
    items: list[JsonObject] = []
    for number, item in enumerate(as_objects(value), 1):
        status = as_text(item.get("status"))
        items.append(
            {
                "content": as_text(item.get("content")) or as_text(item.get("subject")),
                "status": status if status in _TODO_STATES else "pending",
                "priority": as_text(item.get("priority")) or "medium",
                "id": as_text(item.get("id")) or str(number),
            }
        )
    return items


def outcome_of(tool: str, given: JsonObject, block: JsonObject, details: object, time: int, root: str) -> Outcome:
    """Return what came of a call: `block` is its `tool_result`, `details` the `toolUseResult` of its row."""
    text, attachments = _content(block.get("content"))
    text = _ERROR_TAG.sub("", text)
    if block.get("is_error") is True:
        return _failure(tool, given, text, time)
    found = as_object(details)
    match tool:
        case "bash":
            output = _both(found) or text
            metadata: JsonObject = {"output": output, "exit": 0, "description": as_text(given.get("description"))}
            if found.get("interrupted") is True:
                metadata["exit"] = None
            return Outcome(text, time, as_text(given.get("description")), metadata, attachments)
        case "read":
            return _read(given, text, found, time, root, attachments)
        case "edit" | "multiedit" | "write":
            return _edit(tool, given, text, found, time, root)
        case "grep":
            count = (
                as_count(found.get("numMatches")) or as_count(found.get("numLines")) or as_count(found.get("numFiles"))
            )
            return Outcome(text, time, as_text(given.get("pattern")), {"matches": count or _lines(text)})
        case "glob":
            return Outcome(text, time, metadata={"count": as_count(found.get("numFiles")) or _lines(text)})
        case "list":
            return Outcome(text, time, metadata={"count": _lines(text)})
        case "todowrite" | "todoread":
            todos = todo_items(given.get("todos"))
            waiting = sum(item["status"] not in ("completed", "cancelled") for item in todos)
            return Outcome(text, time, f"{waiting} todos", {"todos": todos})
        case "question":
            answers = as_object(found.get("answers"))
            asked = [as_text(one.get("question")) for one in as_objects(given.get("questions"))]
            said = [[as_text(answers.get(question))] for question in asked]
            return Outcome(text, time, metadata={"answers": said})
        case _:
            return Outcome(text, time, attachments=attachments)


def _content(value: object) -> tuple[str, list[JsonObject]]:
    """Return the text and the attachments of a result."""
    if isinstance(value, str):
        return value, []
    blocks = as_objects(value)
    texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    media = [found for block in blocks if (found := media_fields(block)) is not None]
    return "\n".join(texts) or ("It is attached." if media else ""), media


def media_fields(block: JsonObject) -> JsonObject | None:
    """Return an image or document of a message as an attachment, None for another block."""
    if block.get("type") not in ("image", "document"):
        return None
    source = as_object(block.get("source"))
    mime, data = as_text(source.get("media_type")) or "image/png", as_text(source.get("data"))
    url = f"data:{mime};base64,{data}" if data else as_text(source.get("url"))
    return file_fields(url, mime, as_text(block.get("title")) or mime.partition("/")[0]) if url else None


def _failure(tool: str, given: JsonObject, text: str, time: int) -> Outcome:
    exit_code = _EXIT.match(text)
    if tool == "bash" and exit_code:
        output = text[exit_code.end() :]
        shown = {"output": output, "exit": int(exit_code[1]), "description": as_text(given.get("description"))}
        return Outcome(text, time, as_text(given.get("description")), shown)
    if text.startswith(_REJECTED):
        feedback = text.partition(_FEEDBACK)[2].strip()
        return rejection(time, feedback)
    stopped = "interrupted" if text.startswith(INTERRUPTED) else ""
    return Outcome(text or "The call failed.", time, is_error=True, stop_reason=stopped)


def _both(found: JsonObject) -> str:
    """Return what a command printed."""
    return "\n".join(text for text in (as_text(found.get("stdout")), as_text(found.get("stderr"))) if text)


def _read(
    given: JsonObject, text: str, found: JsonObject, time: int, root: str, attachments: list[JsonObject]
) -> Outcome:
    path = as_text(given.get("filePath"))
    preview = "\n".join(as_text(as_object(found.get("file")).get("content")).split("\n")[:20])
    if not attachments:
        text = _NUMBERED.sub(r"\1: ", text)
    return Outcome(
        text, time, relative(path, root), {"preview": preview, "truncated": False, "loaded": []}, attachments
    )


def _edit(tool: str, given: JsonObject, text: str, found: JsonObject, time: int, root: str) -> Outcome:
    path = as_text(found.get("filePath")) or as_text(given.get("filePath"))
    before = as_text(found.get("originalFile")) or as_text(found.get("originalFileContents"))
    after = as_text(given.get("content")) if tool == "write" else _replaced(before, tool, given)
    name = relative(path, root)
    diff = _patch(name, found.get("structuredPatch"))
    if not diff.text:
        parts = [(before, after)] if before or tool == "write" else _texts(tool, given)
        diffs = [compare(name, old, new) for old, new in parts]
        joined = "\n".join(one.text for one in diffs)
        diff = TextDiff(joined, sum(one.additions for one in diffs), sum(one.deletions for one in diffs))
    metadata = edit_metadata(path, before, after if before or tool == "write" else "", diff)
    if tool == "write":
        metadata |= {"filepath": path, "exists": found.get("type") != "create"}
    return Outcome(text, time, name, metadata)


def _texts(tool: str, given: JsonObject) -> list[tuple[str, str]]:
    edits = as_objects(given.get("edits")) if tool == "multiedit" else [given]
    return [(as_text(one.get("oldString")), as_text(one.get("newString"))) for one in edits]


def _replaced(text: str, tool: str, given: JsonObject) -> str:
    """Return a file's text after the edits of a call."""
    for edit in as_objects(given.get("edits")) if tool == "multiedit" else [given]:
        old, new = as_text(edit.get("oldString")), as_text(edit.get("newString"))
        text = text.replace(old, new, -1 if edit.get("replaceAll") is True else 1) if old else new + text
    return text


def _patch(name: str, value: object) -> TextDiff:
    """Return a structured patch as a diff."""
    hunks: list[str] = []
    for hunk in as_objects(value):
        lines = hunk.get("lines")
        if not isinstance(lines, list):
            continue
        numbers = [as_count(hunk.get(key)) for key in ("oldStart", "oldLines", "newStart", "newLines")]
        body = "".join(f"{as_text(line)}\n" for line in lines)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        hunks.append(f"@@ -{numbers[0]},{numbers[1]} +{numbers[2]},{numbers[3]} @@\n{body}")
    return headed(name, "".join(hunks))


def _lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())
