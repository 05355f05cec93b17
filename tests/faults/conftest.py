"""A folder whose program reaches the other side through a proxy that breaks connections, and short ways to see how that ends."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.schema.event.event import PartGrowth, SessionStatusChanged
from opencode_tui.schema.session.session import AnyStatus, BusyStatus, RetryStatus, SessionInfo
from opencode_tui.storage.paths import find_paths
from tests.support.faults.proxy import Fault, FaultProxy
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.sessions.stored import read_store
from tests.support.world.engine import MODEL, World, opened
from tests.support.world.waiting import until

CANCEL_S = 0.3
"""Seconds in which an interruption ends a wait."""

ATTEMPTS = 5
"""A slow disk or a collection of garbage may delay one measurement, not each of these."""


@dataclass
class Broken:
    """An engine whose provider is behind a proxy."""

    world: World
    server: ModelServer
    proxy: FaultProxy
    environ: dict[str, str]
    statuses: list[AnyStatus] = field(default_factory=list[AnyStatus])
    grown: str = ""
    """What has arrived of texts since a test emptied it."""

    @property
    def waits(self) -> list[str]:
        """What the statuses so far said is waited for, in order."""
        found = [one.wait.on for one in self.statuses if isinstance(one, BusyStatus) and one.wait is not None]
        return list(dict.fromkeys(found))

    @property
    def retries(self) -> list[RetryStatus]:
        return [one for one in self.statuses if isinstance(one, RetryStatus)]

    async def follow(self) -> None:
        """Collect the statuses and the texts of all sessions; runs until it is canceled."""
        with self.world.client.events() as events:
            async for envelope in events:
                if isinstance(envelope.event, SessionStatusChanged):
                    self.statuses.append(envelope.event.status)
                elif isinstance(envelope.event, PartGrowth):
                    self.grown += envelope.event.delta

    def start(self, session: SessionInfo, text: str = "hello") -> "asyncio.Task[SessionInfo]":
        return asyncio.create_task(self.world.prompt(text, session=session))

    async def is_idle(self) -> bool:
        """Return whether no session runs, and no record stays open: a slow disk has the end of an interrupted run later."""
        if dict(await self.world.client.prompts.status()):
            return False
        await until(lambda: not self.open_records())
        return True

    def open_records(self) -> list[Any]:
        return list(read_store(find_paths(self.environ).storage).unfinished)


async def quickest(measure: Callable[[], Awaitable[float]], limit_s: float = CANCEL_S) -> float:
    """Return the shortest of some measurements, of which the first one below the limit is the last."""
    best = await measure()
    for _ in range(ATTEMPTS - 1):
        if best < limit_s:
            break
        best = min(best, await measure())
    return best


@pytest.fixture
def quick_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a wait have a name after 50 ms instead of 1 s, and again too."""
    monkeypatch.setattr("opencode_tui.engine.waits.NAMED_AFTER_S", 0.05)
    monkeypatch.setattr("opencode_tui.engine.waits.NAMED_AGAIN_S", 0.05)


@pytest.fixture
def no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no wait have a name: what the row says while a test holds an answer does not change after a second."""
    monkeypatch.setattr("opencode_tui.engine.waits.NAMED_AFTER_S", 3600)


@asynccontextmanager
async def broken(
    environ: dict[str, str],
    folder: Path,
    fault: Fault | None,
    *,
    options: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
) -> AsyncGenerator[Broken]:
    """Open a folder whose provider breaks like this; `options` are those of the provider."""
    with ModelServer() as server, FaultProxy(server.base_url, fault) as proxy:
        providers = provider_config(proxy.url)
        providers["fake"]["options"] = {**providers["fake"]["options"], **(options or {})}
        given = {"provider": providers, "small_model": str(MODEL), **(settings or {})}
        async with opened(environ, folder, settings=given) as world:
            found = Broken(world, server, proxy, environ)
            following = asyncio.create_task(found.follow())
            await asyncio.sleep(0)
            try:
                yield found
            finally:
                following.cancel()
