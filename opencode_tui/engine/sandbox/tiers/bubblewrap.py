"""Tier A: the arguments of bubblewrap for a policy.

The command gets mount, process, IPC, host name and network namespaces of its own; it sees the paths of the policy at their own
locations, a new /proc, a small /dev and its own temp folder as /tmp, and nothing else. Mount points are never created on the real
disk, except folders in that temp folder.

- A **protected** path is mounted read-only over itself; the kernel then refuses to rename or remove it. Its ancestors inside the
  writable folder are mounted over themselves for the same reason: `mv .git x` fails with "device or resource busy". So are those
  of a hidden path.
- A **hidden** file is covered by a device on a mount without devices: opening that fails with "permission denied" for every user,
  with any capability and in a nested user namespace, and no tool mistakes it for an empty file. A hidden folder is covered by an
  empty one without permissions.
- **Two stages**: bubblewrap resolves the source and the target of a mount by name, and creates missing targets, while it still
  reaches the whole disk. Another command may swap what is inside a writable folder with a link in the meantime. A second bubblewrap
  inside the first therefore mounts what is there: it reaches nothing but what commands may reach. The first stage is the same for
  all commands of a policy, so it is made once, and entered (`view.py`). Where a system allows only one stage (`Policy.is_flat`),
  the comparison before the start (`mounts.py`) is all that holds.
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
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui import programs
from opencode_tui.config.sources.project_file import is_secret
from opencode_tui.engine.sandbox.mounts import Access, Mount
from opencode_tui.engine.sandbox.policy import RELAY_PORT, Policy
from opencode_tui.engine.sandbox.secret_files import SYSTEM_SECRETS

PROGRAM_FOLDERS = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
TEMP = Path("/tmp")
_PROXY = "/.sandbox-proxy"
"""Where the socket of the proxy is mounted."""

_CAP_SYS_ADMIN = 21
_FILE_CAPABILITIES = ("CAP_CHOWN", "CAP_FOWNER", "CAP_FSETID")
_MOST_WORDS = 9_000
"""So many arguments does bubblewrap accept; each path to hide or protect, and each folder around it, needs three."""

_RESOLVER = Path("/etc/resolv.conf")

_DEVICES = ("--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm")

_HOLD = """exec 3<&0
echo ready >&2; read -r _ <&3 || exit
{ read -r _ <&3; while :; do kill -9 -1; sleep 0.02; done; } </dev/null >/dev/null 2>&1 &
(exec "$@" </dev/null 2>&1 3<&-)
code=$?
{ kill -9 $!; wait $!; } 2>/dev/null
kill -0 -1 2>/dev/null && { echo "$code" >&2; exec >&-; read -r _ <&3; }
exit "$code"
"""
"""The supervisor, process 1 of the namespace: signals do not end it, and its end kills all other processes there.

It starts nothing before it gets a line: until then the mounts are compared.
Its child kills everything when standard input is closed, again and again because the program may not have started yet: nothing else
would where this program was killed before bwrap asked the kernel to end with it.
"""

_GATE = 'echo; read -r _ || exit; exec "$@"'
"""Starts a program that keeps its standard streams: prints a line when the namespace is ready, and waits for one."""

LOADER = "LD_"
"""Variables by which programs load libraries: the project's would run in bubblewrap itself, outside."""


class Plan(Struct, frozen=True):
    """A command line, where in it options can be added that name descriptors, and the mounts that it makes.

    `view` is the part of it that prepares a view, `inside` the command line inside of that view; empty without two stages.
    """

    argv: tuple[str, ...]
    options_at: int
    mounts: tuple[Mount, ...]
    view: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()


def find_program(environ: Mapping[str, str], folder: Path, name: str = "bwrap") -> str | None:
    """Return the path of bwrap, not one that commands in the folder may write; the system's folders come before those of PATH."""
    path = os.pathsep.join((PROGRAM_FOLDERS, environ.get("PATH", "")))
    return programs.find_program(name, {**environ, "PATH": path}, folder)


def find_nsenter(environ: Mapping[str, str], folder: Path) -> str | None:
    """Return the path of nsenter, as `find_program` does."""
    return find_program(environ, folder, "nsenter")


def plan(policy: Policy, argv: Sequence[str], folder: Path, *, is_held: bool = True) -> Plan:
    """Return how a program is run in the namespaces of the policy, held until its mounts are compared. Reads the file system.

    With `is_held` under the supervisor (`hold`); else it keeps its standard streams, the namespaces end with it, the policy has no
    proxy, and `_GATE` says how it is held. A path that is missing now is left out, never created. Raises FileNotFoundError when
    bwrap is missing, or lies where a confined command could have written it, and OSError where there is more to hide and protect
    than it accepts.
    """
    program = _safe_program(policy, folder)
    loader = [f"{name}={value}" for name, value in policy.environ.items() if name.startswith(LOADER)]
    argv = ["/usr/bin/env", *loader, *argv] if loader else argv
    if not is_held:
        held = ["--", "/bin/sh", "-c", _GATE, "sh", *argv]
    else:
        held = ["--as-pid-1", "--", *(hold(argv) if policy.proxy is None else _hold_with_relay(argv))]
    inner = os.path.realpath(program)
    write = frozenset(policy.write)
    named = frozenset(policy.hidden)
    hidden = [path for path in _real(policy.hidden) if path in named or _is_hidden_target(path, write)]
    protected = [path for path in _real(policy.read_only) if _is_below(path, write)]
    # Of hidden ones too: a folder that moves would be shown by the next command where files with secrets are not searched for.
    ancestors = {one for path in (*protected, *hidden) for one in _parents(path) if _is_below(one, write)}
    access = dict(_accesses(policy, Path(inner), protected, ancestors, hidden))
    guards = {path for path, one in access.items() if one == "hide"}.union(protected, ancestors)
    late = {path: None for path in access if path in guards or _is_below(path, frozenset(hidden))}
    # A writable folder below a hidden one is mounted in both: what is around it in the first may be read-only.
    first = [path for path in access if path not in late or (path in write and not _is_below(path, write))]
    view = _view(policy, folder, access, first)
    limits = [*_limits(policy, access, list(late)), "--chdir", str(folder), *held]
    spaces, proc = _namespaces(policy), _new_proc(policy)
    temp = () if TEMP in access else (Mount(str(TEMP), str(policy.temp), "write"),)
    mounts = (*temp, *(Mount(str(path), str(path), access[path], path in guards) for path in access))
    if policy.is_flat:
        return Plan(_checked((program, *spaces, *proc, *view, *limits), hidden, protected), 1, mounts)
    users = () if _keeps_user(policy) else ("--unshare-user",)
    made = (program, "--die-with-parent", *users, "--bind", "/proc", "/proc", *view)
    both = _checked((*made, "--", inner, *spaces, "--dev-bind", "/", "/", *proc, *limits), hidden, protected)
    # Who enters a user namespace from outside is root in it.
    ids = ("--uid", str(os.getuid()), "--gid", str(os.getgid())) if users else ()
    inside = (inner, *spaces, *ids, "--dev-bind", "/", "/", *_DEVICES, *proc, *limits)
    return Plan(both, len(made) + 2, mounts, made, inside)


def plan_helper(policy: Policy, argv: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Return the command line of a program of ours that only its paths confine: it runs no code of the project.

    It has no network and no `/proc`. It is in the process group of bubblewrap, so that a signal to the group reaches it: it can
    remove its lock files. No path of the policy is inside a folder that commands may write. Raises FileNotFoundError where bwrap
    is missing, or lies where a confined command could have written it.
    """
    program = _safe_program(policy, folder)
    users = _as_root(policy) if _keeps_user(policy) else ("--unshare-user", "--cap-drop", "ALL")
    access = dict(_accesses(replace(policy, is_flat=True), Path(program), (), (), ()))
    paths = sorted(access, key=_depth)
    # fmt: off
    return (
        program, "--unshare-net", "--unshare-ipc", *users, "--dev", "/dev", "--tmpfs", str(TEMP),
        *(word for name in _root_links() for word in ("--symlink", os.readlink(name), name)),
        *(word for path in paths for word in _mount(path, access)),
        "--remount-ro", "/", "--chdir", str(folder), "--", *argv,
    )
    # fmt: on


def _checked(words: tuple[str, ...], hidden: Sequence[Path], protected: Sequence[Path]) -> tuple[str, ...]:
    if len(words) <= _MOST_WORDS:
        return words
    kind, paths = max(("hide", hidden), ("protect", protected), key=lambda one: len(one[1]))
    raise OSError(
        f"bubblewrap cannot {kind} {len(paths):,} files such as {paths[-1]}; delete those that were generated"
    )


def enters_as_user(policy: Policy) -> bool:
    """Return whether the view of a policy has a user namespace of its own."""
    return not _keeps_user(policy)


def _safe_program(policy: Policy, folder: Path) -> str:
    program = find_program(policy.environ, folder)
    if program is None or any(Path(program).resolve().is_relative_to(path) for path in policy.write):
        raise FileNotFoundError(f"bwrap is not found outside of the writable folders ({program or 'not installed'})")
    return program


def hold(argv: Sequence[str]) -> list[str]:
    """Return the command line of the supervisor that runs a program and outlives it while it has left processes behind.

    It expects the program's output as standard output. It writes the line "ready" to standard error and waits for a line from
    standard input before it starts the program. Where processes remain, it writes the exit code as a line to standard error
    and waits until standard input is closed or it is killed; else it ends at once with the exit code (128 + n for a signal n). When
    standard input is closed while the program runs, everything ends.
    """
    return ["/bin/sh", "-c", _HOLD, "sh", *argv]


def _hold_with_relay(argv: Sequence[str]) -> list[str]:
    """Return the same for a policy with a proxy: programs reach it at `RELAY_PORT`."""
    source = Path(__file__).with_name("relay.py").read_text()
    return [os.path.realpath(sys.executable), "-I", "-S", "-c", source, _PROXY, str(RELAY_PORT), *argv]


def _namespaces(policy: Policy) -> list[str]:
    users = _as_root(policy) if _keeps_user(policy) else ("--unshare-user", "--cap-drop", "ALL")
    # fmt: off
    return [
        "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session",
        *([] if policy.network == "full" else ["--unshare-net"]), *users,
    ]
    # fmt: on


def _new_proc(policy: Policy) -> list[str]:
    return ["--ro-bind", "/proc", "/proc"] if policy.shares_proc else ["--proc", "/proc"]


def _view(policy: Policy, folder: Path, access: Mapping[Path, Access], paths: Sequence[Path]) -> list[str]:
    """Return the options that make what commands may reach: paths that no command can replace, as no folder around is writable."""
    covers = _covers(access)
    # fmt: off
    return [
        *_DEVICES, "--bind", str(policy.temp), str(TEMP), *(word for path in covers for word in ("--tmpfs", str(path))),
        *_links(access, covers, policy, folder),
        *(word for path in sorted(paths, key=_depth) for word in _mount(path, access)),
        *([] if policy.proxy is None else ["--ro-bind", str(policy.proxy), _PROXY]),
        *(word for path in (*covers, Path("/")) for word in ("--remount-ro", str(path))),
    ]
    # fmt: on


def _limits(policy: Policy, access: Mapping[Path, Access], paths: Sequence[Path]) -> list[str]:
    """Return the options that restrict what is inside of writable folders."""
    hidden = [path for path in paths if access[path] == "hide" and path.is_dir()]
    proc = [Path("/proc")] if _keeps_user(policy) else []  # with the settings of the kernel, which root owns
    return [
        *(word for path in sorted(paths, key=_depth) for word in _mount(path, access)),
        *(word for path in (*hidden, *proc) for word in ("--remount-ro", str(path))),
    ]


def _keeps_user(policy: Policy) -> bool:
    return has_admin_capability() and not policy.shares_proc


@cache
def has_admin_capability() -> bool:
    """Return whether this process can mount without a user namespace; kept."""
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


def _accesses(
    policy: Policy, program: Path, protected: Collection[Path], ancestors: Collection[Path], hidden: Collection[Path]
) -> Iterator[tuple[Path, Access]]:
    """Yield each path to mount; a later one of the same path replaces an earlier one. `program` is that of bubblewrap.

    A readable path inside a writable one is left out: it would become read-only, as a virtual environment of the project on PATH.
    """
    needed = [_RESOLVER.resolve()] if policy.network == "full" else []
    needed += [] if policy.proxy is None else [Path(sys.base_prefix).resolve()]
    needed += [] if policy.is_flat else [program]
    inside, closed = frozenset(protected), frozenset(hidden)
    write = dict.fromkeys(path for path in policy.write if path.exists() and not _is_below(path, inside))
    read = dict.fromkeys((*policy.read, *needed))
    reachable = read | write
    for path in read:
        if path.exists() and not _is_below(path, reachable):
            yield path, "read"
    for path in write:
        if not _is_below(path, write) or _is_below(path, closed):
            yield path, "write"
    for path in ancestors:
        yield path, "write"
    for path in protected:
        if not _is_below(path, closed):
            yield path, "read"
    for path in (*hidden, *SYSTEM_SECRETS.find()):
        if path.exists() and not _is_below(path, closed) and (path in read or _is_below(path, reachable)):
            yield path, "hide"


def _real(paths: Sequence[Path]) -> list[Path]:
    """Return the existing paths, for a link what it leads to.

    A protected link that leads elsewhere protects nothing, and must mount nothing: a command may have made it.
    """
    folders: dict[Path, str] = {}
    found: dict[Path, None] = {}
    for path in paths:
        folder = folders.get(path.parent)
        if folder is None:
            folder = folders[path.parent] = os.path.realpath(path.parent)
        name = os.path.join(folder, path.name)
        if os.path.islink(name):
            name = os.path.realpath(name)
        if os.path.exists(name):
            found[Path(name)] = None
    return list(found)


def _is_hidden_target(path: Path, write: Container[Path]) -> bool:
    """Return whether the target of a hidden link is hidden too.

    It must be a file that commands may write, or have the name of one with secrets: a command may have made the link, and must not
    hide programs, the home or the project from all others.
    """
    return path.is_file() and (_is_below(path, write) or is_secret(str(path)))


def _mount(path: Path, accesses: Mapping[Path, Access]) -> list[str]:
    """Return the options that mount a path; a hidden folder with a mounted one below can be passed through, not listed."""
    name, access = str(path), accesses[path]
    if access != "hide":
        return ["--bind" if access == "write" else "--ro-bind", name, name]
    if not path.is_dir():
        return ["--ro-bind", "/dev/null", name]
    return ["--perms", "0111" if any(path in _parents(one) for one in accesses) else "0000", "--tmpfs", name]


def _covers(access: Mapping[Path, Access]) -> list[Path]:
    """Return the folders of /tmp to cover, so that the mount points of paths below are not made in the temp folder."""
    below = {TEMP / path.parts[2] for path in access if TEMP in _parents(path)[1:]}
    return sorted(below - access.keys())


def _links(access: Mapping[Path, Access], covered: Container[Path], policy: Policy, folder: Path) -> Iterator[str]:
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
    known: dict[str, bool] = {"/": False}
    for name in filter(os.path.isabs, dict.fromkeys(map(os.path.normpath, names))):
        if _has_link(name, known) and os.path.exists(name):  # a loop of links does not exist
            _find_links(Path(name), access, covered, found)
    for path, target in found.items():
        yield from ("--symlink", target, str(path))


def _has_link(name: str, known: dict[str, bool]) -> bool:
    """Return whether a link is on the way to an absolute path, or is it; `known` keeps the answers."""
    found = known.get(name)
    if found is None:
        found = known[name] = _has_link(os.path.dirname(name), known) or os.path.islink(name)
    return found


def _find_links(path: Path, access: Mapping[Path, Access], covered: Container[Path], found: dict[Path, str]) -> None:
    """Add the links on the way to an existing path that lie in no mounted folder, with their targets."""
    for step in (*reversed(path.parents), path):
        if step in access or _is_below(step, access):
            return
        if step.is_symlink():
            target = os.readlink(step)
            if (
                TEMP not in _parents(step) or TEMP / step.parts[2] in covered
            ):  # else it would be created on the real disk
                found[step] = target
            _find_links(Path(os.path.normpath(step.parent / target)) / path.relative_to(step), access, covered, found)
            return


def _root_links() -> list[str]:
    with os.scandir("/") as entries:
        return [entry.path for entry in entries if entry.is_symlink()]


def _is_below(path: Path, folders: Container[Path]) -> bool:
    return any(parent in folders for parent in _parents(path))


@lru_cache(maxsize=4096)
def _parents(path: Path) -> Sequence[Path]:
    """Return the folders around a path, kept: each command asks for those of the same some hundred paths."""
    return tuple(path.parents)


def _depth(path: Path) -> int:
    return len(path.parts)
