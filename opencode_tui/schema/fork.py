"""Where a fork came from: `metadata.forkedFrom` of its session record (ours)."""

from pydantic import Field, ValidationError

from opencode_tui.schema.ids import is_identifier
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.session import SessionInfo

FORKED_FROM = "forkedFrom"


class CopyRange(Record):
    """What a fork takes over and has not copied whole yet.

    `before` is the first message that is not taken over, `last` the last one that is, whose parts from `part_id` on are not;
    `whole` is everything, for as long as nobody has looked what comes last.
    `elsewhere`: the fork works in another work tree, so that recorded states and changes of files mean nothing there.
    """

    before: str | None = absent()
    last: str | None = absent()
    part_id: str | None = absent()
    whole: bool | None = absent()
    elsewhere: bool | None = absent()


class ForkOrigin(Record):
    """The session that was forked, the first message that was not taken over; `copying` stands until all is copied."""

    session_id: str
    message_id: str | None = absent()
    copying: CopyRange | None = absent()


class ForkPreview(Record):
    """What a fork would be called and where it would work; `messages` counts those that it would take over."""

    title: str
    directory: str
    messages: int
    last: str | None = absent()
    branch: str | None = absent()
    notes: list[str] = Field(default_factory=list[str])


def fork_origin(info: SessionInfo) -> ForkOrigin | None:
    """Return where a session was forked from; None as well when what stands there makes no sense."""
    if not info.metadata or FORKED_FROM not in info.metadata:
        return None
    try:
        origin = ForkOrigin.model_validate(info.metadata[FORKED_FROM])
    except ValidationError:
        return None
    return origin if is_identifier(origin.session_id, "ses") else None


def with_origin(info: SessionInfo, origin: ForkOrigin) -> SessionInfo:
    """Return the record with this origin."""
    return info.changed(metadata={**(info.metadata or {}), FORKED_FROM: origin.to_dict()})
