"""Opens an address in the user's browser, where there is one."""

import asyncio
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from opencode_tui.engine.mcp.process import server_environment
from opencode_tui.programs import find_program, safe_environ

_START_S = 1.0
"""Seconds in which a program that cannot open the address usually ends; a slow machine needs more."""

_LOOK_S = 0.1
"""Seconds between two looks at whether it has ended."""

_SCREEN = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "WSL_DISTRO_NAME", "WSL_INTEROP")


async def open_browser(url: str, environ: Mapping[str, str], folder: Path) -> bool:
    """Return False as soon as it is known that no browser opens an address, True when its program has ended well.

    The program is that of BROWSER, else the desktop's, which on a slow machine fails long after its start. It may run for hours;
    cancellation does not end it. Programs in the project are not used. It gets none of our keys and no terminal.
    """
    process = await asyncio.to_thread(_start, url, environ, folder)
    if process is None:
        return False
    while (status := process.poll()) is None:  # noqa: ASYNC110 - a process of asyncio would be ended with the loop
        await asyncio.sleep(_LOOK_S)
    return status == 0


def start_browser(url: str, environ: Mapping[str, str], folder: Path) -> bool:
    """Return whether a browser was started for an address, as `open_browser`; blocks for a second, in which it may fail."""
    process = _start(url, environ, folder)
    if process is None:
        return False
    try:
        return process.wait(_START_S) == 0
    except subprocess.TimeoutExpired:  # it runs
        return True


def _start(url: str, environ: Mapping[str, str], folder: Path) -> "subprocess.Popen[bytes] | None":
    """Return the started program, None where there is none. Blocks."""
    shown = {name: environ[name] for name in _SCREEN if name in environ}
    own = server_environment(safe_environ(environ, folder), shown)
    nothing = subprocess.DEVNULL
    try:
        command = _find(environ, folder)
        if not command:
            return None
        named = [one.replace("%s", url) for one in command]
        arguments = named if named != command else [*command, url]
        return subprocess.Popen(
            arguments, env=own, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
    except (OSError, ValueError):
        return None


def _find(environ: Mapping[str, str], folder: Path) -> Sequence[str]:
    """Return the command of the browser, an empty one without. Raises ValueError for a BROWSER with an open quote."""
    if named := shlex.split(environ.get("BROWSER", "").split(os.pathsep)[0]):
        program = find_program(named[0], environ, folder)
        return [] if program is None else [program, *named[1:]]
    if sys.platform == "darwin":
        names = ["open"]
    elif any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        names = ["xdg-open"]
    else:
        names = ["wslview"] if environ.get("WSL_DISTRO_NAME") else []
    return [found for name in names if (found := find_program(name, environ, folder))]
