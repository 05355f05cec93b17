"""The requests of the shown session that wait for the end of the turn."""

from collections.abc import Sequence

from opencode_tui.schema.event.event import Event, MessageRemoved, MessageUpdated, PartRemoved, PartUpdated
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import is_waiting
from opencode_tui.schema.session.part import AnyPart
from opencode_tui.tui.state.message import prompt_words


class WaitingRequests:
    """The requests of the shown session that wait for the end of the turn, in their order, each with its text.

    They are not part of the conversation yet.
    """

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, AnyPart]] = {}

    @property
    def ids(self) -> Sequence[str]:
        """The IDs of the requests, the oldest first."""
        return list(self._parts)

    @property
    def texts(self) -> Sequence[str]:
        """The text of each request with the names of its attachments; not made safe."""
        words = [prompt_words(parts.values()) for parts in self._parts.values()]
        return [" ".join((text, *(f"[{name}]" for name in names))).strip() for text, names in words]

    def load(self, messages: Sequence[MessageWithParts]) -> list[MessageWithParts]:
        """Keep the requests that wait; return all other messages."""
        self._parts = {one.info.id: {part.id: part for part in one.parts} for one in messages if is_waiting(one.info)}
        return [one for one in messages if one.info.id not in self._parts]

    def apply(self, event: Event, session_id: str) -> bool:
        """Apply an event; return whether it was about a request that waits in this session."""
        match event:
            case MessageUpdated(info=info) if info.session_id == session_id and is_waiting(info):
                self._parts.setdefault(info.id, {})
            case PartUpdated(part=part) if part.message_id in self._parts:
                self._parts[part.message_id][part.id] = part
            case PartRemoved() if event.message_id in self._parts:
                self._parts[event.message_id].pop(event.part_id, None)
            case MessageRemoved() if event.message_id in self._parts:
                del self._parts[event.message_id]
            case _:
                return False
        return True
