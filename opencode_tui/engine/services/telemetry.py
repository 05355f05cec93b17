"""The host of the extra `otel`: gives it the events of one folder while `experimental.openTelemetry` is on.

It changes nothing in a turn: the events are read from the bus by a task of its own, and what the collector does not take is lost.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import cast

from msgspec import Struct

from opencode_tui.bus import Bus, Subscription
from opencode_tui.entry_points import load
from opencode_tui.schema.event.event import Event, PartGrowth, PartProgress

CLOSE_S = 3.0
"""Seconds in which the last spans can be sent when a folder is closed."""

MISSING = (
    "experimental.openTelemetry has no effect, because OpenTelemetry is not installed; install it with "
    "`pip install 'opencode-tui[otel]'`"
)

logger = logging.getLogger(__name__)


class Telemetry(Struct, frozen=True):
    """What the extra made: `handle` gets each event with its time in ns since 1970, `close` sends what is left and blocks."""

    handle: Callable[[Event, int], None]
    close: Callable[[], None]


TelemetryMaker = Callable[[Mapping[str, str]], Telemetry]
"""Returns the telemetry of a process with these variables. Blocks: imports the library."""


def is_installed() -> bool:
    """Return whether the library of the extra is installed. Blocks for a few files."""
    try:
        return (
            find_spec("opentelemetry.sdk") is not None
            and find_spec("opentelemetry.exporter.otlp.proto.http") is not None
        )
    except ModuleNotFoundError:
        return False


class TelemetryFollower:
    """Follows the events of a folder from its creation until `close`."""

    def __init__(self, bus: Bus, directory: str, environ: Mapping[str, str]) -> None:
        self._events: Subscription = bus.subscribe(directory)
        self._task = asyncio.create_task(self._follow(environ), name="telemetry")

    async def close(self) -> None:
        """Return when the last spans were sent, or after a few seconds."""
        self._events.close()
        _, late = await asyncio.wait({self._task}, timeout=CLOSE_S)
        for task in late:
            task.cancel()

    async def _follow(self, environ: Mapping[str, str]) -> None:
        made: Telemetry | None = None
        try:
            made = await asyncio.to_thread(cast("TelemetryMaker", load("otel")), environ)
            async for envelope in self._events:
                if not isinstance(envelope.event, PartGrowth | PartProgress):
                    made.handle(envelope.event, time.time_ns())
        except Exception:
            logger.exception("telemetry ended")
        finally:
            if made is not None:
                await asyncio.to_thread(made.close)
