"""A session as lists show it: what they choose, sort and draw by."""

import sys
from typing import Any

from msgspec import Struct

from opencode_tui.schema.record import json_name
from opencode_tui.schema.session.session import PINNED_KEY, UNDO_KEY, SessionInfo, origin_in


class ListedSession(Struct, frozen=True, gc=False, omit_defaults=True, rename=json_name):
    """The part of a session's record that lists need, in a tenth of its memory; times in ms since 1970."""

    id: str
    title: str
    directory: str
    created: int
    updated: int
    is_archived: bool = False
    parent_id: str = ""
    """The session that started this one as its agent; empty for others."""
    fork_of: str = ""
    """The session that this one was forked from; empty for others."""
    fork_before: str = ""
    """The first message of it that was not copied; empty for none."""
    is_pinned: bool = False
    is_shared: bool = False
    is_undone: bool = False
    """Whether an undo is active."""
    undone_requests: int = 0
    """Requests of the user in that undo, 0 where it is not known."""
    additions: int = 0
    deletions: int = 0
    has_changes: bool = False
    """Whether the lines above are known."""

    @property
    def origin(self) -> str:
        """The session that this one came from: its parent, or the source of a fork; empty without one."""
        return self.parent_id or self.fork_of

    @property
    def kind(self) -> str:
        """`agent` or `fork`; empty for a session that was begun by itself."""
        return "agent" if self.parent_id else "fork" if self.fork_of else ""


def listed(info: SessionInfo) -> ListedSession:
    """Return a session as lists show it."""
    origin, summary = origin_in(info.metadata), info.summary
    return ListedSession(
        id=info.id,
        title=info.title,
        directory=sys.intern(info.directory),  # one text for all
        created=info.time.created,
        updated=info.time.updated,
        is_archived=info.time.archived is not None,
        parent_id=info.parent_id or "",
        fork_of=origin.session_id if origin is not None else "",
        fork_before=(origin.message_id or "") if origin is not None else "",
        is_pinned=info.metadata is not None and info.metadata.get(PINNED_KEY) is True,
        is_shared=info.share is not None,
        is_undone=info.revert is not None,
        undone_requests=_undone_requests(info.metadata) if info.revert is not None and info.metadata else 0,
        additions=summary.additions if summary is not None else 0,
        deletions=summary.deletions if summary is not None else 0,
        has_changes=summary is not None,
    )


def _undone_requests(metadata: dict[str, Any]) -> int:
    from opencode_tui.schema.session.undo import UndoNote  # few sessions are undone

    recorded: object = metadata.get(UNDO_KEY)
    try:
        note = UndoNote.model_validate(recorded) if recorded is not None else None
    except ValueError:
        return 0
    scope = note.report.scope if note is not None and note.report is not None else None
    return scope.requests if scope is not None else 0
