"""`auth list|login|logout`: keys of the providers."""

import sys

import click

from opencode_tui.cli.environment import read_environment
from opencode_tui.cli.terminal import print_result, say
from opencode_tui.config.auth import AuthStore
from opencode_tui.schema.error import ConfigError


@click.group()
def auth() -> None:
    """Keys of the providers. They are kept in auth.json, which only you can read."""


@auth.command("list")
def list_credentials() -> None:
    """List providers with stored keys."""
    paths = read_environment().paths
    stored = AuthStore(paths=paths).read()
    if stored.corrected:
        say(stored.corrected)
    for provider_id, entry in sorted(stored.entries.items()):
        print_result(f"{provider_id}  {entry.get('type', 'unknown')}")
    if not stored.entries:
        say("no key is stored; `opencode-tui auth login PROVIDER` stores one")


@auth.command()
@click.argument("provider")
def login(provider: str) -> None:
    """Store an API key (prompted, or read from stdin)."""
    store = AuthStore(paths=read_environment().paths)
    store.login(provider, _ask_for_key(provider))
    say(f"saved API key for {provider}; list its models with `opencode-tui models {provider}`")


@auth.command()
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
        raise ConfigError("no key was given; type it at the prompt or pipe it in, as in `auth login openai < key.txt`")
    return key.strip()
