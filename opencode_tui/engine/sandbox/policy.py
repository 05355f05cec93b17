"""What a confined command may reach, independent of how the operating system enforces it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

Network = Literal["none", "hosts", "full"]

RELAY_PORT = 3128
"""Where programs in a network namespace of their own reach the proxy."""


class Policy(Struct, frozen=True):
    """What a confined command may reach. Paths are absolute with links resolved, and exist when the policy is built."""

    read: tuple[Path, ...]
    """Folders and files that may be read."""
    write: tuple[Path, ...]
    """Folders and files that may also be written."""
    read_only: tuple[Path, ...]
    """Below a writable path: may be read, never written."""
    hidden: tuple[Path, ...]
    """Below a readable path: reading fails with "permission denied"."""
    temp: Path
    """The session's own temp folder: mounted as /tmp where mounts are possible, named by TMPDIR elsewhere."""
    network: Network
    """With "hosts", hosts are reached through the proxy alone."""
    environ: Mapping[str, str]
    """The complete environment of the command."""
    links: tuple[Path, ...] = ()
    """Names of readable and writable paths that lead through links."""
    shares_proc: bool = False
    """Tier A without a `/proc` of its own: the command sees the command lines of processes outside."""
    has_shared_memory: bool = True
    """Whether tier B opens the machine's /dev/shm: not where the home or something of this program lies there."""
    is_flat: bool = False
    """Tier A where bubblewrap cannot run inside bubblewrap."""
    proxy: Path | int | None = None
    """The Unix socket of the proxy, or its port on 127.0.0.1."""
