"""Lists folders and reads files of the work tree. Reveals nothing about paths outside, not even whether they exist. Blocks."""

import base64
import mimetypes
import os
from pathlib import Path

from opencode_tui.engine.snapshot.scan.ignore import Rules
from opencode_tui.engine.tool.files.text_format import decode, is_binary
from opencode_tui.schema.api.file import FileContent, FileEntry
from opencode_tui.schema.error import NotFoundError, OpencodeError, ToolError
from opencode_tui.storage.safe_folder import open_folder

SIZE_LIMIT = 16 * 1024 * 1024
"""Maximum size in bytes of a file that is returned."""

_SAMPLE_BYTES = 4096
_LEFT_OUT = frozenset({".git", ".DS_Store"})
_SHOWN = ("image/", "application/pdf")


class FileBrowser:
    """Lists and reads one folder's work tree; paths are relative to the folder."""

    def __init__(self, *, directory: Path, worktree: Path) -> None:
        self._directory = directory
        self._worktree = worktree

    def entries(self, path: str) -> list[FileEntry]:
        """Return the entries of a folder, folders first, by name. Raises NotFoundError."""
        folder = self._inside(path)
        if not folder.is_dir():
            raise NotFoundError(f"no folder {path!r} in this project")
        rules = self._rules(folder)
        found = [self._entry(entry, rules) for entry in os.scandir(folder) if entry.name not in _LEFT_OUT]
        return sorted(found, key=lambda entry: (entry.type == "file", entry.name))

    def read_bytes(self, path: str) -> FileContent:
        """Return the content of any file as base64; raises as `read`."""
        file, data = self._read(path)
        mime = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        content = base64.b64encode(data).decode()
        return FileContent(type="binary", content=content, encoding="base64", mime_type=mime)

    def read(self, path: str) -> FileContent:
        """Return the content of a file. Raises NotFoundError, and OpencodeError for a file that is too large."""
        file, data = self._read(path)
        mime = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        if mime.startswith(_SHOWN) and not mime.endswith("+xml"):
            return FileContent(
                type="binary", content=base64.b64encode(data).decode(), encoding="base64", mime_type=mime
            )
        text = _text(data)
        if text is None:
            return FileContent(type="binary", content="", mime_type=mime)
        return FileContent(type="text", content=text)

    def _read(self, path: str) -> tuple[Path, bytes]:
        """Return a file with its bytes. Raises as `read`."""
        file = self._inside(path)
        if not file.is_file():
            raise NotFoundError(f"no file {path!r} in this project")
        try:
            with open_folder(file.parent) as folder:
                data, status = folder.read(file.name, SIZE_LIMIT + 1)
        except OSError:
            raise NotFoundError(f"no file {path!r} in this project") from None
        if max(len(data), status.st_size) > SIZE_LIMIT:
            raise OpencodeError(f"{path!r} is larger than {SIZE_LIMIT >> 20} MB; open it with another program")
        return file, data

    def _inside(self, path: str) -> Path:
        """Return the real path of a path in the work tree."""
        missing = NotFoundError(f"no {path!r} in this project")
        try:
            real = Path(os.path.realpath(self._directory / path, strict=True))
        except (OSError, ValueError):
            raise missing from None
        if not (real.is_relative_to(self._worktree) or real.is_relative_to(self._directory)):
            raise missing
        return real

    def _rules(self, folder: Path) -> Rules | None:
        """Return the ignore rules from the top of the work tree down to a folder; None when it is ignored itself."""
        rules = Rules().with_folder(self._worktree, "")
        parts = folder.relative_to(self._worktree).parts
        for depth in range(1, len(parts) + 1):
            name = "/".join(parts[:depth])
            if rules.ignores(name, is_folder=True):
                return None
            rules = rules.with_folder(self._worktree, name)
        return rules

    def _entry(self, entry: "os.DirEntry[str]", rules: Rules | None) -> FileEntry:
        is_folder = entry.is_dir()
        name = Path(os.path.relpath(entry.path, self._worktree)).as_posix()
        return FileEntry(
            name=entry.name,
            path=os.path.relpath(entry.path, self._directory),
            absolute=entry.path,
            type="directory" if is_folder else "file",
            ignored=rules is None or rules.ignores(name, is_folder=is_folder),
        )


def _text(data: bytes) -> str | None:
    if is_binary(data[:_SAMPLE_BYTES]):
        return None
    try:
        return decode(data)[0]
    except ToolError:
        return None
