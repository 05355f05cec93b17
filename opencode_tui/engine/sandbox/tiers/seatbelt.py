"""Tier C: the profile of macOS's sandbox-exec for a policy.

The last rule that matches decides. What a path's rule says holds for what it contains.
"""

from collections.abc import Iterable
from pathlib import Path

from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.secret_files import SYSTEM_SECRETS

PROGRAM = "/usr/bin/sandbox-exec"

_BASE = """(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (literal "/") (subpath "/System") (subpath "/Library/Apple") (subpath "/private/var/db/dyld")
  (subpath "/private/var/db/timezone"))
(allow file-read* file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random")
  (literal "/dev/urandom") (literal "/dev/tty") (literal "/dev/dtracehelper") (subpath "/dev/fd"))
(allow ipc-posix-sem ipc-posix-shm*)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center") (global-name "com.apple.trustd.agent")
  (global-name "com.apple.SecurityServer") (global-name "com.apple.cfprefsd.agent"))
"""


def profile(policy: Policy) -> str:
    """Return the profile: denied is what no rule allows; protected and hidden paths come last."""
    rules = [
        _rule("allow", "file-read*", policy.read),
        _rule("allow", "file-read* file-write*", (*policy.write, policy.temp)),
        _rule("deny", "file-write*", policy.read_only),
        _literals("deny", "file-write-unlink", _ancestors(policy)),
        _rule("deny", "file-read* file-write*", policy.hidden),
        _rule("deny", "file-read* file-write*", SYSTEM_SECRETS.find()),
        _rule("allow", "file-read-metadata", policy.hidden),
        "(allow network*)\n" if policy.network == "full" else _local_sockets(policy),
        f'(allow network-outbound (remote ip "localhost:{policy.proxy}"))\n' if policy.proxy else "",
    ]
    return _BASE + "".join(rules)


def _rule(action: str, operations: str, paths: Iterable[Path]) -> str:
    return _format(action, operations, [f"(subpath {_quoted(path)})" for path in paths])


def _literals(action: str, operations: str, paths: Iterable[Path]) -> str:
    return _format(action, operations, [f"(literal {_quoted(path)})" for path in paths])


def _local_sockets(policy: Policy) -> str:
    """Allow Unix sockets in the writable folders."""
    return _rule("allow", "network*", (*policy.write, policy.temp))


def _format(action: str, operations: str, filters: list[str]) -> str:
    return f"({action} {operations} {' '.join(filters)})\n" if filters else ""


def _ancestors(policy: Policy) -> list[Path]:
    """Return the folders between a writable folder and its protected paths: they must not be renamed."""
    writable = set(policy.write)
    found = {parent for path in policy.read_only for parent in path.parents if writable & set(parent.parents)}
    return sorted(found)


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
