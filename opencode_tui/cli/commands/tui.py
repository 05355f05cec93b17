"""`opencode-tui [DIR]`: open the TUI, with the engine in this process or on a server."""

import asyncio
import atexit
import importlib
import os
import signal
import sys
import weakref
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from opencode_tui.cancellation import limit_threads
from opencode_tui.cli.completion_values import complete_agents, complete_models, complete_sessions
from opencode_tui.cli.main import GlobalOptions
from opencode_tui.cli.terminal import say
from opencode_tui.cli.typeahead import TypeaheadGuard
from opencode_tui.text.safe_text import make_safe
from opencode_tui.tui.options import Ending, StartOptions

if TYPE_CHECKING:
    from opencode_tui.client.client import Client
    from opencode_tui.tui.app import OpenCodeApp

    Opening = Callable[[Any, StartOptions, Callable[[int | None], None]], AbstractAsyncContextManager[Client]]
    """Opens the client, given the module `engine_access`, which is imported after the first frame.

    The last argument is called with the process whose engine is waited for, when that lasts.
    """

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end the screen, a hang-up even where the parent ignores it (`nohup`): without its terminal it would stay forever."""

_EXAMPLES = """\b
Examples:
  opencode-tui                                   work in this folder
  opencode-tui ~/src/csvkit -c                   resume its latest session
  opencode-tui -r                                choose a session to resume
  opencode-tui --prompt "what does this do?"     send a prompt on start
"""


@click.command("opencode-tui", epilog=_EXAMPLES)
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path(exists=True, file_okay=False))
@click.option("-c", "--continue", "is_continued", is_flag=True, help="Resume the latest session.")
@click.option(
    "-s", "--session", "session_id", metavar="ID", shell_complete=complete_sessions, help="Resume this session."
)
@click.option("-r", "--resume", "is_choosing", is_flag=True, help="Choose the session to resume from a list.")
@click.option("--fork", "is_forked", is_flag=True, help="With -c or -s: fork the session first.")
@click.option("--prompt", metavar="TEXT", help="Send this prompt on start.")
@click.option("-m", "--model", metavar="PROVIDER/MODEL", shell_complete=complete_models, help="Model to use.")
@click.option("--variant", metavar="NAME", help="Variant of the model to use, such as its reasoning effort.")
@click.option("--agent", metavar="NAME", shell_complete=complete_agents, help="Agent to use.")
@click.option(
    "--plain", "is_plain", is_flag=True, help="Chat in lines, without a screen (screen readers, serial consoles)."
)
@click.pass_obj
def tui(global_options: GlobalOptions, /, **options: object) -> int:
    """Open the TUI in DIR, by default the current folder."""
    if options.pop("is_plain"):
        from opencode_tui.cli.run.chat import open_chat  # not for the screen

        if options["folder"]:
            os.chdir(str(options["folder"]))
        return open_chat(options)
    return _open_tui(options, global_options.log_level)


def _open_tui(options: Mapping[str, Any], log_level: str | None) -> int:
    """Show the TUI until the user quits; return the exit code. Raises the error that kept the engine from opening."""
    return _open(
        _start_options(options), log_level, lambda access, start, waits: access.open_here(start.directory, waits)
    )


def attach_tui(url: str, options: Mapping[str, Any], log_level: str | None) -> int:
    """Show the TUI for the server at `url`; returns and raises as `_open_tui`."""
    from opencode_tui.cli.environment import read_environment
    from opencode_tui.config import own_process
    from opencode_tui.network import without_credentials

    start = StartOptions(
        directory=Path.cwd(),
        session_id=options["session_id"],
        server=without_credentials(url),
        state=read_environment().paths.state,
    )
    own_process.erase_keys([options["password"]] if options["password"] else [])
    password = own_process.read_password(options["password_file"])
    given = options["password"] or password
    folder = options["folder"]

    def opening(access: Any, now: StartOptions, _waits: object) -> "AbstractAsyncContextManager[Client]":
        return access.open_there(url, given, folder if now is start else str(now.directory))

    return _open(start, log_level, opening)


def _open(start: StartOptions, log_level: str | None, opening: "Opening") -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say('the TUI needs a terminal; without one use `opencode-tui run "..."`')
        return 2
    keys = TypeaheadGuard(sys.stdin.fileno())
    atexit.register(keys.restore)  # as late as possible: later keys belong to the shell
    is_expected = False
    try:
        ending = asyncio.run(_show(start, log_level, opening, keys))
        while ending is not None and ending.reopen is not None:
            start = StartOptions(
                ending.reopen,
                session_id=ending.session_id,
                server=start.server,
                state=start.state,
                place=ending.place,
            )
            if start.server is None:
                os.chdir(ending.reopen)
            ending = asyncio.run(_show(start, log_level, opening, keys))
        if ending is not None and ending.rest_s is None:
            _report(ending, start.server)
            if ending.error is not None:
                raise ending.error
        is_expected = True
    finally:
        keys.wait_for_quiet(is_expected=is_expected)
    return 0


def _start_options(options: Mapping[str, Any]) -> StartOptions:
    given = dict(options)
    folder = given.pop("folder")
    if given["is_choosing"] and (given["is_continued"] or given["session_id"] or given["prompt"]):
        from opencode_tui.schema.error import ConfigError

        raise ConfigError("use only one of --resume, --continue and --session; --resume sends no --prompt")
    if (given["is_continued"] and given["session_id"]) or (
        given["is_forked"] and not (given["is_continued"] or given["session_id"])
    ):
        from opencode_tui.schema.error import ConfigError

        raise ConfigError("use either --continue or --session; --fork needs one of them")
    if folder:
        os.chdir(folder)
    return StartOptions(directory=Path.cwd(), **given)


async def _show(
    options: StartOptions, log_level: str | None, opening: "Opening", keys: TypeaheadGuard
) -> Ending | None:
    """Show the app, and return when it and the engine have ended; the engine may continue without it."""
    limit_threads()
    try:
        async with AsyncExitStack() as engine:
            client, ending = await _show_app(options, log_level, opening, engine)
            if client is not None and ending is not None and ending.rest_s is not None:
                await _go_on(client, ending, ending.rest_s, keys)
            return ending
    finally:
        _die_on_signals(keys)


async def _show_app(
    options: StartOptions, log_level: str | None, opening: "Opening", engine: AsyncExitStack
) -> "tuple[Client | None, Ending | None]":
    """Return what the app returned, and the client that it used, if any, which `engine` closes.

    Nothing else here refers to the app, so that its memory is free when the engine continues without it.
    """
    from opencode_tui.tui.app import OpenCodeApp  # not for the help

    app = OpenCodeApp(options)
    shown = asyncio.create_task(app.run_async())
    painted = asyncio.create_task(app.painted.wait())
    await asyncio.wait({shown, painted}, return_when=asyncio.FIRST_COMPLETED)
    painted.cancel()
    _end_on_signals(app)
    try:
        client = await _attach(app, shown, log_level, opening, engine)
    finally:
        if not shown.done():
            app.exit()
        await asyncio.wait({shown})
    return client, shown.result()


async def _attach(
    app: "OpenCodeApp",
    shown: "asyncio.Task[Ending | None]",
    log_level: str | None,
    opening: "Opening",
    engine: AsyncExitStack,
) -> "Client | None":
    """Open the engine and connect the app to it; return the client after the end of the app, None if it ended before."""
    if shown.done():
        return None
    access = await asyncio.to_thread(_load)
    access.start_screen_log(log_level)
    waits = weakref.WeakMethod(app.chat.wait_for_engine)

    def report(pid: int | None) -> None:
        if (wait_for_engine := waits()) is not None:  # the engine outlives the app
            wait_for_engine(pid)

    client = await _open_while(shown, engine.enter_async_context(opening(access, app.options, report)))
    if client is None:
        return None
    if app.options.session_id:
        from opencode_tui.cli.session_choice import choose_session  # slow: after the first frame

        await choose_session(client, app.options.session_id)
    if shown.done():
        return None
    app.attach(client)
    await asyncio.wait({shown})
    return client


async def _open_while(shown: "asyncio.Task[Ending | None]", opening: "Awaitable[Client]") -> "Client | None":
    """Return the client when it is open; cancel the opening and return None when the app ends before, as by quitting."""
    task = asyncio.current_task()
    assert task is not None
    is_opening = True

    def cancel(_shown: object) -> None:
        if is_opening:
            task.cancel()

    shown.add_done_callback(cancel)
    try:
        return await opening
    except asyncio.CancelledError:
        if not shown.done() or task.uncancel():
            raise
        return None
    finally:
        is_opening = False
        shown.remove_done_callback(cancel)


async def _go_on(client: "Client", ending: Ending, rest_s: float, keys: TypeaheadGuard) -> None:
    """Give the terminal back and return when nothing needs the engine any more."""
    from opencode_tui.cli.detached import go_on  # only for who leaves while something runs
    from opencode_tui.client.shared import SharedClient

    def report() -> None:
        keys.wait_for_quiet(is_expected=True)
        keys.restore()
        _report(ending, None)

    assert isinstance(client, SharedClient)  # another client cannot be detached
    await go_on(client, rest_s, report)


def _load() -> Any:
    """Import the engine and the rest of the TUI, after the first frame, and close this process to others."""
    from opencode_tui.config import own_process
    from opencode_tui.tui.app import load_actions

    own_process.erase_keys()
    own_process.hide_memory()
    load_actions()
    return importlib.import_module("opencode_tui.cli.engine_access")


def _end_on_signals(app: "OpenCodeApp") -> None:
    """Let signals end the app. A handler of the loop cannot be replaced without a moment in which a signal kills the process."""
    loop = asyncio.get_running_loop()
    for number in _ENDS:  # ctrl+c is a key: SIGINT comes from another program
        end = app.chat.hang_up if number == signal.SIGHUP else app.chat.leave
        signal.signal(number, partial(_call_soon, loop, end))


def _call_soon(
    loop: asyncio.AbstractEventLoop, end: Callable[[], object], _number: int, _frame: FrameType | None
) -> None:
    loop.call_soon_threadsafe(end)  # it wakes the loop


def _die_on_signals(keys: TypeaheadGuard) -> None:
    """Let a signal restore the terminal, which has no echo until the process ends."""
    for number in _ENDS:
        signal.signal(number, keys.die)


def _report(ending: Ending, server: str | None) -> None:
    """Write the lines of the end, and how to return to the session."""
    try:
        for line in ending.messages:
            say(make_safe(line))
        _print_resume_command(ending, server)
        sys.stdout.flush()
    except OSError:  # the window was closed: no one reads this, nor what is flushed later
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_resume_command(ending: Ending, server: str | None) -> None:
    if ending.session_id is None:
        return
    title = make_safe(ending.title)
    sys.stdout.write(f"{title}\n" if title else "")
    attach = f"attach {make_safe(server)} " if server else ""
    sys.stdout.write(f"opencode-tui {attach}-s {make_safe(ending.session_id)}\n")
