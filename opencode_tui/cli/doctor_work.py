"""What `doctor` does: one line a check, one line a finding, each with its remedy. No check stops the others."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from opencode_tui.cli.doctor_check import (
    Check,
    Level,
    check_folder,
    check_git,
    check_keys,
    check_ripgrep,
    worst,
)
from opencode_tui.cli.doctor_store import check_store
from opencode_tui.cli.door import with_client
from opencode_tui.cli.environment import load_settings, read_environment
from opencode_tui.cli.style import Style, Token, style_of
from opencode_tui.client.client import Client
from opencode_tui.schema.error import OpencodeError
from opencode_tui.storage.paths import find_paths
from opencode_tui.text.safe_text import make_safe

_SIGNS: dict[Level, tuple[str, Token]] = {"well": ("✓", "success"), "advice": ("!", "warning"), "amiss": ("✗", "error")}
_TEXT_AT = 12


def examine(*, is_fixing: bool) -> int:
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
