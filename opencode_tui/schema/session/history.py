"""A message with its parts, as the API and the loop use it, and the cost of a session's messages."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from opencode_tui.schema.field import Field
from opencode_tui.schema.record import Record
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage, Message, is_waiting
from opencode_tui.schema.session.part import AnyPart, Part
from opencode_tui.schema.session.session import SessionInfo, hidden_cost, is_own, own_from


class MessageWithParts(Record):
    """One message and its parts in order."""

    info: Message
    parts: list[Part] = Field(default_factory=list[Part])


def with_parts(info: AnyMessage, parts: list[AnyPart]) -> MessageWithParts:
    """Return the pair without validating it again."""
    return MessageWithParts.trusted(info=info, parts=parts)


def conversation(messages: Sequence[MessageWithParts]) -> list[MessageWithParts]:
    """Return the messages that the model reads, or has read: without the requests that wait, which may be withdrawn."""
    return [one for one in messages if not is_waiting(one.info)]


def session_cost(info: SessionInfo, messages: Iterable[AnyMessage]) -> Decimal:
    """Return the USD of a session's own answers and hidden calls."""
    return sum((Decimal(str(one.cost)) for one in own_answers(info, messages)), hidden_cost(info))


def own_answers(info: SessionInfo, messages: Iterable[AnyMessage]) -> Iterator[AssistantMessage]:
    """Yield the answers that a session paid: those that a fork copied were paid by its source."""
    begun = own_from(info)
    return (one for one in messages if isinstance(one, AssistantMessage) and is_own(one.id, begun))
