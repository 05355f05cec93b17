"""A file system that records every change, and the states a power cut may leave of it.

The model: what was synced is there. The changes of each folder's names survive as any prefix of their order that includes what
was synced; folders are independent of each other. The bytes of a file that are not synced are whole, missing, zeros or the first
half.
One rule of ext4 and btrfs is assumed: a file that is renamed over another has its bytes before its name.
"""

import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from opencode_tui.storage.files import FILE_MODE, FileSystem

Act = Literal["create", "replace", "unlink", "mkdir", "rmdir", "write", "sync"]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a node: a folder's names, a file's bytes, or a sync.

    `other` is the name of a source, `made` the node that gets `name`.
    """

    act: Act
    node: int
    name: str = ""
    other: str = ""
    made: int = 0
    data: bytes = b""
    is_over: bool = False


@dataclass(slots=True)
class _Node:
    """What a crash state is computed from, for one node, up to a moment."""

    names: list[Change] = field(default_factory=list[Change])
    data: bytes = b""
    synced_names: int = 0
    is_synced: bool = True


class RecordedDisk(FileSystem):
    """Does and records every change below `root`, which must be empty."""

    def __init__(self, root: Path) -> None:
        self.changes: list[Change] = []
        self._root = str(root)
        self._nodes = {self._root: 0}
        self._last = 0
        self._open: dict[int, int] = {}

    def open(self, path: str, flags: int, mode: int = FILE_MODE) -> int:
        descriptor = super().open(path, flags, mode)
        if flags & os.O_CREAT:
            self._made("create", path)
        if path in self._nodes:
            self._open[descriptor] = self._nodes[path]
        return descriptor

    def write(self, descriptor: int, data: memoryview) -> int:
        count = super().write(descriptor, data)
        self.changes.append(Change("write", self._open[descriptor], data=bytes(data[:count])))
        return count

    def fsync(self, descriptor: int) -> None:
        super().fsync(descriptor)
        self.changes.append(Change("sync", self._open[descriptor]))

    def close(self, descriptor: int) -> None:
        self._open.pop(descriptor, None)
        super().close(descriptor)

    def replace(self, source: str, target: str) -> None:
        super().replace(source, target)
        folder, name = os.path.split(target)
        assert os.path.dirname(source) == folder, "a rename between folders is not in the model"
        moved, is_over = self._nodes.pop(source), target in self._nodes
        self._nodes[target] = moved
        self.changes.append(
            Change("replace", self._nodes[folder], name, os.path.basename(source), made=moved, is_over=is_over)
        )

    def unlink(self, path: str) -> None:
        super().unlink(path)
        self._gone("unlink", path)

    def mkdir(self, path: str) -> None:
        super().mkdir(path)
        self._made("mkdir", path)

    def rmdir(self, path: str) -> None:
        super().rmdir(path)
        self._gone("rmdir", path)

    def _made(self, act: Act, path: str) -> None:
        folder, name = os.path.split(path)
        self._last += 1
        self._nodes[path] = self._last
        self.changes.append(Change(act, self._nodes[folder], name, made=self._last))

    def _gone(self, act: Act, path: str) -> None:
        folder, name = os.path.split(path)
        del self._nodes[path]
        self.changes.append(Change(act, self._nodes[folder], name))


def restore_state(changes: list[Change], folder: Path, chance: random.Random) -> None:
    """Write into an empty folder one state that a power cut after these changes may leave, at random."""
    nodes: dict[int, _Node] = {0: _Node()}
    for change in changes:
        node = nodes[change.node]
        match change.act:
            case "write":
                node.data, node.is_synced = node.data + change.data, False
            case "sync":
                node.synced_names, node.is_synced = len(node.names), True
            case _:
                node.names.append(change)
                if change.act in ("create", "mkdir"):
                    nodes[change.made] = _Node()
                if change.is_over:
                    nodes[change.made].is_synced = True
    _write_folder(nodes, 0, folder, chance)


def _write_folder(nodes: dict[int, _Node], at: int, path: Path, chance: random.Random) -> None:
    node = nodes[at]
    entries: dict[str, tuple[int, bool]] = {}
    for change in node.names[: chance.randint(node.synced_names, len(node.names))]:
        match change.act:
            case "create" | "mkdir":
                entries[change.name] = (change.made, change.act == "mkdir")
            case "replace":
                entries[change.name] = entries.pop(change.other)
            case _:
                del entries[change.name]
    for name, (inside, is_folder) in entries.items():
        if is_folder:
            (path / name).mkdir()
            _write_folder(nodes, inside, path / name, chance)
        else:
            (path / name).write_bytes(_bytes_left(nodes[inside], chance))


def _bytes_left(node: _Node, chance: random.Random) -> bytes:
    if node.is_synced:
        return node.data
    return chance.choice((node.data, b"", bytes(len(node.data)), node.data[: len(node.data) // 2]))
