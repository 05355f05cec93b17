"""The names of the program's own temporary files in a worktree, which say whose they are.

They are never part of a snapshot. A scan removes those that a killed process left: its lock keeps reverts away, and a file tool at
work is alive.
"""

import hashlib
import os
import re
import secrets
import socket
from typing import Literal

from opencode_tui.storage.process_identity import ProcessIdentity, current_process, is_alive

_NAME = re.compile(r"\.opencode-tui-[A-Za-z0-9_-]+\.(tmp|old)\Z")
_OWNED = re.compile(r"\.opencode-tui-(\d{1,10})-(\d{1,20})-([0-9a-f]{8})-[0-9a-f]{16}\.(tmp|old)\Z")
_DAY_NS = 24 * 3600 * 1_000_000_000


def temporary_name(ending: Literal["tmp", "old"]) -> str:
    """Return a new name: of a file that will replace another one, or of what it keeps of the old one until all are replaced."""
    process = current_process()
    owner = f"{process.pid}-{process.started or 0}-{_host_mark()}"
    return f".opencode-tui-{owner}-{secrets.token_hex(8)}.{ending}"


def is_temporary(name: str) -> bool:
    """Return whether a file's name is one of ours."""
    return _NAME.match(name) is not None


def is_left_over(name: str, status: os.stat_result, *, now_ns: int) -> bool:
    """Return whether a file with one of our names is that of a process which has ended.

    Where a name does not say so, as that of an older version or of another host, after a day.
    """
    owned = _OWNED.match(name)
    if owned is None or owned[3] != _host_mark():
        return status.st_ctime_ns < now_ns - _DAY_NS
    started = "" if owned[2] == "0" else owned[2]
    return not is_alive(ProcessIdentity(int(owned[1]), started, socket.gethostname()))


def _host_mark() -> str:
    return hashlib.sha256(os.fsencode(socket.gethostname())).hexdigest()[:8]
