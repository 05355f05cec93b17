"""A tool call in words: its name, what it is about, what it is doing, what came of it; and how these fit one line.

Source: docs/internals/screen.md#tool-lines.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.schema.api.limit import limit_of
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.sandbox import SandboxFacts, sandbox_of
from opencode_tui.schema.session.tool_state import (
    RECORDING,
    KeptLines,
    ToolStateCompleted,
    ToolStateError,
    ToolStateRunning,
    ToolStateUnion,
    ToolTime,
    kept_lines_of,
)
from opencode_tui.schema.tools import ToolRow, row_of
from opencode_tui.text.cells import clip, clip_front, width
from opencode_tui.text.diagnostics import errors_of
from opencode_tui.text.quantity import brief_duration, plural
from opencode_tui.text.safe_text import screen_line

_KEYS = ("filePath", "command", "pattern", "path", "url", "description", "name", "query")
_LONG = 400
_SHORT = 40

_ASSIGNMENT = re.compile(r"^\w+=")
_PREFIXES = frozenset({"sudo", "env", "time", "exec", "command", "nohup"})
"""Words before the name of the program that a command runs."""

_SHELL_WORDS = frozenset({"for", "while", "until", "if", "case", "select", "function", "{", "[", "[[", "!", "(", "(("})

_READ_LINE = re.compile(r"^\d+: ", re.MULTILINE)
_RESULT = re.compile(r"\b(\d+) (failed|passed|errors?)\b")
_TESTS = re.compile(r"\b(?:\d+ (?:failed|passed|errors?)|test result|Tests:)\b")
_LAST = 2_000
"""Characters at the end of an output in which a test run reports its result."""

_REFUSED = {"rejected": "rejected", "denied": "denied by rule"}
"""The fact of a call that was not carried out, by its stop reason."""

_ENDED = ("completed", "cancelled")
"""States of a todo that needs no more work."""

_ANSWER_WIDTH = 24

_GAP = 2
_MIN_ARGUMENT = 16

FactToken = Literal["muted", "text", "accent", "warning", "error", "added", "removed"]


class Fact(Struct, frozen=True):
    """A few words and their look; `short` is what is left of them in a narrow line, `is_time` lets the time go first.

    `is_joined`: follows the fact before it with a blank only.
    """

    text: str
    token: FactToken = "muted"
    short: str = ""
    is_time: bool = False
    is_bold: bool = False
    is_joined: bool = False


def name_of(tool: str) -> str:
    """Return the name that a tool is shown by; a plugin's tool has its own name."""
    return screen_line(row_of(tool).shown)


def activity_of(part: ToolPart, root: str = "") -> str:
    """Return what a running call is doing with what it is about, as `Running pytest -q`; safe, one line.

    Before and after the call itself its files may be recorded, which lasts in a large tree.
    """
    if isinstance(part.state, ToolStateRunning) and (part.state.metadata or {}).get(RECORDING):
        return "Recording files for undo"
    verb, argument = row_of(part.tool).verb, argument_of(part, root)
    return f"{verb} {argument}" if verb and argument else brief_activity(part.tool, part.state.input)


def brief_activity(tool: str, given: Mapping[str, object]) -> str:
    """Return what a running call is doing in two or three words: `Running pytest`, `Reading parser.py`; safe."""
    row = row_of(tool)
    if row.activity:
        return row.activity
    if row.result == "command":
        return f"{row.verb} {_program(given.get('command'))}"
    if row.argument == "agent":
        return f"{_word(given.get('subagent_type') or 'sub')} agent running"
    if row.verb:
        return f"{row.verb} {_base(given.get('filePath') or given.get('path'))}"
    return f"Running {_word(name_of(tool))}"


def argument_of(part: ToolPart, root: str = "") -> str:
    """Return what the call is about, in one safe line; paths below `root` are relative to it."""
    state = part.state
    given = state.input
    row = row_of(part.tool)
    if row.is_by_path:
        title = getattr(state, "title", None) or ""
        path = given.get("filePath") or given.get("path")
        if title.startswith("../") and path:
            title = ""  # outside of the project the whole path says more
            path = os.path.normpath(os.path.join(root, os.path.expanduser(str(path)))) if root else path
        return _line(title or (relative(str(path), root) if path else "" if state.status == "pending" else "."))
    match row.argument:
        case "patch":
            return _patched(state)
        case "agent":
            agent, text = str(given.get("subagent_type") or ""), str(given.get("description") or "")
            return _line(f"{agent}: {text}" if agent else text)
        case "pattern" | "glob":
            pattern = str(given.get("pattern") or "")
            path = given.get("path")
            words = f'"{pattern}"' if row.argument == "pattern" and pattern else pattern
            return _line(words + (f" in {relative(str(path), root)}" if path else ""))
        case "question":
            return _questions(given)
        case "todos":
            return _line(_current_todo(part))
        case _:
            texts = (given.get(key) for key in _KEYS)
            found = next((text for text in texts if isinstance(text, str) and text.strip()), "")
            return _line(found or getattr(state, "title", None) or "")


def relative(path: str, root: str) -> str:
    """Return a path inside a folder relative to it, any other unchanged."""
    base = root.rstrip("/")
    if not base or not path.startswith(base):
        return path
    if path.rstrip("/") == base:
        return "."
    if path[len(base)] != "/":
        return path
    return os.path.relpath(path, base) + ("/" if path.endswith("/") else "")


class ResultRow(Struct, frozen=True):
    """A row of a result that is a list; not yet made safe. `status` is that of a todo, empty without one."""

    text: str
    status: str = ""
    detail: str = ""


def result_rows(tool: str, metadata: Mapping[str, object]) -> list[ResultRow]:
    """Return the rows of a call whose result is a list: of todos, or of rows that the tool reports; none for another result."""
    match row_of(tool).result:
        case "todos" | "kept_todos":
            return [
                ResultRow(str(one.get("content", "")), str(one.get("status") or "pending"))
                for one in todos_of(metadata)
            ]
        case "rows":
            return [_result_row(one) for one in _objects(metadata.get("rows"))]
        case _:
            return []


def _result_row(given: JsonObject) -> ResultRow:
    text, status, detail = (str(given.get(key) or "") for key in ("text", "status", "detail"))
    return ResultRow(text, status, detail)


def facts_of(tool: str, state: ToolStateCompleted) -> list[Fact]:
    """Return the facts of a completed call, its time left out."""
    row, changes = row_of(tool), changed_lines(tool, state.metadata)
    if changes is not None:
        counts = change_facts(changes, is_new=row.result == "file" and state.metadata.get("exists") is False)
        errors = len(errors_of(state.metadata))
        brought = [Fact(f"{plural(errors, 'new error')}", "error", plural(errors, "error"))] if errors else []
        return [*counts, *brought]
    if row.counted is not None:
        key, noun = row.counted
        count = state.metadata.get(key)
        return [Fact(plural(count, noun), short=str(count))] if isinstance(count, int) else []
    match row.result:
        case result if result != "background" and (name := _background_name(row, state)):
            return [Fact(f"in the background as {screen_line(name)}", short=screen_line(name))]
        case "command":
            return _command_facts(state)
        case "background":
            return _background_facts(state.metadata)
        case "text":
            count, noun = read_count(state.output)
            return [Fact(plural(count, noun), short=str(count))] if count else []
        case "todos" | "kept_todos":
            items = todos_of(state.metadata)
            done = sum(item.get("status") in _ENDED for item in items)
            return [Fact(f"{done} of {len(items)} done", short=f"{done}/{len(items)}")] if items else []
        case "agent":
            count = len(tools_of(state.metadata))
            return [Fact(plural(count, "tool"), short=str(count))] if count else []
        case "answers":
            answers = answers_of(state)
            return [Fact(clip(answers[0], _ANSWER_WIDTH), "text")] if len(answers) == 1 and answers[0] else []
        case "lines":
            return _line_facts(state.output, state)
        case _:
            return []


def _line_facts(output: str, state: ToolStateCompleted) -> list[Fact]:
    """Return how many lines an output has, so that one sees whether there is anything to open."""
    if (kept := kept_lines_of(state.metadata)) is not None:
        return [Fact(f"{kept.total:,} lines, {_kept_words(kept)} kept", short=f"{kept.total:,}")]
    count = count_lines(output)
    least = "+" if state.metadata.get("outputPath") else ""
    return (
        [Fact(f"{count}{least} line{'' if count == 1 and not least else 's'}", short=f"{count}{least}")]
        if count
        else []
    )


def _kept_words(kept: KeptLines) -> str:
    if kept.first == kept.last:
        return f"first and last {kept.first:,}"
    ends = (("first", kept.first), ("last", kept.last))
    return " and ".join(f"{end} {count:,}" for end, count in ends if count)


def count_lines(text: str) -> int:
    """Return how many lines a text has, empty ones at its end left out."""
    text = text.rstrip("\r\n \t")
    return text.count("\n") + 1 if text else 0


def time_facts(time: ToolTime) -> list[Fact]:
    """Return the time of a finished call, without the wait for the user, if it was a second or more."""
    seconds = time.worked(time.start) / 1000
    return [Fact(brief_duration(seconds), is_time=True)] if seconds >= 1 else []


def change_facts(counts: tuple[int, int], *, is_new: bool = False) -> list[Fact]:
    """Return the added and the removed lines of an edit; of a new file the added ones alone."""
    added = Fact(f"+{counts[0]}", "added", f"+{counts[0]}")
    return [added] if is_new else [added, Fact(f"−{counts[1]}", "removed", f"−{counts[1]}", is_joined=True)]


def failure_facts(state: ToolStateError) -> list[Fact]:
    """Return the facts of a call that did not succeed."""
    if state.stop_reason == "interrupted":
        return [Fact("interrupted", short="interrupted"), *time_facts(state.time)]
    refused = _REFUSED.get(state.stop_reason or "")
    if state.stop_reason == "denied" and state.rule is None:
        refused = "denied"
    return [Fact(refused, "warning", refused.split()[0]) if refused else Fact("failed", "error", "failed")]


_PARAMETERS = {"oldString": "the text to replace", "newString": "its replacement"}


def _describe_error(text: str) -> str:
    """Return the problem of a tool for files with words for its parameters."""
    for name, words in _PARAMETERS.items():
        text = text.replace(name, words)
    return text[:1].upper() + text[1:]


def failure_text(part: ToolPart, state: ToolStateError, root: str = "") -> str:
    """Return why a call failed or was refused, for the user; the stored text is written for the model. Not safe yet."""
    error = state.error.strip()
    if state.dismissed:
        return "You dismissed the question without an answer."
    if state.feedback:
        return f"You rejected this: {state.feedback}"
    if state.subject is not None:
        return f"You rejected {f'the request {state.subject}' if state.subject else 'this'}."
    if state.rule is not None:
        whose = "a built-in rule of this agent," if state.built_in else "your rule"
        return f'Denied by {whose} "{state.rule.pattern}" ({state.rule.permission}).'
    if state.unasked and state.problem:
        return f"{state.problem} Approvals are auto, so it was not asked for; --auto=outside allows it."
    row = row_of(part.tool)
    if (row.shows_changes or row.is_by_path) and state.nearest is not None:
        unchanged = " Nothing was changed." if row.shows_changes else ""
        nearest = " or ".join(relative(one, root) for one in state.nearest)
        return f"No such file.{unchanged}" + (f" Nearest: {nearest}" if nearest else "")
    if (row.shows_changes or row.is_by_path) and error:
        return _describe_error(state.problem or error)
    if state.problem and state.stop_reason == "denied":
        return f"{state.problem} Switch to an agent that may edit, such as build, to run it."
    return error or "failed (no details)"


def is_interrupted(state: ToolStateUnion) -> bool:
    """Return whether a call ended because its turn was stopped."""
    return isinstance(state, ToolStateError) and state.stop_reason == "interrupted"


def is_bad_exit(state: ToolStateCompleted) -> bool:
    """Return whether a command ended with another code than 0, or was stopped."""
    return bool(exit_code(state))


def changed_lines(tool: str, metadata: dict[str, Any]) -> tuple[int, int] | None:
    """Return the lines that an edit added and removed, None when it reports none."""
    listed: list[object] = metadata.get("files") or [] if row_of(tool).result == "patch" else [metadata.get("filediff")]
    changes = [cast(JsonObject, change) for change in listed if isinstance(change, dict)]
    if not changes:
        return None
    added, removed = (sum(_number(change.get(name)) for change in changes) for name in ("additions", "deletions"))
    return added, removed


def read_count(output: str) -> tuple[int, str]:
    """Return how much of a file or folder the model was shown: a number and `line` or `entry`; 0 for neither."""
    if "<type>directory</type>" in output:
        entries, end, _ = output.partition("<entries>\n")[2].partition("\n\n(")
        if end:
            return len(entries.splitlines()), "entry"
    return len(_READ_LINE.findall(output)), "line"


def exit_code(state: ToolStateCompleted) -> int | None:
    """Return a command's exit code; -1 when it was stopped, None when the call is not a command, or one that still runs."""
    if "exit" not in state.metadata or state.metadata.get("state") == "running":
        return None
    code = state.metadata["exit"]
    return code if isinstance(code, int) else -1


def outcome_of_tests(output: str) -> str:
    """Return the result at the end of a test run's output, as `1 failed` or `214 passed`; empty for any other output."""
    end = output[-_LAST:].rstrip()
    line = next((one for one in reversed(end.split("\n")) if _TESTS.search(one)), "")
    found = {word.rstrip("s"): number for number, word in _RESULT.findall(line)}
    for word in ("failed", "error", "passed"):
        if word in found and found[word] != "0":
            return f"{found[word]} {word}" + ("s" if word == "error" and found[word] != "1" else "")
    return ""


def todos_of(metadata: Mapping[str, object]) -> list[JsonObject]:
    """Return the items of a todo call."""
    return _objects(metadata.get("todos"))


def _objects(listed: object) -> list[JsonObject]:
    """Return the objects of a list, none without one. Raises TypeError for data of another form, which cannot be shown."""
    return (
        [cast("JsonObject", item) for item in cast("list[object]", listed) if isinstance(item, dict)] if listed else []
    )


def tools_of(metadata: dict[str, Any]) -> list[str]:
    """Return the tools that a task's agent has run."""
    tools = metadata.get("tools")
    return [str(tool) for tool in cast("list[object]", tools)] if isinstance(tools, list) else []


def agent_session(part: ToolPart) -> str:
    """Return the ID of the session in which a task's agent works; empty when there is none."""
    metadata: dict[str, Any] = getattr(part.state, "metadata", None) or {}
    return str(metadata.get("sessionId") or "") if row_of(part.tool).result == "agent" else ""


def answers_of(state: ToolStateCompleted) -> list[str]:
    """Return the answers to the questions of a call, each one safe line."""
    answers = cast("list[list[str]]", state.metadata.get("answers") or [])
    return [screen_line(", ".join(answer)) for answer in answers]


def fit_line(
    facts: Sequence[Fact], argument: str, room: int, *, is_path: bool, mark: str, separator: str
) -> tuple[Sequence[Fact], str]:
    """Return the facts that fit next to the argument, and the argument cut to what they leave of `room` cells.

    A path is cut at its front, all else at its end.
    """
    wanted = min(width(argument[:_MIN_ARGUMENT]), _MIN_ARGUMENT)
    shown = next((some for some in _shorter(facts) if room - _used(some, separator) >= wanted), ())
    cut = clip_front if is_path else clip
    return shown, cut(argument, max(1, room - _used(shown, separator)), mark)


def separated(facts: Sequence[Fact], separator: str) -> Iterator[tuple[str, Fact]]:
    """Yield each fact with the text before it; the time keeps a distance of two cells."""
    for number, fact in enumerate(facts):
        yield "" if not number else "  " if fact.is_time else " " if fact.is_joined else separator, fact


def _shorter(facts: Sequence[Fact]) -> Iterator[Sequence[Fact]]:
    """Yield fewer and shorter facts: words of counts go first, then the time, then the counts."""
    yield facts
    short = [fact if fact.is_time else replace(fact, text=fact.short) for fact in facts if fact.is_time or fact.short]
    yield short
    yield [fact for fact in short if not fact.is_time]


def _used(facts: Sequence[Fact], separator: str) -> int:
    return sum(len(before) + width(fact.text) for before, fact in separated(facts, separator)) + _GAP if facts else 0


def _command_facts(state: ToolStateCompleted) -> list[Fact]:
    code, where = exit_code(state), sandbox_of(state.metadata) or SandboxFacts()
    facts: list[Fact] = []
    if where.leaves and where.tier is not None:
        facts.append(Fact("outside", short="outside"))
    if where.undone:
        facts.append(Fact(f"undid {plural(len(where.undone), 'protected file')}", "warning", "undid"))
    if where.runs == "sandbox" and where.refused is not None:
        facts.append(Fact("blocked by the sandbox", "warning", "blocked"))
    elif limit := limit_of(state.metadata.get("limit")):
        facts.append(Fact(limit.words, "warning", "stopped"))
    elif code:
        text = "stopped" if code < 0 else f"exit {code}"
        facts.append(Fact(text, "warning", text))
    output = str(state.metadata.get("output") or "")
    if result := outcome_of_tests(output):
        return [*facts, Fact(result)]
    return facts if code else [*facts, *_line_facts(output, state)]


def _background_name(row: ToolRow, state: ToolStateCompleted) -> str:
    """Return the id under which a command, an agent or a call of an MCP server runs in the background; else nothing."""
    name = state.metadata.get("background")
    return name if isinstance(name, str) and (row.result in ("command", "agent") or "server" in state.metadata) else ""


def _background_facts(metadata: Mapping[str, object]) -> list[Fact]:
    """Return whether a background command or call still runs, else how it ended."""
    code = metadata.get("exit")
    if metadata.get("state") == "running":
        return [Fact("running", short="running")]
    if limit := limit_of(metadata.get("limit")):
        return [Fact(limit.words, "warning", "stopped")]
    if metadata.get("state") == "exited" and "tool" in metadata:
        return [Fact("failed", "warning", "failed") if metadata.get("failed") else Fact("done", short="done")]
    if metadata.get("state") == "stopped" or not isinstance(code, int):
        return [Fact("stopped", short="stopped")]
    return [Fact(f"exit {code}", "warning" if code else "muted", f"exit {code}")]


def refusal_text(state: ToolStateCompleted) -> str:
    """Return what the sandbox refused to a command and why the user was not asked; empty where they were. Not safe yet."""
    facts = sandbox_of(state.metadata)
    refused = facts.refused if facts is not None else None
    if refused is None or not refused.reason:
        return ""
    return refused.reason if refused.what in refused.reason else f"{refused.what} {refused.reason}"


def _program(command: object) -> str:
    for word in str(command or "").split():
        if not _ASSIGNMENT.match(word) and word not in _PREFIXES:
            return "command" if word in _SHELL_WORDS else _word(word.rpartition("/")[2])
    return "command"


def _base(path: object) -> str:
    return _word(str(path or "").rstrip("/").rpartition("/")[2]) or "a file"


def _word(text: object) -> str:
    return screen_line(str(text))[:_SHORT]


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _patched(state: ToolStateUnion) -> str:
    if not isinstance(state, ToolStateCompleted):
        return ""
    files: list[object] = state.metadata.get("files") or []
    names = [str(cast(JsonObject, file).get("relativePath", "")) for file in files if isinstance(file, dict)]
    return _line(", ".join(names) or state.title)


def _current_todo(part: ToolPart) -> str:
    """Return the todo that is in progress, else the next one; `all done` when none is left."""
    metadata: dict[str, Any] = getattr(part.state, "metadata", None) or {}
    todos = todos_of(metadata) or todos_of(part.state.input)
    for status in ("in_progress", "pending"):
        found = next((str(todo.get("content") or "") for todo in todos if todo.get("status") == status), "")
        if found:
            return " ".join(found.split())
    return "all done" if todos else ""


def _questions(given: JsonObject) -> str:
    asked: list[object] = given.get("questions") or []
    first = next((cast(JsonObject, one) for one in asked if isinstance(one, dict)), JsonObject())
    return _line(str(first.get("question") or first.get("header") or ""))


def _line(text: str) -> str:
    head, newline, rest = text.strip()[:_LONG].partition("\n")
    return screen_line(head.rstrip()) + (" …" if newline and rest.strip() else "")
