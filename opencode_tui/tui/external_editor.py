"""Runs the user's editor: in the terminal, which it gets until it exits, or in a window of its own."""

import asyncio
import os
import shlex
from collections.abc import Sequence
from errno import ENOENT
from pathlib import Path

from textual.message_pump import MessagePump

from opencode_tui.programs import find_program, present_folder, safe_environ
from opencode_tui.schema.error import OpencodeError

_PLUS = frozenset(
    [
        "vi",
        "vim",
        "nvim",
        "view",
        "ex",
        "nano",
        "pico",
        "emacs",
        "emacsclient",
        "micro",
        "kak",
        "joe",
        "jed",
        "ne",
        "mg",
        "gvim",
        "mvim",
        "gedit",
    ]
)
"""Editors with `+LINE FILE`."""

_COLON = frozenset(["hx", "helix", "subl", "sublime_text", "zed", "zeditor"])
"""Editors with `FILE:LINE:COLUMN`."""

_GOTO = frozenset(["code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "positron"])
"""Editors with `-g FILE:LINE:COLUMN`."""

_LINE = frozenset(["idea", "pycharm", "webstorm", "goland", "clion", "rubymine", "phpstorm", "rider", "fleet", "kate"])
"""Editors with `--line LINE FILE`."""

_WINDOW = _GOTO | _LINE | frozenset(["subl", "sublime_text", "zed", "zeditor", "gvim", "mvim", "gedit"])
"""Editors with a window of their own: they do not need the terminal."""

_WAITS = {**dict.fromkeys((*_GOTO, "subl", "zed", "zeditor"), "--wait"), "gvim": "-f", "mvim": "-f"}
"""Options with which they exit only when the file is closed."""


def editor_words() -> list[str]:
    """Return the program and the options of $VISUAL or $EDITOR. Raises OpencodeError without one."""
    try:
        words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    except ValueError as error:
        raise OpencodeError(
            f"EDITOR is not a command line ({error}); set it, for example `export EDITOR=vim`"
        ) from error
    if not words:
        raise OpencodeError("No editor set. Set EDITOR, for example `export EDITOR=vim`.")
    return words


def command_at(words: Sequence[str], path: Path, line: int, column: int = 0) -> list[str]:
    """Return the command line that opens a file at a line, both counted from 1; 0 is unknown.

    An editor whose form is unknown opens the file at its start.
    """
    name, place = _name(words), f"{path}:{line}" + (f":{column}" if column else "")
    if line < 1:
        return [*words, str(path)]
    if name in _PLUS:
        return [*words, f"+{line}", str(path)]
    if name in _COLON:
        return [*words, place]
    if name in _GOTO:
        return [*words, "-g", place]
    if name in _LINE:
        return [*words, "--line", str(line), str(path)]
    return [*words, str(path)]


def has_window(words: Sequence[str]) -> bool:
    """Return whether the editor has a window of its own and leaves the terminal alone."""
    return _name(words) in _WINDOW


def _name(words: Sequence[str]) -> str:
    return Path(words[0]).name.lower().removesuffix(".exe")


def edit_file(of: MessagePump, path: Path) -> None:
    """Edit a file and wait until the user has closed it. Blocks the app until the editor exits. Raises OpencodeError."""
    words = editor_words()
    option = _WAITS.get(_name(words), "")
    _run(of, [*words, *([option] if option and option not in words else []), str(path)])


async def open_file(of: MessagePump, path: Path, line: int, column: int = 0) -> bool:
    """Open a file at a line; return whether the terminal was given to the editor, so that the screen must be drawn again.

    An editor in the terminal blocks the app until it exits; for one with a window this waits without blocking
    until its program ends. Raises OpencodeError.
    """
    words = editor_words()
    command = command_at(words, path, line, column)
    if not has_window(words):
        _run(of, command)
        return True
    nothing, environ = asyncio.subprocess.DEVNULL, safe_environ(os.environ, present_folder())
    try:
        process = await asyncio.create_subprocess_exec(
            *_found(command), env=environ, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
    except OSError as error:
        raise _cannot_start(words[0], error) from error
    if code := await process.wait():
        raise OpencodeError(f"{words[0]} exited with {code}; the file may not be open")
    return False


def _run(of: MessagePump, command: Sequence[str]) -> None:
    import subprocess  # only for this

    try:
        found, environ = _found(command), safe_environ(os.environ, present_folder())
        with of.app.suspend():
            code = subprocess.run(found, check=False, env=environ).returncode
    except OSError as error:
        raise _cannot_start(command[0], error) from error
    if code:
        raise OpencodeError(f"{command[0]} exited with {code}; nothing was changed")


def _found(command: Sequence[str]) -> list[str]:
    """Return the command with the path of its program. Raises FileNotFoundError for none that no command of the agent may write."""
    program = find_program(command[0], os.environ, present_folder())
    if program is None:
        raise FileNotFoundError(ENOENT, "not found outside the project")
    return [program, *command[1:]]


def _cannot_start(name: str, error: OSError) -> OpencodeError:
    return OpencodeError(f"{name} cannot be started ({error.strerror}); set EDITOR to an installed editor")
