"""The installed plugins: a folder each in `plugins/`, with its record, the package as it was reviewed, and its data.

    plugins/NAME/record.json    where it is from, its commit, its fingerprint
    plugins/NAME/package/       the files
    plugins/NAME/data/          what its programs store; kept by updates
    plugins/NAME/off            is there while the plugin is switched off

No command that is confined can write there. Removal deletes the whole folder.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from opencode_tui.config.installed.package import Package, PackageError, Place
from opencode_tui.config.installed.reader import read_package
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.system_error import cause_of
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths, ensure
from opencode_tui.storage.safe_folder import Disk

RECORD, PACKAGE, DATA, OFF = "record.json", "package", "data", "off"
STAGING = ".staging"
"""The folder in `plugins/` in which packages are prepared; the name of no plugin begins with a period."""


class Installed(Struct, frozen=True):
    """The record of a plugin. `source` is an address or a folder, `folder` the package in it, `ref` what was asked for.

    `commit` is empty for a folder that is no repository; `digest` is the fingerprint of all files. `entry` is what a marketplace
    says about it, None where it is not from one.
    """

    name: str
    source: str
    digest: str
    time: int
    commit: str = ""
    ref: str = ""
    folder: str = ""
    entry: JsonObject | None = None


class InstalledStore:
    """Reads and changes the folder of installed plugins."""

    def __init__(self, *, paths: Paths) -> None:
        self.folder = paths.plugins
        self._paths = paths

    def all(self) -> Iterator[Installed]:
        """Yield the records by name; a damaged one raises ConfigError when it is reached. Blocks."""
        try:
            names = sorted(os.listdir(self.folder))
        except FileNotFoundError:
            return
        for name in names:
            if not name.startswith(".") and os.path.lexists(self.folder / name / RECORD):
                yield self._read(name)

    def find(self, name: str) -> Installed | None:
        """Return the record of a plugin. Raises ConfigError. Blocks."""
        return self._read(name) if os.path.lexists(self.folder / name / RECORD) else None

    def place(self, name: str, root: Path | None = None) -> Place:
        """Return where a plugin is, or `root` for one that is going to be there. Blocks."""
        final = Path(os.path.realpath(self.folder)) / name / PACKAGE
        return Place(Path(os.path.realpath(root or final)), final, final.parent / DATA)

    def read(self, installed: Installed) -> Package:
        """Return the package of an installed plugin. Raises PackageError. Blocks."""
        package = read_package(self.place(installed.name), entry=installed.entry)
        if package.name != installed.name:
            raise PackageError(f"its name is {package.name!r} now, not {installed.name!r}; install it again")
        return package

    def put(self, record: Installed, staged: Path) -> None:
        """Install a prepared folder, in place of an earlier one of this name. Raises ConfigError. Blocks."""
        files, own = FileSystem(), self.folder / record.name
        try:
            with Locks(self._paths).store():
                ensure(own / DATA)
                old = self.folder / STAGING / f"{staged.name}.old"
                is_update = os.path.lexists(own / PACKAGE)
                if is_update:
                    files.replace(str(own / PACKAGE), str(old))
                try:
                    files.replace(str(staged), str(own / PACKAGE))
                except OSError:
                    if is_update:
                        files.replace(str(old), str(own / PACKAGE))
                    raise
                data = json.dumps({name: getattr(record, name) for name in Installed.__struct_fields__}, indent=2)
                AtomicWriter(files).write(str(own / RECORD), data.encode(), durable=True)
        except OSError as error:
            raise ConfigError(f"{own} cannot be written: {cause_of(error)}; nothing else changed") from error

    def is_on(self, name: str) -> bool:
        """Return whether a plugin has an effect. Blocks."""
        return not os.path.lexists(self.folder / name / OFF)

    def switch(self, name: str, *, is_on: bool) -> None:
        """Give a plugin an effect, or none, from the next time a folder is opened. Raises ConfigError. Blocks."""
        path = self.folder / name / OFF
        try:
            with Locks(self._paths).store():
                if name.startswith(".") or "/" in name or self.find(name) is None:
                    raise ConfigError(f"no plugin {name!r} is installed; see `opencode-tui plugin list`")
                if is_on:
                    path.unlink(missing_ok=True)
                else:
                    AtomicWriter(FileSystem()).write(str(path), b"", durable=True)
        except OSError as error:
            raise ConfigError(f"{path} cannot be changed: {cause_of(error)}; {name} stays as it was") from error

    def remove(self, name: str) -> None:
        """Delete a plugin with its data. Raises ConfigError where something remains. Blocks."""
        with Locks(self._paths).store(), Disk(os.path.realpath(self.folder)).open("") as folder:
            is_gone = folder.delete(name)
        if not is_gone:
            raise ConfigError(f"{self.folder / name} cannot be deleted; delete it yourself")

    def _read(self, name: str) -> Installed:
        path = self.folder / name / RECORD
        try:
            loaded: Any = json.loads(read_text(str(path)))
            given = {key: loaded[key] for key in Installed.__struct_fields__}
            record = Installed(**given)
        except (OSError, UnreadableFileError, ValueError, TypeError, KeyError, RecursionError):
            raise ConfigError(
                f"{path} is damaged; remove the plugin with `opencode-tui plugin remove {name}`"
            ) from None
        texts = (record.name, record.source, record.digest, record.commit, record.ref, record.folder)
        if record.name != name or not all(isinstance(one, str) for one in cast("tuple[Any, ...]", texts)):
            raise ConfigError(f"{path} is damaged; remove the plugin with `opencode-tui plugin remove {name}`")
        return record
