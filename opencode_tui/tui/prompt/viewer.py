"""Shows an image in whatever program of the system shows images."""

import os
import shutil
import subprocess
import sys
import tempfile

from opencode_tui.schema.error import OpencodeError

VIEWERS = ("open",) if sys.platform == "darwin" else ("xdg-open", "wslview")


def view_image(data: bytes, mime: str) -> None:
    """Write it to a private temporary file and start a viewer, which goes on by itself. Blocks. Raises OpencodeError."""
    program = next((found for name in VIEWERS if (found := shutil.which(name))), None)
    if program is None:
        raise OpencodeError(f"no image viewer is known here ({' or '.join(VIEWERS)})")
    ending = "." + mime.rpartition("/")[2].partition("+")[0]
    descriptor, path = tempfile.mkstemp(suffix=ending, prefix="opencode-tui-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    quiet = subprocess.DEVNULL
    try:
        subprocess.Popen([program, path], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    except OSError as error:
        raise OpencodeError(f"{program} cannot be started ({error.strerror})") from error
