"""Publishes `vcs.branch.updated` when any program checks out another branch. Git has no event for it, so HEAD is polled."""

import asyncio
import logging
import os
from collections.abc import Callable

from opencode_tui.engine.project.repository import Repository
from opencode_tui.schema.event.event import BranchUpdated

logger = logging.getLogger(__name__)

PERIOD_S = 1.0
"""Seconds between two polls; each is one `stat` of HEAD."""


class BranchWatch:
    """Watches the branch of one repository from `start` to `close`."""

    def __init__(
        self, repository: Repository, *, publish: Callable[[BranchUpdated], None], period_s: float = PERIOD_S
    ) -> None:
        self._repository = repository
        self._publish = publish
        self._period_s = period_s
        self._stamp = self._read_stamp()
        self._branch = repository.branch
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the polling task; needs a running event loop."""
        self._task = asyncio.create_task(self._run(), name="watch the branch")

    async def close(self) -> None:
        """Stop and wait for the polling task."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._period_s)
            try:
                await self._look()
            except Exception:
                logger.exception("cannot read the branch of %s", self._repository.worktree)

    async def _look(self) -> None:
        stamp = await asyncio.to_thread(self._read_stamp)
        if stamp == self._stamp:
            return
        branch = await asyncio.to_thread(lambda: self._repository.branch)
        self._stamp = stamp
        if branch != self._branch:
            self._branch = branch
            self._publish(BranchUpdated(branch=branch))

    def _read_stamp(self) -> tuple[int, ...] | None:
        """Return a value that changes whenever git writes HEAD; None while HEAD does not exist."""
        try:
            status = os.stat(self._repository.git_dir / "HEAD")
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size
