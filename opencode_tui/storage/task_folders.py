"""The records of the worktrees of batch tasks and agents: where each came from, and the process that works in it.

`{cache}/batch/NAME` is a worktree or a clone, `NAME.json` next to it is its record, written before the worktree exists. A confined
command reaches only its own worktree, so a record can be believed.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, ValidationError, json
from msgspec.structs import replace

from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import Paths, ensure
from opencode_tui.storage.process_identity import ProcessIdentity, current_process, is_alive
from opencode_tui.storage.safe_folder import open_folder


class TaskFolder(Struct, frozen=True):
    """A worktree of a task: its name, the work tree and the git folder that it belongs to, and the process that works in it.

    With `is_agent` an agent works in it, which may know what its origin has: that of `session_id`. Its changes are compared with
    the commit `base`, empty until the files are there.
    """

    name: str
    origin: str
    common_dir: str
    owner: ProcessIdentity
    is_agent: bool = False
    session_id: str = ""
    base: str = ""

    @property
    def is_left(self) -> bool:
        """Whether its process has ended without removing it."""
        return not is_alive(self.owner)


def record_task(paths: Paths, name: str, *, origin: Path, common_dir: Path, session_id: str = "") -> Path:
    """Write the record of a new worktree of this process; return the worktree's path. Raises OSError. Blocks.

    With `session_id` it is that of an agent.
    """
    owner = current_process()
    _write(paths, TaskFolder(name, str(origin), str(common_dir), owner, bool(session_id), session_id))
    return paths.tasks / name


def record_base(paths: Paths, name: str, base: str) -> None:
    """Record the commit with which an agent's changes are compared. Raises OSError. Blocks."""
    if (found := _read(paths, name)) is not None:
        _write(paths, replace(found, base=base))


def list_tasks(paths: Paths) -> Iterator[TaskFolder]:
    """Yield the records, in no order; one that cannot be read is left out. Blocks."""
    try:
        names = os.listdir(paths.tasks)
    except OSError:
        return
    for name in names:
        if name.endswith(".json") and (found := _read(paths, name.removesuffix(".json"))) is not None:
            yield found


def has_tasks(paths: Paths) -> bool:
    """Return whether there is any record. Blocks for one folder."""
    try:
        return any(name.endswith(".json") for name in os.listdir(paths.tasks))
    except OSError:
        return False


def list_left_agents(paths: Paths) -> list[TaskFolder]:
    """Return the worktrees of agents whose process was killed, sorted by name. Blocks."""
    return sorted((one for one in list_tasks(paths) if one.is_agent and one.is_left), key=lambda one: one.name)


def delete_record(paths: Paths, name: str) -> None:
    """Delete the record of a worktree that is gone. Raises OSError. Blocks."""
    (paths.tasks / f"{name}.json").unlink(missing_ok=True)


def delete_folder(folder: Path) -> bool:
    """Delete a folder with all that commands left in it and return whether it is gone; raises no OSError. Blocks.

    Commands write in the folder, not above it: links above it are followed, none in it is.
    """
    try:
        with open_folder(Path(os.path.realpath(folder.parent))) as parent:
            return parent.delete(folder.name)
    except OSError:
        return not os.path.lexists(folder)


def is_task_worktree(paths: Paths, worktree: Path) -> bool:
    """Return whether a real path is the worktree of a batch task or an agent."""
    return worktree.parent == Path(os.path.realpath(paths.tasks))


def task_origin(paths: Paths, worktree: Path, *, is_secret: bool = False) -> str | None:
    """Return the work tree that a task's worktree was made from; None for other folders. Blocks.

    With `is_secret` also None for the worktree of an agent.
    """
    if worktree.parent.name != paths.tasks.name or not is_task_worktree(paths, worktree):
        return None
    found = _read(paths, worktree.name)
    return None if found is None or (is_secret and found.is_agent) else found.origin


def _write(paths: Paths, record: TaskFolder) -> None:
    AtomicWriter(FileSystem()).write(str(ensure(paths.tasks) / f"{record.name}.json"), json.encode(record))


def _read(paths: Paths, name: str) -> TaskFolder | None:
    try:
        found = json.decode((paths.tasks / f"{name}.json").read_bytes(), type=TaskFolder)
    except (OSError, ValueError, ValidationError):
        return None
    return found if found.name == name else None
