"""Files that the user asked for: nothing is overwritten, and no link that a command creates concurrently is followed. Blocks."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.system_error import cause_of
from opencode_tui.storage.safe_folder import open_folder


def write_new(path: Path, pieces: Iterable[str], *, below: Path | None = None) -> int:
    """Write the pieces to a new file, which only the user may read, and return its size in bytes. A failure leaves no file.

    Missing folders are made. With `below` no folder of the path below that one may be a link, which a repository may have made.
    Raises OpencodeError when the file exists or cannot be written.
    """
    top = path.parent if below is None else below
    real = Path(os.path.realpath(top)) / path.parent.relative_to(top)
    try:
        with open_folder(real, made=[]) as folder:
            descriptor = folder.create(path.name)
            try:
                with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                    file.writelines(pieces)
                    file.flush()
                    return os.fstat(descriptor).st_size
            except BaseException:
                folder.remove(path.name)
                raise
    except FileExistsError:
        raise OpencodeError(f"{path} already exists; choose another name") from None
    except OSError as error:
        raise OpencodeError(f"{path} cannot be written: {cause_of(error)}") from error


def append_line(path: Path, line: str) -> None:
    """Append a line to a file, which is created where there is none.

    Raises OpencodeError for a link, which a repository may have made, and where the file cannot be written.
    """
    try:
        with open_folder(Path(os.path.realpath(path.parent)), made=[]) as folder:
            found = folder.find(path.name)
            if found is not None and stat.S_ISLNK(found.st_mode):
                raise OpencodeError(f"{path} is a link; edit the file it leads to yourself")
            present = b"" if found is None else folder.read(path.name, found.st_size)[0]
            gap = b"" if not present or present.endswith(b"\n") else b"\n"
            descriptor = folder.open_to_append(path.name)
            with open(descriptor, "ab") as file:
                file.write(gap + f"{line}\n".encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise OpencodeError(f"{path} cannot be written: {cause_of(error)}") from error
