"""`opencode-tui doctor`: check the installation, repair what can be repaired."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click
from msgspec import Struct, field

from opencode_tui.cancellation import Threads
from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.environment import load_settings, read_environment
from opencode_tui.cli.style import Style, Token, style_of
from opencode_tui.client.client import Client
from opencode_tui.client.logout import ends_at_logout
from opencode_tui.config.auth import AuthStore
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
from opencode_tui.schema.api.language import FormatterState, LanguageServerState
from opencode_tui.schema.error import (
    ConfigError,
    GitMissingError,
    GitUnavailableError,
    ModelNotFoundError,
    OpencodeError,
)
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.system_error import describe
from opencode_tui.storage.doctor import Doctor, Finding
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from opencode_tui.storage.task_folders import list_left_agents
from opencode_tui.storage.trash import Trash
from opencode_tui.text.quantity import byte_words, plural
from opencode_tui.text.safe_text import make_safe

if TYPE_CHECKING:
    from opencode_tui.client.local import LocalClient

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


@click.command()
@click.option(
    "--fix",
    "is_fixing",
    is_flag=True,
    help="Repair what can be repaired; damaged records are quarantined, not deleted.",
)
@click.option(
    "--online",
    "is_online",
    is_flag=True,
    help="Also send each provider that has a key its cheapest request.",
)
def doctor(is_fixing: bool, is_online: bool) -> int:
    """Check the data folder, the store, keys, git, ripgrep, the sandbox, its caches, settings, skills, models and language servers.

    With --online it also tries the providers that are ready, and says what fails: key, name, proxy, certificate or region.

    The exit code is 1 if something is broken, 0 otherwise.
    """
    return _examine(is_fixing=is_fixing, is_online=is_online)


Level = Literal["ok", "warning", "error"]
_MEBIBYTE = 1024 * 1024
_SCARCE_BYTES = 512 * _MEBIBYTE
_FULL_BYTES = 64 * _MEBIBYTE
_NAMED_TITLES = 10
FindLeftBehind = Callable[[Paths, Mapping[str, str]], Iterator[LeftBehind]]

WRITE_S = 5.0
"""Seconds that the disk has to store a file of a few bytes."""


class Check(Struct, frozen=True):
    """The result of one check; `details` are lines under it, each with its own level; with `is_last` no other check can be made."""

    name: str
    level: Level
    text: str
    details: list[tuple[Level, str]] = field(default_factory=list[tuple[Level, str]])
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


def check_git() -> Check:
    """Return the version of git. Blocks."""
    try:
        return Check("git", "ok", git_version(Path.cwd(), os.environ))
    except GitMissingError:
        return Check("git", "error", "not found; install it: projects and undo need it")
    except GitUnavailableError as error:
        return Check(
            "git", "error", f"{find_program('git', os.environ, Path.cwd())} does not run ({error}); reinstall it"
        )


def check_ripgrep() -> Check:
    """Return the location of ripgrep."""
    path = find_ripgrep(Path.cwd(), os.environ)
    return Check("ripgrep", "ok", path) if path is not None else Check("ripgrep", "error", missing_ripgrep())


def check_sandbox() -> Check:
    """Return which ways of confining commands work, and what each does not hold. Starts a process in each; blocks."""
    if not candidates():
        return Check("sandbox", "warning", f"none on {sys.platform}: commands run unconfined, opaque ones ask")
    statuses = [probe(tier, os.environ) for tier in candidates()]
    details: list[tuple[Level, str]] = [
        ("ok", f"{status.tier}{_version_of(status.tier)} works; limits: {'; '.join(status.limits)}")
        if status.works
        else ("warning", status.reason)
        for status in statuses
    ]
    used = next((status.tier for status in statuses if status.works), None)
    if used is None:
        return Check("sandbox", "warning", "none works: commands run unconfined, opaque ones ask", details)
    tried = _try_here()
    if tried.fault:
        return Check("sandbox", "error", f"{used} works, but no command starts in this folder: {tried.fault}", details)
    if tried.switched_off:
        return Check("sandbox", "warning", f"not used: {tried.switched_off}", details)
    details.extend(("warning", line) for line in tried.warnings)
    return Check("sandbox", "warning" if tried.warnings else "ok", f"{used} confines commands", details)


def _version_of(tier: Tier) -> str:
    """Return the version of a tier's program behind a space, empty without one."""
    program = find_bubblewrap(os.environ, Path.cwd()) if tier == "bubblewrap" else None
    version = "" if program is None else find_version(program, os.environ)
    return f" {version}" if version else ""


class _Tried(Struct, frozen=True):
    """What a command in this folder showed: why none starts, why none is confined, and what is to be said."""

    fault: str = ""
    switched_off: str = ""
    warnings: Sequence[str] = ()


_TRIAL = ': > "$TMPDIR/.doctor"'
"""Works where a command starts, and reaches its own temp folder; needs nothing but the shell."""
_TRIAL_MS = 60_000


def _try_here() -> _Tried:
    """Start a command with the folders that commands of this folder get: the project, the temp folder, the caches."""
    output = bytearray()

    async def work(client: "LocalClient") -> _Tried:
        state = await client.settings.sandbox()
        if state.tier == "none":
            return _Tried(switched_off=state.reason)
        argv = ("/bin/sh", "-c", _TRIAL)
        folder = Path.cwd()
        ended = await client.run_confined(argv, folder, output.extend, is_read_only=False, timeout_ms=_TRIAL_MS)
        if ended.exit_code != 0:
            said = make_safe(" ".join(output.decode("utf-8", "replace").split()))
            how = "it did not end" if ended.exit_code is None else f"exit code {ended.exit_code}"
            return _Tried(fault=said or how)
        exposed = [f"commands in this folder can change this program: {state.exposed}"] if state.exposed else []
        return _Tried(warnings=[*exposed, *filter(None, [state.spelling]), *map(make_safe, ended.messages)])

    try:
        return with_client(work)
    except OSError as error:
        return _Tried(fault=make_safe(describe(error)))
    except OpencodeError:  # another check has the reason
        return _Tried()


def check_caches(paths: Paths) -> Check:
    """Return how much the caches of confined commands take, and what was repaired in them, now or before. Blocks."""
    projects = list_caches(paths)
    details: list[tuple[Level, str]] = []
    for folder in projects:
        try:
            details.extend(("warning", f"repaired: {line}") for line in repair_caches(folder))
        except OSError as error:
            details.append(("error", f"{folder}: {error.strerror}; delete it, its caches come back"))
    text = f"of commands in {plural(len(projects), 'project')}, {byte_words(sum(map(size_of_folder, projects)))}"
    return Check("caches", worst(level for level, _ in details), text if projects else "none", details)


def check_logout() -> Check:
    """Return whether work in the background goes on after a logout. Blocks."""
    if remedy := ends_at_logout():
        return Check("logout", "warning", f"ends work in the background; {remedy} prevents that")
    return Check("logout", "ok", "work in the background goes on")


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


def check_store(paths: Paths, *, is_fixing: bool) -> Check:
    """Return what is damaged, left over or readable by others; repair it with `is_fixing`. Blocks."""
    text = str(paths.storage) if paths.storage.is_dir() else "empty"
    doctor = Doctor(Storage(paths))
    try:
        findings = doctor.inspect()
    except OpencodeError as error:
        return Check("store", "error", str(error))
    details = _repair(doctor, findings) if is_fixing else _describe(findings)
    return Check("store", worst(level for level, _ in details), text, details)


def check_trash(paths: Paths) -> Check:
    """Return how much the deleted sessions take, and whether a killed process left one of them half moved. Blocks."""
    try:
        trash = Trash(paths, locks=Locks(paths), clock=system_clock)
        entries, is_unfinished = trash.entries(), trash.is_unfinished()
    except OpencodeError as error:
        return Check("trash", "error", str(error))
    text = f"{plural(len(entries), 'deleted session')}, {byte_words(sum(entry.bytes for entry in entries))}"
    details: list[tuple[Level, str]] = []
    if is_unfinished:
        details.append(("warning", "a deletion was interrupted; the next start completes it"))
    return Check("trash", worst(level for level, _ in details), text if entries else "empty", details)


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
    text = f"{plural(len(found), 'agent')} killed in the middle of its work, in a copy of the checkout"
    yield Check("agents", "warning", text, [*details, ("ok", about)])


def _left_in(found: LeftBehind) -> Check:
    """Return a result: OpenCode 2 shows sessions without messages, or sessions of a folder are in no database beside it."""
    titles = found.titles
    text = f"{plural(len(titles), 'session')} in {found.path} "
    if found.state == "without messages":
        text += "that OpenCode 2 shows without messages"
    else:
        text += "that no database beside it has: not moved there, or deleted"
    details: list[tuple[Level, str]] = [("ok", make_safe(title)) for title in titles[:_NAMED_TITLES]]
    if len(titles) > _NAMED_TITLES:
        details.append(("ok", f"… {len(titles) - _NAMED_TITLES} more"))
    return Check("opencode", "ok", text, [*details, ("ok", "`opencode-tui import opencode` brings them here whole")])


def _describe(findings: list[Finding]) -> list[tuple[Level, str]]:
    details: list[tuple[Level, str]] = [(_level(finding), finding.text) for finding in findings]
    if any(finding.is_fixable or finding.kind == "killed run" for finding in findings):
        details.append(("warning", "`opencode-tui doctor --fix` repairs this; no data is lost"))
    return details


def _repair(doctor: Doctor, findings: list[Finding]) -> list[tuple[Level, str]]:
    """Repair what can be repaired; return a line for each finding and each failure."""
    failures = [str(error) for error in doctor.repair([one for one in findings if one.is_fixable])]
    is_closed = False
    if any(finding.kind == "killed run" for finding in findings):
        try:
            with_client(_close_killed_runs)
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


async def _close_killed_runs(client: Client) -> int:
    return await client.sessions.recover_all()


def _level(finding: Finding) -> Level:
    return "warning" if finding.kind in _HARMLESS else "error"


_SIGNS: dict[Level, tuple[str, Token]] = {"ok": ("✓", "success"), "warning": ("!", "warning"), "error": ("✗", "error")}
_TEXT_AT = 12


def _examine(*, is_fixing: bool, is_online: bool) -> int:
    """Run all checks and print them to stdout; return 1 if one fails, else 0."""
    paths = read_environment(os.environ).paths  # raises in a folder that is deleted
    style = style_of(sys.stdout, os.environ)
    checks: list[Callable[[], Check]] = [
        lambda: check_folder(paths),
        lambda: check_store(paths, is_fixing=is_fixing),
        lambda: check_trash(paths),
        lambda: check_keys(paths),
        check_git,
        check_ripgrep,
        check_sandbox,
        lambda: check_caches(paths),
        check_logout,
        _check_settings,
        _check_skills,
        _check_models,
        _check_languages,
        *([_check_providers] if is_online else []),
    ]
    levels: list[Level] = []
    for check in chain((run() for run in checks), check_left_agents(paths), check_left_behind(paths, os.environ)):
        levels.append(check.level)
        sys.stdout.write(_render(check, style))
        sys.stdout.flush()
        if check.is_last:
            break
    return 1 if worst(levels) == "error" else 0


def _check_settings() -> Check:
    try:
        loaded = load_settings(read_environment(os.environ))
    except OpencodeError as error:
        return Check("settings", "error", str(error))
    details: list[tuple[Level, str]] = [("warning", str(notice)) for notice in (*loaded.warnings, *loaded.ignored)]
    return Check(
        "settings", worst(level for level, _ in details), "valid, with warnings" if details else "valid", details
    )


def _check_skills() -> Check:
    """Return how many skills there are, with what is wrong in their files."""
    environment = read_environment(os.environ)
    try:
        config = load_settings(environment)
    except OpencodeError:  # another check has the reason
        return Check("skills", "warning", "cannot look for skills before the above is repaired")
    use_claude = not environment.flags.is_claude_code_disabled
    found = discover_skills(
        search_of(config, home=environment.paths.home, directory=environment.directory, use_claude=use_claude)
    )
    details: list[tuple[Level, str]] = [("warning", warning) for warning in found.warnings]
    count = len(found.all())
    return Check("skills", worst(level for level, _ in details), plural(count, "skill") if count else "none", details)


def _check_models() -> Check:
    async def work(client: Client) -> Check:
        faults = [(f"agent.{one.name}.model", str(one.model)) for one in await client.catalog.agents() if one.model]
        details: list[tuple[Level, str]] = [
            ("error", f"setting {key}: {fault}") for key, name in faults if (fault := await _model_fault(client, name))
        ]
        level = worst(level for level, _ in details)
        try:
            default, count = str(await client.catalog.default_model()), len(await client.catalog.models())
        except ModelNotFoundError as error:
            return Check("models", "error", f"setting model: {error}", details)
        if default == "demo/tour" and count == 1:
            text = "only the demo model; add a key with `opencode-tui auth login PROVIDER`"
            return Check("models", "error" if details else "warning", text, details)
        return Check("models", level, f"{default} (default), {count} in total", details)

    try:
        return with_client(work)
    except OpencodeError as error:
        return Check("models", "error", f"cannot list models: {error}")


async def _model_fault(client: Client, name: str) -> str:
    """Return why no request can have the model of a setting; empty for one that exists."""
    try:
        await client.catalog.named_model(name)
    except ModelNotFoundError as error:
        return str(error)
    return ""


def _check_providers() -> Check:
    """Return which providers answer, each tried with its cheapest request; the proxies and certificates in force."""

    async def work(client: Client) -> list[tuple[str, str]]:
        ready = [one.id for one in await client.catalog.providers(only_ready=True) if one.id != "demo"]
        return list(zip(ready, await asyncio.gather(*map(client.catalog.try_provider, ready)), strict=True))

    try:
        tried = with_client(work)
    except OpencodeError as error:
        return Check("online", "error", f"cannot try providers: {error}")
    details: list[tuple[Level, str]] = [("error", why) if why else ("ok", f"{name} answers") for name, why in tried]
    names = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
    names += (*map(str.lower, names[:3]), "NODE_EXTRA_CA_CERTS")
    used = [name for name in names if os.environ.get(name)]
    words = f"; in force: {', '.join(used)}" if used else ""
    return Check("online", worst(level for level, _ in details), f"{plural(len(tried), 'provider')}{words}", details)


_IDLE = ("ready", "stopped")


def _check_languages() -> Check:
    """Return the language servers that fit this project, with the commands that install missing ones, and the formatters."""

    async def work(client: Client) -> tuple[Sequence[LanguageServerState], Sequence[FormatterState], str]:
        languages = client.languages
        return await languages.servers(), await languages.formatters(), await languages.describe_left_out()

    try:
        servers, formatters, left_out = with_client(work)
    except OpencodeError:  # another check has the reason
        return Check("languages", "warning", "cannot list language servers before the above is repaired")
    details: list[tuple[Level, str]] = []
    for one in servers:
        details.append(("ok" if one.status in _IDLE else "warning", f"{one.name}: {one.detail or one.status}"))
    for one in formatters:
        if one.enabled or one.detail:
            details.append(
                ("warning", f"formatter {one.name}: {one.detail}") if one.detail else ("ok", f"formatter {one.name}")
            )
    if left_out:
        details.append(("warning", left_out))
    usable = ", ".join(one.name for one in servers if one.status in _IDLE)
    return Check("languages", "ok", usable or "no language server for this project", details)


def _render(check: Check, style: Style) -> str:
    lines = [_line(check.level, f"{check.name:<{_TEXT_AT - 2}}{make_safe(check.text)}", style)]
    lines += [" " * _TEXT_AT + _line(level, make_safe(text), style) for level, text in check.details]
    return "\n".join(lines) + "\n"


def _line(level: Level, text: str, style: Style) -> str:
    sign, token = _SIGNS[level]
    return f"{style.paint(style.words(sign), token)} {style.words(text)}"
