"""Which way to confine commands works on this machine: found by starting a process in it."""

import os
import re
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.tiers import bubblewrap, landlock, seatbelt
from opencode_tui.engine.sandbox.tiers.leftover import WATCH
from opencode_tui.engine.sandbox.tiers.seccomp import assemble_key_filter
from opencode_tui.storage.paths import ensure, real_path

Tier = Literal["bubblewrap", "landlock", "seatbelt", "none"]
Setting = Literal["auto", "bubblewrap", "landlock", "none"]

_NEW_FILES = "new protected files are reported after the command"
_LIMITS: Mapping[Tier, tuple[str, ...]] = {
    "bubblewrap": (_NEW_FILES,),
    "landlock": (
        "protected files can be changed, which is reported after the command",
        ".env files can be read by commands that can't be analyzed, and hidden files in the project by all",
        "modes, owners and times of files outside can be changed",
        "Unix sockets that have a path and /dev/shm can be reached",
        "commands have no sockets, UDP and localhost included, and no pseudo-terminals",
    ),
    "seatbelt": (_NEW_FILES,),
}
_SHARED_PROC = ("command lines of other processes can be read, because this container masks parts of /proc",)
_FLAT = (
    "commands that run at the same time can make empty files outside, as bubblewrap cannot run inside bubblewrap here",
)

_TIMEOUT_S = 10.0
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_SETUID_VERSION = (0, 11, 2)
"""Older versions of bubblewrap with the bit setuid are not used."""
_SYSTEM = ("/usr", "/etc", "/lib", "/lib64", "/bin", "/sbin", "/nix", "/gnu")
_CACHE_NAME = "sandbox-tier"
_SHARED = "shares /proc\n"
_IS_FLAT = "one stage\n"
_WAYS = ((True, False), (False, True), (True, True))
"""Ways of bubblewrap that hold less, the best first: whether `/proc` is shared, and whether there is one stage only."""
_MASKED_PROC = "bubblewrap cannot mount /proc: this container hides parts of its own (run it with an unmasked /proc)"


class TierStatus(Struct, frozen=True):
    """Whether a tier works; `reason` is one line that says why not and how to get it, empty where it works."""

    tier: Tier
    works: bool
    reason: str
    shares_proc: bool = False
    """Whether commands see the present /proc, because a new one cannot be mounted."""
    is_flat: bool = False
    """Whether bubblewrap cannot run inside bubblewrap, which some AppArmor profiles of it refuse."""

    @property
    def limits(self) -> tuple[str, ...]:
        """Return what the tier does not hold here, as `doctor` says it."""
        more = (*(_SHARED_PROC if self.shares_proc else ()), *(_FLAT if self.is_flat else ()))
        return (*_LIMITS[self.tier], *more)


def probe(tier: Tier, environ: Mapping[str, str], folder: Path | None = None) -> TierStatus:
    """Return whether the tier works here: a process is started in it and tries what must be refused. Blocks, about 10 ms.

    Its program is none that commands in the folder, the current one by default, may write.
    """
    project = folder or Path.cwd()
    if tier == "none":
        return TierStatus("none", works=False, reason="switched off by experimental.sandbox.tier")
    try:
        if not (reason := _PROBES[tier](environ, project)):
            return TierStatus(tier, works=True, reason="")
        for shares_proc, is_flat in _WAYS if tier == "bubblewrap" and _is_worth(reason) else ():
            if not _probe_bubblewrap(environ, project, shares_proc=shares_proc, is_flat=is_flat):
                return TierStatus(tier, works=True, reason="", shares_proc=shares_proc, is_flat=is_flat)
    except (OSError, subprocess.SubprocessError) as error:
        reason = f"{tier} does not start: {error}"
    return TierStatus(tier, works=False, reason=reason)


def candidates() -> tuple[Tier, ...]:
    """Return the tiers that this system may have, the best first."""
    if sys.platform == "darwin":
        return ("seatbelt",)
    return ("bubblewrap", "landlock") if sys.platform == "linux" else ()


def choose(setting: Setting, environ: Mapping[str, str], cache: Path, folder: Path | None = None) -> TierStatus:
    """Return the best tier that works for a folder, or the one that is set; else tier "none" with the reasons. Blocks.

    What worked is remembered in the folder `cache` until the machine, the program or the namespace changes; what did not work is
    probed again, because it may have been installed in the meantime.
    """
    reasons: list[str] = []
    for tier in candidates() if setting == "auto" else (setting,):
        status = _probe_once(tier, environ, cache, folder or Path.cwd())
        if status.works:
            return status
        reasons.append(status.reason)
    return TierStatus("none", works=False, reason="; ".join(reasons) or f"{sys.platform} has no sandbox for commands")


def _probe_once(tier: Tier, environ: Mapping[str, str], cache: Path, folder: Path) -> TierStatus:
    path = cache / f"{_CACHE_NAME}-{tier}-{os.geteuid()}"
    identity = _identity(tier, environ, folder)
    with suppress(OSError, UnicodeDecodeError):
        known = path.read_text()
        if known.startswith(identity) and known[len(identity) :] in ("", _SHARED, _IS_FLAT, _SHARED + _IS_FLAT):
            return TierStatus(tier, works=True, reason="", shares_proc=_SHARED in known, is_flat=_IS_FLAT in known)
    status = probe(tier, environ, folder)
    if status.works:
        with suppress(OSError):  # without the cache, the next start probes again
            ensure(cache)
            with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(identity + _SHARED * status.shares_proc + _IS_FLAT * status.is_flat)
    return status


def _identity(tier: Tier, environ: Mapping[str, str], folder: Path) -> str:
    """Return what a result depends on: the boot, the namespaces and rights of this process, and the program."""
    parts: list[str] = []
    for name in ("/proc/self/ns/user", "/proc/self/ns/mnt"):
        with suppress(OSError):
            parts.append(os.readlink(name))
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    if tier == "bubblewrap":
        program = bubblewrap.find_program(environ, folder) or ""
        parts += [program, str(bubblewrap.has_admin_capability())]
        with suppress(OSError):
            found = os.stat(program)
            parts += [str(found.st_mtime_ns), oct(found.st_mode)]
    return "\n".join(parts) + "\n"


def _probe_bubblewrap(
    environ: Mapping[str, str], folder: Path, *, shares_proc: bool = False, is_flat: bool = False
) -> str:
    if sys.platform != "linux":
        return "bubblewrap exists on Linux only"
    found = bubblewrap.find_program(environ, folder)
    if found is None:
        return "bubblewrap is not installed (apt install bubblewrap)"
    if fault := find_fault(found, environ):
        return fault
    with tempfile.TemporaryDirectory() as name:
        policy = replace(_probe_policy(real_path(name), environ), shares_proc=shares_proc, is_flat=is_flat)
        text = f"! (: < /proc/{os.readlink('/proc/self')}/environ) 2> /dev/null" if shares_proc else "exit 0"
        plan = bubblewrap.plan(policy, ("/bin/sh", "-c", text), Path("/"))
        before, after = plan.argv[1 : plan.options_at], plan.argv[plan.options_at :]
        held, held_end = os.pipe()  # without an open standard input everything ends
        os.write(held_end, b"\n")  # starts the program
        system_calls, filter_end = os.pipe()
        try:
            with open(filter_end, "wb") as writer:
                writer.write(assemble_key_filter())
            done = subprocess.run(
                [found, *before, *WATCH.options(), "--seccomp", str(system_calls), *after], stdin=held, capture_output=True,
                timeout=_TIMEOUT_S, check=False, env=dict(environ), pass_fds=[system_calls],
            )  # fmt: skip
        finally:
            for end in (held, held_end, system_calls):
                os.close(end)
    if done.returncode == 0:
        return ""
    return _explain_bubblewrap(done.stderr.decode(errors="replace"))


def find_version(program: str, environ: Mapping[str, str]) -> str:
    """Return the version of bubblewrap, empty where it does not say it. Blocks for a few milliseconds."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, timeout=_TIMEOUT_S, check=False, env=dict(environ)
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = _VERSION.search(done.stdout.decode(errors="replace"))
    return found[0] if found else ""


def find_fault(program: str, environ: Mapping[str, str]) -> str:
    """Return why this bubblewrap is not used, empty where it is: old ones with the bit setuid let a user become root.

    A flaw in such a one is open to every command of the user; Landlock needs no such program. Root has nothing to gain by the bit.
    """
    if os.geteuid() == 0 or not os.stat(program).st_mode & stat.S_ISUID:
        return ""
    version = find_version(program, environ)
    if tuple(int(part) for part in version.split(".") if part) >= _SETUID_VERSION:
        return ""
    return (
        f"{program} is setuid and older than {'.'.join(map(str, _SETUID_VERSION))} (CVE-2026-41163); update bubblewrap, "
        f"or `chmod u-s {program}`"
    )


def _is_worth(reason: str) -> bool:
    """Return whether bubblewrap may work in another way, given why it did not."""
    return reason == _MASKED_PROC or reason.startswith(("bubblewrap cannot create", "bubblewrap does not start"))


_SWITCHES = (
    ("user/max_user_namespaces", "0", "none are allowed (sysctl user.max_user_namespaces=15000 allows them)"),
    ("kernel/unprivileged_userns_clone", "0", "only root may (sysctl kernel.unprivileged_userns_clone=1 allows them)"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor forbids it (a profile for bwrap, or sysctl kernel.apparmor_restrict_unprivileged_userns=0, allows it)",
    ),
)
"""Files below /proc/sys with the value that forbids user namespaces, and what to do."""


def _explain_bubblewrap(errors: str) -> str:
    lines = [line for line in errors.splitlines() if line.strip()]
    last = lines[-1] if lines else "no message"
    lowered = last.lower()
    if "mount proc" in lowered:
        return _MASKED_PROC
    if "namespace" in lowered or "uid map" in lowered:
        return f"bubblewrap cannot create a user namespace: {_forbidden_by(Path('/proc/sys'))}"
    return f"bubblewrap does not start: {last}"


def _forbidden_by(switches: Path) -> str:
    for name, value, words in _SWITCHES:
        with suppress(OSError):
            if (switches / name).read_text().strip() == value:
                return words
    return "the kernel or this container forbids it (in a container, its seccomp or AppArmor profile must allow it)"


def _probe_landlock(environ: Mapping[str, str], _folder: Path) -> str:
    if sys.platform != "linux":
        return "Landlock exists on Linux only"

    if not landlock.version():
        return (
            "this kernel has no Landlock, or it is switched off or filtered (Linux 5.13 or newer with landlock in the boot "
            "parameter lsm=; in a container, a seccomp profile that knows it)"
        )
    with tempfile.TemporaryDirectory() as name:
        inside, outside = real_path(name) / "inside", real_path(name) / "outside"
        inside.mkdir()
        text = f"echo > {inside}/file && {{ echo > {outside}; }} 2> /dev/null"
        policy = _probe_policy(inside, environ)
        results: list[int | OSError] = []

        def run() -> None:
            try:
                landlock.confinement(policy)()
                done = subprocess.run(["/bin/sh", "-c", text], env=dict(environ), timeout=_TIMEOUT_S, check=False)
                results.append(done.returncode)
            except OSError as error:
                results.append(error)

        thread = threading.Thread(target=run, name="landlock-probe")
        thread.start()
        thread.join()
        if results and isinstance(results[0], OSError):
            return f"Landlock and seccomp cannot be applied: {results[0]}"
        if not Path(inside, "file").exists():
            return "Landlock refuses what it should allow"
        return "Landlock does not refuse writing outside" if outside.exists() else ""


def _probe_seatbelt(environ: Mapping[str, str], _folder: Path) -> str:
    if sys.platform != "darwin":
        return "sandbox-exec exists on macOS only"
    with tempfile.TemporaryDirectory() as name:
        profile = seatbelt.profile(_probe_policy(real_path(name), environ))
        command = [seatbelt.PROGRAM, "-p", profile, "/bin/sh", "-c", "exit 0"]
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False, env=dict(environ))
    return (
        "" if done.returncode == 0 else f"sandbox-exec does not start: {done.stderr.decode(errors='replace').strip()}"
    )


_PROBES = {"bubblewrap": _probe_bubblewrap, "landlock": _probe_landlock, "seatbelt": _probe_seatbelt}


def _probe_policy(folder: Path, environ: Mapping[str, str]) -> Policy:
    read = tuple({Path(os.path.realpath(name)) for name in _SYSTEM if os.path.exists(name)})
    return Policy(read, (folder,), (), (), folder, "none", environ)
