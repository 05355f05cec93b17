"""Sessions moved to the trash and back on a file system that fails or in a process that dies, and what is left."""

import errno
import os

from opencode_tui.schema.error import StorageError
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.trash import Trash
from tests.storage.load import fork, wait_for
from tests.support.faults.file_system import DEATH, FaultyFiles
from tests.support.sessions.families import Family, files_in, misplaced, write_family

FAULTS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EACCES": errno.EACCES}
MOVES = ("put", "restore")


class TwoDisks(FaultyFiles):
    """A file system on which the trash is not that of the store."""

    def replace(self, source: str, target: str) -> None:
        if ("/trash/" in source) != ("/trash/" in target):
            self._step("replace", target)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), target)
        super().replace(source, target)


def open_trash(paths: Paths, files: FileSystem | None = None) -> Trash:
    return Trash(paths, locks=Locks(paths), clock=lambda: 1_000_000, files=files)


class Scene:
    """A data folder with a session to be moved and another one; each move starts from the same state."""

    def __init__(self, paths: Paths, move: str, *, two_disks: bool = False) -> None:
        self.paths = paths
        self._move = move
        self._files = TwoDisks if two_disks else FaultyFiles
        write_family(paths, parents=(), messages=2, root="ses_00000000000other")
        self.others = files_in(paths.storage)
        self.family: Family = write_family(paths)

    def prepare(self) -> None:
        """Bring the session to where the move starts."""
        trash = open_trash(self.paths)
        assert trash.recover() == []
        names = [entry.name for entry in trash.entries()]
        if self._move == "put" and names:
            trash.restore(names[0])
        elif self._move == "restore" and not names:
            trash.put(self.family.infos)
        assert misplaced(self.paths, self.family, self.others) is None

    def count_calls(self) -> int:
        """Return the number of file calls of the move."""
        self.prepare()
        files = self._files()
        self._run(files)
        return files.calls

    def complaint_after_fault(self, *, at: int, fault: str, lasting: bool = False) -> str | None:
        """Return what is wrong after file call number `at` has failed; None when all is well."""
        self.prepare()
        files = self._files(at=at, error=FAULTS[fault], lasting=lasting)
        try:
            self._run(files)
        except StorageError as error:
            if "\n" in str(error) or not str(error).startswith("cannot "):
                return f"the error says {error}"
        return self._complaint()

    def complaint_after_death(self, *, at: int) -> str | None:
        """Return what is wrong after the process has died at file call number `at`; None when all is well."""
        self.prepare()
        files = self._files(at=at, error=DEATH)
        wait_for(fork(lambda: self._run(files)))
        return self._complaint()

    def _run(self, files: FileSystem) -> None:
        trash = open_trash(self.paths, files)
        if self._move == "put":
            trash.put(self.family.infos)
        else:
            trash.restore(open_trash(self.paths).entries()[0].name)

    def _complaint(self) -> str | None:
        failures = open_trash(self.paths).recover()
        return str(failures[0]) if failures else misplaced(self.paths, self.family, self.others)
