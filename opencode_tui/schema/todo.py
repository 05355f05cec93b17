"""The todo list of a session, stored as `todo/{sessionID}`. Source: reference, section 28."""

from opencode_tui.schema.record import Record


class Todo(Record):
    """One item; status is pending, in_progress, completed or cancelled, priority high, medium or low."""

    content: str
    status: str = "pending"
    priority: str = "medium"
    id: str = ""
