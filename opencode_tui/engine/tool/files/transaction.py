"""A transaction of file changes: prepared in temporary files, then committed together, or rolled back.

Blocks: call it in a thread. `prepare`, `commit` and `clear` are called once each, in this order; `clear` always.
"""

import contextlib
import errno
import logging
import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.snapshot.record.write import FileWrite
from opencode_tui.engine.snapshot.temporary import temporary_name
from opencode_tui.engine.tool.files.read_guard import Stamp, stamp_of
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.system_error import meaning_of
from opencode_tui.storage.safe_folder import NotAFolderError, OpenFolder, open_folder

_log = logging.getLogger(__name__)
_ADVICE = {
    errno.ENOSPC: "free some space, then try again",
    errno.EDQUOT: "free some space, then try again",
    errno.EACCES: "choose another path or ask the user",
    errno.EPERM: "choose another path or ask the user",
    errno.EROFS: "choose another path",
    errno.ENAMETOOLONG: "choose a shorter one",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "choose another path",
    errno.ELOOP: "read it again",
}
"""What the model can do, which is not what the user can do."""


def explain(error: OSError, path: Path) -> ToolError:
    """Return the error for the model after a failed file call; the old file is unchanged."""
    if isinstance(error, NotAFolderError):
        if error.is_link:
            problem = f"{error.filename} became a symbolic link after permission was asked"
            return ToolError(problem, "nothing was done, look at the folder again")
        return ToolError(f"{error.filename} is a file, not a folder", "choose another path")
    problem, _ = meaning_of(error)
    return ToolError(f"{path}: {problem}", _ADVICE.get(error.errno or 0, "the file is unchanged"))


class Change(Struct, frozen=True):
    """A change of a file: `content` None deletes it, or a link; `expected` is its present stamp, None when it must not exist.

    `mode` are the permission bits of a new file; None leaves them to the umask.
    """

    path: Path
    content: bytes | None
    expected: Stamp | None
    mode: int | None = None


@dataclass(slots=True)
class _Prepared:
    """One change with its temporary files; `stamp` is that of the new file, also when it is changed later."""

    change: Change
    folder: OpenFolder
    new: str | None = None
    stamp: Stamp | None = None
    mode: int = 0
    kept: str | None = None
    done: bool = False


@dataclass(slots=True)
class FileTransaction:
    """Changes that happen together. Temporary files are in the files' own folders; `snapshot/temporary.py` names them."""

    changes: Sequence[Change]
    _prepared: list[_Prepared] = field(default_factory=list[_Prepared])
    _made: list[Path] = field(default_factory=list[Path])
    _folders: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _committed: bool = False

    def prepare(self) -> None:
        """Write all new contents durably to temporary files; raises ToolError when a file is not as expected."""
        for change in self.changes:
            try:
                made = None if change.content is None else self._made
                folder = self._folders.enter_context(open_folder(change.path.parent, made=made))
                prepared = _Prepared(change, folder)
                self._prepared.append(prepared)
                _write_new(prepared, _check(prepared))
            except OSError as error:
                raise explain(error, change.path) from error

    @property
    def writes(self) -> list[FileWrite]:
        """The writes that `commit` will do, in the order of the changes."""
        return [FileWrite(one.change.path, one.change.content, one.mode) for one in self._prepared]

    @property
    def made(self) -> Sequence[Path]:
        """The folders that `prepare` made."""
        return tuple(self._made)

    def commit(self) -> list[Stamp | None]:
        """Replace the files and return the new stamps; on a failure restore all of them and raise ToolError."""
        try:
            for prepared in self._prepared:
                _place(prepared, keep=len(self._prepared) > 1)
        except (OSError, ToolError) as error:
            self._rollback()
            failed = next(item.change.path for item in self._prepared if not item.done)
            raise (explain(error, failed) if isinstance(error, OSError) else error) from error
        self._committed = True
        return [prepared.stamp for prepared in self._prepared]

    def clear(self) -> None:
        """Remove temporary files, and after a failure also the folders that were made."""
        with self._folders:
            for prepared in self._prepared:
                for name in (prepared.new, prepared.kept):
                    if name is not None:
                        _discard(prepared.folder, name)
        if not self._committed:
            for folder in reversed(self._made):
                # Someone else may have put a file there in the meantime: then the folder stays.
                with contextlib.suppress(OSError), open_folder(folder.parent) as parent:
                    parent.remove_folder(folder.name)

    def _rollback(self) -> None:
        stranded: list[str] = []
        for prepared in reversed(self._prepared):
            if not prepared.done:
                continue
            try:
                _restore(prepared)
            except OSError:
                where = f" (its old content is in {prepared.kept} in the same folder)" if prepared.kept else ""
                stranded.append(f"{prepared.change.path}{where}")
                prepared.kept = None
        if stranded:
            raise ToolError(
                f"the change failed and could not be rolled back for {', '.join(stranded)}", "tell the user"
            )


def _restore(prepared: _Prepared) -> None:
    if prepared.kept is not None:
        prepared.folder.rename(prepared.kept, prepared.change.path.name)
        prepared.kept = None
    else:
        prepared.folder.remove(prepared.change.path.name)


def _discard(folder: OpenFolder, name: str) -> None:
    try:
        folder.remove(name)
    except FileNotFoundError:
        return
    except OSError as error:
        _log.warning("temporary file left", extra={"file": f"{folder.path}/{name}", "error": str(error)})


def _check(prepared: _Prepared) -> os.stat_result | None:
    """Return the file's status when it is as expected; raises ToolError otherwise."""
    change = prepared.change
    status = prepared.folder.find(change.path.name)
    if (stamp_of(status) if status else None) != change.expected or (status and not _is_of_kind(status, change)):
        raise ToolError(
            f"{change.path} changed on disk meanwhile", "nothing was written, read it again and repeat the edit"
        )
    if status and not status.st_mode & 0o222:
        raise ToolError(
            f"{change.path} is read-only (mode {status.st_mode & 0o777:o})", "nothing was written, ask the user first"
        )
    return status


def _is_of_kind(status: os.stat_result, change: Change) -> bool:
    """Return whether a change is about something like this: a file, or a link that it deletes."""
    return stat.S_ISREG(status.st_mode) or (change.content is None and stat.S_ISLNK(status.st_mode))


def _write_new(prepared: _Prepared, status: os.stat_result | None) -> None:
    content = prepared.change.content
    if content is None:
        return
    name = temporary_name("tmp")
    descriptor = prepared.folder.create(name, 0o600 if status else 0o666)
    prepared.new = name
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if status:
            prepared.folder.copy_attributes(prepared.change.path.name, descriptor)
        mode = stat.S_IMODE(status.st_mode) if status else prepared.change.mode
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)
        made = os.fstat(descriptor)
        prepared.stamp, prepared.mode = stamp_of(made), stat.S_IMODE(made.st_mode)


def _place(prepared: _Prepared, *, keep: bool) -> None:
    name = prepared.change.path.name
    status = _check(prepared)
    if keep and status:
        prepared.kept = temporary_name("old")
        _keep(prepared.folder, name, prepared.kept)
    if prepared.new is not None:
        prepared.folder.rename(prepared.new, name)
        prepared.new = None
    else:
        prepared.folder.remove(name)
    prepared.done = True


def _keep(folder: OpenFolder, name: str, kept: str) -> None:
    """Keep the old file or link under a second name: itself, or a copy where the file system has no hard links."""
    try:
        folder.make_hard_link(name, kept)
    except OSError:
        if stat.S_ISLNK(folder.status(name).st_mode):
            folder.make_link(folder.read_link(name), kept)
            return
        with open(folder.open_to_read(name), "rb") as old, open(folder.create(kept, 0o600), "wb") as copy:
            os.fchmod(copy.fileno(), stat.S_IMODE(os.fstat(old.fileno()).st_mode))
            shutil.copyfileobj(old, copy)
