"""What `doctor` does: one line a check, one line a finding, each with its remedy."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from opencode_tui.cli.door import with_client
from opencode_tui.cli.style import glyph, style
from opencode_tui.cli.terminal import make_safe
from opencode_tui.client.local import LocalClient
from opencode_tui.engine.tool.ripgrep import find_ripgrep
from opencode_tui.schema.error import OpencodeError
from opencode_tui.storage.doctor import Doctor, Finding
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.storage import Storage


def examine(*, is_fixing: bool) -> int:
    """Run all checks and print them to stdout; returns 1 when something stays amiss, else 0."""
    paths = find_paths(os.environ)
    checks: list[Callable[[], bool]] = [
        lambda: _check_store(paths, is_fixing=is_fixing),
        _check_git,
        _check_ripgrep,
        _check_settings_and_models,
    ]
    return 0 if all([check() for check in checks]) else 1


def _check_store(paths: Paths, *, is_fixing: bool) -> bool:
    storage = Storage(paths)
    doctor = Doctor(storage)
    findings = doctor.inspect()
    failures = doctor.mend([one for one in findings if one.is_fixable]) if is_fixing else []
    mended = _mend_sessions(findings) if is_fixing else set[str]()
    _report(
        not findings or is_fixing,
        "store",
        str(paths.storage) if paths.storage.is_dir() else "empty, nothing stored yet",
    )
    is_well = not failures
    for one in findings:
        is_mended = is_fixing and (one.is_fixable or one.text in mended)
        is_well = is_well and is_mended
        remedy = (
            "mended" if is_mended else "`opencode-tui doctor --fix` mends it" if not is_fixing else "look at it by hand"
        )
        _note(f"{one.text}: {remedy}")
    for failure in failures:
        _note(str(failure))
    return is_well


def _mend_sessions(findings: list[Finding]) -> set[str]:
    """Close what killed runs left open; returns the texts of the findings that are settled."""
    killed = [one for one in findings if one.kind == "killed run"]
    if not killed:
        return set()

    async def work(client: LocalClient) -> set[str]:
        await client.sessions.mend_all()
        return {one.text for one in killed}

    return with_client(work)


def _check_git() -> bool:
    path = shutil.which("git")
    if path is None:
        return _report(False, "git", "not found; install git, then projects are told apart and undo works in them")
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    return _report(answer.returncode == 0, "git", answer.stdout.strip() or f"{path} does not run")


def _check_ripgrep() -> bool:
    path = find_ripgrep()
    if path is None:
        return _report(False, "ripgrep", "not found; searches work but are slow: pip install ripgrep")
    return _report(True, "ripgrep", str(path))


def _check_settings_and_models() -> bool:
    async def work(client: LocalClient) -> tuple[list[str], list[str], str, int]:
        notices = await client.settings.notices()
        default = await client.catalog.default_model()
        return list(notices.warnings), list(notices.ignored), str(default), len(await client.catalog.models())

    try:
        warnings, ignored, default, count = with_client(work)
    except OpencodeError as error:
        return _report(False, "settings", str(error))
    _report(not warnings, "settings", f"for {Path.cwd()}")
    for line in [*warnings, *ignored]:
        _note(line)
    only_demo = default == "demo/tour" and count == 1
    hint = (
        "; only the demo, `opencode-tui auth login PROVIDER` connects a model"
        if only_demo
        else f" by default, {count} in all"
    )
    _report(True, "models", f"{default}{hint}")
    return not warnings


def _report(is_well: bool, name: str, text: str) -> bool:
    sign = style(glyph("✓", "v"), "success") if is_well else style(glyph("!", "!"), "warning")
    print(f"{sign} {name.ljust(9)} {make_safe(text)}")
    return is_well


def _note(text: str) -> None:
    print(f"            {make_safe(text)}")
