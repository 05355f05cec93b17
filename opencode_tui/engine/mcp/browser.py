"""Opens an address in the user's browser, where there is one."""

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from opencode_tui.engine.mcp.process import server_environment
from opencode_tui.engine.project.programs import safe_path

_START_S = 1.0
"""Seconds in which a program that cannot open the address ends."""

_SCREEN = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "WSL_DISTRO_NAME", "WSL_INTEROP")


async def open_browser(url: str, environ: Mapping[str, str], folder: Path) -> bool:
    """Return whether a browser was started for an address: that of BROWSER, else the desktop's.

    Programs in the project are not used. It gets none of our keys and no terminal, and stays open when this program ends.
    """
    path = safe_path(environ.get("PATH", os.defpath), folder)
    shown = {name: environ[name] for name in _SCREEN if name in environ}
    return await asyncio.to_thread(_open, url, environ, path, server_environment({**environ, "PATH": path}, shown))


def _open(url: str, environ: Mapping[str, str], path: str, own: Mapping[str, str]) -> bool:
    """Start the browser; blocks for a second, in which it may fail."""
    nothing = subprocess.DEVNULL
    try:
        command = _find(environ, path)
        if not command:
            return False
        named = [one.replace("%s", url) for one in command]
        arguments = named if named != command else [*command, url]
        process = subprocess.Popen(
            arguments, env=own, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
    except (OSError, ValueError):
        return False
    try:
        return process.wait(_START_S) == 0
    except subprocess.TimeoutExpired:  # it runs
        return True


def _find(environ: Mapping[str, str], path: str) -> Sequence[str]:
    """Return the command of the browser, an empty one without. Raises ValueError for a BROWSER with an open quote."""
    if named := environ.get("BROWSER", "").split(os.pathsep)[0].strip():
        return shlex.split(named)
    if sys.platform == "darwin":
        names = ["open"]
    elif any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        names = ["xdg-open"]
    else:
        names = ["wslview"] if environ.get("WSL_DISTRO_NAME") else []
    return [found for name in names if (found := shutil.which(name, path=path))]
