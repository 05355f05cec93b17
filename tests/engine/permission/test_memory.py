"""Claims about what is remembered of answers: docs/internals/permissions.md#memory."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.grants import Grants
from opencode_tui.engine.permission.memory import KEY, SUGGEST_AFTER, PermissionMemory
from opencode_tui.schema.permission import ALLOWED_BEFORE
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from tests.engine.permission.conftest import NOW, World
from tests.engine.permission.test_service import asked
from tests.support.world.rules import rules


@pytest.fixture
def background() -> list[asyncio.Task[None]]:
    """What the memory does in the background."""
    return []


@pytest.fixture
def memory(world: World, paths: Paths, tmp_path: Path, background: list[asyncio.Task[None]]) -> PermissionMemory:
    """The memory of the world's service."""

    def start(work: Coroutine[None, None, None]) -> None:
        background.append(asyncio.create_task(work))

    memory = PermissionMemory(
        store=world.grants._store,
        lock=Locks(paths).store,
        project_id="global",
        worktree=tmp_path,
        clock=lambda: NOW,
        start=start,
    )
    world.service._memory = Lazy(lambda: memory)
    return memory


async def once(world: World, *patterns: str, **more: Any) -> dict[str, Any]:
    """Let a call ask, answer it with `once`, and return what the question had."""
    task, request_id = await asked(world, *patterns, **more)
    metadata = world.service.pending()[-1].metadata
    await world.service.reply(request_id, "once")
    await task
    return metadata


async def test_a_question_suggests_its_rule_after_equal_answers_until_that_is_declined(
    world: World, memory: PermissionMemory
) -> None:
    for _ in range(SUGGEST_AFTER):
        assert ALLOWED_BEFORE not in await once(world, "gh pr list", always=["gh pr *"])
    assert ALLOWED_BEFORE not in await once(world, "npm ci", always=["npm *"])
    assert (await once(world, "gh pr view", always=["gh pr *"]))[ALLOWED_BEFORE] == SUGGEST_AFTER
    task, request_id = await asked(world, "gh pr view", always=["gh pr *"])
    assert await world.service.decline(request_id) and world.service.pending()
    await world.service.reply(request_id, "once")
    await task
    assert ALLOWED_BEFORE not in await once(world, "gh pr view", always=["gh pr *"])
    assert not await world.service.decline("per_gone")


async def test_what_can_only_be_allowed_once_is_never_suggested(world: World, memory: PermissionMemory) -> None:
    for _ in range(SUGGEST_AFTER + 1):
        assert ALLOWED_BEFORE not in await once(world, ".git/config", permission="edit", layers=[rules("edit * ask")])


async def test_the_use_of_a_grant_is_counted_and_stored(world: World, memory: PermissionMemory, paths: Paths) -> None:
    await world.grants.add("bash", ["npm *", "gh *"])
    await world.ask("npm ci", "npm test")
    await world.ask("npm ci")
    await memory.flush()
    found = {one.pattern: (one.used, one.last_used) for one in await memory.listed(await world.grants.listed())}
    assert found == {"npm *": (2, NOW), "gh *": (0, None)}
    record = json.loads((paths.storage / KEY / "global.json").read_bytes())
    assert [(one["pattern"], one["used"]) for one in record["uses"]] == [("npm *", 2)]


@pytest.mark.fast_cases("is canceled-and a later one-0", "goes on-and a later one-13")
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("later", [(), ("bash gh* allow",)], ids=["alone", "and a later one"])
@pytest.mark.parametrize("is_canceled", [False, True], ids=["goes on", "is canceled"])
async def test_a_use_that_is_being_stored_while_the_engine_closes_is_stored_once(
    memory: PermissionMemory,
    paths: Paths,
    background: list[asyncio.Task[None]],
    steps: int,
    later: tuple[str, ...],
    *,
    is_canceled: bool,
) -> None:
    memory.count_uses(rules("bash npm* allow"))
    for _ in range(steps):
        await asyncio.sleep(0)
    if is_canceled:
        [one.cancel() for one in background]
        await asyncio.wait(background)
    memory.count_uses(rules(*later))
    await memory.flush()
    record = json.loads((paths.storage / KEY / "global.json").read_bytes())
    stored = [(one["pattern"], one["used"]) for one in record["uses"]]
    assert stored == [("npm*", 1), *([("gh*", 1)] if later else [])]


async def test_a_damaged_memory_neither_allows_nor_hinders(
    world: World, memory: PermissionMemory, paths: Paths, open_grants: Callable[..., Grants]
) -> None:
    file = paths.storage / KEY / "global.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"uses": 1, "off": [{"permission": "bash", "pattern": "*", "action": "allow"}]}')
    assert ALLOWED_BEFORE not in await once(world, "npm ci", always=["npm *"])
    await world.grants.add("bash", ["npm *"])
    await world.ask("npm ci")
    await memory.flush()
    assert [one.used for one in await memory.listed(await world.grants.listed())] == [1]


async def test_a_grant_that_is_off_decides_nothing_until_it_is_on(world: World, memory: PermissionMemory) -> None:
    await world.grants.add("bash", ["npm *"], outside=True)
    (grant,) = await world.grants.listed()
    await memory.add_off([grant])
    await world.grants.revoke("bash", "npm *")
    await once(world, "npm ci")
    (shown,) = await memory.listed([])
    assert (shown.pattern, shown.is_on, shown.is_outside) == ("npm *", False, True)
    await world.grants.restore(await memory.remove_off("bash", "npm *"))
    await world.ask("npm ci")
    assert await world.grants.listed() == [grant] and await memory.off("bash") == []
