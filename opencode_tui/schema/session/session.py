"""The session record. Source: docs/internals/session.md#session-records."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.ids import is_identifier, is_made_after, session_field
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.record import MOST, Count, Record, ValidationError, absent
from opencode_tui.schema.session.diff import FileDiff

DEFAULT_TITLE = "New session - "
DEFAULT_CHILD_TITLE = "Child session - "
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z", re.ASCII)
UNDO_KEY = "undo"
"""The key of `metadata` for an `UndoNote`."""
APPROVALS_KEY = "approvals"
"""The key of `metadata` for the session's mode of approvals."""
UNTIL_KEY = "until"
"""The key of `metadata` for the session's check, and of a text's for the failure that it is about: `schema/session/until.py`."""
PINNED_KEY = "pinned"
"""The key of `metadata` for a session that lists show first."""


class SessionTime(Record):
    """Milliseconds since 1970; `compacting` is set while a compaction runs, `archived` when the user archived it."""

    created: int
    updated: int
    compacting: int | None = absent()
    archived: int | None = absent()


class SessionSummary(Record):
    """Totals of the session's file changes in lines and files."""

    additions: Count
    deletions: Count
    files: Count | None = absent()
    diffs: list[FileDiff] | None = absent()


class SessionShare(Record):
    """Where the session is shared, without the secret."""

    url: str


class RevertState(Record):
    """An active undo: everything from `message_id` (or from `part_id` inside it) on is undone.

    `snapshot` is the tree before anything changed, `after` (ours) the tree after the undo, `diff` the text of its changes.
    """

    message_id: str
    part_id: str | None = absent()
    snapshot: str | None = absent()
    diff: str | None = absent()
    after: str | None = absent()


class SessionInfo(Record):
    """One session. `directory` is absolute; `metadata` is ours (fork origin, cost of titles, …)."""

    id: str
    slug: str | None = absent()
    version: str
    project_id: str
    directory: FilePath
    parent_id: str | None = absent()
    summary: SessionSummary | None = absent()
    share: SessionShare | None = absent()
    title: str
    time: SessionTime
    permission: list[Rule] | None = absent()
    revert: RevertState | None = absent()
    metadata: dict[str, Any] | None = absent()


COST_KEY = "cost"
"""The key of `metadata` for the USD of calls without a message."""


def hidden_cost(info: SessionInfo) -> Decimal:
    """Return the USD of a session's calls without a message: titles, discarded summaries."""
    value = (info.metadata or {}).get(COST_KEY)
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= MOST:
        return Decimal(0)
    return Decimal(str(value))


def default_title(created_ms: int, *, is_child: bool) -> str:
    """Return the title of a session before it is named."""
    moment = datetime.fromtimestamp(created_ms / 1000, tz=UTC)
    stamp = moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{created_ms % 1000:03d}Z"
    return (DEFAULT_CHILD_TITLE if is_child else DEFAULT_TITLE) + stamp


def is_default_title(title: str) -> bool:
    """Return whether a title is a default title, which a generated one may replace."""
    if not title.startswith((DEFAULT_TITLE, DEFAULT_CHILD_TITLE)):
        return False
    head = DEFAULT_TITLE if title.startswith(DEFAULT_TITLE) else DEFAULT_CHILD_TITLE
    stamp = title[len(head) :]
    try:
        datetime.fromisoformat(stamp)
    except ValueError:
        return False
    return _STAMP.fullmatch(stamp) is not None


# The status of a session. Source: docs/internals/http.md#events.


class IdleStatus(Record):
    """The session is idle."""

    type: Literal["idle"] = "idle"


WaitKind = Literal["connection", "first_byte", "more", "instructions", "sign_in", "process", "hook", "disk"]
"""What a run waits for: a connection, the first byte of an answer or more, instructions, a token, a process, a hook, the disk."""


class Wait(Record):
    """A wait that lasts: since when (ms since 1970), and after how many ms without news it fails; `name` is the other side."""

    on: WaitKind
    name: str = ""
    since: int
    limit: int | None = absent()


class BusyStatus(Record):
    """The session is running; `wait` is what it waits for, while that lasts."""

    type: Literal["busy"] = "busy"
    wait: Wait | None = absent()


class RetryStatus(Record):
    """A run is waiting to retry; `next` is the time in milliseconds since 1970, `attempts` the maximum."""

    type: Literal["retry"] = "retry"
    attempt: int
    message: str
    next: int
    attempts: int | None = absent()


AnyStatus = IdleStatus | BusyStatus | RetryStatus
SessionStatus = Annotated[AnyStatus, Field(discriminator="type")]


# The todo list of a session, stored as `todo/{sessionID}`. Source: docs/internals/tools.md#todowrite-and-todoread.


class Todo(Record):
    """One item; status is pending, in_progress, completed or cancelled, priority high, medium or low."""

    content: str
    status: str = "pending"
    priority: str = "medium"
    id: str = ""


# Where a fork came from: `metadata.forkedFrom` of its session record (ours).

FORKED_FROM = "forkedFrom"


class CopyRange(Record):
    """The messages of a fork that are not fully copied yet.

    `before` is the first message that is not copied, `last` the last one that is, without its parts from `part_id` on; `whole`
    means all messages, before `last` is determined. `elsewhere`: the fork uses another work tree, where snapshots do not apply.
    """

    before: str | None = absent()
    last: str | None = absent()
    part_id: str | None = absent()
    whole: bool | None = absent()
    elsewhere: bool | None = absent()


class ForkOrigin(Record):
    """The session that was forked and the first message that was not copied; `copying` is set until the copy is complete."""

    session_id: str
    message_id: str | None = absent()
    copying: CopyRange | None = absent()


class ForkPreview(Record):
    """The title and folder of a fork that would be created; `messages` counts those that it would copy."""

    title: str
    directory: FilePath
    messages: int
    last: str | None = absent()
    branch: str | None = absent()
    notes: list[str] = Field(default_factory=list[str])


def fork_origin(info: SessionInfo) -> ForkOrigin | None:
    """Return the origin of a forked session; None for other sessions and for invalid data."""
    return origin_in(info.metadata)


def origin_in(metadata: dict[str, Any] | None) -> ForkOrigin | None:
    """Return the origin in the metadata of a session, as `fork_origin` does."""
    if not metadata or FORKED_FROM not in metadata:
        return None
    try:
        origin = ForkOrigin.model_validate(metadata[FORKED_FROM])
    except ValidationError:
        return None
    return origin if is_identifier(origin.session_id, "ses") else None


def own_from(info: SessionInfo) -> int:
    """Return what `is_own` compares the ids of a session's messages with; 0 where all of them are its own.

    The id of a fork is made after those of all messages that it copies, and before those of its own, whatever the clock says.
    """
    return own_field(info.id) if fork_origin(info) is not None else 0


def own_field(fork_id: str) -> int:
    """Return `own_from` of a fork by its id."""
    return session_field(fork_id) or 0


def is_own(message_id: str, begun: int) -> bool:
    """Return whether a message is its session's own, and not a copy that the source of a fork paid; `begun` is `own_from`."""
    return begun == 0 or is_made_after(message_id, begun)


def with_origin(info: SessionInfo, origin: ForkOrigin) -> SessionInfo:
    """Return the record with this origin."""
    return info.changed(metadata={**(info.metadata or {}), FORKED_FROM: origin.to_dict()})
