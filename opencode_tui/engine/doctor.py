"""Checks of what can keep the engine from opening, or from working well: the folders, the store, programs, the sandbox, skills.

They work without an engine. `opencode-tui doctor` shows them, with those that ask an engine.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct, field

from opencode_tui.cancellation import Threads
from opencode_tui.config.auth import AuthStore
from opencode_tui.config.load import LoadedConfig
from opencode_tui.engine.project.git import git_version
from opencode_tui.engine.sandbox.caches import repair_caches
from opencode_tui.engine.sandbox.temp import list_caches, size_of_folder
from opencode_tui.engine.sandbox.tier import Tier, candidates, find_version, probe
from opencode_tui.engine.sandbox.tiers.bubblewrap import find_program as find_bubblewrap
from opencode_tui.engine.skill.skills import discover_skills, search_of
from opencode_tui.engine.tool.search.ripgrep import find_ripgrep, missing_ripgrep
from opencode_tui.entry_points import load
from opencode_tui.programs import find_program
from opencode_tui.schema.api.importing import LeftBehind
from opencode_tui.schema.error import ConfigError, GitMissingError, GitUnavailableError, OpencodeError
from opencode_tui.schema.ids import system_clock
from opencode_tui.storage.doctor import Doctor, Finding
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from opencode_tui.storage.task_folders import list_left_agents
from opencode_tui.storage.trash import Trash

Level = Literal["ok", "warning", "error"]
_MEBIBYTE = 1024 * 1024
_SCARCE_BYTES = 512 * _MEBIBYTE
_FULL_BYTES = 64 * _MEBIBYTE
_NAMED_TITLES = 10
FindLeftBehind = Callable[[Paths, Mapping[str, str]], Iterator[LeftBehind]]

WRITE_S = 5.0
"""Seconds that the disk has to store a file of a few bytes."""


class Check(Struct, frozen=True):
    """The result of one check; `details` are lines under it, each with its own level, `size` are the bytes of what it is about.

    With `is_last` no other check can be made.
    """

    name: str
    level: Level
    text: str
    details: list[tuple[Level, str]] = field(default_factory=list[tuple[Level, str]])
    size: int | None = None
    is_last: bool = False


def check_folder(paths: Paths) -> Check:
    """Return whether the data folder is writable, has free space, and is on a local disk. Blocks."""
    folder = next(path for path in (paths.data, *paths.data.parents) if path.exists())
    writing = Threads(1).submit(_try_to_write, folder)
    try:
        writing.result(WRITE_S)
        free = shutil.disk_usage(folder).free
    except TimeoutError:
        return Check(
            "folder",
            "error",
            f"{folder} did not store a file within {WRITE_S:g} s; its disk hangs or is very slow. Nothing else is checked",
            is_last=True,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        return Check(
            "folder", "error", f"{folder} is not writable ({reason}); fix its permissions, or set XDG_DATA_HOME"
        )
    details: list[tuple[Level, str]] = []
    if free < _SCARCE_BYTES:
        is_full = free < _FULL_BYTES
        details.append(
            ("error" if is_full else "warning", f"only {free // _MEBIBYTE} MiB free on its disk; free some space")
        )
    kind = network_kind(folder)
    if kind is not None:
        details.append(("warning", f"network file system ({kind}): slow, and locks may fail; set XDG_DATA_HOME"))
    return Check("folder", worst(level for level, _ in details), str(paths.data), details)


def _try_to_write(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, "no permission")
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"opencode-tui doctor")
        file.flush()
        os.fsync(file.fileno())


def check_keys(paths: Paths) -> Check:
    """Return whether the credentials file is readable. Blocks."""
    try:
        stored = AuthStore(paths=paths).read()
    except ConfigError as error:
        return Check("keys", "error", str(error))
    names = ", ".join(sorted(stored.entries)) or "none stored"
    details: list[tuple[Level, str]] = [("ok", f"repaired: {stored.corrected}")] if stored.corrected else []
    details.extend(("warning", fault) for fault in stored.faults())
    return Check("keys", worst(level for level, _ in details), names, details)


def check_git(directory: Path, environ: Mapping[str, str]) -> Check:
    """Return the version of git. Blocks."""
    try:
        return Check("git", "ok", git_version(directory, environ))
    except GitMissingError:
        return Check("git", "error", "not found; install it: projects and undo need it")
    except GitUnavailableError as error:
        return Check("git", "error", f"{find_program('git', environ, directory)} does not run ({error}); reinstall it")


def check_ripgrep(directory: Path, environ: Mapping[str, str]) -> Check:
    """Return the location of ripgrep."""
    path = find_ripgrep(directory, environ)
    return Check("ripgrep", "ok", path) if path is not None else Check("ripgrep", "error", missing_ripgrep())


class Trial(Struct, frozen=True):
    """What a command in this folder showed: why none starts, why none is confined, and what is to be said."""

    fault: str = ""
    switched_off: str = ""
    warnings: Sequence[str] = ()


def check_sandbox(directory: Path, environ: Mapping[str, str], *, try_here: Callable[[], Trial]) -> Check:
    """Return which ways of confining commands work, and what each does not hold. Starts a process in each; blocks.

    `try_here` starts a command with the settings of the folder.
    """
    if not candidates():
        return Check("sandbox", "warning", f"none on {sys.platform}: commands run unconfined, opaque ones ask")
    statuses = [probe(tier, environ) for tier in candidates()]
    details: list[tuple[Level, str]] = [
        ("ok", f"{status.tier}{_version_of(status.tier, directory, environ)} works; limits: {'; '.join(status.limits)}")
        if status.works
        else ("warning", status.reason)
        for status in statuses
    ]
    used = next((status.tier for status in statuses if status.works), None)
    if used is None:
        return Check("sandbox", "warning", "none works: commands run unconfined, opaque ones ask", details)
    tried = try_here()
    if tried.fault:
        return Check("sandbox", "error", f"{used} works, but no command starts in this folder: {tried.fault}", details)
    if tried.switched_off:
        return Check("sandbox", "warning", f"not used: {tried.switched_off}", details)
    details.extend(("warning", line) for line in tried.warnings)
    return Check("sandbox", "warning" if tried.warnings else "ok", f"{used} confines commands", details)


def _version_of(tier: Tier, directory: Path, environ: Mapping[str, str]) -> str:
    """Return the version of a tier's program behind a space, empty without one."""
    program = find_bubblewrap(environ, directory) if tier == "bubblewrap" else None
    version = "" if program is None else find_version(program, environ)
    return f" {version}" if version else ""


def check_caches(paths: Paths) -> Check:
    """Return how much the caches of confined commands take, and what was repaired in them, now or before. Blocks."""
    projects = list_caches(paths)
    details: list[tuple[Level, str]] = []
    for folder in projects:
        try:
            details.extend(("warning", f"repaired: {line}") for line in repair_caches(folder))
        except OSError as error:
            details.append(("error", f"{folder}: {error.strerror}; delete it, its caches come back"))
    level = worst(level for level, _ in details)
    if not projects:
        return Check("caches", level, "none", details)
    size = sum(map(size_of_folder, projects))
    return Check("caches", level, f"of commands in {_count(len(projects), 'project')}", details, size)


def worst(levels: Iterable[Level]) -> Level:
    """Return the worst of the levels, `ok` without any."""
    present = set(levels)
    return "error" if "error" in present else "warning" if "warning" in present else "ok"


_HARMLESS = ("foreign", "leftover", "newer")
_REPAIRED = {
    "damaged": "moved to quarantine/",
    "leftover": "removed",
    "mode": "permissions tightened (0600)",
    "killed run": "records closed",
}


def check_store(paths: Paths, *, close_killed: Callable[[], object] | None) -> Check:
    """Return what is damaged, left over or readable by others. Blocks.

    With `close_killed`, which closes what killed runs left open, all that can be repaired is repaired.
    """
    text = str(paths.storage) if paths.storage.is_dir() else "empty"
    doctor = Doctor(Storage(paths))
    try:
        findings = doctor.inspect()
    except OpencodeError as error:
        return Check("store", "error", str(error))
    details = _describe(findings) if close_killed is None else _repair(doctor, findings, close_killed)
    return Check("store", worst(level for level, _ in details), text, details)


def check_trash(paths: Paths) -> Check:
    """Return how much the deleted sessions take, and whether a killed process left one of them half moved. Blocks."""
    try:
        trash = Trash(paths, locks=Locks(paths), clock=system_clock)
        entries, is_unfinished = trash.entries(), trash.is_unfinished()
    except OpencodeError as error:
        return Check("trash", "error", str(error))
    details: list[tuple[Level, str]] = []
    if is_unfinished:
        details.append(("warning", "a deletion was interrupted; the next start completes it"))
    level = worst(level for level, _ in details)
    if not entries:
        return Check("trash", level, "empty", details)
    return Check("trash", level, _count(len(entries), "deleted session"), details, sum(one.bytes for one in entries))


def check_left_behind(paths: Paths, environ: Mapping[str, str]) -> Iterator[Check]:
    """Yield a result for each store of OpenCode with sessions that a newer version left behind in it. Blocks."""
    find_left_behind = cast("FindLeftBehind", load("importing.left_behind"))
    for found in find_left_behind(paths, environ):
        yield Check("opencode", "warning", found.problem) if found.problem else _left_in(found)


def check_left_agents(paths: Paths) -> Iterator[Check]:
    """Yield a result if killed agents left what they had changed. Blocks."""
    found = list_left_agents(paths)
    if not found:
        return
    details: list[tuple[Level, str]] = []
    for one in found:
        details.append(("warning", f"{paths.tasks / one.name}, of {one.origin}"))
    about = "the next prompt in its session puts it on a branch; without that session, copy what you need and delete the folder"
    text = f"{_count(len(found), 'agent')} killed in the middle of its work, in a copy of the checkout"
    yield Check("agents", "warning", text, [*details, ("ok", about)])


def _left_in(found: LeftBehind) -> Check:
    """Return a result: OpenCode 2 shows sessions without messages, or sessions of a folder are in no database beside it."""
    titles = found.titles
    text = f"{_count(len(titles), 'session')} in {found.path} "
    if found.state == "without messages":
        text += "that OpenCode 2 shows without messages"
    else:
        text += "that no database beside it has: not moved there, or deleted"
    details: list[tuple[Level, str]] = [("ok", title) for title in titles[:_NAMED_TITLES]]
    if len(titles) > _NAMED_TITLES:
        details.append(("ok", f"… {len(titles) - _NAMED_TITLES} more"))
    return Check("opencode", "ok", text, [*details, ("ok", "`opencode-tui import opencode` brings them here whole")])


def _describe(findings: list[Finding]) -> list[tuple[Level, str]]:
    details: list[tuple[Level, str]] = [(_level(finding), finding.text) for finding in findings]
    if any(finding.is_fixable or finding.kind == "killed run" for finding in findings):
        details.append(("warning", "`opencode-tui doctor --fix` repairs this; no data is lost"))
    return details


def _repair(doctor: Doctor, findings: list[Finding], close_killed: Callable[[], object]) -> list[tuple[Level, str]]:
    """Repair what can be repaired; return a line for each finding and each failure."""
    failures = [str(error) for error in doctor.repair([one for one in findings if one.is_fixable])]
    is_closed = False
    if any(finding.kind == "killed run" for finding in findings):
        try:
            close_killed()
            is_closed = True
        except OpencodeError as error:
            failures.append(str(error))
    details: list[tuple[Level, str]] = [("error", failure) for failure in failures]
    for finding in findings:
        is_repaired = is_closed if finding.kind == "killed run" else finding.is_fixable and not failures
        details.append(
            ("ok", f"{finding.text}: {_REPAIRED[finding.kind]}") if is_repaired else (_level(finding), finding.text)
        )
    return details


def _level(finding: Finding) -> Level:
    return "warning" if finding.kind in _HARMLESS else "error"


def check_skills(config: LoadedConfig, *, home: Path, directory: Path, use_claude: bool) -> Check:
    """Return how many skills there are, with what is wrong in their files. Blocks."""
    found = discover_skills(search_of(config, home=home, directory=directory, use_claude=use_claude))
    details: list[tuple[Level, str]] = [("warning", warning) for warning in found.warnings]
    count = len(found.all())
    return Check("skills", worst(level for level, _ in details), _count(count, "skill") if count else "none", details)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
    program = find_program("mount", os.environ, Path.cwd())
    if program is None:
        return []
    try:
        answer = subprocess.run([program], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [(match["path"], match["kind"]) for match in _MOUNT_LINE.finditer(answer.stdout)]
