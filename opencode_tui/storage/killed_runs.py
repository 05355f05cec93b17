"""Which sessions were being worked on by a process that is no more."""

import os

from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.process_identity import is_alive
from opencode_tui.storage.run_lock import OWNER_SUFFIX, read_owner


def find_killed_runs(paths: Paths) -> list[str]:
    """Return the ids of sessions whose run was killed, sorted; an owner file that cannot be read counts as none. Blocks."""
    files = FileSystem()
    killed: list[str] = []
    try:
        names = sorted(os.listdir(paths.lock))
    except OSError:
        return []
    for name in names:
        if not name.endswith(OWNER_SUFFIX):
            continue
        try:
            owner = read_owner(files, f"{paths.lock}/{name}")
        except OSError:
            continue
        if owner is not None and owner.is_set and not is_alive(owner.process):
            killed.append(name.removesuffix(OWNER_SUFFIX))
    return killed
