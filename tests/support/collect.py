"""Collects what the bus told, as short words that a test can compare."""

from opencode_tui.bus import Subscription
from opencode_tui.schema.event.event import Event, PartGrowth, PartProgress, to_wire


def drain(reader: Subscription) -> list[Event]:
    """Return all events that wait."""
    events: list[Event] = []
    while (envelope := reader.poll()) is not None:
        events.append(envelope.event)
    return events


def words(events: list[Event]) -> list[str]:
    """Return `type`, with the status or the part's type behind it."""
    said: list[str] = []
    for event in events:
        if isinstance(event, PartGrowth):
            said.append(f"growth {event.delta!r}")
        elif isinstance(event, PartProgress):
            said.append("progress")
        else:
            wire = to_wire(event)
            properties = wire["properties"]
            detail = properties.get("status", {}).get("type") or properties.get("part", {}).get("type")
            said.append(" ".join(filter(None, [wire["type"], detail])))
    return said
