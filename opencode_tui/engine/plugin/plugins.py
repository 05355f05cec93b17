"""The loaded plugins of a folder's instance: their hooks, tools, and load errors."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opencode_tui.bus import Bus, Subscription
from opencode_tui.engine.plugin.hooks import Hooks
from opencode_tui.schema.event.event import PartGrowth, PartProgress, to_wire

if TYPE_CHECKING:
    from opencode_tui.engine.plugin.definition import ToolDefinition

CLOSE_GRACE_S = 1.0
"""Seconds in which the hook `event` can receive the last events, such as the end of a turn."""


@dataclass(slots=True)
class Plugins:
    """The hooks and tools of the plugins. `close` ends their event subscription."""

    hooks: Hooks = field(default_factory=Hooks)
    tools: "Sequence[ToolDefinition]" = ()
    problems: Sequence[str] = ()
    _events: Subscription | None = None
    _delivery: "asyncio.Task[None] | None" = None

    @property
    def warnings(self) -> list[str]:
        """The load errors, and the hooks that have failed since."""
        return [*self.problems, *self.hooks.warnings]

    def follow(self, bus: Bus, directory: str) -> None:
        """Start to pass every event of the folder to the hook `event`; streamed text is passed when it is complete."""
        if self.hooks.has("event") and self._events is None:
            self._events = bus.subscribe(directory)
            self._delivery = asyncio.create_task(self._deliver(self._events), name="plugin events")

    async def close(self) -> None:
        """Return when the pending events have been delivered, or after a second."""
        if self._events is None or self._delivery is None:
            return
        self._events.close()
        _, late = await asyncio.wait({self._delivery}, timeout=CLOSE_GRACE_S)
        if late:
            self._delivery.cancel()
            await asyncio.wait(late)

    async def _deliver(self, events: Subscription) -> None:
        async for envelope in events:
            if not isinstance(envelope.event, PartGrowth | PartProgress):
                await self.hooks.run("event", {"event": to_wire(envelope.event)}, {})
