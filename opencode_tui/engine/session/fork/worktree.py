"""A separate git worktree for a fork, next to the user's, with their files as they are now.

The files come from a snapshot, so that uncommitted changes are included, byte for byte, and no filter or hook of the
repository runs. They are next to the repository, not in the data folder: relative paths to its siblings still work, the user
finds them, and undo works there too. Deleting the session does not touch them.
"""

import asyncio
import os
import shlex
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.linked_worktree import LinkedWorktree, LinkedWorktrees
from opencode_tui.engine.session.sessions import new_slug
from opencode_tui.engine.snapshot.entry import HUGE, LARGE, SPECIAL, UNREADABLE
from opencode_tui.engine.snapshot.report import PathNote, Snapshot
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.session.session import SessionInfo

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.snapshot import Snapshots

_SHOWN = 5
_MISSED = frozenset({HUGE, LARGE, SPECIAL, UNREADABLE})
"""Reasons for which a file that the user would expect is not copied."""


class ForkWorktrees(Struct, frozen=True):
    """Makes worktrees of one folder's project."""

    project: Project
    snapshots: "Lazy[Snapshots]"
    environ: Mapping[str, str]

    async def choose(self, source: SessionInfo) -> LinkedWorktree:
        """Return the worktree for a fork of a session. Raises ConfigError without a repository or a commit."""
        return await self._linked().choose(source.slug or new_slug())

    async def notes(self, chosen: LinkedWorktree, *, message_id: str | None) -> list[str]:
        """Return notes for the user: what the worktree contains, what it lacks, how to remove it. Raises SnapshotError."""
        state = await self._record()
        held = "your files as they are now, uncommitted changes included; ignored files are not copied"
        late = "; they are not reverted to that message" if message_id else ""
        missed = [remark for remark in state.unprotected if remark.reason in _MISSED]
        return [
            f"it starts at commit {chosen.start[:10]} and contains {held}{late}",
            *_left_behind(missed),
            f"deleting the session keeps it; to remove it: git worktree remove {shlex.quote(str(chosen.path))}"
            f" && git branch -d {chosen.branch} (git refuses while it has commits that exist nowhere else)",
        ]

    @asynccontextmanager
    async def made(self, source: SessionInfo) -> AsyncGenerator[Path]:
        """Create and fill a worktree for a fork of a session, and yield its folder that corresponds to the project's.

        A failure here or in the context removes it. Raises GitUnavailableError, SnapshotError.
        """
        chosen = await self.choose(source)
        state, linked = await self._record(), self._linked()
        await linked.add(chosen)
        try:
            await self.snapshots.get().unpack(state.id, chosen.path)
            yield await asyncio.to_thread(self._folder_in, chosen.path)
        except BaseException:
            await linked.remove(chosen)
            raise

    async def _record(self) -> Snapshot:
        return await self.snapshots.get().track_all()

    def _linked(self) -> LinkedWorktrees:
        if self.project.repository is None or self.project.vcs is None:
            raise ConfigError(f"{self.project.directory} is not in a git repository; fork without --worktree")
        return LinkedWorktrees(self.project.repository, environ=self.environ)

    def _folder_in(self, top: Path) -> Path:
        inner = top / os.path.relpath(self.project.directory, self.project.worktree)
        return Path(os.path.realpath(inner if inner.is_dir() else top))


def _left_behind(missed: list[PathNote]) -> list[str]:
    lines = [f"{remark.path} is not copied: {remark.reason}" for remark in missed[:_SHOWN]]
    return [*lines, f"and {len(missed) - _SHOWN} more files are not copied"] if len(missed) > _SHOWN else lines
