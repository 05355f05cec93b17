"""Builds the messages of an imported session in order: their ids, times, steps, and the calls in them."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.tool.builtin.task import task_output
from opencode_tui.engine.tool.edit.diff import TextDiff
from opencode_tui.engine.tool.edit.file_editor import shown_texts
from opencode_tui.extras.importing.ids import DerivedIds
from opencode_tui.extras.importing.source import Problem, check_message
from opencode_tui.schema.error import RejectedError
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import CompactionPart
from opencode_tui.schema.session.stored_error import aborted
from opencode_tui.schema.session.tool_state import ABORTED_TOOL, NO_DETAILS, ErrorDetails, details_of

UNKNOWN_BEGINNING = "The beginning of this session is not available."
NOT_RECORDED = "it was made in another program, which keeps its earlier state"
"""Why undo does not cover an imported edit."""


class Piece(Struct, frozen=True):
    """A part without its ids: where it is from (for its id and for problems), when it was made, and its fields."""

    source: str
    line: int
    time: int
    fields: JsonObject


class Origin(Struct, frozen=True):
    """Where a message is from: its name in the session, its line, and when it was made."""

    source: str
    line: int
    time: int


class Author(Struct, frozen=True):
    """The agent and model of a message."""

    provider_id: str
    model_id: str
    agent: str = "build"


class Usage(Struct, frozen=True):
    """What a step cost: tokens (`input` without cached ones, `output` with the reasoning) and USD."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0

    @property
    def fields(self) -> JsonObject:
        """The record of the tokens."""
        return {
            "input": self.input,
            "output": self.output,
            "reasoning": self.reasoning,
            "cache": {"read": self.cache_read, "write": self.cache_write},
        }


class Ending(Struct, frozen=True):
    """How a step ended: its finish reason (empty for none), when, what it cost, its error.

    `is_summary`: a compaction wrote it; `by_user`: it is a command of the user, without a step.
    """

    finish: str
    completed: int
    usage: Usage = Usage()
    error: JsonObject | None = None
    is_summary: bool = False
    by_user: bool = False


class SessionRecords:
    """Makes the messages of a session in the order of the calls; `path` is its file, `directory` where it runs."""

    def __init__(self, session_id: str, directory: str, path: str, problems: list[Problem]) -> None:
        self.session_id = session_id
        self.directory = directory
        self.path = path
        self._problems = problems
        self._ids = DerivedIds(session_id)
        self._parent = ""

    def request(self, origin: Origin, author: Author, pieces: Sequence[Piece]) -> MessageWithParts | None:
        """Return a message of the user; None when it is not valid."""
        message_id = self._ids.message(origin.source, origin.time)
        info: JsonObject = {
            **self._named(message_id, "user", author.agent),
            "time": {"created": origin.time},
            "model": {"providerID": author.provider_id, "modelID": author.model_id},
        }
        message = self._checked(info, origin.line, pieces)
        if message is not None:
            self._parent = message_id
        return message

    def answer(
        self, origin: Origin, author: Author, pieces: Sequence[Piece], ending: Ending
    ) -> MessageWithParts | None:
        """Return one step of an answer; None when it is not valid."""
        source, line, time = origin.source, origin.line, origin.time
        message_id = self._ids.message(source, time)
        info: JsonObject = {
            **self._named(message_id, "assistant", author.agent),
            "parentID": self._parent,
            "providerID": author.provider_id,
            "modelID": author.model_id,
            "mode": author.agent,
            "path": {"cwd": self.directory, "root": self.directory},
            "time": {"created": time, "completed": max(time, ending.completed)},
            "cost": ending.usage.cost,
            "tokens": ending.usage.fields,
        }
        info |= {"finish": ending.finish} if ending.finish else {}
        info |= {"error": ending.error} if ending.error else {}
        info |= {"summary": True} if ending.is_summary else {}
        if not ending.by_user:
            cost: JsonObject = {"tokens": info["tokens"], "cost": info["cost"]}
            end: JsonObject = {"type": "step-finish", "reason": ending.finish, **cost}
            pieces = [
                Piece(f"{source}.start", line, time, {"type": "step-start"}),
                *pieces,
                *([Piece(f"{source}.finish", line, ending.completed, end)] if ending.finish else []),
            ]
        return self._checked(info, line, pieces)

    def compaction(
        self, origin: Origin, author: Author, summary: str, *, is_automatic: bool = False, tail_id: str | None = None
    ) -> list[MessageWithParts]:
        """Return the marker of a compaction and its summary; `tail_id` is the first message that is still sent whole."""
        source, line, time = f"{origin.source}.marker", origin.line, origin.time
        fields = _marker_fields(is_automatic=is_automatic, tail_id=tail_id)
        marker = self.request(Origin(source, line, time), author, [Piece(source, line, time, fields)])
        piece = Piece(origin.source, line, time, text_fields(summary, time))
        writer = Author(author.provider_id, author.model_id, "compaction")
        answer = self.answer(origin, writer, [piece], Ending("stop", time, is_summary=True))
        return [message for message in (marker, answer) if message is not None]

    def needs_request(self) -> bool:
        """Return whether no message of the user precedes what comes next."""
        return not self._parent

    def _named(self, message_id: str, role: str, agent: str) -> JsonObject:
        return {"id": message_id, "sessionID": self.session_id, "role": role, "agent": agent}

    def _checked(self, info: JsonObject, line: int, pieces: Sequence[Piece]) -> MessageWithParts | None:
        parts = [
            (
                str(piece.line),
                {
                    "id": self._ids.part(piece.source, piece.time),
                    "sessionID": self.session_id,
                    "messageID": info["id"],
                    **piece.fields,
                },
            )
            for piece in pieces
        ]
        return check_message(info, parts, path=self.path, line=str(line), problems=self._problems)


def _marker_fields(*, is_automatic: bool, tail_id: str | None) -> JsonObject:
    marker = CompactionPart(id="", session_id="", message_id="", auto=is_automatic, tail_id=tail_id)
    return {key: value for key, value in marker.to_dict().items() if key not in ("id", "sessionID", "messageID")}


def text_fields(text: str, time: int, *, synthetic: bool = False, ignored: bool = False) -> JsonObject:
    """Return a part of text."""
    fields: JsonObject = {"type": "text", "text": text, "time": {"start": time, "end": time}}
    return fields | ({"synthetic": True} if synthetic else {}) | ({"ignored": True} if ignored else {})


def thought_fields(text: str, time: int) -> JsonObject:
    """Return reasoning as text only: without a signature it is shown, and never sent."""
    return {"type": "reasoning", "text": text, "time": {"start": time, "end": time}}


def interruption() -> JsonObject:
    """Return the error of an answer that the user interrupted."""
    return aborted().to_dict()


# The states of calls.


class Outcome(Struct, frozen=True):
    """What came of a call: the text that the model read, and when. `metadata` is for the screen."""

    text: str
    time: int
    title: str = ""
    metadata: JsonObject = {}
    attachments: Sequence[JsonObject] = ()
    is_error: bool = False
    stop_reason: str = ""
    details: ErrorDetails = NO_DETAILS


def rejection(time: int, feedback: str = "") -> Outcome:
    """Return the outcome of a call that the user rejected, with what they said."""
    error = RejectedError(feedback or None)
    return Outcome(str(error), time, is_error=True, stop_reason="rejected", details=details_of(error))


class Child(Struct, frozen=True):
    """A subagent's session: its id here, and the tools that it called."""

    session_id: str
    tools: Sequence[str] = ()

    def outcome(self, outcome: Outcome) -> Outcome:
        """Return the outcome of the call that started the subagent with its session, as our tool `task` gives it."""
        shown: JsonObject = {**outcome.metadata, "sessionId": self.session_id, "tools": list(self.tools)}
        text = outcome.text if outcome.is_error else task_output(self.session_id, outcome.text)
        return replace(outcome, text=text, metadata=shown)


def call_fields(call_id: str, tool: str, given: JsonObject, start: int, outcome: Outcome | None) -> JsonObject:
    """Return a call with its final state; without an outcome it was interrupted."""
    if outcome is None:
        outcome = Outcome(ABORTED_TOOL, start, is_error=True, stop_reason="interrupted")
    time = {"start": start, "end": max(start, outcome.time)}
    state: JsonObject
    if outcome.is_error:
        reason = {"stopReason": outcome.stop_reason} if outcome.stop_reason else {}
        metadata = {**outcome.metadata, **reason}
        state = {"status": "error", "error": outcome.text, "metadata": metadata, **outcome.details.to_dict()}
    else:
        state = {"status": "completed", "output": outcome.text, "title": outcome.title, "metadata": outcome.metadata}
        state |= {"attachments": list(outcome.attachments)} if outcome.attachments else {}
    return {"type": "tool", "callID": call_id, "tool": tool, "state": {**state, "input": given, "time": time}}


def file_fields(data_url: str, mime: str, name: str) -> JsonObject:
    """Return an attachment of data."""
    return {"type": "file", "mime": mime, "url": data_url, "filename": name}


# Edits, as our tools describe them.


def edit_metadata(path: str, before: str, after: str, diff: TextDiff) -> JsonObject:
    """Return the metadata of an edit of one file. Both texts may be empty where they are not known."""
    before, after = shown_texts(before, after)
    change = {"file": path, "before": before, "after": after, "additions": diff.additions, "deletions": diff.deletions}
    return {"diff": diff.text, "diagnostics": {}, "filediff": change, "unprotected": f"{path}: {NOT_RECORDED}"}


def patch_metadata(changes: Sequence[tuple[str, str, str, TextDiff]], root: str) -> JsonObject:
    """Return the metadata of a patch: for each file its path, kind (add, update, delete, move), new path, and change."""
    files: list[JsonObject] = []
    for path, kind, target, diff in changes:
        change = {"before": "", "after": "", "additions": diff.additions, "deletions": diff.deletions}
        moved = {"movePath": target} if kind == "move" else {}
        name = relative(target or path, root)
        files.append({"filePath": path, "relativePath": name, "type": kind, "diff": diff.text, **change, **moved})
    text = "\n".join(diff.text for _, _, _, diff in changes)
    return {
        "diff": text,
        "files": files,
        "unprotected": f"{', '.join(change[0] for change in changes)}: {NOT_RECORDED}",
    }


def headed(path: str, hunks: str) -> TextDiff:
    """Return hunks of a unified diff with our header and counts; nothing for text that has none."""
    if "@@ " not in hunks:
        return TextDiff("", 0, 0)
    lines = hunks[hunks.index("@@ ") :].split("\n")
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    body = "\n".join(lines)
    return TextDiff(f"Index: {path}\n{'=' * 67}\n--- {path}\n+++ {path}\n{body}", added, removed)


def relative(path: str, root: str) -> str:
    """Return a path inside a folder relative to it, any other unchanged."""
    base = root.rstrip("/") + "/"
    return path[len(base) :] if len(base) > 1 and path.startswith(base) else path


def fork_title(title: str, number: int) -> str:
    """Return the title of a conversation that began as a branch of another one, as ours are named; 0 is none."""
    return f"{title} (fork #{number})" if number else title
