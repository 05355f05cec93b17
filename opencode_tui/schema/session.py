"""The session record. Source: seeds 000 and 002; reference, section 5."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.record import Record, absent

DEFAULT_TITLE = "New session - "
DEFAULT_CHILD_TITLE = "Child session - "
UNDO_KEY = "undo"
"""The key of `metadata` for an `UndoNote`."""


class SessionTime(Record):
    """Milliseconds since 1970; `compacting` is set while a compaction runs, `archived` when the person put it away."""

    created: int
    updated: int
    compacting: int | None = absent()
    archived: int | None = absent()


class SessionSummary(Record):
    """Totals of the session's file changes in lines and files."""

    additions: int
    deletions: int
    files: int | None = absent()
    diffs: list[FileDiff] | None = absent()


class SessionShare(Record):
    """Where the session is shared; the secret never stands here."""

    url: str


class RevertState(Record):
    """An active undo: everything from `message_id` (or from `part_id` inside it) on is undone.

    `snapshot` is the tree before anything changed, `after` (ours) what the undo left, `diff` the text of what it did.
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
    directory: str
    parent_id: str | None = absent()
    summary: SessionSummary | None = absent()
    share: SessionShare | None = absent()
    title: str
    time: SessionTime
    permission: list[Rule] | None = absent()
    revert: RevertState | None = absent()
    metadata: dict[str, Any] | None = absent()


COST_KEY = "cost"
"""Where `SessionInfo.metadata` counts the USD of calls that no message shows."""


def hidden_cost(info: SessionInfo) -> Decimal:
    """Return the USD of a session's calls that no message shows: titles, summaries that were thrown away."""
    value = (info.metadata or {}).get(COST_KEY)
    return Decimal(str(value)) if isinstance(value, int | float) else Decimal(0)


def default_title(created_ms: int, *, is_child: bool) -> str:
    """Return the title of a session that nobody has named yet."""
    moment = datetime.fromtimestamp(created_ms / 1000, tz=UTC)
    stamp = moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{created_ms % 1000:03d}Z"
    return (DEFAULT_CHILD_TITLE if is_child else DEFAULT_TITLE) + stamp


def is_default_title(title: str) -> bool:
    """Tell whether a title is one that `default_title` makes, so that a generated one may replace it."""
    for head in (DEFAULT_TITLE, DEFAULT_CHILD_TITLE):
        if title.startswith(head):
            try:
                datetime.strptime(title[len(head) :], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
            except ValueError:
                return False
            return True
    return False
