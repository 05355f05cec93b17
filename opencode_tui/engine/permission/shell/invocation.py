"""Selection of the analyzer for a simple command by its program.

Order: functions of the script, programs given by path, wrappers, programs with their own analyzer, the table of plain commands,
and for everything else the assumption that any argument that looks like a path is read and written.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from importlib.resources import files

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.permission.shell.analyzers import find_analyzer
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.environment import holds_command, is_dangerous
from opencode_tui.engine.permission.shell.findings import FoundMember
from opencode_tui.engine.permission.shell.naming import names
from opencode_tui.engine.permission.shell.needs import find_needs
from opencode_tui.engine.permission.shell.operands import apply_spec
from opencode_tui.engine.permission.shell.runner import Runner
from opencode_tui.engine.permission.shell.simple_command import SimpleCommand, is_plain_name, system_program
from opencode_tui.engine.permission.shell.state import State
from opencode_tui.engine.permission.shell.tables import UNLISTED, find_spec
from opencode_tui.engine.permission.shell.words import Word, literal

# Programs that run their arguments as a command: where that command starts, and which paths the wrapper itself uses. A `clear`
# wrapper changes nothing that matters to the scan; any other makes the command opaque (another user, another root, words from
# standard input, an intermediate shell).

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)


class Wrapper(Struct, frozen=True):
    """Options that take a value, words before the command, and what those are (`w` a path that is used, `t` text)."""

    valued: frozenset[str] = frozenset()
    before: str = ""
    clear: bool = True
    assigns: bool = False
    joins: bool = False
    edits: bool = False
    paths: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    scripts: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()


@cache
def _table() -> dict[str, Wrapper]:
    text = files("opencode_tui.engine.permission.shell").joinpath("wrappers.txt").read_text(encoding="utf-8")
    table: dict[str, Wrapper] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            names, valued, before, marks = (column.strip() for column in line.split("|"))
            table.update(dict.fromkeys(names.split(), _parse(valued.split(), before, marks.split())))
    return table


def _parse(valued: list[str], before: str, marks: list[str]) -> Wrapper:
    roles = {name: role for name, _, role in (word.partition("=") for word in valued)}
    return Wrapper(
        valued=frozenset(roles),
        before=before,
        clear="hides" not in marks,
        assigns="assigns" in marks,
        joins="joins" in marks,
        edits="edits" in marks,
        paths=frozenset(name for name, role in roles.items() if role in ("w", "c", "2")),
        folders=frozenset(name for name, role in roles.items() if role == "c"),
        scripts=frozenset(name for name, role in roles.items() if role == "x"),
        pairs=frozenset(name for name, role in roles.items() if role == "2"),
    )


_ASKS_ONLY = re.compile(r"-[vV]")


def is_wrapper(name: str) -> bool:
    """Return whether a program runs its arguments as a command."""
    return name in _table()


def unwrap(call: Call, name: str) -> None:
    """Analyze the command that a wrapper runs, and the paths that it uses itself."""
    wrapper = _table()[name]
    if name == "command" and call.arguments and _ASKS_ONLY.match(call.arguments[0].text):
        return
    if not wrapper.clear:
        call.opaque()
    waiting = list(call.arguments)
    call = _skip_options(call, wrapper, waiting)
    if wrapper.assigns:
        _skip_assignments(call, waiting)
    for role in wrapper.before:
        if waiting:
            word = waiting.pop(0)
            call.use(word, "rw") if role == "w" else None
    if wrapper.before:
        call = _skip_options(call, wrapper, waiting)
    if wrapper.edits or (name == "sudo" and any(word.text in ("-e", "--edit") for word in call.arguments)):
        for word in waiting:
            call.use(word, "rw")
        return
    _run(call, wrapper, _without_block(name, waiting))


def _without_block(name: str, words: list[Word]) -> list[Word]:
    """Return the words without the start of a block, which the grammar parses as words here."""
    if name == "coproc" and len(words) > 1 and words[1].text in ("{", "("):
        return words[2:]
    return words[1:] if words and words[0].text == "{" else words


def _run(call: Call, wrapper: Wrapper, words: list[Word]) -> None:
    if wrapper.joins:
        call.run_text(" ".join(word.text for word in words))
    elif len(words) > 1 and words[0].text == "-c":
        call.run_text(words[1].text)
    else:
        call.run_words(words)


def _skip_options(call: Call, wrapper: Wrapper, waiting: list[Word]) -> Call:
    """Remove the options from the words; return the call, in the folder that an option names if any."""
    place = call
    while waiting and waiting[0].known and waiting[0].text.startswith("-"):
        text = waiting.pop(0).text
        if text == "--":
            break
        name, value = _split_option(text, wrapper)
        if name in wrapper.valued and value is None and waiting:
            value = waiting.pop(0).text
        if name in wrapper.pairs and waiting:
            _use_value(call, wrapper, name, waiting.pop(0).text)
        if name in wrapper.folders and value is not None:
            place = call.inside(literal(value))
        if value is not None:
            _use_value(call, wrapper, name, value)
    return place


def _split_option(text: str, wrapper: Wrapper) -> tuple[str, str | None]:
    """Return an option's name and its attached value; of a cluster such as `-ab` the last letter may take the next word."""
    if text.startswith("--"):
        name, equals, value = text.partition("=")
        return name, value if equals else None
    if text in wrapper.valued:
        return text, None
    if text[:2] in wrapper.valued:
        return text[:2], text[2:]
    return (f"-{text[-1]}" if text[1:].isalpha() else text), None


def _use_value(call: Call, wrapper: Wrapper, name: str, value: str) -> None:
    if name in wrapper.paths:
        call.use_text(value, "rw")
    elif name in wrapper.scripts:
        call.opaque()
        call.run_text(value)


def _skip_assignments(call: Call, words: list[Word]) -> None:
    """Remove the assignments before a command from the words."""
    while words and (found := _ASSIGNMENT.fullmatch(words[0].text)):
        words.pop(0)
        name, value = found.groups()
        if is_dangerous(name):
            call.opaque()
            if holds_command(name, value):
                call.run_text(value)


_VERSION = re.compile(r"-?\d+(?:\.\d+)*$")
_SIGNS = frozenset({".", ":", "[", "!", "{", "}"})
_MOVES = frozenset({"cd", "pushd", "popd", "dirs"})
_RESERVED = names("if then else elif fi for while until do done case esac select function in")
_CACHED_NAMES = 1_024


def invoke(command: SimpleCommand, member: FoundMember, state: State, runner: Runner) -> None:
    """Analyze one command and everything that it starts."""
    _note_assignments(command, state, runner)
    words = command.words
    if not words:
        return
    call = Call(words[0], words[1:], state, runner, stdin=command.redirections.stdin)
    if words[0].computed or words[0].glob:
        call.opaque()
    if not words[0].known:
        apply_spec(call, UNLISTED)
        return
    _run_program(call, member)


def _note_assignments(command: SimpleCommand, state: State, runner: Runner) -> None:
    for name, value in command.assignments:
        if command.declares:
            runner.assign(name, value, state)
        if not is_dangerous(name) or (name == "IFS" and not command.declares):
            continue
        runner.mark_opaque()
        if holds_command(name, value):
            runner.run_text(value, state.fork())


def _run_program(call: Call, member: FoundMember) -> None:
    name = call.program.text
    if "/" in name:
        system = system_program(name)
        if system is None:
            _run_file(call)
            return
        call = replace(call, program=literal(system))
        name = system
    if (name not in _SIGNS and not is_plain_name(name)) or name in _RESERVED:
        call.opaque()
    member.moves_only = name in _MOVES
    if len(call.arguments) == 1 and call.arguments[0].text in ("--version", "--help"):
        return
    for kind, words in find_needs(name, call.texts()):
        call.need(kind, words)
    _knowledge(name)(call)


@lru_cache(maxsize=_CACHED_NAMES)
def _knowledge(name: str) -> Callable[[Call], None]:
    """Return the analyzer of a program; a version in its name (`python3.12`) is ignored."""
    for known in (name, _VERSION.sub("", name)):
        if is_wrapper(known):
            return partial(unwrap, name=known)
        if analyzer := find_analyzer(known):
            return analyzer
        if spec := find_spec(known):
            return partial(apply_spec, spec=spec)
    return partial(apply_spec, spec=UNLISTED)


def _run_file(call: Call) -> None:
    """Record a program given by its path; it can be anything, even a file written by the same script."""
    call.use(call.program, "r")
    call.opaque()
    apply_spec(call, UNLISTED)
