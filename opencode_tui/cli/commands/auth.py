"""`auth list|login|logout`: API keys."""

import sys

import click

from opencode_tui.cli.environment import read_environment
from opencode_tui.cli.terminal import print_result, say
from opencode_tui.config.auth import AuthStore
from opencode_tui.schema.error import ConfigError


@click.group()
def auth() -> None:
    """Manage API keys. They are stored in auth.json (mode 0600)."""


@auth.command("list", short_help="List providers with stored keys.")
def list_credentials() -> None:
    """List providers with stored keys."""
    paths = read_environment().paths
    stored = AuthStore(paths=paths).read()
    if stored.corrected:
        say(stored.corrected)
    for provider_id, entry in sorted(stored.entries.items()):
        print_result(f"{provider_id}  {entry.get('type', 'unknown')}")
    if not stored.entries:
        say("no keys stored; add one with `opencode-tui auth login PROVIDER`")


@auth.command(short_help="Store an API key.")
@click.argument("provider")
def login(provider: str) -> None:
    """Store an API key (prompted, or read from stdin)."""
    store = AuthStore(paths=read_environment().paths)
    store.login(provider, _ask_for_key(provider))
    say(f"saved API key for {provider}; list its models with `opencode-tui models {provider}`")


@auth.command(short_help="Delete a stored key.")
@click.argument("provider")
def logout(provider: str) -> int:
    """Delete a stored key."""
    if AuthStore(paths=read_environment().paths).logout(provider):
        say(f"deleted API key for {provider}")
        return 0
    say(f"no key stored for {provider}; see `opencode-tui auth list`")
    return 1


def _ask_for_key(provider: str) -> str:
    if sys.stdin.isatty():
        key: str = click.prompt(f"API key for {provider}", hide_input=True, err=True)
    else:
        key = sys.stdin.readline(1 << 16)
    if not key.strip():
        raise ConfigError("no key given; type it at the prompt or pipe it in, e.g. `auth login openai < key.txt`")
    return key.strip()
