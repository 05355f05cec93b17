"""The type of file system that holds a folder."""

import re
import subprocess
from pathlib import Path

_NETWORK = re.compile(
    r"nfs|cifs|smb|afs|9p|ceph|lustre|gpfs|beegfs|glusterfs|ncpfs|webdav|davfs|fuse\.(sshfs|rclone|s3fs|gcsfuse)"
)
_TABLE = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")
_MOUNT_LINE = re.compile(r"^.* on (?P<path>/.*?) \((?P<kind>[\w.]+)[,)]", re.MULTILINE)
_TIMEOUT_S = 5


def network_kind(folder: Path) -> str | None:
    """Return the type of the network file system that holds an existing folder, None when it is local or unknown. Blocks."""
    real = folder.resolve()
    best: tuple[int, str] = (-1, "")
    for path, kind in _mounts():
        if real.is_relative_to(path) and len(path) >= best[0]:  # of equal paths the last was mounted over the others
            best = (len(path), kind)
    return best[1] if _NETWORK.match(best[1]) else None


def parse_mountinfo(table: str) -> list[tuple[str, str]]:
    """Return (path, type) of each line of Linux's table: fields, a dash, then the type."""
    mounts: list[tuple[str, str]] = []
    for line in table.splitlines():
        head, dash, tail = line.partition(" - ")
        fields, kinds = head.split(" "), tail.split(" ")
        if dash and len(fields) >= 5:
            mounts.append((_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4]), kinds[0]))
    return mounts


def _mounts() -> list[tuple[str, str]]:
    try:
        return parse_mountinfo(_TABLE.read_text(errors="surrogateescape"))
    except OSError:
        return _listed_by_command()


def _listed_by_command() -> list[tuple[str, str]]:
    """Return what `mount` lists, for systems without the table; empty without the command."""
    try:
        answer = subprocess.run(["mount"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [(match["path"], match["kind"]) for match in _MOUNT_LINE.finditer(answer.stdout)]
