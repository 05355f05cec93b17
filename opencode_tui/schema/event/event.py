"""The events of the engine. Source: docs/internals/http.md#events.

On the wire an event is `{type, properties}` (`to_wire`). Three classes of delivery (`bus/`):

* structural: never dropped, in the order of publishing, after the record that it refers to is on disk;
* growth (`PartGrowth`): text appended to a part; several that wait for the same reader are merged;
* progress (`PartProgress`): a running tool's facts for the screen; the latest replaces the ones before.

Order within a session: user message, its parts, `session.status` busy, assistant message, its parts, …; a run ends with
`session.status` idle, then `session.idle`. Late `session.updated`, `session.diff` and a user message's `summary` may follow.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Union

from msgspec import Struct

from opencode_tui.schema.api.project import ProjectInfo
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.schema.record import JsonObject, Record, absent
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.message import Message
from opencode_tui.schema.session.part import AnyPart, Part
from opencode_tui.schema.session.session import SessionInfo, SessionStatus, Todo
from opencode_tui.schema.session.stored_error import StoredError

if TYPE_CHECKING:
    from opencode_tui.schema.event.folder_event import FolderEvent
    from opencode_tui.schema.event.screen_event import ScreenEvent


class SessionCreated(Record):
    """A session was created; the first of its events."""

    type: Literal["session.created"] = "session.created"
    info: SessionInfo


class SessionUpdated(Record):
    """A session's record changed."""

    type: Literal["session.updated"] = "session.updated"
    info: SessionInfo


class SessionDeleted(Record):
    """A session was deleted; children come before their parent."""

    type: Literal["session.deleted"] = "session.deleted"
    info: SessionInfo


class SessionStatusChanged(Record):
    """Busy comes after the user's parts and before the assistant message, idle when the run's records are finalized."""

    type: Literal["session.status"] = "session.status"
    session_id: str
    status: SessionStatus


class SessionIdle(Record):
    """The form of status idle that older clients wait for; directly after it."""

    type: Literal["session.idle"] = "session.idle"
    session_id: str


class SessionDiff(Record):
    """The file changes of the session, updated."""

    type: Literal["session.diff"] = "session.diff"
    session_id: str
    diff: list[FileDiff]


class SessionFailed(Record):
    """A run failed; comes before its idle."""

    type: Literal["session.error"] = "session.error"
    session_id: str | None = absent()
    error: StoredError


class SessionCompacted(Record):
    """A summary replaced older history."""

    type: Literal["session.compacted"] = "session.compacted"
    session_id: str


class MessageUpdated(Record):
    """A message was created or changed; comes before its parts."""

    type: Literal["message.updated"] = "message.updated"
    info: Message


class MessageRemoved(Record):
    """A message was removed; after the removal of its parts."""

    type: Literal["message.removed"] = "message.removed"
    session_id: str
    message_id: str


class PartUpdated(Record):
    """A part was created or changed; `delta` only on the wire, for appended text."""

    type: Literal["message.part.updated"] = "message.part.updated"
    part: Part
    delta: str | None = absent()


class PartRemoved(Record):
    """A part was removed."""

    type: Literal["message.part.removed"] = "message.part.removed"
    session_id: str
    message_id: str
    part_id: str


class PermissionAsked(PermissionRequest):
    """A tool is waiting for approval by the user."""

    type: Literal["permission.asked"] = "permission.asked"


class PermissionReplied(Record):
    """A request was answered; the first answer counts."""

    type: Literal["permission.replied"] = "permission.replied"
    session_id: str
    request_id: str
    reply: Reply


class QuestionAsked(Record):
    """A tool is waiting for answers of the user; shape of `questions`: docs/internals/tools.md#question."""

    type: Literal["question.asked"] = "question.asked"
    id: str
    session_id: str
    questions: list[dict[str, Any]]
    tool: dict[str, str] | None = absent()


class QuestionReplied(Record):
    """A question was answered: for each question the labels that were chosen."""

    type: Literal["question.replied"] = "question.replied"
    session_id: str
    request_id: str
    answers: list[list[str]]


class QuestionRejected(Record):
    """A question was dismissed."""

    type: Literal["question.rejected"] = "question.rejected"
    session_id: str
    request_id: str


class TodoUpdated(Record):
    """The todo list was replaced."""

    type: Literal["todo.updated"] = "todo.updated"
    session_id: str
    todos: list[Todo]


class CommandExecuted(Record):
    """A slash command has run; `message_id` is that of its result."""

    type: Literal["command.executed"] = "command.executed"
    name: str
    session_id: str
    arguments: str
    message_id: str


class FileEdited(Record):
    """A tool wrote a file; comes before the tool's completed state."""

    type: Literal["file.edited"] = "file.edited"
    file: str


class ProjectUpdated(ProjectInfo):
    """A project's record changed."""

    type: Literal["project.updated"] = "project.updated"


class BranchUpdated(Record):
    """Another branch was checked out."""

    type: Literal["vcs.branch.updated"] = "vcs.branch.updated"
    branch: str | None = absent()


class InstanceDisposed(Record):
    """The instance of a folder was closed; clients must read everything again."""

    type: Literal["server.instance.disposed"] = "server.instance.disposed"
    directory: FilePath


class GlobalDisposed(Record):
    """All instances were closed; clients of all folders must read everything again."""

    type: Literal["global.disposed"] = "global.disposed"


SessionEvent = (
    SessionCreated
    | SessionUpdated
    | SessionDeleted
    | SessionStatusChanged
    | SessionIdle
    | SessionDiff
    | SessionFailed
    | SessionCompacted
    | MessageUpdated
    | MessageRemoved
    | PartUpdated
    | PartRemoved
    | PermissionAsked
    | PermissionReplied
    | QuestionAsked
    | QuestionReplied
    | QuestionRejected
    | TodoUpdated
    | CommandExecuted
    | FileEdited
    | ProjectUpdated
    | BranchUpdated
    | InstanceDisposed
    | GlobalDisposed
)

StructuralEvent = Union[SessionEvent, "FolderEvent", "ScreenEvent"]
"""The last two are loaded by what publishes or shows them: a one-shot run does neither."""


ReadPart = Callable[[], AnyPart]
"""Returns a part that is still growing as it is now; it joins the pieces, so call it only for the whole part."""


class PartGrowth(Struct, frozen=True):
    """Text was appended to a part; only between the first and the last `PartUpdated` of that part."""

    session_id: str
    message_id: str
    part_id: str
    delta: str
    record: ReadPart


class PartProgress(Struct, frozen=True):
    """A running tool reported progress."""

    session_id: str
    message_id: str
    part_id: str
    record: ReadPart


class BusLagged(Struct, frozen=True):
    """This reader lost structural events and must read everything again. Never published, only delivered.

    `reason` is a sentence for the user; empty where there is nothing to know, as when the reader was too slow.
    """

    reason: str = ""


Event = StructuralEvent | PartGrowth | PartProgress | BusLagged


def session_of(event: Event) -> str:
    """Return the id of the session that an event belongs to; empty for other events."""
    match event:
        case SessionCreated() | SessionUpdated() | SessionDeleted():
            return event.info.id
        case PartUpdated():
            return event.part.session_id
        case _:
            info = getattr(event, "info", None)  # of a message or a background command
            return getattr(event, "session_id", None) or getattr(info, "session_id", None) or ""


class Envelope(Struct, frozen=True):
    """An event and the folder of its instance (empty: the whole process); `guests` are other folders from which it is caused."""

    directory: str
    event: Event
    guests: frozenset[str] = frozenset()


def to_wire(event: Event) -> JsonObject:
    """Return `{type, properties}` as clients of the HTTP API read it."""
    match event:
        case PartGrowth():
            part = event.record().to_dict()
            return {"type": "message.part.updated", "properties": {"part": part, "delta": event.delta}}
        case PartProgress():
            return {"type": "message.part.updated", "properties": {"part": event.record().to_dict()}}
        case BusLagged():
            return {"type": "bus.lagged", "properties": {}}
        case _:
            properties = event.to_dict()
            kind = properties.pop("type")
            return {"type": kind, "properties": properties}
