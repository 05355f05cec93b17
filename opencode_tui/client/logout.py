"""Whether the system ends what a user has started when the user logs out: only systemd does.

A login is a scope, which is ended with `KillUserProcesses=yes` only. What the desktop starts belongs to the user's manager, which
ends with the last login unless the user lingers. Source: logind.conf(5), loginctl(1).
"""

import getpass
import re
from collections.abc import Iterator
from pathlib import Path

_FOLDERS = ("etc", "run", "usr/local/lib", "usr/lib")
"""Folders with settings of systemd; a file in an earlier one replaces that of the same name in a later one."""
_SETTING = re.compile(r"^\s*(KillUserProcesses|KillOnlyUsers|KillExcludeUsers)\s*=\s*(.*?)\s*$", re.MULTILINE)
_YES = ("1", "yes", "y", "true", "t", "on")


def ends_at_logout(root: Path = Path("/")) -> str:
    """Return what keeps this process after a logout, as a command to run; empty where the system does not end it. Blocks."""
    try:
        group = (root / "proc/self/cgroup").read_text("utf-8", "replace")
    except OSError:  # not Linux
        return ""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no name has this user ID
        return ""
    lingers = (root / "var/lib/systemd/linger" / user).exists()
    if re.search(r"/user@\d+\.service", group):
        return "" if lingers else "loginctl enable-linger"
    if not re.search(r"/session-[^/]*\.scope", group) or not _kills(root, user):
        return ""
    start = "systemd-run --user --scope opencode-tui"
    return start if lingers else f"loginctl enable-linger, then start it with {start}"


def _kills(root: Path, user: str) -> bool:
    """Return whether a login of the user ends with all that it started."""
    values = {"KillUserProcesses": "no", "KillOnlyUsers": "", "KillExcludeUsers": "root"}
    for file in _files(root):
        try:
            text = file.read_text("utf-8", "replace")
        except OSError:
            continue
        values |= {found[1]: found[2] for found in _SETTING.finditer(text)}
    only = values["KillOnlyUsers"].split()
    is_meant = user in only if only else user not in values["KillExcludeUsers"].split()
    return values["KillUserProcesses"].lower() in _YES and is_meant


def _files(root: Path) -> Iterator[Path]:
    """Yield the files with settings of logins, the one that counts most last."""
    mains = (root / folder / "systemd/logind.conf" for folder in _FOLDERS)
    yield from [one for one in mains if one.exists()][:1]
    parts: dict[str, Path] = {}
    for folder in reversed(_FOLDERS):
        parts |= {one.name: one for one in (root / folder / "systemd/logind.conf.d").glob("*.conf")}
    yield from (parts[name] for name in sorted(parts))
