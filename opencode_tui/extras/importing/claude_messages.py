"""The messages of a Claude Code conversation, from its rows.

One response of the model is several rows, one for each block; calls get the results of later rows. What the program added for the
model is synthetic; what it only showed is ignored by requests.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from opencode_tui.engine.session.shell import REQUEST_TEXT
from opencode_tui.extras.importing.claude_calls import (
    INTERRUPTED,
    TASK_TOOLS,
    agent_of,
    apply_task,
    media_fields,
    open_tasks,
    outcome_of,
    todo_items,
)
from opencode_tui.extras.importing.claude_rows import NOTIFICATION, Conversation, Row, Tree
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
from opencode_tui.extras.importing.json_lines import JsonLines, as_count, as_objects, as_text
from opencode_tui.extras.importing.tool_names import map_arguments, map_tool
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.tool_state import ABORTED_TOOL

_PROVIDER = "anthropic"
_SYNTHETIC_MODEL = "<synthetic>"
_FINISH = {"tool_use": "tool-calls", "max_tokens": "length", "refusal": "content-filter"}
_TAG = re.compile(
    r"<(command-name|command-args|bash-input|bash-stdout|bash-stderr|local-command-stdout)>(.*?)</\1>", re.DOTALL
)
_COLOR = re.compile(r"\x1b?\[[0-9;]*m")
_SUMMARY_HEAD = re.compile(
    r"This session is being continued from a previous conversation[^\n]*\n+"
    r"(?:<system-reminder>(?s:.*?)</system-reminder>\s*)?"  # the tools that were used, since 2.1.332
    r"(?:Summary:\n)?"
)
_SUMMARY_TAIL = re.compile(
    r"(?<!\n)\n+(?:If you need specific details from before compaction|Please continue the conversation from).*",
    re.DOTALL,
)
_FILLER = "No response requested."
"""The program's own answer where a conversation goes on without one."""

_MENTIONED = frozenset(
    {"file", "already_read_file", "selected_lines_in_ide", "pdf_reference", "compact_file_reference", "directory"}
)
"""Kinds of attachments with a file that the model reads."""

_UNSENT = ("<system-reminder>", "<local-command-caveat>", "Caveat:")


@dataclass(slots=True)
class _Answer:
    """A response that is being collected; `calls` holds the ids of its calls."""

    source: str
    row: Row
    author: Author
    pieces: list[Piece]
    finish: str = ""
    completed: int = 0
    usage: Usage = field(default_factory=Usage)
    error: JsonObject | None = None
    has_calls: bool = False


class ClaudeMessages:
    """Yields the messages of one conversation; reads rows again from their file, so that few are in memory.

    `children` are the sessions of subagents by the id of their call and by their agent's id. `todos` is the newest list.
    """

    def __init__(
        self, tree: Tree, file: JsonLines, records: SessionRecords, children: Mapping[str, Child], agent: str = "build"
    ) -> None:
        self._tree = tree
        self._file = file
        self._records = records
        self._directory = records.directory
        self._children = children
        self._agent = agent
        self._model = "unknown"
        self._open: _Answer | None = None
        self._given: list[Piece] = []
        self._request: tuple[Row, list[Piece]] | None = None
        self._message_of: dict[str, str] = {}
        self._tail: str | None = None
        self._is_automatic = False
        self._dropped = 0
        self._command_line = ""
        self._tasks: dict[str, JsonObject] = {}

    def read(self, path: Conversation) -> Iterator[MessageWithParts]:
        """Yield the messages of a conversation, oldest first."""
        self._model = self._first_model(path)
        for at in path.rows:
            row = self._tree.rows[at]
            if row.kind == "other" or (row.kind == "user" and row.results and not row.is_prompt):
                continue
            value = self._file.at(row.offset, row.size)
            match row.kind:
                case "assistant":
                    yield from self._assistant(row, value)
                case "user":
                    yield from self._user(row, value)
                case "attachment":
                    yield from self._attachment(row, as_object(value.get("attachment")))
                case _:
                    yield from self._system(row, value)
        yield from self._flush()
        if self._dropped:
            self._file.report(
                self._tree.rows[path.rows[0]].line,
                f"encrypted thoughts are left out, only their program can read them: {self._dropped}",
            )

    def _first_model(self, path: Conversation) -> str:
        """Return the model of the first answer, for requests before it."""
        for at in path.rows:
            row = self._tree.rows[at]
            if row.kind == "assistant":
                model = _model(as_object(self._file.at(row.offset, row.size).get("message")))
                if model:
                    return model
        return "unknown"

    # Answers.

    def _assistant(self, row: Row, value: JsonObject) -> Iterator[MessageWithParts]:
        message = as_object(value.get("message"))
        if self._open is None or self._open.source != row.answer:
            yield from self._flush()
            if self._records.needs_request():
                yield from self._beginning(row)
            self._model = _model(message) or self._model
            self._open = _Answer(row.answer, row, Author(_PROVIDER, self._model, self._agent), self._given)
            self._given = []
        answer = self._open
        self._message_of[row.uuid] = row.answer
        answer.completed = max(answer.completed, row.time)
        answer.usage = _usage(as_object(message.get("usage")), value.get("costUSD")) or answer.usage
        reason = as_text(message.get("stop_reason"))
        answer.finish = _FINISH.get(reason, "stop") if reason else answer.finish
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_objects(content)
        if value.get("isApiErrorMessage") is True:
            text = "\n".join(as_text(block.get("text")) for block in blocks)
            answer.error = {
                "name": "APIError",
                "data": {"message": text or "The model could not be reached.", "isRetryable": False},
            }
            return
        is_filler = as_text(message.get("model")) == _SYNTHETIC_MODEL and any(
            one.get("text") == _FILLER for one in blocks
        )
        for number, block in enumerate(blocks):
            fields = self._block(row, block, is_filler=is_filler)
            if fields is not None:
                answer.pieces.append(Piece(f"{row.uuid}.{number}", row.line, row.time, fields))
                answer.has_calls |= fields["type"] == "tool"

    def _block(self, row: Row, block: JsonObject, *, is_filler: bool) -> JsonObject | None:
        match block.get("type"):
            case "text":
                text = as_text(block.get("text"))
                return text_fields(text, row.time, synthetic=is_filler, ignored=is_filler) if text.strip() else None
            case "thinking":
                text = as_text(block.get("thinking"))
                self._dropped += not text.strip()
                return thought_fields(text, row.time) if text.strip() else None
            case "redacted_thinking":
                self._dropped += 1
                return None
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                return self._call(row, block)
            case kind:
                self._file.report(row.line, f"a block of type {as_text(kind)[:40]!r} is left out")
                return None

    def _call(self, row: Row, block: JsonObject) -> JsonObject:
        call_id = as_text(block.get("id")) or row.uuid
        tool = map_tool(as_text(block.get("name")) or "unknown")
        given = map_arguments(tool, as_object(block.get("input")))
        if tool == "task":
            given = {**given, "subagent_type": agent_of(as_text(given.get("subagent_type")))}
        at = self._tree.results.get(call_id)
        if at is None:
            return call_fields(call_id, tool, given, row.time, self._of_task(call_id, tool, None))
        result = self._tree.rows[at]
        value = self._file.at(result.offset, result.size)
        blocks = as_objects(as_object(value.get("message")).get("content"))
        own = next((one for one in blocks if one.get("tool_use_id") == call_id), JsonObject())
        details = value.get("toolUseResult")
        if tool in TASK_TOOLS:
            tool, given = self._plan(tool, given, as_object(details))
        outcome = outcome_of(tool, given, own, details, result.time, self._directory)
        if tool == "task":
            outcome = self._of_task(call_id, tool, outcome, as_text(as_object(details).get("agentId"))) or outcome
        return call_fields(call_id, tool, given, row.time, outcome)

    def _plan(self, tool: str, given: JsonObject, details: JsonObject) -> tuple[str, JsonObject]:
        """Return a call that changes or lists tasks as one of our todo list: with all todos, as they are after it."""
        if tool not in ("TaskCreate", "TaskUpdate"):
            return "todoread", {"todos": todo_items(list(self._tasks.values()))}
        apply_task(self._tasks, tool, given, details)
        return "todowrite", {"todos": todo_items(open_tasks(self._tasks))}

    def _of_task(self, call_id: str, tool: str, outcome: Outcome | None, agent_id: str = "") -> Outcome | None:
        """Return the outcome of a task with its child session; None for an interrupted call without one."""
        child = self._children.get(call_id) or self._children.get(agent_id)
        if child is None or tool != "task" or outcome is None:
            return outcome
        return child.outcome(outcome)

    def _flush(self) -> Iterator[MessageWithParts]:
        """Yield what is being collected: a request, or an answer."""
        if self._request is not None:
            row, pieces = self._request
            self._request = None
            message = self._records.request(_origin(row), Author(_PROVIDER, self._model, self._agent), pieces)
            if message is not None:
                self._message_of[row.uuid] = message.info.id
                yield message
        answer, self._open = self._open, None
        if answer is None:
            return
        finish = "tool-calls" if answer.has_calls else answer.finish or "stop"
        origin = Origin(answer.source, answer.row.line, answer.row.time)
        ending = Ending("" if answer.error else finish, answer.completed, answer.usage, answer.error)
        message = self._records.answer(origin, answer.author, answer.pieces, ending)
        if message is not None:
            self._message_of[answer.source] = message.info.id
            yield message

    # Requests.

    def _user(self, row: Row, value: JsonObject) -> Iterator[MessageWithParts]:
        content = as_object(value.get("message")).get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_objects(content)
        text = "\n".join(as_text(block.get("text")) for block in blocks if block.get("type") == "text")
        if value.get("isCompactSummary") is True:
            yield from self._summary(row, text)
        elif text.startswith(INTERRUPTED):
            if self._open is not None:
                self._open.error = interruption()
                if as_text(value.get("interruptedMessageId")):
                    self._open.pieces = [_interrupted(piece) for piece in self._open.pieces]
            yield from self._flush()
        elif value.get("isMeta") is True:
            yield from self._note(row, text, is_sent=not text.lstrip().startswith(_UNSENT))
        elif text.startswith(NOTIFICATION):
            yield from self._note(row, text, is_sent=True)
        elif text.lstrip().startswith("<bash-"):
            yield from self._shell(row, dict(_TAG.findall(text)))
        elif text.lstrip().startswith(("<command-", "<local-command-")):
            yield from self._command(row, text)
        else:
            yield from self._prompt(row, blocks)

    def _prompt(self, row: Row, blocks: Sequence[JsonObject]) -> Iterator[MessageWithParts]:
        yield from self._flush()
        pieces, self._given = self._given, []
        for number, block in enumerate(blocks):
            text = as_text(block.get("text"))
            fields = text_fields(text, row.time) if block.get("type") == "text" and text else media_fields(block)
            if fields is not None:
                pieces.append(Piece(f"{row.uuid}.{number}", row.line, row.time, fields))
        self._request = (row, pieces)

    def _note(self, row: Row, text: str, *, is_sent: bool) -> Iterator[MessageWithParts]:
        """Keep a text that the program added: with the request before it, with the answer, or before what comes next."""
        if not text.strip():
            return
        piece = Piece(row.uuid, row.line, row.time, text_fields(text, row.time, synthetic=True, ignored=not is_sent))
        if self._request is not None:
            self._request[1].append(piece)
        elif is_sent:
            yield from self._flush()
            self._request = (row, [piece])
        elif self._open is not None:
            self._open.pieces.append(piece)
        else:
            self._given.append(piece)

    def _command(self, row: Row, text: str) -> Iterator[MessageWithParts]:
        """Keep a command of the program and what it printed; the text that it sends to the model is a row of its own."""
        tags = dict(_TAG.findall(text))
        name, arguments = tags.get("command-name", "").strip(), tags.get("command-args", "").strip()
        shown = f"{name} {arguments}".strip() if name else _COLOR.sub("", tags.get("local-command-stdout", "")).strip()
        if not shown:
            return
        is_sent = text.lstrip().startswith("<command-message>")  # commands that ask the model put their name second
        fields = text_fields(shown, row.time, synthetic=not is_sent, ignored=not is_sent)
        piece = Piece(row.uuid, row.line, row.time, fields)
        if not name and self._request is not None:
            self._request[1].append(piece)
            return
        yield from self._flush()
        pieces, self._given = self._given, []
        self._request = (row, [*pieces, piece])

    def _shell(self, row: Row, tags: Mapping[str, str]) -> Iterator[MessageWithParts]:
        """Yield a command line of the user, as ours is stored: a synthetic request and a call without a step."""
        yield from self._flush()
        author = Author(_PROVIDER, self._model, self._agent)
        if "bash-input" in tags:
            self._request = (
                row,
                [Piece(row.uuid, row.line, row.time, text_fields(REQUEST_TEXT, row.time, synthetic=True))],
            )
            yield from self._flush()
            self._command_line = tags["bash-input"]
            return
        output = "\n".join(text for text in (tags.get("bash-stdout", ""), tags.get("bash-stderr", "")) if text)
        given: JsonObject = {"command": self._command_line, "description": ""}
        outcome = Outcome(output, row.time, metadata={"output": output})
        fields = call_fields(f"call_{row.uuid}", "bash", given, row.time, outcome)
        piece = Piece(row.uuid, row.line, row.time, fields)
        message = self._records.answer(_origin(row), author, [piece], Ending("", row.time, by_user=True))
        if message is not None:
            yield message

    def _beginning(self, row: Row) -> Iterator[MessageWithParts]:
        """Yield a request for answers without one."""
        piece = Piece(
            f"{row.uuid}.beginning", row.line, row.time, text_fields(UNKNOWN_BEGINNING, row.time, synthetic=True)
        )
        author = Author(_PROVIDER, self._model, self._agent)
        message = self._records.request(_origin(row, ".beginning"), author, [piece])
        if message is not None:
            yield message

    # Attachments, and what the program did.

    def _attachment(self, row: Row, attachment: JsonObject) -> Iterator[MessageWithParts]:
        kind = as_text(attachment.get("type"))
        if row.is_prompt:
            prompt = attachment.get("prompt")
            blocks = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else as_objects(prompt)
            yield from self._prompt(row, blocks)
        elif kind in _MENTIONED:
            yield from self._note(row, _file_text(attachment), is_sent=True)
        elif (notice := as_text(attachment.get("prompt"))).startswith(NOTIFICATION):  # during a turn
            yield from self._note(row, notice, is_sent=True)
        else:
            yield from self._note(row, f"{kind}: {_plain(attachment)}", is_sent=False)

    def _system(self, row: Row, value: JsonObject) -> Iterator[MessageWithParts]:
        if row.is_boundary:
            yield from self._flush()
            about = as_object(value.get("compactMetadata"))
            head = as_text(as_object(about.get("preservedSegment")).get("headUuid"))
            kept = self._message_of.get(head, "")
            self._tail = self._message_of.get(kept, kept) or None
            self._is_automatic = about.get("trigger") == "auto"
        elif value.get("subtype") == "local_command":
            yield from self._command(row, as_text(value.get("content")))

    def _summary(self, row: Row, text: str) -> Iterator[MessageWithParts]:
        """Yield the marker of a compaction and its summary."""
        yield from self._flush()
        tail, self._tail = self._tail, None
        summary = _SUMMARY_TAIL.sub("", _SUMMARY_HEAD.sub("", text)).strip() or text.strip() or UNKNOWN_BEGINNING
        author = Author(_PROVIDER, self._model, self._agent)
        yield from self._records.compaction(
            _origin(row), author, summary, is_automatic=self._is_automatic, tail_id=tail
        )


def _interrupted(piece: Piece) -> Piece:
    """Return a call that was stopped while it ran, which Claude Code stores as one that the user rejected."""
    state = as_object(piece.fields.get("state"))
    if as_object(state.get("metadata")).get("stopReason") != "rejected":
        return piece
    time = as_object(state.get("time"))
    stopped = Outcome(ABORTED_TOOL, as_count(time.get("end")), is_error=True, stop_reason="interrupted")
    call_id, tool = as_text(piece.fields.get("callID")), as_text(piece.fields.get("tool"))
    fields = call_fields(call_id, tool, as_object(state.get("input")), as_count(time.get("start")), stopped)
    return Piece(piece.source, piece.line, piece.time, fields)


def _origin(row: Row, suffix: str = "") -> Origin:
    return Origin(row.uuid + suffix, row.line, row.time)


def newest_todos(tree: Tree, path: Conversation, file: JsonLines) -> list[JsonObject]:
    """Return the todo list as a conversation left it."""
    tasks: dict[str, JsonObject] = {}
    todos: list[JsonObject] = []
    for at in path.rows:
        row = tree.rows[at]
        if not any(name in ("TodoWrite", "TaskCreate", "TaskUpdate") for _, name in row.calls):
            continue
        for block in as_objects(as_object(file.at(row.offset, row.size).get("message")).get("content")):
            given, result = as_object(block.get("input")), tree.results.get(as_text(block.get("id")))
            if block.get("name") == "TodoWrite":
                todos = todo_items(given.get("todos"))
            elif result is not None:
                found = file.at(tree.rows[result].offset, tree.rows[result].size).get("toolUseResult")
                apply_task(tasks, as_text(block.get("name")), given, as_object(found))
    return todo_items(open_tasks(tasks)) or todos


def _model(message: JsonObject) -> str:
    name = as_text(message.get("model"))
    return "" if name == _SYNTHETIC_MODEL else name.partition("[")[0]


def _usage(given: JsonObject, cost: object) -> Usage | None:
    if not given:
        return None
    return Usage(
        input=as_count(given.get("input_tokens")),
        output=as_count(given.get("output_tokens")),
        cache_read=as_count(given.get("cache_read_input_tokens")),
        cache_write=as_count(given.get("cache_creation_input_tokens")),
        cost=float(cost) if isinstance(cost, int | float) and 0 <= cost < 1e6 else 0.0,
    )


def _file_text(attachment: JsonObject) -> str:
    """Return the text of a file that the user mentioned, or that was read again after a compaction."""
    content = as_object(attachment.get("content"))
    file = as_object(content.get("file"))
    name = as_text(attachment.get("filename")) or as_text(attachment.get("path")) or as_text(file.get("filePath"))
    text = as_text(file.get("content")) or as_text(attachment.get("content"))
    return f"Contents of {name}:\n{text}" if text else f"The user mentioned {name}"


def _plain(attachment: JsonObject) -> str:
    content = attachment.get("content")
    return content if isinstance(content, str) else ", ".join(str(key) for key in attachment if key != "type")
