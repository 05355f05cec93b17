"""`opencode-tui [DIR]`: the screen."""

import asyncio
import atexit
import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opencode_tui.cli.main import GlobalOptions
from opencode_tui.cli.terminal import say
from opencode_tui.cli.typeahead import TypeaheadGuard
from opencode_tui.text.safe_text import make_safe
from opencode_tui.tui.app import OpenCodeApp
from opencode_tui.tui.options import Ending, StartOptions

if TYPE_CHECKING:
    from opencode_tui.client.client import Client

    Opening = Callable[[Any, StartOptions], AbstractAsyncContextManager[Client]]
    """Opens the engine's access, given the module `engine_access`, which is loaded late."""

_EXAMPLES = """\b
Examples:
  opencode-tui                                   work in this folder
  opencode-tui ~/src/csvkit -c                   go on with the last session there
  opencode-tui --prompt "what does this do?"     begin with a request
"""


@click.command("opencode-tui", epilog=_EXAMPLES)
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path(exists=True, file_okay=False))
@click.option("-c", "--continue", "is_continued", is_flag=True, help="Resume the latest session.")
@click.option("-s", "--session", "session_id", metavar="ID", help="Resume this session.")
@click.option("--fork", "is_forked", is_flag=True, help="With -c or -s: fork the session first.")
@click.option("--prompt", metavar="TEXT", help="Send this prompt on start.")
@click.option("-m", "--model", metavar="PROVIDER/MODEL", help="Model to use.")
@click.option("--agent", metavar="NAME", help="Agent to use.")
@click.pass_obj
def screen(frame: GlobalOptions, /, **options: object) -> int:
    """Open the screen in DIR, or in the current folder."""
    return _open_screen(options, frame.log_level)


def _open_screen(options: Mapping[str, Any], log_level: str | None) -> int:
    """Show the screen until the person leaves it; returns the exit code, raises what kept the engine from opening."""
    return _open(_start_options(options), log_level, lambda access, start: access.open_here(start.directory))


def attach_screen(url: str, options: Mapping[str, Any], log_level: str | None) -> int:
    """Show the screen of a server's sessions; returns and raises as `open_screen`."""
    from opencode_tui.storage.paths import find_paths

    start = StartOptions(
        directory=Path.cwd(), session_id=options["session_id"], server=url, state=find_paths(os.environ).state
    )
    return _open(start, log_level, lambda access, _: access.open_there(url, options["password"], options["folder"]))


def _open(start: StartOptions, log_level: str | None, opening: "Opening") -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say('the screen needs a terminal; without one `opencode-tui run "..."` does one turn')
        return 2
    keys = TypeaheadGuard(sys.stdin.fileno())
    atexit.register(keys.restore)  # as late as can be: every moment behind it belongs to the shell
    is_expected = False
    try:
        ending = asyncio.run(_show(start, log_level, opening))
        if ending is not None:
            _print_resume_command(ending, start.server)
            if ending.error is not None:
                raise ending.error
        is_expected = True
    finally:
        keys.wait_for_quiet(is_expected=is_expected)
        gc.freeze()  # Python looks for garbage once more at its end; there is nothing to be found that matters
    return 0


def _start_options(options: Mapping[str, Any]) -> StartOptions:
    given = dict(options)
    folder = given.pop("folder")
    if (given["is_continued"] and given["session_id"]) or (
        given["is_forked"] and not (given["is_continued"] or given["session_id"])
    ):
        from opencode_tui.schema.error import ConfigError

        raise ConfigError("give either --continue or --session; --fork needs one of them")
    if folder:
        os.chdir(folder)
    return StartOptions(directory=Path.cwd(), **given)


async def _show(options: StartOptions, log_level: str | None, opening: "Opening") -> Ending | None:
    """The app runs as a task of its own; the engine is opened and closed here, so that it outlives the app."""
    app = OpenCodeApp(options)
    shown = asyncio.create_task(app.run_async())
    painted = asyncio.create_task(app.painted.wait())
    await asyncio.wait({shown, painted}, return_when=asyncio.FIRST_COMPLETED)
    painted.cancel()
    _end_on_signals(app)
    try:
        await _work(app, shown, log_level, lambda access: opening(access, options))
    finally:
        if not shown.done():
            app.exit()
        await asyncio.wait({shown})
    return shown.result()


async def _work(
    app: OpenCodeApp,
    shown: "asyncio.Task[Ending | None]",
    log_level: str | None,
    opening: "Callable[[Any], AbstractAsyncContextManager[Client]]",
) -> None:
    if shown.done():
        return
    access = await asyncio.to_thread(_load)
    access.start_screen_log(log_level)
    async with opening(access) as client:
        if app.options.session_id:
            from opencode_tui.cli.session_choice import choose_session  # pydantic: after the first frame

            await choose_session(client, app.options.session_id)
        if not shown.done():
            app.attach(client)
            gc.freeze()  # what is loaded stays: looking through it for garbage would hold up the screen for 60 ms
            await asyncio.wait({shown})


def _load() -> Any:
    """Import the engine and the rest of the screen: with the first frame on the screen nobody waits for it."""
    from opencode_tui.tui import preload

    preload.load()
    return importlib.import_module("opencode_tui.cli.engine_access")


def _end_on_signals(app: OpenCodeApp) -> None:
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(NotImplementedError, AttributeError):
            loop.add_signal_handler(getattr(signal, name), app.chat.leave)


def _print_resume_command(ending: Ending, server: str | None) -> None:
    if ending.session_id is None:
        return
    title = make_safe(ending.title)
    sys.stdout.write(f"{title}\n" if title else "")
    attach = f"attach {make_safe(server)} " if server else ""
    sys.stdout.write(f"opencode-tui {attach}-s {make_safe(ending.session_id)}\n")
