"""Whether a failed command looks as if the sandbox had refused it: a guess from its output.

No tier reports what it refuses, so a refusal looks like any other error of the system. An error text counts when the path that it
mentions is out of reach inside and would have worked outside, when it says that there is no network, or when it comes from a
service that is reached over a socket. Errors about paths that are in reach inside are ordinary ones.
Source: docs/internals/sandbox.md#refusals.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.tier import Tier

_READ_CHARS = 32 * 1024
_LINE_CHARS = 2_000
"""Characters of a line that are compared with the patterns: errors are short, and some patterns need the square of a length."""

_LINES_BEFORE = 4
_TEMP = "/tmp"


def _any(*patterns: str) -> "re.Pattern[str]":
    return re.compile("|".join(patterns), re.IGNORECASE)


_READ_ONLY = _any("read-only file ?system", r"\bEROFS\b", r"os error 30\b", "ReadOnlyFileSystem")
_MISSING = _any(
    "no such file or directory", r"\bENOENT\b", r"os error 2\b", "FileNotFound", "NoSuchFile", "does not exist", "not found",
    "cannot find", "unable to open", "directory nonexistent", "(?:can't|cannot) (?:open|access|cd)",
)  # fmt: skip
_DENIED = _any(
    "permission denied", r"\bEACCES\b", r"os error 13\b", "access ?denied", "unable to open", "(?:can't|cannot|could not) open",
    "readonly database", "not writable",
)  # fmt: skip
_NOT_PERMITTED = _any("operation not permitted", r"\bEPERM\b", r"os error 1\b")
_BUSY = _any("device or resource busy", r"\bEBUSY\b", r"os error 16\b")
_CROSS_DEVICE = _any("cross-device link", r"\bEXDEV\b", r"os error 18\b")

_NAME = r"(?P<host>[A-Za-z0-9][\w.-]*[A-Za-z0-9])"
_HOST = rf"[\"'`(\[]?(?:https?://)?{_NAME}"
_URL = rf"https?://(?:[^/\s@]*@)?{_NAME}"
_NETWORK_WITH_HOST = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"could(?: not|n't) resolve (?:host|proxy|hostname):? {_HOST}",
        rf"(?:failed to|could not|unable to|cannot) resolve:? (?:host |address |hostname |host address )?{_HOST}",
        rf"temporary failure resolving {_HOST}",
        rf"getaddrinfo E[A-Z_]+ {_HOST}",
        rf"\blookup {_HOST}[^\n]*(?:no such host|misbehaving|refused|not permitted|unreachable|timeout)",
        rf"UnknownHostException: {_HOST}",
        rf"bad address {_HOST}",
        rf"host={_HOST}[^\n]*(?:NameResolution|NewConnection|Failed to establish|Max retries)",
        rf"Could not transfer artifact [^\n]*?\([^)]*{_URL}",
        rf"(?:request|connect|connection|download|fetch)[^\n]* (?:to|for|from) [\"'`(]?{_URL}[^\n]* failed",
        rf"failed to (?:download|fetch|get)[^\n]*?{_URL}",
    )
)
_NETWORK = _any(
    "network is unreachable",
    "name or service not known",
    "nodename nor servname",
    "name resolution",
    "no such host",
    "dns error",
    "failed to lookup address",
    "unknown host",
    "no route to host",
    "failed to establish a new connection",
    r"\b(?:ENETUNREACH|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)\b",
)
_REFUSED_CONNECTION = _any("connection refused", r"\bECONNREFUSED\b")
_ADDRESS = re.compile(
    r"(?<![\w.])(?P<host>(?:\d{1,3}\.){3}\d{1,3}|[a-z0-9-]+(?:\.[a-z0-9-]+)+)(?=:\d|[^\n]* port \d)", re.IGNORECASE
)
_LOCAL = re.compile(r"localhost|127\.[\d.]+|0\.0\.0\.0|::1", re.IGNORECASE)
_SOCKET_CALL = _any(
    "sockets?\\b",
    r"\blisten",
    r"\bbind\b",
    r"\bconnect\b",
    "getaddrinfo",
    "asyncio",
    "create_server",
    "dial tcp",
    "socketserver",
)
_ANSWERED = _any(r"\b(?:40[1-9]|5\d\d)\b", "offline mode", "--offline")
"""A server has answered, or the tool was told not to use the network."""

_SERVICES = (
    ("needs Docker's socket", _any("docker daemon", r"docker\.sock", "docker API")),
    ("needs Podman's socket", _any("connect to Podman", r"podman\.sock")),
    (
        "needs the service manager",
        _any("failed to connect to (?:system |session |user )?(?:scope )?bus", "failed to get D-Bus"),
    ),
    (
        "needs an agent for keys",
        _any(
            "connection to your authentication agent",
            "can't connect to the (?:gpg-)?agent",
            "gpg failed to sign",
            "no (?:gpg-)?agent running",
        ),
    ),
    (
        "needs a display",
        _any("cannot open display", "could not connect to display", "missing X server", "no protocol specified"),
    ),
    (
        "needs other rights",
        _any(
            "no new privileges",
            "sudo: (?:effective uid|unable to|PERM|/)",
            "must be setuid root",
            "su: cannot set groups",
            "doas: ",
        ),
    ),
    (
        "makes namespaces or mounts",
        _any(
            r"\b(?:unshare|bwrap|mount|setns|pivot_root|clone|nsenter|newuidmap)\b[^\n]*(?:not permitted|permission denied)",
            "no permissions to creat",
        ),
    ),
    (
        "traces another process",
        _any(r"ptrace\w*\b[^\n]*(?:not permitted|permission denied)", "perf_event_(?:open|paranoid)"),
    ),
    ("sends packets of its own", _any("SOCK_RAW", "raw socket", "ping: socket")),
)

_HINT = _any(
    *(one.pattern for one in (_READ_ONLY, _MISSING, _DENIED, _NOT_PERMITTED, _BUSY, _CROSS_DEVICE, _NETWORK, _REFUSED_CONNECTION)),
    *(pattern.pattern for _, pattern in _SERVICES),
    "resolve|lookup|artifact|failed|UnknownHost",
)  # fmt: skip
"""What a line has that is examined."""

_QUOTED = re.compile(r"[\"'`\u2018\u201c]([^\"'`\u2018\u2019\u201c\u201d\n]{1,300})[\"'`\u2019\u201d]")
_ABSOLUTE = re.compile(r"(?<![\w./~-])/[^\s:'\"`,;()<>|\u2018\u2019\u201c\u201d]+")
_RELATIVE = re.compile(r"(?<![\w/.~-])(?:\.{1,2}/|\.?\w)[\w./@+-]*[\w-]")


_PROGRAM = re.compile(r"[^\s:]+: (?:line )?(?:\d+: )?(?=[^\n]*: )")
"""The name of the program before a message that has a colon itself."""


class Refusal(Struct, frozen=True):
    """What the sandbox probably refused: one line, and the path or host that the output mentions."""

    what: str
    path: str | None = None
    host: str | None = None


def _real_path(path: str) -> str:
    """Return a path with all links resolved; as it is where a link on its way is exchanged in the meantime."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


class HostView(Struct, frozen=True):
    """What works outside the sandbox, with the rights of this process."""

    exists: Callable[[str], bool] = os.path.lexists
    readable: Callable[[str], bool] = lambda path: os.access(path, os.R_OK)
    writable: Callable[[str], bool] = lambda path: os.access(path, os.W_OK)
    real: Callable[[str], str] = _real_path


def find_refusal(
    tier: Tier,
    exit_code: int | None,
    output: str,
    policy: Policy,
    view: HostView | None = None,
    refused_hosts: Sequence[str] = (),
) -> Refusal | None:
    """Return what the sandbox probably refused to a command, None when it succeeded or its failure looks like an ordinary one.

    `refused_hosts` are those that the proxy is known to have refused. Asks the file system about the paths in the output.
    """
    if not exit_code or tier == "none":
        return None
    if refused_hosts:
        return Refusal(f"Connects to {refused_hosts[0]}, which the sandbox does not allow.", host=refused_hosts[0])
    lines = [line[:_LINE_CHARS] for line in output[-_READ_CHARS:].splitlines()]
    reach = _Reach(policy, view or HostView(), mounts_temp=tier == "bubblewrap")
    for index, line in enumerate(lines):
        if not _HINT.search(line):
            continue
        around = lines[max(0, index - _LINES_BEFORE) : index + 1]
        found = (
            _by_path(tier, line, around, reach) or _by_network(tier, line, lines, index, policy) or _by_service(line)
        )
        if found is not None:
            return found
    return None


class _Reach:
    """Compares paths with a policy. `mounts_temp`: the temp folder is /tmp inside."""

    def __init__(self, policy: Policy, view: HostView, *, mounts_temp: bool) -> None:
        self._policy = policy
        self._view = view
        self._write = (*policy.write, policy.temp, Path("/dev"))
        self._shown = (*policy.read, *self._write, Path("/proc"), Path("/sys"))
        self._mounts_temp = mounts_temp

    def absolute(self, path: str) -> str:
        """Return a path above its folder as if that were the project's; others are unchanged."""
        if not path.startswith("../") or not self._policy.write:
            return path
        return os.path.normpath(self._policy.write[0] / path)

    def is_protected(self, path: str) -> bool:
        return _names_one(path, self._policy.read_only)

    def is_hidden(self, path: str) -> bool:
        return _names_one(path, self._policy.hidden)

    def is_unwritable(self, path: str) -> bool:
        """Return whether an absolute path cannot be written inside."""
        return not (_below(path, self._write) or self._is_own_temp(path))

    def is_missing_inside_only(self, path: str) -> bool:
        """Return whether a path, or the folder that it would be created in, exists outside and is not shown inside."""
        real = self._view.real(path)
        if _below(path, self._shown) or _below(real, self._shown):
            return False
        if self._is_own_temp(path):
            return self._view.exists(path) and not self._view.exists(f"{self._policy.temp}{path[len(_TEMP) :]}")
        parent = os.path.dirname(path)
        return self._view.exists(path) or (self._view.exists(parent) and not self._is_shown_folder(parent))

    def is_denied_inside_only(self, path: str) -> bool:
        """Return whether an absolute path can be used outside but not under Landlock."""
        real = self._view.real(path)
        if _below(real, self._write):
            return False
        owner = real if self._view.exists(real) else os.path.dirname(real)
        if _below(real, self._policy.read):
            return self._view.writable(owner)
        return self._view.readable(owner) and not path.startswith(("/proc/", "/sys/"))

    def _is_own_temp(self, path: str) -> bool:
        """Return whether a path is in the own temp folder by its mounted name, and not in a folder that is mounted there."""
        parts = path.split("/", 3)
        if not self._mounts_temp or parts[1:2] != ["tmp"]:
            return False
        first = "/".join(parts[:3])
        return len(parts) < 3 or not any(str(one).startswith(f"{first}/") for one in self._shown)

    def _is_shown_folder(self, folder: str) -> bool:
        return _below(folder, self._shown) or any(Path(folder) in one.parents for one in self._shown)


def _by_path(tier: Tier, line: str, around: Sequence[str], reach: _Reach) -> Refusal | None:
    for path in map(reach.absolute, _paths(line, around)):
        if (_DENIED.search(line) or _NOT_PERMITTED.search(line)) and reach.is_hidden(path):
            return Refusal(f"Reads {path}, which is hidden in the sandbox.", path)
        if tier != "landlock" and (_BUSY.search(line) or _READ_ONLY.search(line)) and reach.is_protected(path):
            return Refusal(f"Changes {path}, which is protected in the sandbox.", path)
        if _is_outside(tier, line, path, reach):
            return Refusal(f"Uses {path}, which is outside the sandbox.", path)
    if tier == "bubblewrap" and _READ_ONLY.search(line):
        return Refusal("Writes outside the sandbox.")
    return None


def _is_outside(tier: Tier, line: str, path: str, reach: _Reach) -> bool:
    if not os.path.isabs(path):
        return False
    is_denied = _DENIED.search(line) or (tier == "seatbelt" and _NOT_PERMITTED.search(line))
    if tier == "bubblewrap":
        if _READ_ONLY.search(line):
            return reach.is_unwritable(path)
        return bool(is_denied or _MISSING.search(line)) and reach.is_missing_inside_only(path)
    if is_denied or _CROSS_DEVICE.search(line):
        return reach.is_denied_inside_only(path)
    return _MISSING.search(line) is not None and reach.is_missing_inside_only(path)


def _by_network(tier: Tier, line: str, lines: Sequence[str], index: int, policy: Policy) -> Refusal | None:
    if policy.network == "full":
        return None
    for pattern in _NETWORK_WITH_HOST:
        match = pattern.search(line)
        if match is not None and not _LOCAL.fullmatch(match["host"]) and not _ANSWERED.search(line):
            why = "the sandbox has no network" if policy.network == "none" else "not through the proxy of the sandbox"
            return Refusal(f"Connects to {match['host']}; {why}.", host=match["host"])
    address = _ADDRESS.search(line)
    host = address["host"] if address and not _LOCAL.fullmatch(address["host"]) else None
    if _NETWORK.search(line) or (_REFUSED_CONNECTION.search(line) and host is not None):
        return Refusal("Uses the network, which the sandbox does not have.", host=host)
    if tier in ("landlock", "seatbelt") and _NOT_PERMITTED.search(line):
        near = lines[max(0, index - _LINES_BEFORE) : index + 1]
        if any(_SOCKET_CALL.search(one) for one in near):
            return Refusal("Opens a socket, which the sandbox does not allow.", host=host)
    return None


def _by_service(line: str) -> Refusal | None:
    for words, pattern in _SERVICES:
        if pattern.search(line):
            return Refusal(f"The command {words}, which the sandbox does not allow.")
    return None


def _paths(line: str, around: Sequence[str]) -> Iterator[str]:
    """Yield the paths that an error line mentions; when it names none, those of the lines before it, the nearest first."""
    found = list(_mentioned(line))
    yield from found
    if not any("/" in path for path in found):
        for earlier in reversed(around[:-1]):
            yield from (path for path in _mentioned(earlier) if "/" in path)


def _mentioned(line: str) -> Iterator[str]:
    prefix = _PROGRAM.match(line)
    line = line[prefix.end() :] if prefix is not None else line
    names = [match[1] for match in _QUOTED.finditer(line)]
    names += [match[0] for match in _ABSOLUTE.finditer(line)]
    names += [segment.strip() for segment in line.split(":") if segment.strip().startswith(("/", ".", "~"))]
    names += [match[0] for match in _RELATIVE.finditer(line)]
    for name in dict.fromkeys(names):
        cleaned = name.removeprefix("unix://").rstrip(".,)")
        if cleaned and "\0" not in cleaned:
            yield os.path.normpath(cleaned) if cleaned.startswith("/") else cleaned


def _below(path: str, folders: Sequence[Path]) -> bool:
    return any(path == str(folder) or path.startswith(f"{folder}/") for folder in folders)


def _names_one(path: str, known: Sequence[Path]) -> bool:
    """Return whether a path, possibly relative to an unknown folder, is one of the known ones, in one, or contains one."""
    if os.path.isabs(path):
        return _below(path, known) or any(str(one).startswith(f"{path}/") for one in known)
    name = path.removeprefix("./").rstrip("/")
    return any(
        str(one).endswith(f"/{name}") or f"/{name}/" in str(one) or f"{one.name}/" in name for one in known if name
    )
