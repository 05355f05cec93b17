"""What a store keeps about the requests of a session besides their messages, as `session_requests/{sessionID}`, a kind of ours.

A session without one has nothing of the kind.
"""

from opencode_tui.schema.field import Field
from opencode_tui.schema.record import Record


class SessionRequests(Record):
    """The ids that clients gave to requests, the requests that another process withdrew, and the one that is released."""

    names: dict[str, str] = Field(default_factory=dict[str, str])
    """The ids under which requests are stored, by those that clients gave them, where these may differ."""
    withdrawn: list[str] = Field(default_factory=list[str])
    """Requests that wait, and that no run may answer: whoever next has the session's run lock removes them."""
    releasing: dict[str, str] = Field(default_factory=dict[str, str])
    """The new id of a request that waited, by the old one: where both are stored, the process was killed in between."""

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is kept."""
        return not (self.names or self.withdrawn or self.releasing)

    def without(self, done: "SessionRequests") -> "SessionRequests":
        """Return the record without what was carried out."""
        withdrawn = [one for one in self.withdrawn if one not in done.withdrawn]
        releasing = {old: new for old, new in self.releasing.items() if old not in done.releasing}
        return self.changed(withdrawn=withdrawn, releasing=releasing)
