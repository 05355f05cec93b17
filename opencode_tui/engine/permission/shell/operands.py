"""Roles of a command's arguments: which are read, written, run, and how options take their values."""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache

from msgspec import Struct, field

from opencode_tui.engine.permission.protected import is_secret
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.findings import Mode
from opencode_tui.engine.permission.shell.losses import deletes
from opencode_tui.engine.permission.shell.needs import given
from opencode_tui.engine.permission.shell.words import UNKNOWN, Word, listed, literal, rows


class Role(StrEnum):
    """The role of an argument for its command; the values are the codes of the table."""

    TEXT = "t"
    READ = "r"
    WRITE = "w"
    BOTH = "b"
    MAYBE = "?"  # a path that is read and written, or something else, such as an address
    ENTRY = "e"  # written as an entry of its folder: a link itself, not its target
    MOVED = "m"  # read, and removed as an entry
    TREE = "T"  # read with everything under it
    TARGET = "d"  # the folder to write to, instead of the last operand
    PATTERN = "p"  # text of an option that replaces the first operand
    PATTERN_FILE = "q"  # a file that is read; replaces the first operand
    NO_PATTERN = "0"  # no value; there is no first operand of another kind
    DATA = "@"  # text, or the name of a file after an `@`
    FORM = "f"  # the same, also after `NAME=`, and several files
    QUERY = "y"  # text, or after a name and an `@` the name of a file
    UPLOAD = "u"  # a file that is sent; braces and brackets stand for several
    SHARED = "h"  # the name of something; `host` and `container:NAME` open this computer or another container to it
    PROGRAM = "x"  # a command line that will be run
    FLAG = "!"  # no value; what the command does is unknown with it
    SETTINGS = (
        "S"  # a file of settings, which may name programs, or a program; what the command does is unknown with it
    )
    STEERS = "n"  # text that can make the program run others
    FORMAT = "O"  # text, the name of a file after an `@`, or a format that names a file to write
    URL = "U"  # an address, or the name of a file after an `@`; braces and brackets stand for several
    ADDRESS = "a"  # an address
    CLIENT = "E"  # text for a client, in which an escape starts a program
    SPREAD = "*"  # no value; folders are read recursively
    FOLLOWS = "F"  # no value; links inside folders are followed
    SPREAD_FOLLOWS = "R"  # no value; both
    KEEPS = "P"  # no value; links inside folders are not followed
    GLOB = "g"  # a pattern of names, which may include hidden files
    INCLUDE = "I"  # a pattern of the names that are read in folders
    LIST = "L"  # a file that names other files
    NONE = "."  # no value, and no effect that matters
    SUFFIX = "^"  # a text, only if it is attached
    FOLDER = "c"  # the folder that the command runs in
    PAIR = "2"  # two words, both paths
    NAMED_FILE = "N"  # a name, then a file that is read
    NAMED_TEXT = "M"  # a name, then a text
    VOLUME = "V"  # a folder of this machine before a `:`, or in `source=`
    SETTING = "s"  # a setting of ssh, which can run a command line
    PACKS = "k"  # no value; the operands are packed with everything under them
    LISTS = "l"  # no value; nothing is unpacked
    CHANGES = "C"  # no value; all operands are written
    BLOCKS = "K"  # `if=` a path that is read, `of=` one that is written
    VARIABLE = "A"  # text, or `NAME=value`, which can be a command line


class Spec(Struct, frozen=True):
    """How a command uses its arguments.

    `first`, `rest` and `last` are the roles of its operands; `last` only counts when there is more than one. `assumed` says that
    nothing is known about the command, so that unknown words and options count as paths. What `unpacks` may create links, so
    that no later path is known. What `uploads` sends folders that it is given as a whole. What `passes` hands the words after
    `--` to another program, whose options may start others. What `obeys` does what its standard input says. With `hosts` operands
    may be on another computer. What `searches` reads folders as a whole, without hidden files. What `follows` also reads what links
    lead to in folders that it reads recursively. What `runs_project` runs what files of the project say.
    """

    rest: Role = Role.BOTH
    first: Role | None = None
    last: Role | None = None
    options: Mapping[str, Role] = field(default_factory=dict[str, Role])
    network: bool = False
    opaque: bool = False
    assumed: bool = False
    spreads: bool = False
    uploads: bool = False
    passes: bool = False
    obeys: bool = False
    unpacks: bool = False
    hosts: bool = False
    searches: bool = False
    follows: bool = False
    runs_project: bool = False


_PATH_START = re.compile(r"(?:^|[=:,@])(~?/(?!/)[^=:,]*|~[\w+-]*(?:/[^=:,]*)?|\.\.(?:/[^=:,]*)?)")
_PATH = re.compile(r"(?:/|~/|\.\./)[^\s]+|\.\.")
_FILE_URL = re.compile(r"fileb?:(?://)?(?:(?:localhost|127\.0\.0\.1)(?=/))?(?=[/~]|\.{0,2}[\w.])", re.IGNORECASE)
_CURL_CHOICE = re.compile(r"(\{[^{}]*\}|\[[0-9a-zA-Z]+-[0-9a-zA-Z]+(?::\d+)?\])")
_CURL_RANGE = re.compile(r"\[([0-9]{1,9}|[a-zA-Z])-([0-9]{1,9}|[a-zA-Z])(?::\d+)?\]")
ADDRESS_LIMIT = 200
"""Maximum number of addresses that are read out of one."""

_NAMES_FILE = re.compile(r"@|.*%output", re.DOTALL)
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?=/)", re.IGNORECASE)
_HOST = re.compile(r"[^@/][^/]*[.:/]|localhost\b|\d{8}|0x[0-9a-f]{8}", re.IGNORECASE)
"""How the address of a page begins that has no scheme, and no value of an option that is in no list does."""

_DATA_FILE = re.compile(r"(?:^[\w-]*|=)[@<](?=.)")
_QUERY_FILE = re.compile(r"[^=@]*@(?=.)")
_FORM_FILES = re.compile(r"[@<]([^;]+)")
_SHARED = re.compile(r"host\b|(?:container|ns|private-host):|/", re.IGNORECASE)
_UNKNOWN_STARTS = {
    Role.DATA: re.compile(rf"[\w-]*{UNKNOWN}"),
    Role.QUERY: re.compile(rf"[^=@]*{UNKNOWN}"),
    Role.FORM: re.compile(rf"[\w-]*=?{UNKNOWN}"),
    Role.URL: re.compile(rf"(?:f(?:i(?:l(?:e:?)?)?)?)?{UNKNOWN}", re.IGNORECASE),
}
"""How texts start that may turn out to be `@FILE`, `NAME=@FILE` or `file:…`, as their start is unknown."""

_ESCAPE = re.compile(r"\+?:?(?:silent )?!|\.(?:shell|system) |\\! ?|(?:shell|system) ")
"""How editors, pagers and clients of databases begin a command line for the shell."""

_REMOTE = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!//).*|[a-z]+://.*", re.DOTALL)
"""A path on another computer."""

_PASSED_HARMLESS = listed("git options that others pass")
_SSH_HARMLESS = re.compile(
    r"(?:StrictHostKeyChecking|BatchMode|ConnectTimeout|ConnectionAttempts|ServerAlive\w+|TCPKeepAlive|LogLevel|Compression|Port|User"
    r"|HostName|PasswordAuthentication|PubkeyAuthentication|PreferredAuthentications|KbdInteractiveAuthentication|IdentitiesOnly"
    r"|RequestTTY|AddressFamily|ForwardAgent|ForwardX11|ExitOnForwardFailure|ClearAllForwardings|NumberOfPasswordPrompts|UpdateHostKeys"
    r"|VisualHostKey|HashKnownHosts|CheckHostIP|VerifyHostKeyDNS|GSSAPI\w+|Ciphers|MACs|KexAlgorithms|HostKeyAlgorithms|ControlMaster"
    r"|ControlPersist|\w*KeyTypes|\w*AcceptedAlgorithms|(?:User|Global)KnownHostsFile\s*[= ]\s*/dev/null)\s*(?:[= ].*)?",
    re.IGNORECASE | re.DOTALL,
)
"""Settings of ssh that name no program and no file; `UserKnownHostsFile=/dev/null` is how checks of hosts are left out."""

_CLIENT_RUNS = re.compile(r"\\|\bsystem\b|\binfile\b|\.shell\b|\bprogram\b|\bload_file\b|\bsource\b", re.IGNORECASE)
_SSH_RUNS = re.compile(r"\w*Command\s*[= ]\s*", re.IGNORECASE)
_BLOCKS = re.compile(r"[io]f=")
_VARIABLE = re.compile(r"[A-Za-z_]\w*[:?+!]*=")
_ABBREVIATED = re.compile(r"--\w[\w-]*")
HIDDEN_LIMIT = 50
"""Maximum number of analyzed paths inside one word."""

_RISKY = frozenset({
    Role.WRITE, Role.TARGET, Role.BOTH, Role.ENTRY, Role.PROGRAM, Role.FLAG, Role.SETTINGS, Role.STEERS, Role.CLIENT, Role.FORMAT,
    Role.SETTING,
})  # fmt: skip
_VALUELESS = frozenset({
    Role.FLAG, Role.SPREAD, Role.FOLLOWS, Role.SPREAD_FOLLOWS, Role.KEEPS, Role.NO_PATTERN, Role.NONE, Role.PACKS, Role.LISTS,
    Role.CHANGES,
})  # fmt: skip
_MODES: Mapping[Role, Mode] = {
    Role.READ: "r",
    Role.TREE: "r",
    Role.PATTERN_FILE: "r",
    Role.LIST: "r",
    Role.SETTINGS: "r",
    Role.WRITE: "w",
    Role.TARGET: "w",
    Role.ENTRY: "w",
    Role.BOTH: "rw",
    Role.MAYBE: "rw",
    Role.FOLDER: "rw",
    Role.NAMED_FILE: "r",
}


def apply_spec(call: Call, spec: Spec) -> None:
    """Record what a command does with its arguments."""
    if spec.network:
        call.network()
    if spec.opaque:
        call.opaque()
    if spec.runs_project:
        call.runs_project()
    if spec.obeys:
        _read_commands(call)
    operands, seen = split_options(call, spec)
    for folder in seen.get(Role.FOLDER, ()):
        call = call.inside(at_home(folder, call.state.home))
    patterns = {word.text for word in seen.get(Role.INCLUDE, ())}
    pattern = patterns.pop() if len(patterns) == 1 else "*"
    first, rest, last = spec.first, spec.rest, None if Role.TARGET in seen else spec.last
    spread = spec.spreads or not seen.keys().isdisjoint((Role.SPREAD, Role.SPREAD_FOLLOWS))
    follows = (spec.follows and spread) or not seen.keys().isdisjoint((Role.FOLLOWS, Role.SPREAD_FOLLOWS))
    follows = follows and Role.KEEPS not in seen
    if Role.CHANGES in seen:
        rest = Role.WRITE
    if Role.PACKS in seen:
        rest = Role.TREE
    elif spec.unpacks and Role.LISTS not in seen:
        call.runner.poison(renames=False)
    if first is Role.TEXT and seen.keys() & {Role.PATTERN, Role.PATTERN_FILE, Role.NO_PATTERN}:
        first = None
    for index, word in enumerate(operands):
        if not word.known and not word.fixed and _has_risk(spec):
            call.steered()  # it may turn out to be an option
        role = rest
        if first is not None and index == 0:
            role = first
        elif last is not None and index == len(operands) - 1 and index > 0:
            role = last
        elif follows and role in _MODES:
            call.links(word, _MODES[role])
        if spec.passes and word.text.startswith("-") and word.text.partition("=")[0] not in _PASSED_HARMLESS:
            call.steered()
        if spec.uploads:
            call.tree(word)
        if spec.opaque and (found := _ESCAPE.match(word.text)):
            call.run_text(word.text[found.end() :])
        if word.text[:1] == "@" and role in (Role.READ, Role.BOTH):
            call.opaque()  # the name of a file with further arguments
        if role is Role.TREE or (spread and role in (Role.READ, Role.BOTH)):
            call.tree(word, pattern)
            role = Role.READ if role is Role.TREE else role
        elif spec.searches and role is Role.READ:
            call.tree(word, pattern, shows_hidden=False)
        if spec.hosts and _REMOTE.fullmatch(word.text):
            if not spec.network:
                call.network()
                call.found("other-computer")
            continue
        use_operand(call, word, role, assumed=spec.assumed)
        if spec.hosts and role is Role.WRITE and index and given(call.texts(), _MIRRORS):
            deletes(call, word)
    if (spread or spec.searches) and not operands[1 if first else 0 :]:
        call.tree(literal("."), pattern, shows_hidden=spread)
        if follows:
            call.links(literal("."), "r")


_MIRRORS = "--delete --delete-before --delete-during --delete-delay --delete-after --delete-excluded --del"
"""Options of rsync with which it removes what the source does not have."""


class Option(Struct, frozen=True):
    """One option as given: its word, its role (None if it is in no list), and its value."""

    word: Word
    role: Role | None
    value: Word | None = None


def read_options(
    words: Sequence[Word], options: Mapping[str, Role], *, permutes: bool
) -> tuple[list[Option], list[Word]]:
    """Return the options and the operands of a command line by the rules of GNU getopt.

    Long options may be abbreviated, their values attached with `=` or the next word; short ones may be written together, and the
    first that has a value takes the rest of the word or the next one. Without `permutes` the first operand ends the options.
    """
    found: list[Option] = []
    operands: list[Word] = []
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        text = word.text
        name, equals, _ = text.partition("=")
        is_option = len(text) > 1 and (text[0] == "-" or text in options) and bool(word.known or word.fixed)
        if text == "--" or not (is_option or permutes):
            operands.extend([*([] if text == "--" else [word]), *reversed(waiting)])
            break
        if not is_option:
            operands.append(word)
        elif (role := options.get(text)) is not None:
            found.append(_with_value(word, role, None, waiting))
        elif text.startswith("--") or (len(name) > 2 and name in options):
            found.append(
                _with_value(word, _long_role(name, options), tail(word, len(name) + 1) if equals else None, waiting)
            )
        else:
            found.extend(_cluster(word, options, waiting))
    return found, operands


def _with_value(word: Word, role: Role | None, value: Word | None, waiting: list[Word]) -> Option:
    if value is None and role is not None and role not in _VALUELESS and role is not Role.SUFFIX and waiting:
        value = waiting.pop()
        if role in (Role.NAMED_FILE, Role.NAMED_TEXT) and waiting:
            value = waiting.pop()
    return Option(word, role, value)


def _cluster(word: Word, options: Mapping[str, Role], waiting: list[Word]) -> list[Option]:
    """Return the short options that are written together."""
    found: list[Option] = []
    for index in range(1, len(word.text)):
        role = options.get(f"-{word.text[index]}")
        is_last = index + 1 == len(word.text)
        takes_rest = role is not None and role not in _VALUELESS
        found.append(_with_value(word, role, tail(word, index + 1) if takes_rest and not is_last else None, waiting))
        if takes_rest:
            break
    return found


def _long_role(name: str, options: Mapping[str, Role]) -> Role | None:
    exact = options.get(name)
    if exact is not None or not _ABBREVIATED.fullmatch(name):
        return exact
    roles = [role for option, role in options.items() if option.startswith(name)]
    return next((role for role in roles if role in _RISKY), roles[0] if roles else None)


def split_options(call: Call, spec: Spec) -> tuple[list[Word], Mapping[Role, list[Word]]]:
    """Return the operands, and the values of the options that were given by role; the use of the values is recorded."""
    options, operands = read_options(call.arguments, spec.options, permutes=True)
    known = {option.word.text for option in options if option.role is not None}
    if any(option.role is None and _is_unsure(option.word) for option in options) and _has_risk(spec):
        call.steered()  # it may turn out to be another option
    seen: dict[Role, list[Word]] = {}
    for option in options:
        if option.role is not None:
            seen.setdefault(option.role, []).extend([option.value] if option.value is not None else [])
            _record_option(call, spec, option.role, option.value)
        elif option.word.text not in known:
            _record_unknown(call, spec, option.word)
    return operands, seen


def _record_option(call: Call, spec: Spec, role: Role, value: Word | None) -> None:
    if role is Role.LIST:
        call.opaque()
        if value is not None and value.text == "-":
            _use_input(call)
    if role in (Role.FLAG, Role.SETTINGS):
        call.steered()
    if value is None or role in _VALUELESS:
        return
    if role is Role.GLOB:
        if not value.text.startswith("!"):
            call.tree(literal("."), value.text)
        return
    if role is Role.TEXT and _could_be_path(value):
        role = spec.rest if spec.rest in _MODES else Role.READ
    use_operand(call, at_home(value, call.state.home), role, assumed=False)


def _use_input(call: Call) -> None:
    """Record that the command reads the files whose names are on its standard input."""
    if call.stdin is None:
        call.use_listed()
        return
    for name in call.stdin.split():
        call.use_text(name, "r")


def _record_unknown(call: Call, spec: Spec, word: Word) -> None:
    """Record an option that is in no list: paths in it, and that it may be anything for an unknown program."""
    name, equals, text = word.text.partition("=")
    if equals and (found := _FILE_URL.match(text)):
        _use_matched(call, tail(word, len(name) + 1 + found.end()))
    if not word.text.startswith("--") or not equals:
        use_hidden_paths(call, word)
    elif _URL.match(text):
        call.network()
    elif _PATH_START.search(text) or ".env" in text:
        use_operand(call, at_home(tail(word, len(name) + 1), call.state.home), Role.MAYBE, assumed=False)
        _use_named_inside(call, text)
    else:
        _use_named_inside(call, text)
    if spec.assumed and not word.known:
        call.opaque()


def _is_unsure(option: Word) -> bool:
    """Return whether the name of an option is not fully known."""
    return not option.known and UNKNOWN in option.text.partition("=")[0]


def _has_risk(spec: Spec) -> bool:
    return not _RISKY.isdisjoint(spec.options.values())


def _could_be_path(word: Word) -> bool:
    """Return whether a word after an option with a text value is more likely a path: some versions of the option have no value."""
    return _PATH.fullmatch(word.text) is not None or is_secret(word.text)


def tail(word: Word, start: int) -> Word:
    """Return what follows the first characters of a word; a tilde that comes first then may be resolved by shell or program."""
    return Word(text=word.text[start:], fixed=word.fixed[start:], glob=word.glob, computed=word.computed)


def use_operand(call: Call, word: Word, role: Role, *, assumed: bool) -> None:
    """Record the use of one argument."""
    if role in (Role.DATA, Role.FORM) and (found := _DATA_FILE.search(word.text)):
        _use_sent(call, tail(word, found.end()), is_form=role is Role.FORM)
    elif role is Role.QUERY and (found := _QUERY_FILE.match(word.text)):
        call.use(tail(word, found.end()), "r")
    elif (start := _UNKNOWN_STARTS.get(role)) and start.match(word.text):
        call.steered()  # it may turn out to name a file
    if found := _FILE_URL.match(word.text):
        _use_matched(call, tail(word, found.end()))
    if role is Role.UPLOAD:
        _use_matched(call, word)
    if role is Role.SHARED and (not word.known or _SHARED.match(word.text)):
        call.steered()
    if role is Role.SETTING and not _SSH_HARMLESS.fullmatch(word.text):
        call.steered()
        if found := _SSH_RUNS.match(word.text):
            call.run_text(word.text[found.end() :])
    if role in (Role.URL, Role.ADDRESS):
        is_several = role is Role.URL and word.known
        for one in map(literal, _alternatives(word.text)) if is_several else (word,):
            _record_address(call, one)
    if role is Role.URL and (word.text[:1] == "@" or _has_computed_scheme(word.text)):
        call.steered()
    if role is Role.STEERS or (role is Role.FORMAT and (not word.known or _NAMES_FILE.match(word.text))):
        call.steered()
    if role is Role.CLIENT and (not word.known or _CLIENT_RUNS.search(word.text)):
        call.steered()
        if found := _ESCAPE.match(word.text):
            call.run_text(word.text[found.end() :])
    if role is Role.VOLUME:
        for pair in word.text.split(","):
            key, _, value = pair.rpartition("=")
            source = value.partition(":")[0]
            if key in ("", "src", "source") and source[:1] in ("/", ".", "~"):
                call.use(at_home(literal(source), call.state.home), "rw")
            elif key in ("", "src", "source") and source.startswith(UNKNOWN):
                call.steered()  # it may turn out to be a folder
            elif key.endswith("device"):
                call.steered()  # any folder of this computer, under a name
    if role is Role.BLOCKS and (found := _BLOCKS.match(word.text)):
        word, role = at_home(tail(word, 3), call.state.home), Role.READ if found.group() == "if=" else Role.WRITE
    elif role is Role.BLOCKS and not word.known:
        call.steered()
    if role is Role.VARIABLE and (found := _VARIABLE.match(word.text)):
        if re.search(r"\s", word.text[found.end() :]):
            call.run_text(word.text[found.end() :])
        else:
            use_hidden_paths(call, word)
    if role not in _MODES and role not in (Role.PROGRAM, Role.MOVED):
        return
    if role is Role.PROGRAM:
        call.opaque()
        call.run_text(_ESCAPE.sub("", word.text.removeprefix("exec=")))
        return
    if assumed:
        _use_assumed(call, word)
        return
    call.use(word, _MODES.get(role, "rw"), follows=role not in (Role.ENTRY, Role.MOVED), is_sure=role is not Role.MAYBE)
    if role is Role.TREE:
        call.tree(word)


_FILE_COMMAND = re.compile(r"\s*(?:m?put|reput|send|append)\b")
_RUNS_LINE = re.compile(r"\s*(?:!|~!|\\!)")


def _read_commands(call: Call) -> None:
    """Record what a client does that obeys the lines of its standard input: they may start programs and send files."""
    if call.stdin is None or UNKNOWN in call.stdin:
        call.steered() if call.is_fed or call.stdin is not None else None
        return
    if _CLIENT_RUNS.search(call.stdin):
        call.steered()
    for line in call.stdin.splitlines():
        if _RUNS_LINE.match(line):
            call.steered()
            call.run_text(_RUNS_LINE.sub("", line, count=1))
        if _FILE_COMMAND.match(line):
            for text in line.split()[1:]:
                call.guess(literal(text.strip("'\"")))


def _use_sent(call: Call, word: Word, *, is_form: bool) -> None:
    """Record the files that curl reads for data or a form: there several with commas, each with parameters behind a `;`."""
    call.use(word, "r")
    if is_form and word.known:
        for text in (word.text, *_FORM_FILES.findall(word.text)):
            for one in text.partition(";")[0].split(","):
                call.use(literal(one.strip('"')), "r")


def _use_matched(call: Call, word: Word) -> None:
    """Record the files that a client reads for a name in which braces and ranges stand for several, as for curl."""
    call.use(at_home(word, call.state.home), "r")
    if not word.known:
        return
    found = list(_alternatives(word.text))
    for name in found:
        call.use(at_home(literal(name), call.state.home), "r")
    if len(found) == 1 and _CURL_CHOICE.search(found[0]):
        call.steered()  # too many to compare


def _record_address(call: Call, word: Word) -> None:
    """Record the page that a word names, if it is known; one without a scheme is fetched over HTTP."""
    text = word.text if word.known else f"{word.fixed}*"
    scheme = _SCHEME.match(text)
    if scheme is not None and scheme[0].lower() in ("http:", "https:"):
        call.runner.findings.addresses[text] = None
    elif scheme is None and _HOST.match(text if word.known else word.fixed):
        call.runner.findings.addresses[f"http://{text}"] = None


def _has_computed_scheme(text: str) -> bool:
    """Return whether braces or ranges may stand for the scheme of an address."""
    scheme, colon, _ = text.partition(":")
    return bool(colon) and "/" not in scheme and ("{" in scheme or "[" in scheme)


def _alternatives(text: str) -> Iterable[str]:
    """Return the addresses that curl makes of one with braces and ranges; one with too many as it is. Source: curl(1), URL."""
    choices = [_choices(piece) for piece in _CURL_CHOICE.split(text)]
    return map("".join, itertools.product(*choices)) if math.prod(map(len, choices)) <= ADDRESS_LIMIT else [text]


def _choices(piece: str) -> Sequence[str]:
    if piece.startswith("{"):
        return piece[1:-1].split(",")
    found = _CURL_RANGE.fullmatch(piece)
    if found is None:
        return [piece]
    first, last = found[1], found[2]
    if first.isdigit() and last.isdigit():
        numbers = range(int(first), min(int(last), int(first) + ADDRESS_LIMIT) + 1)
        return [str(number).zfill(len(first)) for number in numbers]
    return [chr(number) for number in range(ord(first[0]), ord(last[0]) + 1)]


def _use_assumed(call: Call, word: Word) -> None:
    """Record an argument of an unknown command: anything that looks like a path counts as a path."""
    if _URL.match(word.text):
        call.network()
        return
    if any(sign in word.text for sign in "=:@#"):
        use_hidden_paths(call, word)
        if word.known:
            return
    call.guess(word)


def use_hidden_paths(call: Call, word: Word) -> None:
    """Record paths inside a word: after a character such as `=` or `:`, or attached to a short option."""
    text = word.text
    if _URL.match(text):
        return
    for count, found in enumerate(_PATH_START.finditer(text)):
        if count >= HIDDEN_LIMIT:
            call.opaque()
            break
        path = tail(word, found.start(1))
        call.guess(at_home(path, call.state.home))
    if text.startswith("-") and not text.startswith("--") and (place := _first_path(text)):
        call.guess(tail(word, place))
    if word.known:
        _use_named_inside(call, text[2:] if text.startswith("-") and not text.startswith("--") else text)


_INNER_NAME = re.compile(r"[^=:,@<;#\s\"'{}()]+")


def _use_named_inside(call: Call, text: str) -> None:
    """Record files of the project that a text names after a character such as `=` or `@`: those with secrets, and those there."""
    exists = call.runner.findings.filesystem.exists
    for count, name in enumerate(_INNER_NAME.findall(text)):
        if count >= HIDDEN_LIMIT:
            call.opaque()
            break
        is_there = not name.startswith(("/", "~")) and any(exists(f"{one}/{name}") for one in call.state.folders or ())
        if is_secret(name) or (is_there and name != text):
            call.guess(literal(name))


def at_home(word: Word, home: str) -> Word:
    """Return the word with a tilde at its start resolved, for places where the shell may or the program will do it."""
    if not word.text.startswith("~/") and word.text != "~":
        return word
    return Word(text=home + word.text[1:], fixed=home + word.fixed[1:], glob=word.glob, computed=word.computed)


def _first_path(text: str) -> int | None:
    """Return the start of a path that is attached to a short option (`-I/usr/include`)."""
    found = re.match(r"-[A-Za-z](?=[/~]|\.\.)", text)
    return found.end() if found else None


ASSUMED = Spec(rest=Role.BOTH, assumed=True)
"""Arguments of unknown programs: all that look like a path count as read and written."""

UNLISTED = Spec(rest=Role.BOTH, assumed=True, opaque=True)
"""A command that is not listed."""

_MARKS = frozenset(
    {
        "net",
        "opaque",
        "spread",
        "uploads",
        "passes",
        "obeys",
        "assumed",
        "unpacks",
        "hosts",
        "searches",
        "follows",
        "project",
    }
)


def find_spec(name: str) -> Spec | None:
    """Return the entry of a command, None when it is not listed."""
    return _table().get(name)


def spec_of(name: str) -> Spec:
    """Return the entry of a listed command."""
    return _table()[name]


def spec_names() -> Iterable[str]:
    """Return the names of all entries."""
    return _table()


@cache
def _table() -> dict[str, Spec]:
    table: dict[str, Spec] = {}
    for programs, operands, options in rows("commands.txt", 3):
        table.update(dict.fromkeys(programs.split(), _parse_spec(operands, options)))
    return table


def _parse_spec(operands: str, options: str) -> Spec:
    """Return the entry that two columns of the table describe."""
    head, _, last = operands.partition(";")
    first, comma, rest = head.partition(",")
    words = options.split()
    return Spec(
        first=Role(first) if comma else None,
        rest=Role(rest if comma else first),
        last=Role(last) if last else None,
        options=parse_options(word for word in words if word not in _MARKS),
        network="net" in words,
        opaque="opaque" in words,
        assumed="assumed" in words,
        spreads="spread" in words,
        uploads="uploads" in words,
        passes="passes" in words,
        obeys="obeys" in words,
        unpacks="unpacks" in words,
        hosts="hosts" in words,
        searches="searches" in words,
        follows="follows" in words,
        runs_project="project" in words,
    )


def parse_options(words: Iterable[str]) -> Mapping[str, Role]:
    """Return the roles of options, each written `NAME=CODE`; a text follows where there is no code."""
    pairs = (word.partition("=") for word in words)
    return {name: Role(code or "t") for name, _, code in pairs}
