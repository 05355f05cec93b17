"""Selection of the analyzer for a simple command by its program.

Order: functions of the script, programs given by path, wrappers, programs with their own analyzer, the table of plain commands,
and for everything else the assumption that any argument that looks like a path is read and written.
"""

import re
from collections.abc import Callable
from functools import lru_cache, partial

from msgspec.structs import replace

from opencode_tui.engine.permission.shell.analyzers import find_analyzer
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.environment import holds_command, is_dangerous
from opencode_tui.engine.permission.shell.findings import FoundMember
from opencode_tui.engine.permission.shell.naming import names
from opencode_tui.engine.permission.shell.operands import apply_spec
from opencode_tui.engine.permission.shell.runner import Runner
from opencode_tui.engine.permission.shell.simple_command import SimpleCommand, is_plain_name, system_program
from opencode_tui.engine.permission.shell.state import State
from opencode_tui.engine.permission.shell.tables import UNLISTED, find_spec
from opencode_tui.engine.permission.shell.words import literal
from opencode_tui.engine.permission.shell.wrappers import is_wrapper, unwrap

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
            state.assign(name, value)
        if not is_dangerous(name) or (name == "IFS" and not command.declares):
            continue
        if command.declares:
            runner.poison()
        runner.mark_opaque()
        if holds_command(name, value):
            runner.run_text(value, state.fork())


def _run_program(call: Call, member: FoundMember) -> None:
    name = call.program.text
    if name in call.state.functions:
        call.runner.call_function(name, call.arguments, call.state)
        return
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
