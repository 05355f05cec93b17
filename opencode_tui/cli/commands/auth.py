"""`auth list|login|logout`: API keys, and settings that a server provides."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from opencode_tui.cli.environment import load_settings, read_environment
from opencode_tui.cli.terminal import print_result, say
from opencode_tui.config.auth import SEARCH_SERVICES, AuthStore, describe_override
from opencode_tui.programs import find_program, safe_environ
from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import Paths

_TOKEN_S = 300
"""Seconds that a command which prints a token may take; it may wait for a sign-in in a browser."""


@click.group()
def auth() -> None:
    """Manage API keys and the settings of servers. Keys are stored in auth.json (mode 0600)."""


@auth.command("list", short_help="List providers with stored keys.")
def list_credentials() -> None:
    """List providers with stored keys."""
    paths = read_environment().paths
    stored = AuthStore(paths=paths).read()
    if stored.corrected:
        say(stored.corrected)
    for provider_id, entry in sorted(stored.entries.items()):
        print_result(f"{provider_id}  {entry.get('type', 'unknown')}")
    for fault in stored.faults():
        say(fault)
    if not stored.entries:
        say("no keys stored; add one with `opencode-tui auth login PROVIDER`")


@auth.command(short_help="Store an API key, or a server's settings.")
@click.argument("provider", metavar="PROVIDER|URL")
@click.option("--yes", is_flag=True, help="Accept the settings of a URL without a question.")
def login(provider: str, *, yes: bool) -> None:
    """Store an API key (prompted, or read from stdin).

    With a URL, show the settings that its server provides and the command that gets a token for them, and store both if you accept.
    """
    outside = read_environment()
    if "://" in provider:
        _accept_settings(outside.paths, provider, is_accepted=yes)
        return
    AuthStore(paths=outside.paths).login(provider, _ask_for_key(provider))
    if provider in SEARCH_SERVICES:
        say(f"saved API key for {provider}; the tool websearch uses it from the next start of opencode-tui on")
        return
    say(f"saved API key for {provider}; list its models with `opencode-tui models {provider}`")
    with suppress(ConfigError):  # every command that uses the settings reports a wrong one
        loaded = load_settings(outside)
        override = describe_override(provider, loaded.effective, loaded.sources, outside.environ)
        if override:
            say(override)


@auth.command(short_help="Delete a stored key.")
@click.argument("provider", metavar="PROVIDER|URL")
def logout(provider: str) -> int:
    """Delete a stored key, or the settings and the token of a server."""
    paths = read_environment().paths
    was_accepted = False
    if "://" in provider:
        from opencode_tui.config.well_known import AcceptedStore, clean_address  # only for a URL

        provider = clean_address(provider)
        was_accepted = AcceptedStore(paths=paths).remove(provider)
    if AuthStore(paths=paths).logout(provider) or was_accepted:
        say(f"deleted {'settings and token of' if was_accepted else 'API key for'} {provider}")
        return 0
    say(f"no key stored for {provider}; see `opencode-tui auth list`")
    return 1


def _accept_settings(paths: Paths, text: str, *, is_accepted: bool) -> None:
    """Show what a server provides, ask, and store it."""
    import asyncio  # only for a URL

    from opencode_tui.config.well_known import AcceptedStore, clean_address, fetch

    url = clean_address(text)
    provided = asyncio.run(fetch(url))
    store = AcceptedStore(paths=paths)
    for line in store.describe(url, provided):
        print_result(line)
    if not is_accepted:
        if not sys.stdin.isatty():
            raise ConfigError("nothing is stored: accept this in a terminal, or pass --yes")
        if not click.confirm("Accept?", err=True):
            raise ConfigError("nothing is stored")
    if provided.command:
        AuthStore(paths=paths).store_token(url, provided.variable, _run_for_token(provided.command))
    store.accept(url, provided.settings)
    say(f"saved the settings of {url}; remove them with `opencode-tui auth logout {url}`")


def _run_for_token(command: Sequence[str]) -> str:
    """Return the first line that a command prints; it may use the terminal."""
    folder = Path.cwd()
    program = find_program(command[0], os.environ, folder)
    if program is None:
        raise ConfigError(
            f"cannot run {shlex.join(command)} ({command[0]} is not on PATH, without the project's folders)"
        )
    try:
        done = subprocess.run(
            [program, *command[1:]],
            stdout=subprocess.PIPE,
            check=False,
            timeout=_TOKEN_S,
            env=safe_environ(os.environ, folder),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else f"no end within {_TOKEN_S} s"
        raise ConfigError(f"cannot run {shlex.join(command)} ({reason}); nothing is stored") from None
    if done.returncode != 0:
        raise ConfigError(f"{shlex.join(command)} ended with exit code {done.returncode}; nothing is stored")
    return done.stdout.decode("utf-8", "replace").strip().partition("\n")[0].strip()


def _ask_for_key(provider: str) -> str:
    if sys.stdin.isatty():
        key: str = click.prompt(f"API key for {provider}", hide_input=True, err=True)
    else:
        key = sys.stdin.readline(1 << 16)
    if not key.strip():
        raise ConfigError("no key given; type it at the prompt or pipe it in, e.g. `auth login openai < key.txt`")
    return key.strip()
