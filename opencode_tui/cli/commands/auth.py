"""`auth list|login|logout`: API keys, accounts, and settings that a server provides."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.environment import Environment, load_settings, read_environment
from opencode_tui.cli.terminal import print_result, say
from opencode_tui.config.auth import CHATGPT, SEARCH_SERVICES, AuthStore, describe_override
from opencode_tui.config.well_known import AcceptedStore, clean_address, fetch
from opencode_tui.engine.provider.chatgpt.accounts import Accounts
from opencode_tui.engine.sign_in.browser_sign_in import chatgpt_sign_in, open_browser
from opencode_tui.engine.sign_in.openrouter import openrouter_sign_in
from opencode_tui.programs import find_program, safe_environ
from opencode_tui.schema.error import ConfigError, SignInError
from opencode_tui.schema.model import COPILOT, COPILOT_USE, COPILOT_WARNING
from opencode_tui.schema.tools import tool_with
from opencode_tui.storage.paths import Paths
from opencode_tui.text.safe_text import make_safe

if TYPE_CHECKING:
    import asyncio
    from contextlib import AbstractAsyncContextManager

    from opencode_tui.engine.sign_in.browser_sign_in import BrowserSignIn

_TOKEN_S = 300
"""Seconds that a command which prints a token may take; it may wait for a sign-in in a browser."""


@click.group()
def auth() -> None:
    """Manage API keys, accounts, and the settings of servers. Keys are stored in auth.json (mode 0600)."""


@auth.command("list", short_help="List providers with stored keys.")
def list_credentials() -> None:
    """List providers with stored keys."""
    paths = read_environment().paths
    stored = AuthStore(paths=paths).read()
    if stored.corrected:
        say(stored.corrected)
    for provider_id, entry in sorted(stored.entries.items()):
        print_result(f"{provider_id}  {entry.get('type', 'unknown')}")
        if entry.get("type") == CHATGPT:
            _list_accounts(paths)
    for fault in stored.faults():
        say(fault)
    if not stored.entries:
        say("no keys stored; add one with `opencode-tui auth login PROVIDER`")


@auth.command(short_help="Sign in, store a key or a server's settings.")
@click.argument("provider", metavar="PROVIDER|URL")
@click.option("-y", "--yes", is_flag=True, help="Accept the settings of a URL without a question.")
@click.option("--browser", is_flag=True, help="openrouter: get a key by signing in with the browser.")
@click.option("--account", metavar="LABEL", help="chatgpt: use this account (`auth list` shows them).")
@click.option("--add", is_flag=True, help="chatgpt: add another account.")
@click.option("--consent", is_flag=True, help="chatgpt: ask for the account's consent again.")
def login(provider: str, *, yes: bool, browser: bool, account: str | None, add: bool, consent: bool) -> None:
    """Store an API key (prompted, or read from stdin).

    `chatgpt` continues with ChatGPT: your browser signs in, and what you use counts toward your ChatGPT plan. If the browser is on
    another machine, paste the address that it shows at the end.

    With a URL, fetch settings from that server, show them with the token command, and store them if you accept.
    """
    outside = read_environment()
    if "://" in provider:
        _accept_settings(outside.paths, provider, is_accepted=yes)
        return
    if provider == CHATGPT:
        _continue_with_chatgpt(outside, account, is_added=add, is_consent_asked=consent)
        return
    if browser:
        _get_key_of_openrouter(outside, provider)
        return
    if provider == COPILOT:
        say(COPILOT_WARNING)
        raise ConfigError(COPILOT_USE)
    AuthStore(paths=outside.paths).login(provider, _ask_for_key(provider))
    if provider in SEARCH_SERVICES:
        say(
            f"saved API key for {provider}; the tool {tool_with('search')} uses it from the next start of opencode-tui on"
        )
        return
    say(f"saved API key for {provider}; list its models with `opencode-tui models {provider}`")
    with suppress(ConfigError):  # every command that uses the settings reports a wrong one
        loaded = load_settings(outside)
        override = describe_override(provider, loaded.effective, loaded.sources, outside.environ)
        if override:
            say(override)


@auth.command(short_help="Delete a stored key.")
@click.argument("provider", metavar="PROVIDER|URL")
@click.option("--account", metavar="LABEL", help="chatgpt: sign this account out, not the one in use.")
def logout(provider: str, *, account: str | None) -> int:
    """Delete a stored key, the tokens of an account, or the settings and the token of a server."""
    paths = read_environment().paths
    if provider == CHATGPT:
        return _sign_out_of_chatgpt(account)
    was_accepted = False
    if "://" in provider:
        provider = clean_address(provider)
        was_accepted = AcceptedStore(paths=paths).remove(provider)
    if AuthStore(paths=paths).logout(provider) or was_accepted:
        say(f"deleted {'settings and token of' if was_accepted else 'API key for'} {provider}")
        return 0
    say(f"no key stored for {provider}; see `opencode-tui auth list`")
    return 1


def _list_accounts(paths: Paths) -> None:
    accounts = Accounts(paths, os.environ)
    current = accounts.current()
    for account in accounts.all():
        state = "signed in" if account.is_signed_in else "signed out"
        used = ", in use" if current is not None and account.id == current.id else ""
        print_result(f"  {make_safe(account.label)}  {state}{used}")


def _continue_with_chatgpt(outside: Environment, label: str | None, *, is_added: bool, is_consent_asked: bool) -> None:
    """Sign in with the browser, or use another account that is signed in."""
    import asyncio  # only for a sign-in

    accounts = Accounts(outside.paths, outside.environ)
    account = None if is_added else accounts.current() if label is None else accounts.find(label)
    if label is not None and account is None:
        raise ConfigError(f"no account {label!r}; `opencode-tui auth list` shows them, --add adds one")
    if account is not None and label is not None and account.is_signed_in and not is_consent_asked:
        accounts.select(account)
        say(f"{make_safe(account.label)} is in use now")
        return
    signing = chatgpt_sign_in(accounts, account, is_consent_asked=is_consent_asked)
    say(make_safe(asyncio.run(_wait_for_browser(signing, "ChatGPT", outside))))


def _get_key_of_openrouter(outside: Environment, provider: str) -> None:
    import asyncio

    if provider != "openrouter":
        raise ConfigError(f"--browser is for openrouter; store a key of {provider} without it")
    signing = openrouter_sign_in(AuthStore(paths=outside.paths), outside.environ)
    say(make_safe(asyncio.run(_wait_for_browser(signing, "OpenRouter", outside))))


async def _wait_for_browser(
    signing: "AbstractAsyncContextManager[BrowserSignIn]", name: str, outside: Environment
) -> str:
    """Return the sentences on who signed in, in the browser of this machine or with an address that is pasted."""
    import asyncio

    async def open_here(url: str) -> None:
        if not await open_browser(url, outside.environ, outside.directory):
            say("no browser can be opened here; open the address above in one")

    async with signing as waiting:
        say(f"Continue with {name}: open this address, if your browser does not:")
        click.echo(waiting.url, err=True)
        say("waiting; if the browser is on another machine, paste the address that it shows at the end:")
        opening = asyncio.create_task(open_here(waiting.url))
        ending = asyncio.create_task(waiting.wait())
        try:
            with _pasted_lines(asyncio.get_running_loop(), waiting.paste):
                return (await ending).whole()
        finally:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)


@contextmanager
def _pasted_lines(loop: "asyncio.AbstractEventLoop", paste: Callable[[str], None]) -> Generator[None]:
    """Hand over each line of a terminal or a pipe; a wrong one is reported, and the next may be right."""
    pieces = [b""]

    def read() -> None:
        data = os.read(source, 1 << 16)
        if not data:
            loop.remove_reader(source)
        *lines, pieces[0] = (pieces[0] + data).split(b"\n")
        for line in lines:
            if line.strip():
                try:
                    paste(line.decode("utf-8", "replace"))
                except SignInError as error:
                    say(make_safe(str(error)))

    try:
        source = sys.stdin.fileno()
        loop.add_reader(source, read)
    except (OSError, ValueError, NotImplementedError):  # a file, or a system where no event loop reads a terminal
        yield
        return
    try:
        yield
    finally:
        loop.remove_reader(source)


def _sign_out_of_chatgpt(label: str | None) -> int:
    outside = read_environment()
    accounts = Accounts(outside.paths, outside.environ)
    account = accounts.current() if label is None else accounts.find(label)
    if label is not None and account is None:
        raise ConfigError(f"no account {label!r}; see `opencode-tui auth list`")
    if account is None or not account.is_signed_in:
        say("nobody is signed in with ChatGPT; see `opencode-tui auth list`")
        return 1
    problem = accounts.sign_out(account)
    say(
        f"signed {make_safe(account.label)} out{f'; its tokens are deleted here, not revoked: {problem}' if problem else ''}"
    )
    return 0


def _accept_settings(paths: Paths, text: str, *, is_accepted: bool) -> None:
    """Show what a server provides, ask, and store it."""
    import asyncio  # only for a URL

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
        raise ConfigError(f"{shlex.join(command)} exited with code {done.returncode}; nothing is stored")
    return done.stdout.decode("utf-8", "replace").strip().partition("\n")[0].strip()


def _ask_for_key(provider: str) -> str:
    if sys.stdin.isatty():
        key: str = click.prompt(f"API key for {provider}", hide_input=True, err=True)
    else:
        key = sys.stdin.readline(1 << 16)
    if not key.strip():
        raise ConfigError("no key given; type it at the prompt or pipe it in, e.g. `auth login openai < key.txt`")
    return key.strip()
