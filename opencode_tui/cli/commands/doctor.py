"""`opencode-tui doctor`: is everything in order here?"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

import click
from msgspec import Struct, field

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.environment import load_settings, read_environment
from opencode_tui.cli.filesystem import network_kind
from opencode_tui.cli.style import Style, Token, style_of
from opencode_tui.client.client import Client
from opencode_tui.config.auth import AuthStore
from opencode_tui.engine.project.git import git_version
from opencode_tui.engine.tool.search.ripgrep import find_ripgrep
from opencode_tui.schema.error import ConfigError, GitMissingError, GitUnavailableError, OpencodeError
from opencode_tui.storage.doctor import Doctor, Finding
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.storage import Storage
from opencode_tui.text.safe_text import make_safe


@click.command()
@click.option(
    "--fix",
    "is_fixing",
    is_flag=True,
    help="Repair what can be repaired; damaged records are quarantined, not deleted.",
)
def doctor(is_fixing: bool) -> int:
    """Check the data folder, the store, keys, git, ripgrep, settings and models.

    The exit code is 1 when something is broken, 0 when all is well or only could be better.
    """
    return _examine(is_fixing=is_fixing)


Level = Literal["well", "advice", "amiss"]
_MEBIBYTE = 1024 * 1024
_SCARCE_BYTES = 512 * _MEBIBYTE
_FULL_BYTES = 64 * _MEBIBYTE


class Check(Struct, frozen=True):
    """What came out: `advice` could be better, `amiss` is broken. `notes` are lines below, each with its own level."""

    name: str
    level: Level
    text: str
    notes: list[tuple[Level, str]] = field(default_factory=list[tuple[Level, str]])


def check_folder(paths: Paths) -> Check:
    """Tell whether the data folder can be written to, has room, and lies on a local disk. Blocks."""
    folder = next(place for place in (paths.data, *paths.data.parents) if place.exists())
    try:
        _try_to_write(folder)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        reason = error.strerror or str(error)
        return Check(
            "folder", "amiss", f"{folder} cannot be written to ({reason}); make it yours, or set XDG_DATA_HOME"
        )
    notes: list[tuple[Level, str]] = []
    if free < _SCARCE_BYTES:
        is_full = free < _FULL_BYTES
        notes.append(
            ("amiss" if is_full else "advice", f"only {free // _MEBIBYTE} MiB are free on its disk; make room")
        )
    kind = network_kind(folder)
    if kind is not None:
        notes.append(("advice", f"it lies on a network mount ({kind}): slow, and locks may fail; set XDG_DATA_HOME"))
    return Check("folder", worst(level for level, _ in notes), str(paths.data), notes)


def _try_to_write(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, "no permission")
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"opencode-tui doctor")
        file.flush()
        os.fsync(file.fileno())


def check_keys(paths: Paths) -> Check:
    """Tell whether the file of credentials can be read. Blocks."""
    try:
        stored = AuthStore(paths=paths).read()
    except ConfigError as error:
        return Check("keys", "amiss", str(error))
    names = ", ".join(sorted(stored.entries)) or "none stored"
    return Check("keys", "well", names, [("well", f"mended: {stored.corrected}")] if stored.corrected else [])


def check_git() -> Check:
    """Return which git there is; blocks."""
    try:
        return Check("git", "well", git_version(os.environ))
    except GitMissingError:
        return Check("git", "amiss", "not found; install it: it identifies a project, and undo needs it")
    except GitUnavailableError as error:
        return Check("git", "amiss", f"{shutil.which('git')} does not run ({error}); install it again")


def check_ripgrep() -> Check:
    """Tell where ripgrep is."""
    path = find_ripgrep()
    if path is None:
        return Check("ripgrep", "advice", "not found; searches work but are slow: pip install ripgrep")
    return Check("ripgrep", "well", str(path))


def worst(levels: Iterable[Level]) -> Level:
    """Return the worst of the levels, `well` without any."""
    present = set(levels)
    return "amiss" if "amiss" in present else "advice" if "advice" in present else "well"


_HARMLESS = ("foreign", "leftover")
_MENDED = {
    "damaged": "set aside below quarantine/",
    "leftover": "removed",
    "mode": "closed to others",
    "killed run": "its records are closed",
}


def check_store(paths: Paths, *, is_fixing: bool) -> Check:
    """Return what is damaged, left over or open to others, and mend it if asked to. Blocks."""
    text = str(paths.storage) if paths.storage.is_dir() else "empty, nothing is stored yet"
    doctor = Doctor(Storage(paths))
    try:
        findings = doctor.inspect()
    except OpencodeError as error:
        return Check("store", "amiss", str(error))
    notes = _repair(doctor, findings) if is_fixing else _describe(findings)
    return Check("store", worst(level for level, _ in notes), text, notes)


def _describe(findings: list[Finding]) -> list[tuple[Level, str]]:
    notes: list[tuple[Level, str]] = [(_level(finding), finding.text) for finding in findings]
    if any(finding.is_fixable or finding.kind == "killed run" for finding in findings):
        notes.append(("advice", "`opencode-tui doctor --fix` mends this; nothing is lost by it"))
    return notes


def _repair(doctor: Doctor, findings: list[Finding]) -> list[tuple[Level, str]]:
    """Mend what can be mended; returns a line for each finding, and one for each failure."""
    failures = [str(error) for error in doctor.repair([one for one in findings if one.is_fixable])]
    is_closed = False
    if any(finding.kind == "killed run" for finding in findings):
        try:
            with_client(_close_killed_runs)
            is_closed = True
        except OpencodeError as error:
            failures.append(str(error))
    notes: list[tuple[Level, str]] = [("amiss", failure) for failure in failures]
    for finding in findings:
        is_mended = is_closed if finding.kind == "killed run" else finding.is_fixable and not failures
        notes.append(
            ("well", f"{finding.text}: {_MENDED[finding.kind]}") if is_mended else (_level(finding), finding.text)
        )
    return notes


async def _close_killed_runs(client: Client) -> int:
    return await client.sessions.recover_all()


def _level(finding: Finding) -> Level:
    return "advice" if finding.kind in _HARMLESS else "amiss"


_SIGNS: dict[Level, tuple[str, Token]] = {"well": ("✓", "success"), "advice": ("!", "warning"), "amiss": ("✗", "error")}
_TEXT_AT = 12


def _examine(*, is_fixing: bool) -> int:
    """Run all checks and print them to stdout; returns 1 when something stays amiss, else 0."""
    paths = find_paths(os.environ)
    style = style_of(sys.stdout, os.environ)
    checks: list[Callable[[], Check]] = [
        lambda: check_folder(paths),
        lambda: check_store(paths, is_fixing=is_fixing),
        lambda: check_keys(paths),
        check_git,
        check_ripgrep,
        _check_settings,
        _check_models,
    ]
    levels: list[Level] = []
    for run in checks:
        check = run()
        levels.append(check.level)
        sys.stdout.write(_render(check, style))
        sys.stdout.flush()
    return 1 if worst(levels) == "amiss" else 0


def _check_settings() -> Check:
    try:
        loaded = load_settings(read_environment(os.environ))
    except OpencodeError as error:
        return Check("settings", "amiss", str(error))
    notes: list[tuple[Level, str]] = [("advice", str(notice)) for notice in (*loaded.warnings, *loaded.ignored)]
    return Check("settings", worst(level for level, _ in notes), f"for {Path.cwd()}", notes)


def _check_models() -> Check:
    async def work(client: Client) -> tuple[str, int]:
        return str(await client.catalog.default_model()), len(await client.catalog.models())

    try:
        default, count = with_client(work)
    except OpencodeError as error:
        return Check("models", "amiss", f"cannot be told: {error}")
    if default == "demo/tour" and count == 1:
        return Check("models", "advice", "only the demo; `opencode-tui auth login PROVIDER` connects a model")
    return Check("models", "well", f"{default} by default, {count} in all")


def _render(check: Check, style: Style) -> str:
    lines = [_line(check.level, f"{check.name:<{_TEXT_AT - 2}}{make_safe(check.text)}", style)]
    lines += [" " * _TEXT_AT + _line(level, make_safe(text), style) for level, text in check.notes]
    return "\n".join(lines) + "\n"


def _line(level: Level, text: str, style: Style) -> str:
    sign, token = _SIGNS[level]
    return f"{style.paint(style.words(sign), token)} {style.words(text)}"
