"""Files with content that only the user wrote: no undo and no redo may change them, whatever was undone before."""

import os
from pathlib import Path

from tests.support.snapshot.worktree import Fact

Facts = dict[str, Fact]


class FreshEdits:
    """The files of a folder that nobody changed since the user wrote something there that was nowhere before."""

    def __init__(self) -> None:
        self._count = 0
        self._fresh: Facts = {}

    def content(self) -> str:
        """Return a content that no file had; shorter than the largest ignored file that is recorded."""
        self._count += 1
        return f"u{self._count}\n"

    def wrote(self, before: Facts, after: Facts) -> None:
        """Record what the user did."""
        content = f"u{self._count}\n".encode()
        self.keep(after)
        self._fresh.update(
            {path: fact for path, fact in after.items() if fact != before.get(path) and fact[2] == content}
        )

    def keep(self, files: Facts) -> None:
        """Forget the files that somebody changed."""
        self._fresh = {path: fact for path, fact in self._fresh.items() if files.get(path) == fact}

    def check(self, files: Facts) -> None:
        """Fail when an undo or a redo changed one."""
        changed = {path: (fact, files.get(path)) for path, fact in self._fresh.items() if files.get(path) != fact}
        assert not changed, changed


def edit(root: Path, name: str, content: str | None) -> None:
    """Write a file as the user, or remove it without a content, where that can be done."""
    path = root / name
    try:
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            # A pipe is an error, rather than a wait for its reader.
            with open(path, "w", opener=lambda file, flags: os.open(file, flags | os.O_NONBLOCK, 0o666)) as file:
                file.write(content)
    except OSError:
        return
