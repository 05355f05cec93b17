"""Runs the user's editor in the terminal."""

import os
import shlex
from pathlib import Path

from opencode_tui.schema.error import OpencodeError
from opencode_tui.tui.screen_api import AppApi


def edit_file(app: AppApi, path: Path) -> None:
    """Edit a file in $VISUAL or $EDITOR. Blocks the app until the editor exits. Raises OpencodeError."""
    import subprocess  # only for this

    words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    if not words:
        raise OpencodeError("No editor set. Set EDITOR, for example `export EDITOR=vim`.")
    try:
        with app.suspend():
            code = subprocess.run([*words, str(path)], check=False).returncode
    except OSError as error:
        raise OpencodeError(
            f"{words[0]} cannot be started ({error.strerror}); set EDITOR to an installed editor"
        ) from error
    if code:
        raise OpencodeError(f"{words[0]} exited with {code}; nothing was changed")
