"""A message together with its parts, as the API and the loop handle it."""

from pydantic import Field

from opencode_tui.schema.record import Record
from opencode_tui.schema.session.message import AnyMessage, Message
from opencode_tui.schema.session.part import AnyPart, Part


class MessageWithParts(Record):
    """One message and its parts in order."""

    info: Message
    parts: list[Part] = Field(default_factory=list[Part])


def with_parts(info: AnyMessage, parts: list[AnyPart]) -> MessageWithParts:
    """Return the pair without validating it again."""
    return MessageWithParts.model_construct(info=info, parts=parts)
