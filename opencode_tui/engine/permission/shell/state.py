"""The state of a shell as a scan follows it: folder and variables, which variables change what commands do, and the limits."""

import posixpath
import re
import time
from collections.abc import Mapping

from msgspec import Struct, field

from opencode_tui.engine.permission.shell.words import UNKNOWN, listed, names

_NAMES = listed("variables")
_PREFIXES = tuple(listed("variable prefixes"))
_HARMLESS = listed("harmless variables")
_ANY_PROGRAM = re.compile(
    r"\w*(?:_CONFIG\w*|CONFIG_(?:FILE|DIR|HOME|PATH)|_HOME|_PAGER|_EDITOR|_BROWSER|_ASKPASS|_OPTS|_OPTIONS|_RSH|_PRELOAD|_PLUGINS?)"
)
"""Names by which many programs call a variable that names settings, options or a program of theirs."""

_ARITHMETIC_ASSIGNMENT = re.compile(
    r"(?<!\w)([A-Za-z_]\w*)(?:\[[^\[\]]*\])?\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|(?:\+\+|--)\s*([A-Za-z_]\w*)"
    r"|(?<!\w)([A-Za-z_]\w*)\s*(?:\+\+|--)",
    re.ASCII,
)
_NAMES_A_FILE = re.compile(r"[\w./~+-]*")


def is_dangerous(name: str) -> bool:
    """Return whether a variable can change what a known program does."""
    upper = name.upper()
    if upper in _HARMLESS:
        return False
    return upper in _NAMES or upper.startswith(_PREFIXES) or _ANY_PROGRAM.fullmatch(upper) is not None


def assigned_names(text: str) -> list[str]:
    """Return the variables that an arithmetic expression assigns."""
    return [next(filter(None, found.groups())) for found in _ARITHMETIC_ASSIGNMENT.finditer(text)]


def holds_command(name: str, value: str) -> bool:
    """Return whether the value of a dangerous variable is known and a command line that will run, no name or list of folders."""
    if UNKNOWN in value or name.upper() in ("PATH", "IFS", "CDPATH"):
        return False
    return _NAMES_A_FILE.fullmatch(value) is None


FOLDER_LIMIT = 8
"""Maximum number of folders that a shell may be in; with more, its folder is unknown."""

VALUE_LIMIT = 4_096
"""Maximum length of a variable's value that is followed, in characters."""

_NUMBER = re.compile(r"-?\d+")
_NUMERIC = names("? $ # UID EUID PPID")
"""Variables that are numbers and that a script can't assign or unset."""

Folders = frozenset[str] | None
"""The folders that the shell may be in; None when that is unknown."""


class State(Struct):
    """`folders` is where the shell may be now; `after_failure` is where it is if the last command failed.

    `cannot_fail` is true if the last command cannot have failed in a way that matters for the folder; `passing` is for a shell that
    ends after one command, so that a `cd` in it has no effect. Variables hold their text, unknown pieces as `UNKNOWN`; `texts` are
    those that ever had another value than a number.
    """

    home: str
    folders: Folders
    after_failure: Folders = None
    cannot_fail: bool = True
    passing: bool = False
    starts_jobs: bool = False
    variables: dict[str, str] = {}
    texts: set[str] = set()
    stack: tuple[Folders, ...] = ()

    @property
    def folder(self) -> str | None:
        """The folder when there is only one possibility."""
        return next(iter(self.folders)) if self.folders is not None and len(self.folders) == 1 else None

    def fork(self) -> "State":
        """Return the state of a subshell: equal now, independent from here on."""
        return State(
            home=self.home,
            folders=self.folders,
            after_failure=self.folders,
            variables=dict(self.variables),
            texts=self.texts,
            stack=self.stack,
            starts_jobs=self.starts_jobs,
        )

    def variable(self, name: str) -> str:
        """Return the value of a variable; unknown if the script did not set it."""
        if name in _NUMERIC:
            return "0"
        value = self.variables.get(name)
        if value is not None:
            return value
        match name:
            case "HOME":
                return self.home
            case "PWD":
                return self.folder or UNKNOWN
            case "SHELL" | "BASH":
                return "/bin/bash"
            case _:
                return UNKNOWN

    def assign(self, name: str, value: str) -> None:
        """Set a variable; a value too long to follow is unknown."""
        if not _NUMBER.fullmatch(value):
            self.texts.add(name)
        self.variables[name] = value if len(value) <= VALUE_LIMIT else UNKNOWN

    def is_number(self, name: str) -> bool:
        """Return whether a variable can only be a number, in which bash evaluates nothing."""
        return name in _NUMERIC or (name in self.variables and name not in self.texts)

    def merge_variables(self, before: Mapping[str, str]) -> bool:
        """Make every variable unknown that is not as before, and return whether there is one."""
        changed = [name for name, value in self.variables.items() if before.get(name) != value]
        self.variables.update(dict.fromkeys(changed, UNKNOWN))
        return bool(changed)

    def is_set(self, name: str) -> bool:
        """Return whether the value of a variable is known to the scan."""
        return UNKNOWN not in self.variable(name)

    def move(self, folders: Folders, *, cannot_fail: bool) -> None:
        """Change the folder; on failure the shell stays in the present one."""
        self.after_failure = self.folders
        self.folders = limited(folders)
        self.cannot_fail = cannot_fail

    def merge_outcomes(self) -> None:
        """Join the outcomes of the last command, success and failure, as a `;` does."""
        if not self.cannot_fail:
            self.folders = union(self.folders, self.after_failure)
        self.after_failure = self.folders
        self.cannot_fail = True


def limited(folders: Folders) -> Folders:
    """Return the folders, None when there are too many to follow."""
    return None if folders is not None and len(folders) > FOLDER_LIMIT else folders


def union(one: Folders, other: Folders) -> Folders:
    """Return the folders of both; unknown with anything is unknown."""
    return None if one is None or other is None else limited(one | other)


def moved(folders: Folders, target: str) -> Folders:
    """Return the folder after a `cd` to a known path: the shell resolves `..` in the text and ignores links."""
    if target.startswith("/"):
        return frozenset({posixpath.normpath(target)})
    return None if folders is None else frozenset(posixpath.normpath(f"{folder}/{target}") for folder in folders)


DEPTH_LIMIT = 60
"""Maximum nesting of scripts, substitutions and blocks."""

COMMAND_LIMIT = 500
"""Maximum number of analyzed simple commands; those in repeated loop bodies count each time."""

WORD_LIMIT = 20_000
"""Maximum number of analyzed words; those of wrapped commands count each time."""

TEXT_LIMIT = 200_000
"""Maximum number of parsed characters of nested scripts."""

SECONDS_LIMIT = 0.5
"""Maximum processor time for a scan before it begins with another nested script."""


class Budget(Struct):
    """The use of the limits by a scan so far."""

    depth: int = 0
    commands: int = 0
    words: int = 0
    text: int = 0
    began: float = field(default_factory=time.thread_time)

    @property
    def is_deep(self) -> bool:
        """Return whether no deeper nesting is followed."""
        return self.depth >= DEPTH_LIMIT

    @property
    def is_spent(self) -> bool:
        """Return whether no further command is followed."""
        return self.commands > COMMAND_LIMIT or self.words > WORD_LIMIT

    @property
    def is_over(self) -> bool:
        """Return whether no further statement is followed."""
        return self.depth >= DEPTH_LIMIT or self.commands > COMMAND_LIMIT or self.words > WORD_LIMIT

    def allows(self, text: str) -> bool:
        """Return whether another nested script is parsed."""
        self.text += len(text)
        is_late = time.thread_time() - self.began > SECONDS_LIMIT
        return not self.is_deep and self.text <= TEXT_LIMIT and not is_late
