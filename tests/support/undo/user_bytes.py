"""Bytes that the user wrote and another party then changed: the snapshots must contain them until they are cleaned."""

from pathlib import Path

from opencode_tui.engine.snapshot.objects.pack import object_id
from opencode_tui.engine.snapshot.objects.store import ObjectStore
from opencode_tui.engine.snapshot.scan.scan import LARGE_BYTES
from tests.support.snapshot.worktree import Fact

Facts = dict[str, Fact]


class PersonsBytes:
    """The user's files in one folder. Ignored names and large files are only protected where they are named, and left out."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._now: dict[str, bytes] = {}
        self._replaced: dict[bytes, str] = {}
        self._ignored = {".log"}

    def ignore(self, name: str) -> None:
        """Take notice that somebody ignores a name from now on."""
        self._ignored.add(name)

    def wrote(self, before: Facts, after: Facts) -> None:
        """Record what the user did: files that they changed are theirs, and files that they removed may stay removed."""
        for path in before.keys() | after.keys():
            fact = after.get(path)
            if fact == before.get(path):
                continue
            self._now.pop(path, None)
            if fact is not None and fact[0] == "file" and len(fact[2]) <= LARGE_BYTES and not self._is_ignored(path):
                self._now[path] = fact[2]

    def check(self, files: Facts) -> None:
        """Fail when some bytes of the user's are neither in their file nor in a snapshot."""
        for path, content in list(self._now.items()):
            fact = files.get(path)
            if fact is None or fact[2] != content:
                self._replaced[object_id("blob", self._now.pop(path))] = path
        missing = set(self._replaced)
        for folder in self._home.glob(".local/share/opencode-tui/snapshot/*/*/git") if missing else ():
            store = ObjectStore(folder)
            store.refresh()
            missing = {name for name in missing if not store.contains(name)}
        assert not missing, [self._replaced[name] for name in missing]

    def _is_ignored(self, path: str) -> bool:
        return any(segment.endswith(name) for segment in path.split("/") for name in self._ignored)
