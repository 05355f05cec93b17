"""The check of a session: the user's command that runs after each turn, while it fails. Stored below `until` in `metadata`."""

from typing import Literal

from opencode_tui.schema.record import Record, ValidationError, absent
from opencode_tui.schema.session.part import AnyPart, TextPart
from opencode_tui.schema.session.session import UNTIL_KEY, SessionInfo

MAX_TURNS = 10
"""Turns that the failures of one prompt may start, where the user sets no other number."""

CheckEnd = Literal["passed", "turns", "same", "refused"]
"""Why no turn follows a check: it passed, there were enough turns, it failed in the same way again, it may not run."""


class CheckRun(Record):
    """One run of the check: when it ended (ms since 1970), how many ms it took, and the message with its call.

    `exit` is absent when the command was stopped or did not run. `turn` counts the turns that failures started since the last
    prompt of the user; `end` says why none follows, and is absent where one does.
    """

    at: int
    took: int
    exit: int | None = absent()
    message_id: str
    turn: int = 0
    end: CheckEnd | None = absent()

    @property
    def has_passed(self) -> bool:
        """Return whether the command exited with 0."""
        return self.exit == 0


class Until(Record):
    """The command, how many turns its failures may start, and its last run."""

    command: str
    turns: int = MAX_TURNS
    last: CheckRun | None = absent()

    @property
    def is_due(self) -> bool:
        """Return whether it runs after the next turn: it has not passed."""
        return self.last is None or not self.last.has_passed


class CheckFailure(Record):
    """What a request of the program is about that sends a failed check to the model: the first `turn` is 1."""

    exit: int | None = absent()
    turn: int
    turns: int


def until_of(info: SessionInfo) -> Until | None:
    """Return the check of a session; None without one, and for invalid data."""
    found: object = (info.metadata or {}).get(UNTIL_KEY)
    if found is None:
        return None
    try:
        return Until.model_validate(found)
    except ValidationError:
        return None


def with_until(info: SessionInfo, until: Until | None) -> SessionInfo:
    """Return the record with this check, or without one."""
    rest = {key: value for key, value in (info.metadata or {}).items() if key != UNTIL_KEY}
    if until is not None:
        rest[UNTIL_KEY] = until.to_dict()
    return info.changed(metadata=rest or None)


def failure_of(part: AnyPart) -> CheckFailure | None:
    """Return the failure that a text sends to the model; None for any other part."""
    found: object = (part.metadata or {}).get(UNTIL_KEY) if isinstance(part, TextPart) else None
    if found is None:
        return None
    try:
        return CheckFailure.model_validate(found)
    except ValidationError:
        return None
