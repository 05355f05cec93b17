"""Builtins of the shell: they change its folder, define names, or evaluate text."""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise

from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.environment import is_dangerous
from opencode_tui.engine.permission.shell.operands import apply_spec
from opencode_tui.engine.permission.shell.state import moved
from opencode_tui.engine.permission.shell.tables import parse_spec
from opencode_tui.engine.permission.shell.words import UNKNOWN, literal

_BIND = parse_spec("t", "-f=r -x=t -m=t -q=t -u=t -r=t")
_FILE_TEST = re.compile(r"-[abcdefghkprstuwxGLNOS]")
_DIGITS = re.compile(r"[+-]\d+")
_NAME = re.compile(r"[A-Za-z_]\w*")


def change_directory(call: Call) -> None:
    """Analyze `cd`, `pushd`: they change the base of later relative paths; a folder outside is itself a path outside."""
    words = [word for word in call.arguments if not re.fullmatch(r"-[LPe@n]+|--", word.text)]
    target = words[0] if words else literal(call.state.home)
    if call.name == "pushd":
        call.state.stack = (*call.state.stack, call.state.folders)
        if not words or _DIGITS.fullmatch(target.text):
            _lose(call)
            return
    if target.text == "-" or not target.known or target.glob:
        call.runner.findings.path(target, "r", call.state.folders)
        _lose(call)
        return
    if not call.state.passing:
        call.use(target, "r")
    folders = moved(call.state.folders, target.text)
    files = call.runner.findings
    cannot_fail = (
        len(words) < 2
        and folders is not None
        and all(files.filesystem.is_folder(files.real(folder)) for folder in folders)
    )
    call.state.move(folders, cannot_fail=cannot_fail)
    if folders is None:
        call.opaque()


def _lose(call: Call) -> None:
    call.state.move(None, cannot_fail=True)
    call.opaque()


def pop_directory(call: Call) -> None:
    """Analyze `popd`: it returns to the folder before the last `pushd`."""
    if call.arguments or not call.state.stack:
        _lose(call)
        return
    *rest, last = call.state.stack
    call.state.stack = tuple(rest)
    call.state.move(last, cannot_fail=True)


def evaluate(call: Call) -> None:
    """Analyze `eval`: its words are a script in the current shell."""
    call.opaque()
    call.runner.run_text(" ".join(call.texts()), call.state)


def source(call: Call) -> None:
    """Analyze `source`, `.`: a file's commands run in the current shell; they are assumed not to change its folder."""
    call.opaque()
    for word in call.arguments[:1]:
        call.use(word, "r")


def trap(call: Call) -> None:
    """Analyze `trap`: a script that runs later."""
    words = [word for word in call.arguments if word.text not in ("--", "-l", "-p")]
    if len(words) > 1 and words[0].text not in ("-", ""):
        call.opaque()
        call.run_text(words[0].text)


def alias(call: Call) -> None:
    """Analyze `alias`: it changes the meaning of a name."""
    for word in call.arguments:
        name, equals, value = word.text.partition("=")
        if equals and name:
            call.opaque()
            call.run_text(value)


def declare(call: Call) -> None:
    """Analyze `export`, `declare` and similar, whose assignments are already recorded; bash evaluates subscripts in names."""
    for word in call.arguments:
        name, _, value = word.text.partition("=")
        _evaluate_subscript(call, name)
        if not word.known and not name:
            call.opaque()
        elif "=" in word.text and _NAME.fullmatch(name):
            call.state.variables.setdefault(name, value)
            if is_dangerous(name):
                call.runner.poison()


def set_options(call: Call) -> None:
    """Analyze `set`, `shopt`: positional parameters and options; some options change the meaning of text."""
    if call.name == "shopt" and any(
        word.text in ("expand_aliases", "extglob", "sourcepath") for word in call.arguments
    ):
        call.opaque()


def read_variables(call: Call) -> None:
    """Analyze `read`, `mapfile`: variables receive input; `-C` runs a command for it."""
    words = call.arguments
    for index, word in enumerate(words):
        if word.text == "-C" and index + 1 < len(words):
            call.opaque()
            call.run_text(words[index + 1].text)
        _evaluate_subscript(call, word.text)
        if _NAME.fullmatch(word.text):
            call.state.variables[word.text] = UNKNOWN


def print_formatted(call: Call) -> None:
    """Analyze `printf`: `-v` names a variable, whose subscript bash evaluates."""
    words = call.arguments
    if words and words[0].text.startswith("-v"):
        attached = words[0].text[2:]
        name = attached or (words[1].text if len(words) > 1 else "")
        _evaluate_subscript(call, name)
        call.state.assign(name, UNKNOWN)


def test(call: Call) -> None:
    """Analyze `test`: tested files count as read; the operand of `-v` is evaluated."""
    words = call.arguments
    for index, word in enumerate(words[:-1]):
        if word.text == "-v":
            _evaluate_subscript(call, words[index + 1].text)
        elif _FILE_TEST.fullmatch(word.text):
            call.runner.findings.path(words[index + 1], "r", call.state.folders)


def calculate(call: Call) -> None:
    """Analyze `let`, `unset`, `wait`, `getopts`: arithmetic or names with subscripts."""
    for word in call.arguments:
        _evaluate_subscript(call, word.text)
        if call.name == "unset" and is_dangerous(word.text):
            call.runner.poison()


def _evaluate_subscript(call: Call, text: str) -> None:
    if "$(" in text or "`" in text:
        call.runner.evaluate(text, call.state)


def history(call: Call) -> None:
    """Analyze `history`, `fc`: files of former commands, and their repetition."""
    words = call.arguments
    if call.name == "fc" and not any(word.text.startswith("-l") for word in words):
        call.opaque()
    default = literal(f"{call.state.home}/.bash_history")
    for word, following in pairwise((*words, default)):
        if re.fullmatch(r"-[anrw]", word.text):
            call.use(following, "r" if word.text[1] in "nr" else "w")


def hash_programs(call: Call) -> None:
    """Analyze `hash -p`, `enable -f`, `complete -C`, `bind -x`: they change the meaning of later names."""
    for word in call.arguments:
        _evaluate_subscript(call, word.text)
    if call.name == "bind":
        apply_spec(call, _BIND)
    if call.name == "enable" or any(re.match(r"-[pCFx]", word.text) for word in call.arguments):
        call.runner.poison()
        apply_spec(call, parse_spec("b", "-p=b -f=b -C=x -x=x"))


def open_block(call: Call) -> None:
    """Analyze `{` where the grammar parses a block as words, as after a `!`: a command follows."""
    call.run_words(call.arguments)


BUILTINS: Mapping[str, Callable[[Call], None]] = {
    "cd": change_directory,
    "pushd": change_directory,
    "popd": pop_directory,
    "eval": evaluate,
    "source": source,
    ".": source,
    "trap": trap,
    "alias": alias,
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), declare),
    **dict.fromkeys(("set", "shopt"), set_options),
    **dict.fromkeys(("read", "mapfile", "readarray"), read_variables),
    "printf": print_formatted,
    **dict.fromkeys(("test", "["), test),
    **dict.fromkeys(("let", "unset", "wait", "getopts"), calculate),
    **dict.fromkeys(("history", "fc"), history),
    **dict.fromkeys(("hash", "enable", "complete", "compgen", "bind", "compopt"), hash_programs),
    "{": open_block,
}
"""Builtins of the shell that need more than the table."""
