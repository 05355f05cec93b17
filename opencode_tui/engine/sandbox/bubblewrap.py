"""Tier A: the arguments of bubblewrap for a policy.

The command gets mount, process, IPC, host name and network namespaces of its own; it sees the paths of the policy at their own
locations, a new /proc, a small /dev and its own temp folder as /tmp, and nothing else. Mount points are never created on the real
disk, except folders in that temp folder.

- A **protected** path is mounted read-only over itself; the kernel then refuses to rename or remove it. Its ancestors inside the
  writable folder are mounted over themselves for the same reason: `mv .git x` fails with "device or resource busy".
- A **hidden** file is covered by a device on a mount without devices: opening that fails with "permission denied" for every user,
  with any capability and in a nested user namespace, and no tool mistakes it for an empty file. A hidden folder is covered by an
  empty one without permissions.
- **Users**: with CAP_SYS_ADMIN (root), no user namespace is made, because inside one root could not write files of other users, as
  in a container with a mounted project; the command keeps the capabilities that concern owners and modes of files. Otherwise the
  command runs in a user namespace of its own, without capabilities.
- **/proc**: a new one shows the command's own processes only; without a user namespace it is read-only, because root owns the
  settings of the kernel in it. A container that masks parts of its own refuses to mount a new one; there, `shares_proc` binds the
  present one read-only. The kernel then still refuses the environment, memory, root and descriptors of processes outside, because
  the command is always in a user namespace of its own; command lines and states can be read.
- **seccomp**: the namespaces hold what tier B must filter (sockets, other processes, mounts). What they do not separate are the
  kernel's keyrings: a small filter (`seccomp.py`) refuses their calls.
"""

import os
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from opencode_tui import programs
from opencode_tui.engine.sandbox.policy import RELAY_PORT, Policy
from opencode_tui.engine.sandbox.secret_files import SYSTEM_SECRETS

PROGRAM_FOLDERS = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
TEMP = Path("/tmp")
_PROXY = "/.sandbox-proxy"
"""Where the socket of the proxy is mounted."""

_CAP_SYS_ADMIN = 21
_FILE_CAPABILITIES = ("CAP_CHOWN", "CAP_FOWNER", "CAP_FSETID")
_RESOLVER = Path("/etc/resolv.conf")

_HOLD = """exec 3<&0
{ read -r _ <&3; while :; do kill -9 -1; sleep 0.02; done; } </dev/null >/dev/null 2>&1 &
(exec "$@" </dev/null 2>&1 3<&-)
code=$?
{ kill -9 $!; wait $!; } 2>/dev/null
kill -0 -1 2>/dev/null && { echo "$code" >&2; exec >&-; read -r _ <&3; }
exit "$code"
"""
"""The supervisor, process 1 of the namespace: signals do not end it, and its end kills all other processes there.

Its child kills everything when standard input is closed, again and again because the program may not have started yet: nothing else
would where this program was killed before bwrap asked the kernel to end with it.
"""

Access = Literal["read", "write", "hide"]


def find_program(environ: Mapping[str, str], folder: Path) -> str | None:
    """Return the path of bwrap, not one that commands in the folder may write; the system's folders come before those of PATH."""
    path = os.pathsep.join((PROGRAM_FOLDERS, environ.get("PATH", "")))
    return programs.find_program("bwrap", {**environ, "PATH": path}, folder)


def command(policy: Policy, argv: Sequence[str], folder: Path) -> list[str]:
    """Return the command line that runs a program under the supervisor (`hold`) in the namespaces of the policy.

    Raises FileNotFoundError when bwrap is missing, or lies where a confined command could have written it.
    """
    held = hold(argv) if policy.proxy is None else _hold_with_relay(argv)
    return [_safe_program(policy, folder), *arguments(policy, folder), "--as-pid-1", "--", *held]


def plain_command(policy: Policy, argv: Sequence[str], folder: Path) -> list[str]:
    """Return the command line that runs a program, which keeps its standard streams, in the namespaces of a policy without a proxy.

    The namespaces end with the program. Raises FileNotFoundError as `command` does.
    """
    return [_safe_program(policy, folder), *arguments(policy, folder), "--", *argv]


def _safe_program(policy: Policy, folder: Path) -> str:
    program = find_program(policy.environ, folder)
    if program is None or any(Path(program).resolve().is_relative_to(path) for path in policy.write):
        raise FileNotFoundError(f"bwrap is not found outside of the writable folders ({program or 'not installed'})")
    return program


def hold(argv: Sequence[str]) -> list[str]:
    """Return the command line of the supervisor that runs a program and outlives it while it has left processes behind.

    It expects the program's output as standard output. Where processes remain, it writes the exit code as a line to standard error
    and waits until standard input is closed or it is killed; else it ends at once with the exit code (128 + n for a signal n). When
    standard input is closed while the program runs, everything ends.
    """
    return ["/bin/sh", "-c", _HOLD, "sh", *argv]


def _hold_with_relay(argv: Sequence[str]) -> list[str]:
    """Return the same for a policy with a proxy: programs reach it at `RELAY_PORT`."""
    source = Path(__file__).with_name("relay.py").read_text()
    return [os.path.realpath(sys.executable), "-I", "-S", "-c", source, _PROXY, str(RELAY_PORT), *argv]


def arguments(policy: Policy, folder: Path) -> list[str]:
    """Return the options of bwrap. Reads the file system: a path that is missing now is left out, never created."""
    access = dict(_accesses(policy))
    covers = _covers(access)
    hidden = [path for path in access if access[path] == "hide" and path.is_dir()]
    keeps_user = has_admin_capability() and not policy.shares_proc
    proc = [Path("/proc")] if keeps_user else []  # with the settings of the kernel, which root owns
    # fmt: off
    return [
        "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session",
        *([] if policy.network == "full" else ["--unshare-net"]),
        *(["--ro-bind", "/proc", "/proc"] if policy.shares_proc else ["--proc", "/proc"]),
        *(_as_root(policy) if keeps_user else ["--unshare-user", "--cap-drop", "ALL"]),
        "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm",
        "--bind", str(policy.temp), str(TEMP), *(word for path in covers for word in ("--tmpfs", str(path))),
        *_links(access, policy, folder),
        *(word for path in sorted(access, key=_depth) for word in _mount(path, access)),
        *([] if policy.proxy is None else ["--ro-bind", str(policy.proxy), _PROXY]),
        *(word for path in (*hidden, *covers, *proc, Path("/")) for word in ("--remount-ro", str(path))),
        "--chdir", str(folder),
    ]
    # fmt: on


def has_admin_capability() -> bool:
    """Return whether this process can mount without a user namespace."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return False
    effective = next((line.split()[1] for line in text.splitlines() if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) >> _CAP_SYS_ADMIN & 1)


def _as_root(policy: Policy) -> Iterator[str]:
    """Yield the capabilities to keep: not the one that ignores modes where it would open a hidden folder."""
    yield from ("--cap-drop", "ALL")
    for capability in _FILE_CAPABILITIES:
        yield from ("--cap-add", capability)
    if not any(path.is_dir() for path in policy.hidden):
        yield from ("--cap-add", "CAP_DAC_OVERRIDE")


def _accesses(policy: Policy) -> Iterator[tuple[Path, Access]]:
    """Yield each path to mount; a later one of the same path replaces an earlier one.

    A readable path inside a writable one is left out: it would become read-only, as a virtual environment of the project on PATH.
    """
    needed = [_RESOLVER.resolve()] if policy.network == "full" else []
    needed += [] if policy.proxy is None else [Path(sys.base_prefix).resolve()]
    protected = dict.fromkeys(path for path in policy.read_only if path.exists())
    write = dict.fromkeys(path for path in policy.write if path.exists() and not _is_below(path, protected))
    read = dict.fromkeys((*policy.read, *needed))
    for path in read:
        if path.exists() and not _is_below(path, read | write):
            yield path, "read"
    for path in write:
        yield path, "write"
    for path in protected:
        for ancestor in path.parents:
            if _is_below(ancestor, write):
                yield ancestor, "write"
    for path in protected:
        if not _is_below(path, policy.hidden):
            yield path, "read"
    for path in (*policy.hidden, *SYSTEM_SECRETS.find()):
        if path.exists() and not _is_below(path, policy.hidden):
            yield path, "hide"


def _mount(path: Path, accesses: Mapping[Path, Access]) -> list[str]:
    """Return the options that mount a path; a hidden folder with a mounted one below can be passed through, not listed."""
    name, access = str(path), accesses[path]
    if access != "hide":
        return ["--bind" if access == "write" else "--ro-bind", name, name]
    if not path.is_dir():
        return ["--ro-bind", "/dev/null", name]
    return ["--perms", "0111" if any(path in one.parents for one in accesses) else "0000", "--tmpfs", name]


def _covers(access: Mapping[Path, Access]) -> list[Path]:
    """Return the folders of /tmp to cover, so that the mount points of paths below are not made in the temp folder."""
    below = {TEMP / path.parts[2] for path in access if len(path.parts) > 3 and path.is_relative_to(TEMP)}
    return sorted(below - access.keys())


def _links(access: Mapping[Path, Access], policy: Policy, folder: Path) -> Iterator[str]:
    """Yield the symbolic links by which the system, the folder and the folders of PATH and HOME are reached, as /bin."""
    environ = policy.environ
    names = [
        str(folder),
        *map(str, policy.links),
        environ.get("HOME", ""),
        *environ.get("PATH", "").split(os.pathsep),
        *_root_links(),
    ]
    found: dict[Path, str] = {}
    for name in filter(os.path.isabs, dict.fromkeys(map(os.path.normpath, names))):
        if os.path.realpath(name) != name and os.path.exists(name):  # a loop of links does not exist
            _find_links(Path(name), access, found)
    for path, target in found.items():
        yield from ("--symlink", target, str(path))


def _find_links(path: Path, access: Mapping[Path, Access], found: dict[Path, str]) -> None:
    """Add the links on the way to an existing path that lie in no mounted folder, with their targets."""
    for step in (*reversed(path.parents), path):
        if step in access or _is_below(step, access):
            return
        if step.is_symlink():
            target = os.readlink(step)
            if step.parent != TEMP:  # it would be created on the real disk
                found[step] = target
            _find_links(Path(os.path.normpath(step.parent / target)) / path.relative_to(step), access, found)
            return


def _root_links() -> list[str]:
    with os.scandir("/") as entries:
        return [entry.path for entry in entries if entry.is_symlink()]


def _is_below(path: Path, folders: Container[Path]) -> bool:
    return any(parent in folders for parent in path.parents)


def _depth(path: Path) -> int:
    return len(path.parts)
