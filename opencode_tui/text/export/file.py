"""Writes a session to a file: nothing is overwritten, and a failed export leaves no file."""

from collections.abc import Iterable
from pathlib import Path

from opencode_tui.schema.error import OpencodeError


def write_new(path: Path, pieces: Iterable[str]) -> int:
    """Write the pieces to a new file, which only the user may read, and return its size in bytes. Blocks.

    Raises OpencodeError when the file exists or cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
            path.chmod(0o600)
            try:
                file.writelines(pieces)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise OpencodeError(f"{path} already exists; choose another name") from None
    except OSError as error:
        raise OpencodeError(f"{path} cannot be written ({error.strerror})") from error
    return path.stat().st_size
