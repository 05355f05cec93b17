"""`opencode-tui doctor`: check the installation, repair what can be repaired."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.environment import Environment, load_settings, read_environment
from opencode_tui.cli.style import Style, Token, style_of
from opencode_tui.client.client import Client
from opencode_tui.client.logout import ends_at_logout
from opencode_tui.engine.doctor import (
    Check,
    Level,
    Trial,
    check_caches,
    check_folder,
    check_git,
    check_keys,
    check_left_agents,
    check_left_behind,
    check_ripgrep,
    check_sandbox,
    check_skills,
    check_store,
    check_trash,
    worst,
)
from opencode_tui.schema.api.language import FormatterState, LanguageServerState
from opencode_tui.schema.error import ModelNotFoundError, OpencodeError
from opencode_tui.schema.system_error import describe
from opencode_tui.text.quantity import byte_words, plural
from opencode_tui.text.safe_text import make_safe

if TYPE_CHECKING:
    from opencode_tui.client.local import LocalClient


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


_TRIAL = ': > "$TMPDIR/.doctor"'
"""Works where a command starts, and reaches its own temp folder; needs nothing but the shell."""
_TRIAL_MS = 60_000


def _try_here() -> Trial:
    """Start a command with the folders that commands of this folder get: the project, the temp folder, the caches."""
    output = bytearray()

    async def work(client: "LocalClient") -> Trial:
        state = await client.settings.sandbox()
        if state.tier == "none":
            return Trial(switched_off=state.reason)
        argv = ("/bin/sh", "-c", _TRIAL)
        folder = Path.cwd()
        ended = await client.run_confined(argv, folder, output.extend, is_read_only=False, timeout_ms=_TRIAL_MS)
        if ended.exit_code != 0:
            said = make_safe(" ".join(output.decode("utf-8", "replace").split()))
            how = "it did not end" if ended.exit_code is None else f"exit code {ended.exit_code}"
            return Trial(fault=said or how)
        exposed = [f"commands in this folder can change this program: {state.exposed}"] if state.exposed else []
        return Trial(warnings=[*exposed, *filter(None, [state.spelling]), *map(make_safe, ended.messages)])

    try:
        return with_client(work)
    except OSError as error:
        return Trial(fault=make_safe(describe(error)))
    except OpencodeError:  # another check has the reason
        return Trial()


def check_logout() -> Check:
    """Return whether work in the background goes on after a logout. Blocks."""
    if remedy := ends_at_logout():
        return Check("logout", "warning", f"ends work in the background; {remedy} prevents that")
    return Check("logout", "ok", "work in the background goes on")


def _close_killed_runs() -> None:
    async def work(client: Client) -> int:
        return await client.sessions.recover_all()

    with_client(work)


_SIGNS: dict[Level, tuple[str, Token]] = {"ok": ("✓", "success"), "warning": ("!", "warning"), "error": ("✗", "error")}
_TEXT_AT = 12


def _examine(*, is_fixing: bool, is_online: bool) -> int:
    """Run all checks and print them to stdout; return 1 if one fails, else 0."""
    environment = read_environment(os.environ)  # raises in a folder that is deleted
    paths, folder = environment.paths, Path.cwd()
    style = style_of(sys.stdout, os.environ)
    checks: list[Callable[[], Check]] = [
        lambda: check_folder(paths),
        lambda: check_store(paths, close_killed=_close_killed_runs if is_fixing else None),
        lambda: check_trash(paths),
        lambda: check_keys(paths),
        lambda: check_git(folder, os.environ),
        lambda: check_ripgrep(folder, os.environ),
        lambda: check_sandbox(folder, os.environ, try_here=_try_here),
        lambda: check_caches(paths),
        check_logout,
        _check_settings,
        lambda: _check_skills(environment),
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


def _check_skills(environment: Environment) -> Check:
    try:
        config = load_settings(environment)
    except OpencodeError:  # another check has the reason
        return Check("skills", "warning", "cannot look for skills before the above is repaired")
    use_claude = not environment.flags.is_claude_code_disabled
    return check_skills(config, home=environment.paths.home, directory=environment.directory, use_claude=use_claude)


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
    size = "" if check.size is None else f", {byte_words(check.size)}"
    lines = [_line(check.level, f"{check.name:<{_TEXT_AT - 2}}{make_safe(check.text)}{size}", style)]
    lines += [" " * _TEXT_AT + _line(level, make_safe(text), style) for level, text in check.details]
    return "\n".join(lines) + "\n"


def _line(level: Level, text: str, style: Style) -> str:
    sign, token = _SIGNS[level]
    return f"{style.paint(style.words(sign), token)} {style.words(text)}"
