"""Roles of a command's arguments: which are read, written, run, and how options take their values."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field

from opencode_tui.engine.permission.protected import is_secret
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.findings import Mode
from opencode_tui.engine.permission.shell.words import Word


class Role(StrEnum):
    """The role of an argument for its command; the values are the codes of the table."""

    TEXT = "t"
    READ = "r"
    WRITE = "w"
    BOTH = "b"
    ENTRY = "e"  # written as an entry of its folder: a link itself, not its target
    MOVED = "m"  # read, and removed as an entry
    TREE = "T"  # read with everything under it
    TARGET = "d"  # the folder to write to, instead of the last operand
    PATTERN = "p"  # text of an option that replaces the first operand
    PATTERN_FILE = "q"  # a file that is read; replaces the first operand
    NO_PATTERN = "0"  # no value; there is no first operand of another kind
    DATA = "@"  # text, or the name of a file after an `@`
    PROGRAM = "x"  # a command line that will be run
    FLAG = "!"  # no value; what the command does is unknown with it
    SPREAD = "*"  # no value; folders are read recursively


class Spec(Struct, frozen=True):
    """How a command uses its arguments.

    `first`, `rest` and `last` are the roles of its operands; `last` only counts when there is more than one. `assumed` tells that
    nothing is known about the command, so that unknown words and options count as paths.
    """

    rest: Role = Role.BOTH
    first: Role | None = None
    last: Role | None = None
    options: Mapping[str, Role] = field(default_factory=dict[str, Role])
    network: bool = False
    opaque: bool = False
    assumed: bool = False
    spreads: bool = False


_PATH_START = re.compile(r"(?:^|[=:,@])(~?/(?!/)[^=:,]*|~[\w+-]*(?:/[^=:,]*)?|\.\.(?:/[^=:,]*)?)")
_PATH = re.compile(r"(?:/|~/|\.\./)[^\s]+|\.\.")
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_DATA_FILE = re.compile(r"(?:^|[\w-]*=|^[\w-]+)[@<](?=.)")
_ABBREVIATED = re.compile(r"--\w[\w-]*")
HIDDEN_LIMIT = 50
"""Maximum number of analyzed paths inside one word."""

_RISKY = frozenset({Role.WRITE, Role.TARGET, Role.BOTH, Role.ENTRY, Role.PROGRAM, Role.FLAG})
_VALUELESS = frozenset({Role.FLAG, Role.SPREAD, Role.NO_PATTERN})
_MODES: Mapping[Role, Mode] = {
    Role.READ: "r",
    Role.TREE: "r",
    Role.PATTERN_FILE: "r",
    Role.WRITE: "w",
    Role.TARGET: "w",
    Role.ENTRY: "w",
    Role.BOTH: "rw",
}


def apply_spec(call: Call, spec: Spec) -> None:
    """Record what a command does with its arguments."""
    if spec.network:
        call.network()
    if spec.opaque:
        call.opaque()
    operands, seen = split_options(call, spec)
    first, rest, last = spec.first, spec.rest, None if Role.TARGET in seen else spec.last
    spread = spec.spreads or Role.SPREAD in seen
    if first is Role.TEXT and seen & {Role.PATTERN, Role.PATTERN_FILE, Role.NO_PATTERN}:
        first = None
    is_risky = any(role in _RISKY for role in spec.options.values())
    for index, word in enumerate(operands):
        if is_risky and not word.known and not word.fixed:
            call.opaque()  # it may turn out to be an option
        role = rest
        if first is not None and index == 0:
            role = first
        elif last is not None and index == len(operands) - 1 and index > 0:
            role = last
        if spread and role is Role.READ:
            role = Role.TREE
        use_operand(call, word, role, assumed=spec.assumed)
    if spread and not operands[1 if first else 0 :]:
        call.tree(Word(text=".", fixed="."))


def split_options(call: Call, spec: Spec) -> tuple[list[Word], set[Role]]:
    """Return the operands, and the roles of the options that were given; the values of options are recorded."""
    operands: list[Word] = []
    seen: set[Role] = set()
    waiting = list(reversed(call.arguments))
    while waiting:
        word = waiting.pop()
        text = word.text
        if text == "--":
            operands.extend(reversed(waiting))
            break
        if len(text) < 2 or text[0] not in "-+" or not (word.known or word.fixed):
            operands.append(word)
        elif (role := spec.options.get(text)) is not None:
            _note(call, spec, seen, role, None, waiting)
        elif text.startswith("--"):
            _long_option(call, spec, seen, word)
        else:
            _cluster(call, spec, seen, word, waiting)
    return operands, seen


def _note(call: Call, spec: Spec, seen: set[Role], role: Role, value: Word | None, waiting: list[Word]) -> None:
    """Record one option; its value is attached, or the next word."""
    seen.add(role)
    if role is Role.FLAG:
        call.opaque()
    elif role not in _VALUELESS:
        if value is None and waiting:
            value = waiting.pop()
            if role is Role.TEXT and _could_be_path(value):
                role = spec.rest if spec.rest in _MODES else Role.READ
        if value is not None:
            use_operand(call, at_home(value, call.state.home), role, assumed=False)


def _could_be_path(word: Word) -> bool:
    """Return whether a word after an option with a text value is more likely a path: some versions of the option have no value."""
    return _PATH.fullmatch(word.text) is not None or is_secret(word.text)


def _long_option(call: Call, spec: Spec, seen: set[Role], word: Word) -> None:
    name, equals, text = word.text.partition("=")
    role = _long_role(name, spec)
    value = tail(word, len(name) + 1) if equals else None
    if role is not None:
        _note(call, spec, seen, role, value, [])
    elif value is None:
        use_hidden_paths(call, word)
    elif _URL.match(text):
        call.network()
    elif _PATH_START.search(text) or ".env" in text:
        use_operand(call, at_home(value, call.state.home), Role.BOTH, assumed=False)
    if role is None and spec.assumed and not word.known:
        call.opaque()


def _cluster(call: Call, spec: Spec, seen: set[Role], word: Word, waiting: list[Word]) -> None:
    """Record short options written together; the first that takes a value takes the rest of the word, or the next one."""
    is_known = False
    for index in range(1, len(word.text)):
        role = spec.options.get(f"-{word.text[index]}")
        if role is None:
            continue
        is_known = True
        is_last = index + 1 == len(word.text)
        _note(call, spec, seen, role, None if is_last else tail(word, index + 1), waiting)
        if role not in _VALUELESS:
            return
    if not is_known:
        use_hidden_paths(call, word)
        if spec.assumed and not word.known:
            call.opaque()


def _long_role(name: str, spec: Spec) -> Role | None:
    exact = spec.options.get(name)
    if exact is not None or not _ABBREVIATED.fullmatch(name):
        return exact
    return next((role for option, role in spec.options.items() if option.startswith(name)), None)


def tail(word: Word, start: int) -> Word:
    """Return what follows the first characters of a word; a tilde that comes first then may be resolved by shell or program."""
    return Word(text=word.text[start:], fixed=word.fixed[start:], glob=word.glob, computed=word.computed)


def use_operand(call: Call, word: Word, role: Role, *, assumed: bool) -> None:
    """Record the use of one argument."""
    if role is Role.DATA and (found := _DATA_FILE.search(word.text)):
        call.use(tail(word, found.end()), "r")
    if word.text.startswith("file://"):
        call.use(tail(word, len("file://")), "r")
    if role in (Role.TEXT, Role.SPREAD, Role.PATTERN, Role.DATA):
        return
    if role is Role.PROGRAM:
        call.opaque()
        call.run_text(word.text.removeprefix("exec="))
        return
    if assumed:
        _use_assumed(call, word)
        return
    call.use(word, _MODES.get(role, "rw"), follows=role not in (Role.ENTRY, Role.MOVED))
    if role is Role.TREE:
        call.tree(word)


def _use_assumed(call: Call, word: Word) -> None:
    """Record an argument of an unknown command: anything that looks like a path counts as a path."""
    if _URL.match(word.text):
        call.network()
        return
    if "=" in word.text or ":" in word.text or "@" in word.text:
        use_hidden_paths(call, word)
        if word.known:
            return
    call.use(word, "rw")


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
        call.use(at_home(path, call.state.home), "rw")
    if text.startswith("-") and not text.startswith("--") and (place := _first_path(text)):
        call.use(tail(word, place), "rw")


def at_home(word: Word, home: str) -> Word:
    """Return the word with a tilde at its start resolved, for places where the shell may or the program will do it."""
    if not word.text.startswith("~/") and word.text != "~":
        return word
    return Word(text=home + word.text[1:], fixed=home + word.fixed[1:], glob=word.glob, computed=word.computed)


def _first_path(text: str) -> int | None:
    """Return the start of a path that is attached to a short option (`-I/usr/include`)."""
    found = re.match(r"-[A-Za-z](?=[/~]|\.\.)", text)
    return found.end() if found else None


def given(texts: Sequence[str], options: str) -> bool:
    """Return whether one of the options is given: also abbreviated, with a value attached, or in a cluster of short options."""
    short = "".join(name[1] for name in options.split() if not name.startswith("--"))
    long = [name for name in options.split() if name.startswith("--")]
    for text in texts:
        if text == "--":
            return False
        name = text.partition("=")[0]
        if text.startswith("--"):
            if len(name) > 3 and any(option.startswith(name) for option in long):
                return True
        elif text.startswith("-") and re.match(r"-[A-Za-z]+", text) and set(text[1:]) & set(short):
            return True
    return False
