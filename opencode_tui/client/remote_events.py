"""A server's event stream, read once and published on a local bus, so that its readers work as in the process.

When the stream breaks it is opened again, and `BusLagged` makes every reader read everything again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Annotated, cast

from opencode_tui.bus import Bus
from opencode_tui.client.remote_link import Link
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.event.event import (
    BusLagged,
    Event,
    PartGrowth,
    PartUpdated,
    SessionEvent,
    SessionIdle,
    StructuralEvent,
)
from opencode_tui.schema.event.folder_event import FolderEvent
from opencode_tui.schema.event.screen_event import ScreenEvent, ScreenToastShown
from opencode_tui.schema.field import Field
from opencode_tui.schema.http_headers import OWN
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import JsonObject, Reader, ValidationError

logger = logging.getLogger(__name__)

SILENCE_S = 25.0
"""Seconds without data after which a stream counts as lost: more than two heartbeats of the server."""

WAITS_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds before the next try to open a lost stream; the last one repeats."""

STRUCTURAL: Reader[StructuralEvent] = Reader(
    Annotated[SessionEvent | FolderEvent | ScreenEvent, Field(discriminator="type")],
)
"""Validates an event that a server sent, in the form `{type, **properties}`."""

_OF_THE_STREAM = ("server.connected", "server.heartbeat")


class RemoteEvents:
    """Reads the event stream of one folder; `run` is its task."""

    def __init__(self, link: Link, bus: Bus, *, tries_again: bool = True) -> None:
        self._link = link
        self._bus = bus
        self._tries_again = tries_again
        self._is_connected = asyncio.Event()
        self._idle: dict[str, asyncio.Event] = {}

    async def connected(self) -> None:
        """Wait until the stream is open: from then on no event is missed."""
        await self._is_connected.wait()

    async def idle(self, session_id: str, *, seconds: float) -> None:
        """Wait until the session's next idle event has arrived, for `seconds` at most."""
        seen = self._idle.setdefault(session_id, asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                await seen.wait()
        except TimeoutError:
            logger.info("no idle event of session %s arrived", session_id)

    def expect_idle(self, session_id: str) -> None:
        """Start to watch for the session's next idle event."""
        self._idle[session_id] = asyncio.Event()

    async def run(self) -> None:
        """Read until canceled, or until the stream ends if it is not opened again.

        Raises OpencodeError when the first try fails; later ones are repeated.
        """
        tries = 0
        while True:
            try:
                async for event in self._events():
                    tries = 0
                    self._publish(event)
            except OpencodeError as error:
                if not self._is_connected.is_set():
                    raise
                logger.warning("event stream lost: %s", error)
            if not self._tries_again:
                return
            if tries == 0:
                self._bus.publish(_toast(f"The connection to {self._link.url} is lost, trying again.", "warning"))
            await asyncio.sleep(WAITS_S[min(tries, len(WAITS_S) - 1)])
            tries += 1

    async def _events(self) -> AsyncIterator[Event]:
        """Open the stream and yield its events."""
        async with self._link.stream("GET", f"{OWN}/event", silence_s=SILENCE_S) as answer:
            async for line in answer.aiter_lines():
                if not line.startswith("data: "):
                    continue
                received = _parsed(line[6:])
                if received.get("type") in _OF_THE_STREAM:
                    if received["type"] == "server.connected":
                        self._connect()
                    continue
                event = decode(received)
                if event is not None:
                    yield event

    def _connect(self) -> None:
        if self._is_connected.is_set():
            self._bus.publish(BusLagged())
            self._bus.publish(_toast(f"Connected to {self._link.url} again.", "success"))
        self._is_connected.set()

    def _publish(self, event: Event) -> None:
        self._bus.publish(event)
        if isinstance(event, SessionIdle):
            self._idle.setdefault(event.session_id, asyncio.Event()).set()


def decode(received: JsonObject) -> Event | None:
    """Return an event of the stream; None for unknown events."""
    given: object = received.get("properties") or {}
    properties = cast("JsonObject", given) if isinstance(given, dict) else {}
    try:
        event = STRUCTURAL.validate_python({**properties, "type": received.get("type")})
    except ValidationError:
        logger.debug("unknown event type %s", received.get("type"))
        return None
    if isinstance(event, PartUpdated) and event.delta is not None:
        part = event.part
        return PartGrowth(part.session_id, part.message_id, part.id, event.delta, lambda: part)
    return event


def _parsed(line: str) -> JsonObject:
    """Return one event of the stream; an empty one for an invalid line."""
    try:
        found: object = load_json(line)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return cast("JsonObject", found)
    logger.warning("a line of the event stream cannot be read")
    return {}


def _toast(message: str, variant: str) -> ScreenToastShown:
    return ScreenToastShown.model_validate({"message": message, "variant": variant})
