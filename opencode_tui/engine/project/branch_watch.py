"""Publishes `vcs.branch.updated` when any program checks out another branch. Git has no event for it, so HEAD is polled."""

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress

from opencode_tui.engine.project.repository import Repository
from opencode_tui.schema.event.event import BranchUpdated

logger = logging.getLogger(__name__)

PERIOD_S = 2.0
"""Seconds between two polls; each is one `stat` of HEAD, and wakes one thread."""


class BranchWatch:
    """Watches the branch of one repository from `start` to `close`, in a thread of its own, as a disk may hang."""

    def __init__(
        self, repository: Repository, *, publish: Callable[[BranchUpdated], None], period_s: float = PERIOD_S
    ) -> None:
        """`publish` is called in the event loop of `start`."""
        self._repository = repository
        self._publish = publish
        self._period_s = period_s
        self._stamp = self._read_stamp()
        self._branch = repository.branch
        self._ended = threading.Event()

    def start(self) -> None:
        """Start polling; needs a running event loop."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, args=(loop,), name="branch", daemon=True).start()

    async def close(self) -> None:
        """Stop; nothing is published from here on."""
        self._ended.set()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._ended.wait(self._period_s):
            try:
                if self._look():
                    with suppress(RuntimeError):  # the loop is closed
                        loop.call_soon_threadsafe(self._report, BranchUpdated(branch=self._branch))
            except Exception:
                logger.exception("cannot read the branch of %s", self._repository.worktree)

    def _look(self) -> bool:
        """Return whether another branch is checked out than at the last look."""
        stamp = self._read_stamp()
        if stamp == self._stamp:
            return False
        branch = self._repository.branch
        self._stamp = stamp
        if branch == self._branch:
            return False
        self._branch = branch
        return True

    def _report(self, event: BranchUpdated) -> None:
        if not self._ended.is_set():
            self._publish(event)

    def _read_stamp(self) -> tuple[int, ...] | None:
        """Return a value that changes whenever git writes HEAD; None while HEAD does not exist."""
        try:
            status = os.stat(self._repository.git_dir / "HEAD")
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size
