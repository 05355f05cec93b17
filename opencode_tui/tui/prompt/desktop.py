"""Reads the clipboard and opens images with programs of the desktop."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from opencode_tui.programs import find_program, present_folder, safe_environ
from opencode_tui.schema.error import OpencodeError

PATIENCE_S = 3.0
MAX_BYTES = 20_000_000

IMAGE: Sequence[Sequence[str]] = (
    ("wl-paste", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
    ("pngpaste", "-"),
    ("osascript", "-e", "get the clipboard as «class PNGf»"),
)
_APPLE_SCRIPT = re.compile("«data PNGf((?:[0-9A-F]{2})*)»".encode())
"""How `osascript` prints an image."""

TEXT: Sequence[Sequence[str]] = (
    ("wl-paste", "--no-newline"),
    ("xclip", "-selection", "clipboard", "-out"),
    ("xsel", "--clipboard", "--output"),
    ("pbpaste",),
)


async def read_image() -> bytes:
    """Return the image on the clipboard as PNG; empty when there is none, or no program to read it."""
    found = await _first(IMAGE)
    if hexadecimal := _APPLE_SCRIPT.fullmatch(found.strip()):
        found = bytes.fromhex(hexadecimal[1].decode())
    return found if found.startswith(b"\x89PNG") else b""


async def read_text() -> str:
    """Return the text on the clipboard; empty when there is none, or no program to read it."""
    return (await _first(TEXT)).decode("utf-8", "replace")


async def _first(commands: Sequence[Sequence[str]]) -> bytes:
    for command in commands:
        program = find_program(command[0], os.environ, present_folder())
        if program is not None and (found := await _run([program, *command[1:]])):
            return found
    return b""


async def _run(command: Sequence[str]) -> bytes:
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, env=safe_environ(os.environ, present_folder()), stdin=nothing, stdout=pipe, stderr=nothing
        )
    except OSError:
        return b""
    try:
        async with asyncio.timeout(PATIENCE_S):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return b""
    return output[:MAX_BYTES] if process.returncode == 0 else b""


VIEWERS = ("open",) if sys.platform == "darwin" else ("xdg-open", "wslview")


def view_image(data: bytes, mime: str) -> None:
    """Write an image to a private temporary file and start a viewer, without waiting for it. Blocks. Raises OpencodeError."""
    program = next((found for name in VIEWERS if (found := find_program(name, os.environ, present_folder()))), None)
    if program is None:
        raise OpencodeError(f"no image viewer is known here ({' or '.join(VIEWERS)})")
    ending = "." + mime.rpartition("/")[2].partition("+")[0]
    descriptor, path = tempfile.mkstemp(suffix=ending, prefix="opencode-tui-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    quiet, environ = subprocess.DEVNULL, safe_environ(os.environ, present_folder())
    try:
        subprocess.Popen([program, path], env=environ, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    except OSError as error:
        raise OpencodeError(f"{program} cannot be started ({error.strerror})") from error
