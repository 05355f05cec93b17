"""Starts the screen, opens the engine behind it, and ends both in order."""

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

from opencode_tui.cli.late_keys import LateKeys
from opencode_tui.cli.terminal import say
from opencode_tui.text.safe_text import make_safe
from opencode_tui.tui.app import OpenCodeApp
from opencode_tui.tui.options import Ending, StartOptions

if TYPE_CHECKING:
    from opencode_tui.client.client import Client

    Opening = Callable[[Any, StartOptions], AbstractAsyncContextManager[Client]]
    """Opens the engine's door, given the module `screen_door`, which is loaded late."""


def open_screen(options: Mapping[str, Any], log_level: str | None) -> int:
    """Show the screen until the person leaves it; returns the exit code, raises what kept the engine from opening."""
    return _open(_start_options(options), log_level, lambda door, start: door.open_here(start.directory))


def attach_screen(url: str, options: Mapping[str, Any], log_level: str | None) -> int:
    """Show the screen of a server's sessions; returns and raises as `open_screen`."""
    from opencode_tui.storage.paths import find_paths

    start = StartOptions(
        directory=Path.cwd(), session_id=options["session_id"], server=url, state=find_paths(os.environ).state
    )
    return _open(start, log_level, lambda door, _: door.open_there(url, options["password"], options["folder"]))


def _open(start: StartOptions, log_level: str | None, opening: "Opening") -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say('the screen needs a terminal; without one `opencode-tui run "..."` does one turn')
        return 2
    keys = LateKeys(sys.stdin.fileno())
    atexit.register(keys.restore)  # as late as can be: every moment behind it belongs to the shell
    is_expected = False
    try:
        ending = asyncio.run(_show(start, log_level, opening))
        if ending is not None:
            _tell_way_back(ending, start.server)
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
        await _work(app, shown, log_level, lambda door: opening(door, options))
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
    door = await asyncio.to_thread(_load)
    door.start_log(log_level)
    async with opening(door) as client:
        if app.options.session_id:
            await door.choose_session(client, app.options.session_id)
        if not shown.done():
            app.attach(client)
            gc.freeze()  # what is loaded stays: looking through it for garbage would hold up the screen for 60 ms
            await asyncio.wait({shown})


def _load() -> Any:
    """Import the engine and the rest of the screen: with the first frame on the screen nobody waits for it."""
    from opencode_tui.tui import late

    late.load()
    return importlib.import_module("opencode_tui.cli.screen_door")


def _end_on_signals(app: OpenCodeApp) -> None:
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(NotImplementedError, AttributeError):
            loop.add_signal_handler(getattr(signal, name), app.chat.leave)


def _tell_way_back(ending: Ending, server: str | None) -> None:
    if ending.session_id is None:
        return
    title = make_safe(ending.title)
    sys.stdout.write(f"{title}\n" if title else "")
    attach = f"attach {make_safe(server)} " if server else ""
    sys.stdout.write(f"opencode-tui {attach}-s {make_safe(ending.session_id)}\n")
