"""Fetches plugins and prepares them for a review; nothing of a package is run, and git runs no program that its content names.

`Installer.prepare` makes a folder with the files of one plugin, `Prepared.package` says what it brings, and `Installer.install`
puts it in place. Whoever calls shows the package first. A commit is pinned: what is installed are the files of that commit, as git
stores them, without filters. Everything blocks.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_hex

from msgspec import Struct

from opencode_tui.config.installed.claude_plugin import Listing, is_marketplace, read_marketplace
from opencode_tui.config.installed.package import CLAUDE_FOLDER, MANIFEST, Package, Place
from opencode_tui.config.installed.reader import read_package
from opencode_tui.config.installed.store import STAGING, Installed, InstalledStore
from opencode_tui.engine.plugin.trees import Entry, check, fingerprint, read_archive, read_folder, write
from opencode_tui.engine.project.git import SafeGit
from opencode_tui.schema.error import ConfigError, GitUnavailableError
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.paths import Paths, ensure
from opencode_tui.storage.safe_folder import Disk

FETCH_S = 300.0
"""Seconds that a fetch may take."""

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_ADDRESS = re.compile(r"(?:https|ssh|file)://[^\s]+|[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^\s]+")
_ADDRESS_OF_REF = re.compile(r"(?:https|ssh|file)://[^\s/]*/[^\s]*[^\s/]|[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^\s]*[^\s/]")
"""An address that `@REF` can follow: the `@` before a host or in a path such as `/@scope/` is no such one."""
_REF = re.compile(r"(?!.*(?:\.\.|//|@\{))[A-Za-z0-9_][A-Za-z0-9._/+-]{0,200}")
_PINNED = "refs/pinned"
_RAW = "* -text -eol -filter -ident -working-tree-encoding -export-subst -export-ignore\n"
"""Attributes that come before those of the commit, so that an archive has its files as they are stored."""


class Source(Struct, frozen=True):
    """What a user gave: the address of a repository or a folder, and a branch, tag or commit of it."""

    address: str
    ref: str = ""
    is_folder: bool = False

    @property
    def is_pinned(self) -> bool:
        """Whether it names one commit by its whole ID."""
        return is_commit(self.ref)

    @property
    def is_repository(self) -> bool:
        """Whether a commit of it is read, not a folder as it is."""
        return bool(self.ref) or not self.is_folder


class Prepared(Struct, frozen=True):
    """A plugin that can be installed: its record, its package, and the folder in which its files wait."""

    record: Installed
    package: Package
    folder: Path
    files: Sequence[Entry]


class Tree(Struct, frozen=True):
    """What a source contains, and the commit, empty for a folder as it is."""

    source: Source
    commit: str
    files: Sequence[Entry]


def is_commit(text: str) -> bool:
    """Return whether a text is the whole ID of a commit."""
    return _COMMIT.fullmatch(text) is not None


def parse_source(text: str, directory: Path, home: Path) -> Source:
    """Return what FOLDER, GIT, GIT@REF or OWNER/NAME means. Raises ConfigError. Blocks."""
    folder = _folder_of(text, directory, home)
    if folder is not None:
        return Source(str(folder), is_folder=True)
    address, ref = text, ""
    before, at, after = text.rpartition("@")
    folder = _folder_of(before, directory, home) if at else None
    if folder is not None or (at and (_SHORT.fullmatch(before) or _ADDRESS_OF_REF.fullmatch(before))):
        if _REF.fullmatch(after) and not after.endswith(".git"):
            address, ref = before, after
        elif folder is not None or not _ADDRESS.fullmatch(text) or ":" not in after:
            raise ConfigError(f"{after!r} is not the name of a branch, a tag or a commit")
    if folder is not None:
        return Source(str(folder), ref, is_folder=True)
    if _ADDRESS.fullmatch(address):
        return Source(address, ref)
    if _SHORT.fullmatch(address):
        return Source(f"https://github.com/{address}.git", ref)
    raise ConfigError(
        f"{address!r} is not a folder and not the address of a repository; give one like ./plugin or "
        "https://example.com/plugin.git@COMMIT"
    )


def _folder_of(text: str, directory: Path, home: Path) -> Path | None:
    path = home / text[2:] if text.startswith("~/") else directory / text
    return Path(os.path.realpath(path)) if "\0" not in text and path.is_dir() else None


class Installer:
    """Prepares, installs and removes plugins of one user. Use it as a context: what was prepared is deleted at its end."""

    def __init__(self, *, paths: Paths, environ: Mapping[str, str], clock: Clock = system_clock) -> None:
        self.store = InstalledStore(paths=paths)
        self._environ = environ
        self._clock = clock
        self._made: list[Path] = []

    def __enter__(self) -> "Installer":
        return self

    def __exit__(self, *_: object) -> None:
        for path in self._made:
            if os.path.lexists(path.parent):
                with Disk(os.path.realpath(path.parent)).open("") as folder:
                    folder.delete(path.name)
                    folder.delete(f"{path.name}.old")
        self._made.clear()

    def fetch(self, source: Source) -> Tree:
        """Return the files of a source. Raises ConfigError, GitUnavailableError."""
        if not source.is_repository:
            return Tree(source, "", read_folder(Path(source.address)))
        folder = self._new_folder()
        ensure(folder)
        git = SafeGit(folder, environ=self._environ, is_private=True)
        variables = {"GIT_DIR": str(folder)}
        git.run_blocking("init", "--quiet", "--bare", "--template=", str(folder), more=variables)
        ensure(folder / "info")
        with Disk(os.path.realpath(folder / "info")).open("") as info:
            descriptor = info.create("attributes")
            try:
                info.write(descriptor, memoryview(_RAW.encode()))
            finally:
                info.close(descriptor)
        self._fetch_commit(git, source, variables)
        commit = git.run_blocking("rev-parse", "--verify", f"{_PINNED}^{{commit}}", more=variables).strip()
        if source.is_pinned and commit != source.ref:
            raise ConfigError(f"{source.address} has no commit {source.ref}")
        self._refuse_submodules(git, commit, variables)
        output = git.run_blocking("archive", "--format=tar", commit, more=variables)
        return Tree(source, commit, read_archive(output.encode("utf-8", "surrogateescape")))

    def _fetch_commit(self, git: SafeGit, source: Source, variables: Mapping[str, str]) -> None:
        """Fetch one commit by the transports that a user's own fetch would have."""
        allowed = {**variables, "GIT_ALLOW_PROTOCOL": "file" if source.is_folder else "https:ssh:file"}
        words = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-gc", "--end-of-options")
        wanted = f"+{source.ref or 'HEAD'}:{_PINNED}"
        address = f"file://{source.address}" if source.is_folder else source.address
        try:
            git.run_blocking(words[0], "--depth=1", *words[1:], address, wanted, more=allowed, timeout_s=FETCH_S)
        except GitUnavailableError as error:
            raise ConfigError(
                f"{source.address}{f'@{source.ref}' if source.ref else ''} cannot be fetched ({error}); check the "
                "address, and whether a commit is given by its whole ID"
            ) from error

    def _refuse_submodules(self, git: SafeGit, commit: str, variables: Mapping[str, str]) -> None:
        listing = git.run_blocking("ls-tree", "-r", "-z", "--full-tree", commit, more=variables)
        for line in filter(None, listing.split("\0")):
            head, _, path = line.partition("\t")
            if head.startswith("160000"):
                raise ConfigError(f"{path} is a submodule, which is not fetched; a plugin may not contain one")

    def listed(self, tree: Tree) -> list[Listing]:
        """Return the plugins of a marketplace, none where the source is not one. Raises ConfigError."""
        names = {f"{CLAUDE_FOLDER}/marketplace.json", MANIFEST, f"{CLAUDE_FOLDER}/{MANIFEST}"}
        heads = [one for one in tree.files if one.path in names and not one.is_link]
        folder = self._written(heads)
        return read_marketplace(_place(folder)) if is_marketplace(folder) else []

    def prepare(
        self, tree: Tree, listing: Listing | None = None, *, folder: str = "", entry: JsonObject | None = None
    ) -> Prepared:
        """Return the plugin of a source, of a marketplace the one that is listed. Raises ConfigError."""
        if listing is not None:
            if listing.problem:
                raise ConfigError(f"{listing.name} cannot be installed: {listing.problem}")
            entry = listing.entry
            folder = listing.folder
            if listing.address:
                if not _ADDRESS.fullmatch(listing.address) or (listing.ref and not _REF.fullmatch(listing.ref)):
                    raise ConfigError(
                        f"{listing.name} cannot be installed: {listing.address!r} is no address of a repository"
                    )
                tree = self.fetch(Source(listing.address, listing.ref))
        files = _below(tree.files, folder)
        check(files)
        staged = self._written(files)
        probe = read_package(Place(staged, staged, staged.parent / "data"), entry=entry)
        package = read_package(self.store.place(probe.name, staged), entry=entry)
        record = Installed(
            name=package.name,
            source=tree.source.address,
            digest=fingerprint(files),
            time=self._clock(),
            commit=tree.commit,
            ref=tree.source.ref,
            folder=folder,
            entry=entry,
        )
        return Prepared(record, package, staged, files)

    def again(self, installed: Installed) -> Prepared:
        """Return what the source of an installed plugin has now. Raises ConfigError."""
        is_folder = os.path.isabs(installed.source)
        tree = self.fetch(Source(installed.source, installed.ref, is_folder=is_folder))
        prepared = self.prepare(tree, folder=installed.folder, entry=installed.entry)
        if prepared.record.name != installed.name:
            raise ConfigError(f"{installed.source} has the plugin {prepared.record.name} now, not {installed.name}")
        return prepared

    def read(self, installed: Installed) -> tuple[Package, list[Entry]] | None:
        """Return an installed plugin with its files; None where they are not those that were installed."""
        try:
            files = read_folder(self.store.place(installed.name).root)
            return (self.store.read(installed), files) if fingerprint(files) == installed.digest else None
        except ConfigError:
            return None

    def install(self, prepared: Prepared) -> None:
        """Put a prepared plugin in place of an earlier one of its name. Raises ConfigError."""
        self.store.put(prepared.record, prepared.folder)

    def _written(self, files: Sequence[Entry]) -> Path:
        folder = self._new_folder()
        check(files)
        write(files, folder)
        return folder

    def _new_folder(self) -> Path:
        folder = self.store.folder / STAGING / token_hex(8)
        ensure(folder.parent)
        self._made.append(folder)
        return folder


def _place(folder: Path) -> Place:
    real = Path(os.path.realpath(folder))
    return Place(real, real, real)


def _below(files: Sequence[Entry], folder: str) -> list[Entry]:
    """Return the files in a folder of a source, with their paths there. Raises ConfigError."""
    wanted = os.path.normpath(folder or ".")
    if os.path.isabs(wanted) or wanted.split("/")[0] == "..":
        raise ConfigError(f"{folder!r} leads out of its marketplace; it is refused")
    if wanted == ".":
        return list(files)
    head = f"{wanted}/"
    found = [
        Entry(one.path[len(head) :], one.data, one.is_executable, one.is_link)
        for one in files
        if one.path.startswith(head)
    ]
    if not found:
        raise ConfigError(f"there is no folder {wanted} in the source")
    return found
