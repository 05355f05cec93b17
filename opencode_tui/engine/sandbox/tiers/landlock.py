"""Tier B: Landlock and a seccomp filter, for a thread and all processes that it starts.

Landlock limits what is opened, created, renamed, linked and removed to the policy's folders, and where the kernel knows how, TCP,
abstract Unix sockets, signals and devices; seccomp (`seccomp.py`) refuses what Landlock does not know. Root keeps only the
capabilities that concern owners and modes of files: others would let it read the memory of processes outside, for example. Reading
/proc is allowed; the kernel refuses what belongs to processes outside (memory, environment, descriptors) except command lines.

What it cannot hold (`TierStatus.limits`): nothing inside a writable folder can be excepted, so protected files are compared
afterwards and hidden files there are left to the scanner; modes, owners, times and attributes of files outside can be changed
by one who owns them; Unix sockets outside that have a path accept connections; /dev/shm is that of the machine. There are no
pseudo-terminals: the folder that would hold them also holds the user's terminals, whose input a command could read.
"""

import errno
import os
import stat
import struct
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

from opencode_tui.engine.sandbox.mounts import Tree, opened
from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.secret_files import SYSTEM_SECRETS
from opencode_tui.engine.sandbox.tiers import seccomp
from opencode_tui.engine.sandbox.tiers.seccomp import call, call_prctl
from opencode_tui.engine.sandbox.tiers.sockets import SocketMaker
from opencode_tui.storage.paths import real_path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on all architectures
_VERSION_FLAG, _PATH_BENEATH, _NET_PORT, _NO_NEW_PRIVILEGES = 1, 1, 2, 38
_HAS_CAPABILITY, _DROP_CAPABILITY = 23, 24
_FILE_CAPABILITIES, _MOST_CAPABILITIES = (0, 1, 3, 4), 64
"""CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID."""

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << bit for bit in range(6))
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = (1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = (1 << bit for bit in range(13, 16))
_RIGHTS_BY_VERSION = ((1, (1 << 13) - 1), (2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV))
_TCP, _CONNECT_TCP, _TCP_VERSION = 3, 2, 4
_SCOPES, _SCOPES_VERSION = 3, 6

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_CHANGE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO
_WRITE = _CHANGE | _MAKE_SYM | _REFER | _TRUNCATE | _IOCTL_DEV
"""No devices: root could make one of the disk."""
_FILE_ONLY = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_SHARED_MEMORY = os.path.realpath("/dev/shm")


def version() -> int:
    """Return the version of Landlock that the kernel has, 0 without it or where it is switched off."""
    try:
        return call(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError:
        return 0


def no_hosts() -> str:
    """Return why commands cannot be limited to single hosts, in one line; empty where they can."""
    if version() >= _TCP_VERSION:
        return ""
    return "this kernel's Landlock cannot limit connections (Linux 6.7 or newer can); install bubblewrap"


def confinement(policy: Policy) -> Callable[[], None]:
    """Return a function that confines the calling thread, and what it starts, for good.

    It raises OSError where the kernel refuses; the thread must not start anything then.
    """
    supported = version()
    if not supported:
        raise OSError("the kernel has no Landlock")
    has_network, reports_tcp = policy.network == "full", policy.proxy is not None
    if reports_tcp and supported < _TCP_VERSION:
        raise OSError(no_hosts())
    signals = () if supported >= _SCOPES_VERSION else tuple(_present_processes())
    program = seccomp.assemble(
        os.uname().machine,
        has_network=has_network,
        has_truncate=supported >= _truncate_version(),
        unsignaled=signals,
        reports_tcp=reports_tcp,
    )
    maker = None
    if reports_tcp:
        maker = SocketMaker()
    dropped = _droppable_capabilities() if os.geteuid() == 0 else ()  # no program of another user gains any

    def confine() -> None:
        for capability in dropped:
            call_prctl(_DROP_CAPABILITY, capability)
        _restrict(policy, supported)
        listener = seccomp.install(program, with_listener=maker is not None)
        if maker is not None:
            maker.serve(listener)

    return confine


@cache
def reaper() -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Return the command line before the arguments of `reaper.py`, and what it needs to read."""
    python = os.path.realpath(sys.executable)
    source = Path(__file__).with_name("reaper.py").read_text()
    return (python, "-I", "-S", "-c", source), (Path(python), *map(real_path, (sys.base_prefix, sys.base_exec_prefix)))


def _truncate_version() -> int:
    return next(version for version, rights in _RIGHTS_BY_VERSION if rights & _TRUNCATE)


def _restrict(policy: Policy, supported: int) -> None:
    handled = 0
    for since, rights in _RIGHTS_BY_VERSION:
        handled |= rights if supported >= since else 0
    network = _TCP if supported >= _TCP_VERSION and policy.network != "full" else 0
    scopes = _SCOPES if supported >= _SCOPES_VERSION else 0
    attributes = [handled]
    attributes += [network] if supported >= _TCP_VERSION else []
    attributes += [scopes] if supported >= _SCOPES_VERSION else []
    packed = struct.pack(f"={len(attributes)}Q", *attributes)
    ruleset = call(_CREATE_RULESET, packed, len(packed), 0)
    try:
        with opened("/") as tree:
            for path, rights in _rules(policy):
                _allow(ruleset, tree, path, rights & handled)
        if isinstance(policy.proxy, int):
            call(_ADD_RULE, ruleset, _NET_PORT, struct.pack("=QQ", _CONNECT_TCP, policy.proxy), 0)
        call_prctl(_NO_NEW_PRIVILEGES, 1)
        call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _rules(policy: Policy) -> Iterator[tuple[str, int]]:
    yield "/proc", _READ
    for name in _DEVICES:
        yield f"/dev/{name}", _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
    if policy.has_shared_memory:
        yield _SHARED_MEMORY, _READ_FILE | _READ_DIR | _WRITE_FILE | _REMOVE_FILE | _MAKE_REG | _TRUNCATE
    hidden = {str(path) for path in (*policy.hidden, *SYSTEM_SECRETS.find())}
    above = {str(parent) for path in hidden for parent in Path(path).parents}
    for path in policy.read:
        yield from _readable(str(path), hidden, above)
    for path in (*policy.write, policy.temp):
        yield str(path), _WRITE


def _readable(path: str, hidden: Collection[str], above: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield the rule to read a path; where hidden ones are below, the names there, and the rules of the other entries.

    `above` are all folders above hidden paths.
    """
    if path in hidden:
        return
    if path not in above:
        yield path, _READ
        return
    yield path, _READ_DIR
    with os.scandir(path) as entries:
        others = [entry.path for entry in entries if not entry.is_symlink()]
    for other in others:
        yield from _readable(other, hidden, above)


@cache
def _droppable_capabilities() -> tuple[int, ...]:
    """Return the capabilities that programs could get and that do not concern files."""
    found: list[int] = []
    with suppress(OSError):  # the kernel has no more
        for capability in range(_MOST_CAPABILITIES):
            if call_prctl(_HAS_CAPABILITY, capability) and capability not in _FILE_CAPABILITIES:
                found.append(capability)
    return tuple(found)


def _allow(ruleset: int, tree: Tree, path: str, rights: int) -> None:
    """Add a rule for a real path; one that is missing needs none."""
    try:
        descriptor, status = tree.open(path)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):  # another command has just put a link there
            return
        raise
    try:
        if not stat.S_ISDIR(status.st_mode):
            rights &= _FILE_ONLY
        call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _present_processes() -> Iterator[int]:
    """Yield the processes that a command must not signal, where the kernel cannot limit signals: all that exist now."""
    user = os.geteuid()
    for process in psutil.process_iter():
        try:
            if user in (0, process.uids().effective):
                yield process.pid
        except psutil.Error:
            continue
