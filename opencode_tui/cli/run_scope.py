"""Which events are news of a run: those about messages that began in it.

What a process that died left open in the session is closed first: this changes messages of earlier runs, and answers nothing.
"""

from opencode_tui.schema.event import Event, MessageUpdated, PartGrowth, PartProgress, PartUpdated


class RunScope:
    """Follows the events of one run, from before it began."""

    def __init__(self) -> None:
        self._begun: set[str] = set()

    def has(self, event: Event) -> bool:
        """Tell whether an event is about a message that began in this run, or about no message."""
        match event:
            case MessageUpdated():
                if event.info.time.completed is None:
                    self._begun.add(event.info.id)
                return event.info.id in self._begun
            case PartUpdated():
                return event.part.message_id in self._begun
            case PartGrowth() | PartProgress():
                return event.message_id in self._begun
            case _:
                return True
