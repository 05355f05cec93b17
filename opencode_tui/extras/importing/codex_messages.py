"""The messages of a Codex conversation, from its items. A step ends where the next item follows the outputs of its calls."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from opencode_tui.engine.session.shell import REQUEST_TEXT
from opencode_tui.extras.importing.codex_calls import (
    call_of,
    media_of,
    outcome_of,
    patch_in,
    reported_changes,
    todos_of,
)
from opencode_tui.extras.importing.codex_items import CALLS, Item, Items, Thread, is_synthetic
from opencode_tui.extras.importing.conversation import (
    UNKNOWN_BEGINNING,
    Author,
    Child,
    Ending,
    Origin,
    Outcome,
    Piece,
    SessionRecords,
    Usage,
    call_fields,
    interruption,
    text_fields,
    thought_fields,
)
from opencode_tui.extras.importing.json_lines import as_count, as_objects, as_text, decode_object
from opencode_tui.extras.importing.source import Problem
from opencode_tui.extras.importing.tool_names import map_tool
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts

_SUMMARY_HEAD = re.compile(r"Another language model started to solve this problem.*?own analysis:\s*", re.DOTALL)
_SHELL = re.compile(r"<command>\n?(.*?)\n?</command>.*?<result>\n(.*?)\n?</result>", re.DOTALL)
_SHELL_EXIT = re.compile(r"Exit code: (-?\d{1,3})")
_UNSENT = frozenset({"ghost_snapshot", "other", "compaction_trigger", "additional_tools", "agent_message"})
_MODES = {"plan": "plan"}


@dataclass(slots=True)
class _Answer:
    """A step that is being collected."""

    origin: Origin
    author: Author
    pieces: list[Piece]
    completed: int
    usage: Usage = field(default_factory=Usage)
    error: JsonObject | None = None
    has_calls: bool = False
    is_ended: bool = False


class CodexMessages:
    """Yields the messages of one conversation. `children` are the sessions of subagents by their thread's id."""

    def __init__(
        self, found: Items, records: SessionRecords, problems: list[Problem], children: Mapping[str, Child]
    ) -> None:
        self._found = found
        self._records = records
        self._problems = problems
        self._children = children
        self._provider = found.facts.provider or "openai"
        self._model = "unknown"
        self._agent = "build" if not found.facts.parent else found.facts.agent or "general"
        self._mode = self._agent
        self._open: _Answer | None = None
        self._notes: list[Piece] = []
        self._dropped = 0
        self._path = records.path

    def read(self, thread: Thread) -> Iterator[MessageWithParts]:
        """Yield the messages of a conversation, oldest first."""
        summaries = self._summaries(thread)
        self._model = self._first_model(thread)
        for at in thread.items:
            item = self._found.items[at]
            if at in summaries:
                continue
            payload = self._found.payload(item)
            match item.kind:
                case "turn_context":
                    self._turn(payload)
                case "token_usage_record" | "event_msg":
                    self._event(item, payload)
                case "compacted":
                    yield from self._compacted(item, payload)
                case _:
                    yield from self._item(item, payload)
        yield from self._flush()
        if self._notes:
            yield from self._request(self._found.items[thread.items[-1]], [])
        if self._dropped:
            reason = f"encrypted thoughts are left out, only their program can read them: {self._dropped}"
            self._problems.append(Problem(self._path, "", reason))

    def _first_model(self, thread: Thread) -> str:
        for at in thread.items:
            if self._found.items[at].kind == "turn_context":
                return as_text(self._found.payload(self._found.items[at]).get("model")) or "unknown"
        return "unknown"

    def _summaries(self, thread: Thread) -> set[int]:
        """Return the answers that a compaction has as its summary: they are not part of the talk."""
        summaries: set[int] = set()
        last: int | None = None
        for at in thread.items:
            item = self._found.items[at]
            if item.kind == "response_item" and item.type == "message":
                last = at
            elif item.kind == "compacted" and last is not None:
                payload = self._found.payload(self._found.items[last])
                text = _joined(payload)
                if (
                    payload.get("role") == "assistant"
                    and text
                    and text in as_text(self._found.payload(item).get("message"))
                ):
                    summaries.add(last)
        return summaries

    # Turns and what is reported of them.

    def _turn(self, payload: JsonObject) -> None:
        self._model = as_text(payload.get("model")) or self._model
        mode = as_text(as_object(payload.get("collaboration_mode")).get("mode"))
        self._mode = _MODES.get(mode, self._agent)

    def _event(self, item: Item, payload: JsonObject) -> None:
        if item.type == "turn_aborted":
            if self._open is not None:
                self._open.error = interruption()
            return
        usage = as_object(payload.get("usage")) or as_object(as_object(payload.get("info")).get("last_token_usage"))
        if usage and self._open is not None:
            self._open.usage = _usage(usage)

    def _compacted(self, item: Item, payload: JsonObject) -> Iterator[MessageWithParts]:
        """Yield the marker of a compaction and its summary; one that only its service can read is left out."""
        yield from self._flush()
        summary = _SUMMARY_HEAD.sub("", as_text(payload.get("message"))).strip()
        if not summary:
            reason = "an encrypted summary is left out; the messages before it are sent in full"
            self._problems.append(Problem(self._path, str(item.line), reason))
            return
        yield from self._records.compaction(self._origin(item), self._author(), summary)

    # Items.

    def _item(self, item: Item, payload: JsonObject) -> Iterator[MessageWithParts]:
        match item.type:
            case "message" if payload.get("role") == "assistant":
                text = _joined(payload)
                if text.strip():
                    yield from self._add(item, text_fields(text, item.time))
            case "message":
                yield from self._message(item, payload)
            case "reasoning":
                yield from self._reasoning(item, payload)
            case kind if kind in CALLS:
                yield from self._add(item, self._call(item, payload), is_call=True)
            case "web_search_call" | "image_generation_call" | "tool_search_call":
                yield from self._add(item, self._provided(item, payload), is_call=True)
            case kind if kind.endswith("_output"):
                if self._open is not None:
                    self._open.is_ended = True
                    self._open.completed = max(self._open.completed, item.time)
            case "compaction" | "compaction_summary" | "context_compaction":
                self._dropped += 1
            case kind if kind not in _UNSENT:
                self._problems.append(Problem(self._path, str(item.line), f"an item of type {kind[:40]!r} is left out"))
            case _:
                pass

    def _reasoning(self, item: Item, payload: JsonObject) -> Iterator[MessageWithParts]:
        blocks = [*as_objects(payload.get("summary")), *as_objects(payload.get("content"))]
        text = "\n\n".join(as_text(block.get("text")) for block in blocks if as_text(block.get("text")).strip())
        self._dropped += bool(as_text(payload.get("encrypted_content")))
        if text:
            yield from self._add(item, thought_fields(text, item.time))

    def _call(self, item: Item, payload: JsonObject) -> JsonObject:
        tool, given = call_of(payload)
        reported = self._found.changes.get(item.call_id)
        changes = (
            reported_changes(self._found.payload(reported), self._records.directory) if reported is not None else []
        )
        patch = patch_in(given.get("command")) if tool == "bash" else ""
        if patch and changes:
            tool, given = "apply_patch", {"patchText": patch}
        output = self._found.outputs.get(item.call_id)
        outcome: Outcome | None = None
        if output is not None:
            found = self._found.payload(output)
            outcome = outcome_of(tool, given, found, changes, output.time, self._records.directory)
            if tool == "task" and not outcome.is_error:
                outcome = self._of_task(found, outcome)
        return call_fields(item.call_id or self._name(item), tool, given, item.time, outcome)

    def _of_task(self, output: JsonObject, outcome: Outcome) -> Outcome:
        """Return the outcome of a task with its child session."""
        value = decode_object(as_text(output.get("output")).encode("utf-8", "replace"))
        child = self._children.get(as_text(as_object(value).get("agent_id")))
        return outcome if child is None else child.outcome(outcome)

    def _provided(self, item: Item, payload: JsonObject) -> JsonObject:
        """Return a call that the model's provider carried out itself."""
        action = as_object(payload.get("action"))
        given = {key: value for key, value in action.items() if key != "type"} or {
            "query": as_text(payload.get("query"))
        }
        tool = map_tool(item.type).removesuffix("_call")
        outcome = Outcome("The provider of the model ran this itself; its result was not recorded.", item.time)
        return call_fields(f"call_{self._name(item)}", tool, given, item.time, outcome)

    def _message(self, item: Item, payload: JsonObject) -> Iterator[MessageWithParts]:
        """Collect a text of the program, or yield a request of the user."""
        content = payload.get("content")
        blocks: list[JsonObject] = [{"text": content}] if isinstance(content, str) else as_objects(content)
        pieces: list[Piece] = []
        is_prompt = False
        for number, block in enumerate(blocks):
            text = as_text(block.get("text"))
            if text.lstrip().startswith("<user_shell_command>"):
                yield from self._shell(item, text)
                continue
            is_own = payload.get("role") == "user" and not is_synthetic(text)
            if text.strip().startswith(("<image", "</image>")):
                continue
            media = media_of(block)
            fields = (
                media if media is not None else text_fields(text, item.time, synthetic=not is_own, ignored=not is_own)
            )
            if media is None and not text:
                continue
            is_prompt |= is_own
            pieces.append(Piece(f"{self._name(item)}.{number}", item.line, item.time, fields))
        if is_prompt:
            yield from self._flush()
            yield from self._request(item, pieces)
        else:
            self._notes += pieces

    def _request(self, item: Item, pieces: Sequence[Piece]) -> Iterator[MessageWithParts]:
        notes, self._notes = self._notes, []
        message = self._records.request(self._origin(item), self._author(), [*notes, *pieces])
        if message is not None:
            yield message

    def _shell(self, item: Item, text: str) -> Iterator[MessageWithParts]:
        """Yield a command line of the user, as ours is stored: a synthetic request and a call without a step."""
        found = _SHELL.search(text)
        if found is None:
            return
        yield from self._flush()
        name = self._name(item)
        asked = Piece(f"{name}.asked", item.line, item.time, text_fields(REQUEST_TEXT, item.time, synthetic=True))
        message = self._records.request(Origin(f"{name}.asked", item.line, item.time), self._author(), [asked])
        code = _SHELL_EXIT.search(found[2])
        output = found[2].partition("Output:\n")[2] or found[2]
        shown: JsonObject = {"output": output} | ({"exit": int(code[1])} if code else {})
        given: JsonObject = {"command": found[1], "description": ""}
        fields = call_fields(f"call_{name}", "bash", given, item.time, Outcome(output, item.time, metadata=shown))
        answer = self._records.answer(
            self._origin(item),
            self._author(),
            [Piece(name, item.line, item.time, fields)],
            Ending("", item.time, by_user=True),
        )
        yield from (one for one in (message, answer) if one is not None)

    # Steps.

    def _add(self, item: Item, fields: JsonObject, *, is_call: bool = False) -> Iterator[MessageWithParts]:
        """Add a part to the open step; the first one after the outputs of its calls begins the next step."""
        if self._open is None or self._open.is_ended:
            yield from self._flush()
            if self._records.needs_request():
                text = text_fields(UNKNOWN_BEGINNING, item.time, synthetic=True)
                yield from self._request(item, [Piece(f"{self._name(item)}.beginning", item.line, item.time, text)])
            self._open = _Answer(self._origin(item), self._author(), self._notes, item.time)
            self._notes = []
        self._open.pieces.append(Piece(self._name(item), item.line, item.time, fields))
        self._open.has_calls |= is_call
        self._open.completed = max(self._open.completed, item.time)

    def _flush(self) -> Iterator[MessageWithParts]:
        answer, self._open = self._open, None
        if answer is None:
            return
        finish = "" if answer.error else "tool-calls" if answer.has_calls else "stop"
        ending = Ending(finish, answer.completed, answer.usage, answer.error)
        message = self._records.answer(answer.origin, answer.author, answer.pieces, ending)
        if message is not None:
            yield message

    def _author(self) -> Author:
        return Author(self._provider, self._model, self._mode)

    def _origin(self, item: Item) -> Origin:
        return Origin(self._name(item), item.line, item.time)

    @staticmethod
    def _name(item: Item) -> str:
        """Return the name of an item within its session; lines of a file never change."""
        return f"{item.file}.{item.line}"


def newest_todos(found: Items, thread: Thread) -> list[JsonObject]:
    """Return the newest plan of a conversation as todos."""
    for at in reversed(thread.items):
        item = found.items[at]
        if item.type == "function_call":
            payload = found.payload(item)
            if payload.get("name") == "update_plan":
                given = decode_object(as_text(payload.get("arguments")).encode("utf-8", "replace"))
                return todos_of(as_object(given))
    return []


def _joined(payload: JsonObject) -> str:
    content = payload.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(as_text(block.get("text")) or as_text(block.get("refusal")) for block in as_objects(content))


def _usage(given: JsonObject) -> Usage:
    total, cached, written = (
        as_count(given.get(key)) for key in ("input_tokens", "cached_input_tokens", "cache_write_input_tokens")
    )
    return Usage(
        input=max(0, total - cached - written),
        output=as_count(given.get("output_tokens")),
        reasoning=as_count(given.get("reasoning_output_tokens")),
        cache_read=min(cached, total),
        cache_write=written,
    )
