"""Static analysis of a shell command: its members, the paths outside the project, and what is unknown.

Pure: nothing is run, the file system is only asked about links, folders and names. A scan never raises for any text; what it
cannot follow makes the command opaque.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from opencode_tui.engine.permission.shell.filesystem import (
    ShellFileSystem,
    is_available_inside,
    is_inside,
    resolve,
)
from opencode_tui.engine.permission.shell.findings import Findings, FoundMember, Loss, Mode
from opencode_tui.engine.permission.shell.losses import all_losses
from opencode_tui.engine.permission.shell.needs import Reason
from opencode_tui.engine.permission.shell.readings import Readings
from opencode_tui.engine.permission.shell.state import State
from opencode_tui.engine.permission.shell.walker import Walker
from opencode_tui.engine.permission.shell.words import PRIVATE, listed


def command_prefix(words: Sequence[str]) -> tuple[str, ...]:
    """Return the leading words that identify a kind of command, as `npm run x`: by the longest entry of the lists, else one."""
    for length in range(min(len(words), 3), 0, -1):
        start = ".".join(words[:length])
        for count, title in ((3, "three words"), (2, "two words")):
            if start in listed(title):
                return tuple(words[:count])
    return tuple(words[:1])


_SEEN = dict.fromkeys(map(ord, "\n\t\u00a0\u3000\u200d"))
"""Harmless unprintable characters: line ends, wide blanks, the joiner inside emoji."""


class ExternalPath(Struct, frozen=True):
    """A path outside the project, links followed, and its use; `folder` is the path itself or its folder."""

    path: str
    mode: Mode
    folder: str


class ScannedPath(Struct, frozen=True):
    """A path inside the project, absolute, links followed, and its use."""

    path: str
    mode: Mode


class Member(Struct, frozen=True):
    """One command that would run. Every text must be allowed: its source, then the source with quoting resolved.

    `moves_only` marks a `cd` and similar commands, which only need approval for the folder. `always` are the patterns that an
    "always" reply to a question about this member grants. `runs_project`: it runs what files of the project say. `steered`: a word
    of it, such as the name of a settings file, can make it another command than its name says, or names a file that is not known.
    `words` are its words where it consists of words only, `readings` how these may be read.
    """

    texts: tuple[str, ...]
    opaque: bool = False
    moves_only: bool = False
    always: tuple[str, ...] = ()
    runs_project: bool = False
    steered: bool = False
    words: tuple[str, ...] | None = None
    readings: Readings = Readings()

    def equal_to(self, text: str) -> tuple[str, ...]:
        """Return the spellings of one of the texts without options that change nothing about what the command works on."""
        start, rest = self.readings.itself, text.removeprefix(self.readings.itself)
        if self.steered or not text.startswith(start) or rest[:1] not in ("", " "):
            return ()
        return tuple(one + rest for one in self.readings.equal)


class Scan(Struct, frozen=True):
    """The facts about a command line, in order of appearance.

    `outside` says why commands need the outside of the sandbox, `discards` what they discard at large, `inside` are the paths
    inside the project that they use, `below` the files of folders that they read as a whole. `swept` are those of `sensitive`
    that are only read so. `addresses` are the pages that curl and wget fetch. `losses` are what they remove or overwrite in the
    project. `always` are the patterns that can be granted permanently. `parsed` is false when bash's grammar may not accept the
    text. `renamed`: the line may change what names of commands stand for, as an assignment of PATH does. `unnamed`: it may start
    programs that are in no member, because their names or a script are only known when it runs. `complete` is false where a limit
    ended the scan, so that there may be further commands.
    """

    members: list[Member] = field(default_factory=list[Member])
    external: list[ExternalPath] = field(default_factory=list[ExternalPath])
    sensitive: list[str] = field(default_factory=list[str])
    swept: list[str] = field(default_factory=list[str])
    opaque: bool = False
    network: bool = False
    addresses: list[str] = field(default_factory=list[str])
    outside: list[Reason] = field(default_factory=list[Reason])
    discards: list[Reason] = field(default_factory=list[Reason])
    inside: list[ScannedPath] = field(default_factory=list[ScannedPath])
    below: list[str] = field(default_factory=list[str])
    losses: tuple[Loss, ...] = ()
    always: list[str] = field(default_factory=list[str])
    parsed: bool = True
    renamed: bool = False
    unnamed: bool = False
    complete: bool = True

    @property
    def commands(self) -> list[str]:
        """The source of every member."""
        return [member.texts[0] for member in self.members]

    @property
    def patterns(self) -> list[str]:
        """The texts that rules for `bash` must allow, without duplicates and without `cd`."""
        return list(dict.fromkeys(text for member in self.members if not member.moves_only for text in member.texts))


def scan(command: str, *, cwd: str, home: str, project_root: str, filesystem: ShellFileSystem | None = None) -> Scan:
    """Return what a command line would do when bash runs it in `cwd`.

    Paths are absolute strings. Blocks for look-ups of links and names, at most milliseconds per path.
    """
    files = filesystem if filesystem is not None else ShellFileSystem()
    findings = Findings(root=resolve(project_root, files), filesystem=files)
    walker = Walker(findings)
    if "\0" in command:
        return Scan(members=[Member((command,), opaque=True)], opaque=True, parsed=False)
    if _has_hidden_characters(command):
        walker.poison()
    walker.run_text(PRIVATE.sub("\ufffd", command), State(home=home, folders=frozenset({cwd})))
    return _result(findings, home, certain=walker.certain)


def _result(findings: Findings, home: str, *, certain: bool) -> Scan:
    members = _members(findings)
    opaque = findings.opaque or not certain
    return Scan(
        members=members,
        external=[ExternalPath(path, mode, _folder(path, findings)) for path, mode in findings.external.items()],
        sensitive=list({**findings.sensitive, **findings.swept}),
        swept=[path for path in findings.swept if path not in findings.sensitive],
        opaque=opaque,
        network=findings.network,
        addresses=list(findings.addresses),
        outside=[*findings.outside.values(), *_paths_outside(findings, home)],
        discards=list(findings.discards.values()),
        inside=[ScannedPath(path, mode) for path, mode in findings.inside.items()],
        below=list(findings.below),
        losses=all_losses(findings),
        always=list(dict.fromkeys(pattern for member in members for pattern in member.always)),
        parsed=certain,
        renamed=findings.renamed,
        unnamed=findings.unnamed,
        complete=findings.complete,
    )


def _members(findings: Findings) -> list[Member]:
    """Return the commands without those that a loop repeats."""
    found: dict[tuple[str, ...], Member] = {}
    for member in findings.members:
        if not member.texts[0].strip():
            continue
        opaque = member.opaque or findings.poisoned
        known = found.get(member.texts)
        always = () if member.moves_only or member.steered else _always(member)
        found[member.texts] = Member(
            member.texts,
            opaque=opaque or (known is not None and known.opaque),
            moves_only=member.moves_only,
            always=() if known is not None and known.steered else always,
            runs_project=member.runs_project or (known is not None and known.runs_project),
            steered=member.steered or (known is not None and known.steered),
            words=member.words,
            readings=member.readings,
        )
    return list(found.values())


_USES: Mapping[Mode, str] = {"r": "Reads", "w": "Changes", "rw": "Reads or changes"}


def _paths_outside(findings: Findings, home: str) -> list[Reason]:
    """Return a reason for each path outside that the sandbox refuses.

    A program that runs code, as a build tool, may be given a system file to read, or the interpreter of a virtual environment in
    the project: it is not asked for before it is refused; nor is that interpreter itself.
    """
    running_code = {text for member in findings.members if member.opaque for text in member.texts}

    def is_expected(path: str, mode: Mode) -> bool:
        runs_code = findings.user(path) in running_code
        writes = mode == "w" or (mode == "rw" and not runs_code)
        known = findings.programs if mode == "r" else frozenset[str]()
        is_interpreter = path in known or (runs_code and path in findings.interpreters)
        if is_interpreter and not writes:
            return True
        return is_available_inside(path, writes=writes, filesystem=findings.filesystem)

    return [
        Reason(
            "path",
            f"{_USES[mode]} {_short(path, home)}, which is outside of the project.",
            findings.user(path),
            path=path,
        )
        for path, mode in findings.external.items()
        if not is_expected(path, mode)
    ]


def _short(path: str, home: str) -> str:
    return f"~{path[len(home) :]}" if is_inside(path, home) and home != "/" else path


def _folder(path: str, findings: Findings) -> str:
    if findings.filesystem.is_folder(path) or is_inside(findings.root, path):
        return path
    return path.rpartition("/")[0] or "/"


_STARTS_ANYTHING = listed("starts anything")


def _always(member: FoundMember) -> tuple[str, ...]:
    """Return the patterns that "always" would allow: the kind of command for plain words, else these exact texts."""
    prefix = command_prefix(member.words) if member.words is not None else ()
    is_kind = prefix and not any(word.startswith("-") and word != "-m" for word in prefix[1:])
    name = "".join(prefix[:1]).rpartition("/")[2]
    if is_kind and (len(prefix) > 1 or name not in _STARTS_ANYTHING):
        return (" ".join((*prefix, "*")),)
    return tuple(text for text in member.texts if not any(one in text for one in "*?"))


def _has_hidden_characters(command: str) -> bool:
    """Return whether the text contains invisible characters or characters that reorder the visible ones."""
    return not command.translate(_SEEN).isprintable()
