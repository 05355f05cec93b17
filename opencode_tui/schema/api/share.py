"""Where sessions can be shared, and whether that is allowed."""

from opencode_tui.schema.record import Record, absent


class ShareStatus(Record):
    """Sharing in a folder: the address of the server, absent without one; `obstacle` says why nothing can be shared.

    `is_known`: the user has shared to this server before, so that it need not be explained again.
    """

    server: str | None = absent()
    obstacle: str | None = absent()
    is_known: bool = False
