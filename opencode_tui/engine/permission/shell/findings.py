"""The results of a scan so far: members, paths outside the project, protected paths, and whether something is unknown."""

import fnmatch
import posixpath
import re
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.permission.git_config import RemoteSettings
from opencode_tui.engine.permission.protected import is_protected, is_secret
from opencode_tui.engine.permission.shell.filesystem import (
    ShellFileSystem,
    bounded,
    expand_glob,
    glob_folder,
    is_available_inside,
    is_device,
    is_inside,
    is_network_device,
    resolve,
)
from opencode_tui.engine.permission.shell.needs import Kind, Reason, need_found
from opencode_tui.engine.permission.shell.readings import Readings
from opencode_tui.engine.permission.shell.words import Word

Mode = Literal["r", "w", "rw"]


PATH_LIMIT = 4_096
"""Maximum length of a path in the kernel; links in longer paths do not matter. Source: Linux, PATH_MAX."""

DEPTH_LIMIT = 100
"""Maximum number of folders above a path that are resolved one by one."""

_INTERPRETER = re.compile(r"(?:pypy|python)[\d.]*t?")
_BRACES = re.compile(r"\{.*\}")
_OF_PROCESS = re.compile(
    r"/+proc/+(?:(?P<own>self|thread-self)|\d+)/+(?:task/+\d+/+)?(?P<name>cwd|root)(?P<rest>/.*)?", re.DOTALL
)
"""Paths from the folder or the root of a process: of the command itself, or of one that may be in the same folder."""

GLOB_LIMIT = 200
"""Maximum number of globs that one scan expands."""


LossKind = Literal["deleted", "replaced", "untracked", "changes"]


class Loss(Struct, frozen=True):
    """Something that a command would remove or overwrite; `path` is absolute, the links of its folders followed.

    "deleted": the path, and what is below it where the name of a file matches `pattern`. "replaced": the file. "untracked": what
    `git clean` with the arguments `words` removes in this folder; "changes": the changes of tracked files there, limited to the
    paths `words`, without any all.
    """

    kind: LossKind
    path: str
    pattern: str = "*"
    words: tuple[str, ...] = ()


class FoundMember(Struct):
    """A command that would run: the texts that rules are matched against (the first is the source), and what is known of it.

    `runs_project`: it runs what files of the project say. `steered`: a word of it can make it another command than its name says,
    or names a file that is not known. `readings` are those of its words.
    """

    texts: tuple[str, ...]
    words: tuple[str, ...] | None = None
    readings: Readings = Readings()
    opaque: bool = False
    moves_only: bool = False
    runs_project: bool = False
    steered: bool = False


class Findings(Struct):
    """Collects the results of a scan; `root` is the project's real path. Paths are relative to the folders of the shell.

    `programs` are the real files of started programs that paths in the project name, `interpreters` those of the interpreters of
    its virtual environments, started or not.
    `listed` is the pattern of the file names that a command has printed, hidden ones included; others may read these files.
    `renamed`: the script may change what names of commands stand for, as an assignment of PATH does. `unnamed`: which program a
    command starts, or the text of a script, is only known when it runs. `complete` is false where a limit ended the scan before
    the script's end. `made` are the folders that the script makes for certain; they count while `keeps_folders` holds, which ends
    with the first command that could delete one or make something else of that name. `always_runs`: the present command runs
    once, whatever others do.
    """

    root: str
    filesystem: ShellFileSystem
    members: list[FoundMember] = []
    external: dict[str, Mode] = {}
    sensitive: dict[str, None] = {}
    swept: dict[str, None] = {}
    programs: set[str] = set()
    interpreters: set[str] = set()
    opaque: bool = False
    poisoned: bool = False
    renamed: bool = False
    unnamed: bool = False
    complete: bool = True
    network: bool = False
    addresses: dict[str, None] = {}
    loose_globs: bool = False
    listed: str | None = None
    stages_all: bool = False
    inside: dict[str, Mode] = {}
    below: dict[str, None] = {}
    outside: dict[tuple[Kind, str, str], Reason] = {}
    discards: dict[tuple[str, str], Reason] = {}
    losses: dict[Loss, None] = {}
    made: set[str] = set()
    keeps_folders: bool = True
    always_runs: bool = False
    command: str = ""
    is_guess: bool = False
    _users: dict[str, str] = {}
    _resolved: dict[str, str] = {}
    _expanded: dict[str, list[str]] = {}
    _searched: set[tuple[str, str, bool]] = set()
    _followed: set[tuple[str, Mode]] = set()

    def path(self, word: Word, mode: Mode, folders: frozenset[str] | None, *, follows: bool = True) -> bool:
        """Record that a command uses the path that a word names, and return whether that path is known.

        Without `follows` a link at the end of the path is meant itself.
        """
        text = word.text if word.known else word.fixed
        if not word.known and "/" not in text:
            return False
        for path in self._absolute(text, folders):
            if word.glob or not word.known:
                self._record_pattern(path if word.known else path + "*", mode, follows=follows)
            else:
                self.absolute_path(path, mode, follows=follows)
        return word.known and (folders is not None or text.startswith("/"))

    def need(self, kind: Kind, words: str, *, path: str = "", host: str = "") -> None:
        """Record why the current command needs the outside, or what it discards, in a sentence."""
        reason = Reason(kind, words, self.command, path, host)
        if kind == "discard":
            self.discards.setdefault((words, self.command), reason)
        else:
            self.outside.setdefault((kind, words, self.command), reason)

    def user(self, path: str) -> str:
        """Return the command that uses a path outside."""
        return self._users.get(path, "")

    def targets(self, word: Word, folders: frozenset[str] | None) -> list[str]:
        """Return the existing or literal paths that a word names, with the links of their folders followed."""
        if not word.known:
            return []
        paths = self._absolute(word.text, folders)
        return [
            self._real_entry(one.rstrip("/") or "/")
            for path in paths
            for one in (self._expand(path) if word.glob else [path])
        ]

    def absolute_path(self, path: str, mode: Mode, *, follows: bool = True) -> None:
        """Record the use of one absolute path."""
        if "/dev/" in path or "//" in path:
            device = posixpath.normpath(path)
            if is_network_device(device):
                self.network = True
                host = device.split("/")[3]
                need = need_found("opened-device")
                self.need(need.kind, need.words.replace("{host}", host), host=host)
                return
            if is_device(device):
                return
        real = self.real(path) if follows else self._real_entry(path)
        if not is_inside(real, self.root):
            self._record_outside(real, mode)
            if self._is_interpreter(posixpath.normpath(path)):
                self.interpreters.add(real)
        elif real != self.root:
            self.inside[real] = _joined(self.inside.get(real), "r" if self.is_guess else mode)
        if is_secret(path) or (real != path and is_secret(real)) or (mode != "r" and self._is_protected(path, real)):
            self.sensitive[real if is_inside(real, self.root) else posixpath.normpath(path)] = None

    def _is_interpreter(self, path: str) -> bool:
        """Return whether a path names the interpreter of a virtual environment in the project."""
        folder, name = posixpath.split(path)
        above, last = posixpath.split(folder)
        return (
            last == "bin"
            and name.startswith("python")
            and is_inside(path, self.root)
            and self.filesystem.exists(f"{above}/pyvenv.cfg")
        )

    def _is_protected(self, path: str, real: str) -> bool:
        return any(is_protected(one, self.root) for one in {real, posixpath.normpath(path)})

    def _record_outside(self, path: str, mode: Mode) -> None:
        self.external[path] = _joined(self.external.get(path), mode)
        self._users.setdefault(path, self.command)

    def real(self, path: str) -> str:
        """Return the path with links followed."""
        known = self._resolved.get(path)
        if known is None:
            known = self._resolved[path] = self._follow(path)
        return known

    def _follow(self, path: str) -> str:
        """Resolve only the last part, after the folders above, which other paths share."""
        if len(path) > PATH_LIMIT:
            return posixpath.normpath(path)
        folder, _, name = path.rpartition("/")
        if name in ("", ".", "..") or not folder or path.count("/") > DEPTH_LIMIT:
            return resolve(path, self.filesystem)
        step = f"{self.real(folder).rstrip('/')}/{name}"
        is_link = not step.startswith("/proc/") and self.filesystem.link_target(step) is not None
        return resolve(step, self.filesystem) if is_link else step

    def _real_entry(self, path: str) -> str:
        """Return the path with the links of its folders followed, not the one at its end."""
        folder, _, name = path.rpartition("/")
        return self.real(path) if name in ("", ".", "..") else f"{self.real(folder or '/').rstrip('/')}/{name}"

    def is_folder(self, path: str) -> bool:
        """Return whether there is a folder at a path when the present command runs, as the script may have made it."""
        real = self.real(path)
        return self.filesystem.is_folder(real) or (self._is_sure and real in self.made)

    def make_folder(self, path: str, *, with_parents: bool) -> None:
        """Record that the present command makes a folder, unless anything could keep it from doing so."""
        missing: list[str] = []
        folder = path
        while is_inside(folder, self.root) and not self.is_folder(folder):
            if self.filesystem.exists(folder) or folder.casefold() in map(str.casefold, self.inside):
                return  # a file, a link that leads nowhere, or a name that the script has used
            missing.append(folder)
            folder = posixpath.dirname(folder)
        can_write = folder in self.made or (is_inside(folder, self.root) and self.filesystem.is_writable(folder))
        if self._is_sure and can_write and self.real(path) == path and (with_parents or len(missing) == 1):
            self.made.update(missing)

    @property
    def _is_sure(self) -> bool:
        return self.always_runs and self.keeps_folders and not self.opaque

    def tops(self, folders: frozenset[str] | None) -> list[str]:
        """Return the folders of the repositories that a shell in these folders may work in."""
        tops: list[str] = []
        for folder in sorted(folders or (self.root,)):
            path = self.real(folder)
            while path and not self.filesystem.exists(f"{path}/.git"):
                path = path.rpartition("/")[0]
            tops.append(path or self.root)
        return tops

    def remotes(self, folders: frozenset[str] | None) -> RemoteSettings | None:
        """Return what the repository of the folders says about remotes, None where that is unknown."""
        tops = self.tops(folders)
        return self.filesystem.remotes(tops[0]) if len(tops) == 1 else None

    def tree(
        self, word: Word, folders: frozenset[str] | None, pattern: str = "*", *, shows_hidden: bool = True
    ) -> None:
        """Record the files under a folder whose files a command reads if their names match, and those with secrets."""
        if not word.known:
            return
        for path in self._absolute(word.text, folders):
            for folder in self._expand(path) if word.glob else [path]:
                self._search(self.real(folder), pattern, shows_hidden=shows_hidden)

    def _search(self, folder: str, pattern: str, *, shows_hidden: bool) -> None:
        if (folder, pattern, shows_hidden) in self._searched or not is_inside(folder, self.root):
            return
        self._searched.add((folder, pattern, shows_hidden))
        names = _BRACES.sub("*", bounded(pattern).casefold()).rpartition("/")[2]
        for path in self.filesystem.files_below(folder):
            if not fnmatch.fnmatchcase(posixpath.basename(path).casefold(), names):
                continue
            self._record_below(path, shows_hidden=shows_hidden)

    def _record_below(self, path: str, *, shows_hidden: bool = True) -> None:
        self.below[path] = None
        if shows_hidden and is_secret(path):
            self.swept[path] = None

    def links(self, word: Word, mode: Mode, folders: frozenset[str] | None) -> bool:
        """Record where the links below a folder lead, for a command that follows them, and return whether all were found."""
        if not word.known:
            return True
        return all(
            [
                self._follow_links(self.real(folder), mode)
                for path in self._absolute(word.text, folders)
                for folder in (self._expand(path) if word.glob else [path])
            ]
        )

    def _follow_links(self, folder: str, mode: Mode) -> bool:
        waiting = [folder]
        while waiting:
            folder = waiting.pop()
            if (folder, mode) in self._followed or not is_inside(folder, self.root):
                continue
            links = self.filesystem.links_below(folder)
            if links is None:
                return False
            self._followed.add((folder, mode))
            for path in links:
                real = self._linked(path)
                if not is_inside(real, folder):
                    self._record_link(path, real, mode)
                    waiting.append(real)
        return True

    def _linked(self, path: str) -> str:
        """Return where a link in a folder without links leads."""
        folder, target = path.rpartition("/")[0], self.filesystem.link_target(path) or path
        while target.startswith("../"):
            folder, target = folder.rpartition("/")[0], target[3:]
        return self.real(target if target.startswith("/") else f"{folder}/{target}")

    def _record_link(self, path: str, real: str, mode: Mode) -> None:
        """Record the use of a link's target; what every command may read outside needs nothing."""
        if not is_inside(real, self.root):
            is_interpreter = _INTERPRETER.fullmatch(posixpath.basename(real)) and self._is_interpreter(path)
            if not is_interpreter and not is_available_inside(real, writes=mode != "r", filesystem=self.filesystem):
                self.absolute_path(path, mode)
        elif mode == "r":
            self._record_below(real)
            self._search(real, "*", shows_hidden=True)
        else:
            self.absolute_path(path, mode)

    def _record_pattern(self, path: str, mode: Mode, *, follows: bool) -> None:
        folder = self.real(glob_folder(path))
        if not is_inside(folder, self.root):
            self._record_outside(folder, mode)
            return
        for one in self._expand(path):
            self.absolute_path(one, mode, follows=follows)
        self._record_climb(path, mode)

    def _expand(self, path: str) -> list[str]:
        known = self._expanded.get(path)
        if known is None and (len(self._expanded) >= GLOB_LIMIT or len(path) > PATH_LIMIT):
            self.opaque = self.poisoned = True
            return []
        if known is None:
            known = self._expanded[path] = expand_glob(path, self.filesystem, loose=self.loose_globs)
        return known

    def _record_climb(self, path: str, mode: Mode) -> None:
        """Judge a glob followed by `..`, which leads outside even where nothing matches now."""
        real = self.real(path)
        if not is_inside(real, self.root):
            folder = self.real(glob_folder(real))
            self._record_outside(folder, mode)

    def _absolute(self, text: str, folders: frozenset[str] | None) -> list[str]:
        if not text.startswith("/"):
            return [f"{folder}/{text}" for folder in sorted(folders or ())]
        found = _OF_PROCESS.fullmatch(text)
        if found is None:
            return [text]
        starts = [""] if found["name"] == "root" else sorted(folders or ())
        paths = [f"{start}{found['rest'] or '/'}" for start in starts]
        return paths if paths and found["own"] else [text, *paths]


def _joined(known: Mode | None, mode: Mode) -> Mode:
    return mode if known is None or known == mode else "rw"
