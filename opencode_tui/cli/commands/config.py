"""`config show|path|schema`: effective settings, their sources and schema."""

import json
from pathlib import Path
from typing import Any, cast

import click

from opencode_tui.cli.environment import load_settings, read_environment, report_notices
from opencode_tui.cli.terminal import print_json, print_result
from opencode_tui.config.check.json_schema import build_schema
from opencode_tui.config.redact import redact_settings
from opencode_tui.config.sources.locations import find_worktree, list_accepted, list_administrator_sources, list_sources

_SHOWN_CHARACTERS = 60


@click.group()
def config() -> None:
    """Show effective settings, their sources and schema.

    Settings are JSON with comments and use OpenCode's key names; `opencode-tui config path` lists the files.
    """


@config.command(short_help="Show effective settings and their sources.")
def show() -> None:
    """Print each effective value and its source."""
    loaded = load_settings(read_environment())
    report_notices(loaded)
    rows = [
        (key, _shorten(value), loaded.sources.get(key, ""))
        for key, value in _leaves(redact_settings(loaded.effective), "")
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for key, value, source in rows:
        print_result(f"{key:<{widths[0]}}  {value:<{widths[1]}}  {source}")
    if not rows:
        print_result("all settings have their defaults; `opencode-tui config path` lists the settings files")


@config.command(short_help="List the settings files, weakest first.")
def path() -> None:
    """List the settings files, weakest first."""
    outside = read_environment()
    worktree = find_worktree(outside.directory)
    sources = list_sources(paths=outside.paths, flags=outside.flags, directory=outside.directory, worktree=worktree)
    for url in list_accepted(outside.paths):
        print_result(f"set      {url} (accepted with `auth login`)")
    for source in [*sources, *list_administrator_sources(outside.flags, outside.directory)]:
        if source.kind == "text":
            print_result(f"set      {source.name}")
        else:
            shown = source.path if source.name == str(source.path) else f"{source.path} ({source.name})"
            print_result(f"{_state(source.path)}  {shown}{'/' if source.kind == 'folder' else ''}")


@config.command(short_help="Print the JSON schema of the settings.")
def schema() -> None:
    """Print the JSON schema of the settings, for your editor."""
    print_json(build_schema())


def _state(path: Path) -> str:
    return "found  " if path.exists() else "missing"


def _leaves(value: dict[str, Any], prefix: str) -> list[tuple[str, Any]]:
    """Return (dotted key, value) of every value that is not an object, and of empty objects."""
    rows: list[tuple[str, Any]] = []
    for key, inner in value.items():
        dotted = f"{prefix}.{key}" if prefix else key
        members = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
        rows += _leaves(members, dotted) if members else [(dotted, cast("Any", inner))]
    return rows


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
