"""Selection of the analyzer for a simple command by its program.

Order: functions of the script, programs given by path, wrappers, programs with their own analyzer, the table of plain commands,
and for everything else the assumption that any argument that looks like a path is read and written.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.permission.shell.call import Call, Runner
from opencode_tui.engine.permission.shell.expansion import SimpleCommand, is_plain_name, system_program
from opencode_tui.engine.permission.shell.filesystem import is_inside
from opencode_tui.engine.permission.shell.findings import FoundMember
from opencode_tui.engine.permission.shell.interpreters import module_of
from opencode_tui.engine.permission.shell.needs import CACHED_NAMES, given, versionless
from opencode_tui.engine.permission.shell.operands import (
    UNLISTED,
    Role,
    apply_spec,
    find_spec,
    parse_options,
    read_options,
    spec_names,
)
from opencode_tui.engine.permission.shell.other_side import check_version_control
from opencode_tui.engine.permission.shell.programs import find_analyzer
from opencode_tui.engine.permission.shell.state import State, holds_command, is_dangerous
from opencode_tui.engine.permission.shell.words import UNKNOWN, Word, listed, literal, names, rows

# Programs that run their arguments as a command: where that command starts, and which paths the wrapper itself uses. One that
# `hides` makes the command opaque (another user, another root, words from standard input, an intermediate shell).

_LINE_LIMIT = 32
"""Maximum number of lines for each of which a command is analyzed."""

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)


class Wrapper(Struct, frozen=True):
    """The options of a wrapper, and the words before the command (`w` a path that is used, `t` text)."""

    options: Mapping[str, Role]
    before: str = ""
    hides: bool = False
    assigns: bool = False
    joins: bool = False
    edits: bool = False
    dashes: bool = False


@cache
def _table() -> dict[str, Wrapper]:
    table: dict[str, Wrapper] = {}
    for programs, options, before, text in rows("wrappers.txt", 4):
        marks = {mark: True for mark in text.split()}
        table.update(dict.fromkeys(programs.split(), Wrapper(parse_options(options.split()), before, **marks)))
    return table


_ASKS_ONLY = re.compile(r"-[vV]")
_STARTS = names("-- -c --command")
"""Words after which the command of some wrappers follows."""


def is_wrapper(name: str) -> bool:
    """Return whether a program runs its arguments as a command."""
    return name in _table()


def unwrap(call: Call, name: str) -> None:
    """Analyze the command that a wrapper runs, and the paths that it uses itself."""
    wrapper = _table()[name]
    if name == "command" and call.arguments and _ASKS_ONLY.match(call.arguments[0].text):
        return
    if wrapper.hides:
        call.opaque()
    if (spec := find_spec(name)) is not None and spec.network:
        call.network()  # it may be downloaded first
    call, waiting, is_sure = _apply_options(call, wrapper, call.arguments)
    if wrapper.assigns:
        _skip_assignments(call, waiting)
    for role in wrapper.before:
        if waiting:
            word = waiting.pop(0)
            call.use(word, "rw") if role == "w" else None
    if wrapper.before:
        call, waiting, is_sure_after = _apply_options(call, wrapper, waiting)
        is_sure = is_sure and is_sure_after
    if wrapper.edits or (name == "sudo" and given(call.texts()[:1], "-e --edit")):
        for word in waiting:
            call.use(word, "rw")
        return
    if wrapper.dashes:
        waiting = next((waiting[place + 1 :] for place, word in enumerate(waiting) if word.text in _STARTS), waiting)
    words = _without_block(name, waiting)
    _run(call, wrapper, words)
    if not is_sure and len(words) > 1:
        _run(call, wrapper, words[1:])  # the first word may be the value of the unknown option


def _without_block(name: str, words: list[Word]) -> list[Word]:
    """Return the words without the start of a block, which the grammar parses as words here."""
    if name == "coproc" and len(words) > 1 and words[1].text in ("{", "("):
        return words[2:]
    return words[1:] if words and words[0].text == "{" else words


def _run(call: Call, wrapper: Wrapper, words: list[Word]) -> None:
    if call.name == "xargs" and words:
        mark = _find_mark(call, wrapper)
        if call.stdin is None:
            call.use_listed()
            if mark is not None and mark in words[0].text:
                call.runner.findings.unnamed = True
        elif mark is None:
            words = [*words, *(literal(text.strip("'\"")) for text in call.stdin.split())]
        else:
            for line in call.stdin.splitlines()[:_LINE_LIMIT]:
                call.run_words([literal(word.text.replace(mark, line.strip(" \t'\""))) for word in words])
            return
    if wrapper.joins:
        call.run_text(" ".join(word.text for word in words))
    elif len(words) > 1 and words[0].text == "-c":
        call.run_text(words[1].text)
    else:
        call.run_words(words)


def _find_mark(call: Call, wrapper: Wrapper) -> str | None:
    """Return what `xargs` replaces by each line of its input; None where it appends the words."""
    options, _ = read_options(call.arguments, wrapper.options, permutes=False)
    for option in options:
        text = option.word.text
        if text.startswith("-I"):
            return option.value.text if option.value is not None else text[2:]
        if text.startswith(("-i", "--replace")):
            return text.removeprefix("-i").removeprefix("--replace").removeprefix("=") or "{}"
    return None


def _apply_options(call: Call, wrapper: Wrapper, words: Sequence[Word]) -> tuple[Call, list[Word], bool]:
    """Return the call in the folder that an option names if any, the words after the options, and whether all were known."""
    options, rest = read_options(words, wrapper.options, permutes=False)
    is_sure = True
    for option in options:
        role, value = option.role, option.value
        if role is None and not option.word.text[1:].isdigit():
            is_sure = False
            call.opaque()
        if value is None:
            continue
        if role in (Role.WRITE, Role.FOLDER, Role.PAIR):
            call.use(value, "rw")
        if role is Role.PAIR and rest:
            call.use(rest.pop(0), "rw")
            following = _apply_options(call, wrapper, rest)
            return following[0], following[1], is_sure and following[2]
        if role is Role.FOLDER:
            call = call.inside(value)
        if role is Role.PROGRAM:
            call.opaque()
            call.run_text(value.text)
    return call, rest, is_sure


def _skip_assignments(call: Call, words: list[Word]) -> None:
    """Remove the assignments before a command from the words, and the `-` of `env`, which stands for `-i`."""
    if words and words[0].text == "-":
        words.pop(0)
    while words and (found := _ASSIGNMENT.fullmatch(words[0].text)):
        words.pop(0)
        name, value = found.groups()
        if call.name == "time" and not words:  # the shell's own `time` assigns, a program of that name does not
            call.runner.assign(name, UNKNOWN if call.state.is_set(name) else value, call.state)
        if is_dangerous(name):
            call.steered()
            if holds_command(name, value):
                call.run_text(value)


_LOADER = re.compile(r"/(?:usr/)?lib(?:32|64|x32)?/(?:[\w-]+/)?ld(?:-linux|-musl|64)?[\w.-]*\.so\.\d+", re.ASCII)
"""The loader of programs of the system, which starts the program that its first word names."""

_SIGNS = frozenset({".", ":", "[", "!", "{", "}"})
_MOVES = frozenset({"cd", "pushd", "popd", "dirs"})
_RESERVED = names("if then else elif fi for while until do done case esac select function in")
_VERSION_CONTROL = listed("version control")
_LISTS_HIDDEN = {name: " ".join(listed(f"hidden by {name}")) for name in ("ls", "fd", "rg")}
"""Options with which a program prints the names of hidden files."""


def invoke(command: SimpleCommand, member: FoundMember, state: State, runner: Runner) -> None:
    """Analyze one command and everything that it starts."""
    _record_assignments(command, state, runner)
    words = command.words
    if not words:
        return
    redirections = command.redirections
    call = Call(words[0], words[1:], state, runner, stdin=redirections.stdin, is_fed=redirections.is_fed)
    if words[0].computed or words[0].glob:
        call.opaque()
    if not words[0].known or words[0].glob:
        runner.findings.unnamed = True
    if not words[0].known:
        apply_spec(call, UNLISTED)
        return
    _run_program(call, member)


def _record_assignments(command: SimpleCommand, state: State, runner: Runner) -> None:
    for name, value in command.assignments:
        if command.declares:
            runner.assign(name, value, state)
        if not is_dangerous(name) or (name == "IFS" and not command.declares):
            continue
        runner.mark_steered()
        if holds_command(name, value):
            runner.run_text(value, state.fork())


def _run_program(call: Call, member: FoundMember) -> None:
    name = call.program.text
    if _LOADER.fullmatch(name):
        call, name = replace(call, program=literal("ld.so")), "ld.so"
    if "/" in name:
        system = system_program(name)
        if system is None:
            _run_file(call)
            return
        call = replace(call, program=literal(system))
        name = system
    if "{}" in name:
        call.runner.findings.unnamed = True  # what `find` finds, or `xargs` reads
    if (name not in _SIGNS and not is_plain_name(name)) or name in _RESERVED:
        call.opaque()
    member.moves_only = name in _MOVES
    if name.isdigit():
        return  # the descriptor of a redirection
    if len(call.arguments) == 1 and call.arguments[0].text in ("--version", "--help"):
        return
    call.needs(name, call.arguments)
    if (hidden := _LISTS_HIDDEN.get(name)) and given(call.texts(), hidden):
        call.runner.findings.listed = "*"
    _knowledge(name)(call)
    if name in _VERSION_CONTROL:
        check_version_control(call)
    if name in _with_commands() and call.arguments:
        _run_subcommand(call, name)


@cache
def _with_commands() -> frozenset[str]:
    """Return the programs that have their own row in the table."""
    return frozenset(name.partition(".")[0] for name in (*_table(), *spec_names()) if "." in name[1:])


def _run_subcommand(call: Call, name: str) -> None:
    """Analyze a command of a program, such as `npm exec`, which may follow options of the program."""
    spec = find_spec(name)
    options, rest = read_options(call.arguments, spec.options if spec else {}, permutes=False)
    words = rest[1:] if rest and rest[0].text.startswith("+") else rest
    if not words:
        return
    for option in options:
        if option.role is Role.FOLDER and option.value is not None:
            call = call.inside(option.value)
    inner, key = replace(call, arguments=words[1:]), f"{name}.{words[0].text}"
    if is_wrapper(key):
        unwrap(inner, key)
    elif found := find_spec(key):
        apply_spec(inner, found)


@lru_cache(maxsize=CACHED_NAMES)
def _knowledge(name: str) -> Callable[[Call], None]:
    """Return the analyzer of a program; a version in its name (`python3.12`) is ignored."""
    for known in (name, versionless(name)):
        if is_wrapper(known):
            return partial(unwrap, name=known)
        if analyzer := find_analyzer(known):
            return analyzer
        if spec := find_spec(known):
            return partial(apply_spec, spec=spec)
    return partial(apply_spec, spec=UNLISTED)


_INSTALLED = re.compile(
    r"(?:.*/)?(?:(?:\.?v?env|\.[tn]ox/[^/]+)/bin|node_modules/\.bin|vendor/bin)/([^/]+)|(?:.*/)?(gradlew|mvnw)",
    re.DOTALL,
)
"""Programs that a package manager installs in the project: their names say what they are."""


def _run_file(call: Call) -> None:
    """Record a program given by its path; it can be anything, even a file written by the same script."""
    findings = call.runner.findings
    call.use(call.program, "r")
    findings.programs |= {
        findings.real(path)
        for path in findings.targets(call.program, call.state.folders)
        if is_inside(path, findings.root)
    }
    call.opaque()
    if (found := _INSTALLED.fullmatch(call.program.text)) is not None:
        program = replace(call, program=literal(found.group(1) or found.group(2)))
        words = module_of(program) or [program.program, *call.arguments]
        call.needs(words[0].text, words[1:])
    apply_spec(call, UNLISTED)
