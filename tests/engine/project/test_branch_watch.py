"""The branch of a folder as its clients see it."""

import asyncio

from opencode_tui.engine.project.branch_watch import BranchWatch
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.schema.event.event import BranchUpdated
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S


async def test_a_checkout_is_published_once_with_the_new_branch(tmp_path):
    repo = make_repo(tmp_path / "r")
    repo.commit()
    repository = find_repository(repo.path)
    assert repository is not None
    seen: asyncio.Queue[BranchUpdated] = asyncio.Queue()
    watch = BranchWatch(repository, publish=seen.put_nowait, period_s=0.01)
    watch.start()
    try:
        repo.git("checkout", "-q", "-b", "other")
        first = await asyncio.wait_for(seen.get(), PATIENCE_S)
        repo.git("checkout", "-q", "--detach")
        second = await asyncio.wait_for(seen.get(), PATIENCE_S)
        repo.git("checkout", "-q", "other")
        third = await asyncio.wait_for(seen.get(), PATIENCE_S)
    finally:
        await watch.close()
    assert [one.branch for one in (first, second, third)] == ["other", None, "other"] and seen.empty()
