"""Builtins of the shell, which change its folder, define names or evaluate text, and programs whose argument is a program."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from msgspec.structs import replace

from opencode_tui.engine.permission.protected import is_secret
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.needs import versionless
from opencode_tui.engine.permission.shell.operands import ASSUMED, UNLISTED, apply_spec, spec_of, split_options
from opencode_tui.engine.permission.shell.state import State, assigned_names, is_dangerous, moved
from opencode_tui.engine.permission.shell.words import UNKNOWN, Word, home_of, listed, literal, names

_FILE_TEST = re.compile(r"-[abcdefghkprstuwxGLNOS]")
_COUNT = re.compile(r"[0-9]{1,9}")
_DIGITS = re.compile(r"[+-]\d+")
_NAME = re.compile(r"[A-Za-z_]\w*")
_CHANGES_MEANING = re.compile(r"[-+][A-Za-z]*[nilucI][A-Za-z]*")
"""Options of `declare` that make a name another name, or its value arithmetic."""

_CALCULATED = re.compile(r"[A-Za-z_]\w*=-?\d+")
_USUAL_LETTERS = frozenset("euxvfaCbEhT")
_USUAL_MODES = names("pipefail errexit nounset xtrace verbose noclobber noglob errtrace functrace allexport")


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
    cannot_fail = len(words) < 2 and folders is not None and all(files.is_folder(folder) for folder in folders)
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
        elif _CHANGES_MEANING.fullmatch(word.text):
            call.runner.poison()


def set_options(call: Call) -> None:
    """Analyze `set`: all but the usual options change the meaning of the text that follows."""
    waiting = call.texts()
    while waiting and waiting[0][:1] in ("-", "+"):
        text = waiting.pop(0)
        if text in ("--", "-"):
            set_parameters(call.state, waiting)
            return
        if text[-1:] == "o":
            if waiting and waiting.pop(0) not in _USUAL_MODES:
                call.runner.poison()
        elif not _USUAL_LETTERS.issuperset(text[1:]):
            call.runner.poison()
    if waiting:
        set_parameters(call.state, waiting)


def set_parameters(state: State, texts: list[str]) -> None:
    """Set the positional parameters."""
    for number, text in enumerate(texts, start=1):
        state.assign(str(number), text)
    for name in "@*":
        state.assign(name, " ".join(texts))


def shift_parameters(call: Call) -> None:
    """Analyze `shift`: each positional parameter has the value of a later one; where it shifts by an unknown number, any."""
    state = call.state
    numbers = sorted(int(name) for name in state.variables if _COUNT.fullmatch(name) and name != "0")
    texts = call.texts() or ["1"]
    is_known = len(texts) == 1 and _COUNT.fullmatch(texts[0]) is not None
    count = int(texts[0]) if is_known else 0
    values = [state.variable(str(number + count)) if is_known else UNKNOWN for number in numbers]
    set_parameters(state, values)


def set_shell_options(call: Call) -> None:
    """Analyze `shopt`: its options change what names and globs mean."""
    if any(word.text == "-s" or not word.text.startswith("-") for word in call.arguments):
        call.runner.poison()
        call.runner.findings.loose_globs = True


def read_variables(call: Call) -> None:
    """Analyze `read`, `mapfile`: variables receive input; `-C` runs a command for it."""
    words = call.arguments
    for index, word in enumerate(words):
        found = re.fullmatch(r"-[A-Za-z]*C(.*)", word.text, re.DOTALL) if call.name != "read" else None
        if found:
            call.opaque()
            call.run_text(found.group(1) or " ".join(one.text for one in words[index + 1 : index + 2]))
        _evaluate_subscript(call, word.text)
        if _NAME.fullmatch(word.text):
            call.runner.assign(word.text, UNKNOWN, call.state)
        elif "[" in word.text or not word.known:
            call.opaque()
    call.state.assign("REPLY", UNKNOWN)


def print_formatted(call: Call) -> None:
    """Analyze `printf`: `-v` names a variable, whose subscript bash evaluates."""
    words = call.arguments
    if words and words[0].text.startswith("-v"):
        attached = words[0].text[2:]
        name = attached or (words[1].text if len(words) > 1 else "")
        if not _NAME.fullmatch(name):
            call.opaque()
        _evaluate_subscript(call, name)
        call.runner.assign(name, UNKNOWN, call.state)


def test(call: Call) -> None:
    """Analyze `test`: tested files count as read; the operand of `-v` is evaluated."""
    words = call.arguments
    for index, word in enumerate(words[:-1]):
        if word.text == "-v":
            if not _NAME.fullmatch(words[index + 1].text):
                call.opaque()
            _evaluate_subscript(call, words[index + 1].text)
        elif _FILE_TEST.fullmatch(word.text):
            call.runner.findings.path(words[index + 1], "r", call.state.folders)


def calculate(call: Call) -> None:
    """Analyze `let`, `unset`, `wait`, `getopts`: arithmetic or names with subscripts."""
    for word in call.arguments:
        _evaluate_subscript(call, word.text)
        if call.name == "let":
            for name in assigned_names(word.text):
                call.runner.assign(name, UNKNOWN, call.state)
            if not _CALCULATED.fullmatch(word.text):
                call.opaque()
        if _NAME.fullmatch(word.text):
            call.runner.assign(word.text, UNKNOWN, call.state)


def _evaluate_subscript(call: Call, text: str) -> None:
    if "$(" in text or "`" in text:
        call.runner.evaluate(text, call.state)


def hash_programs(call: Call) -> None:
    """Analyze `hash`, `enable`, `complete`, `compgen`, `bind`: they change the meaning of later names, or run commands."""
    for index, word in enumerate(call.arguments):
        _evaluate_subscript(call, word.text)
        if found := re.fullmatch(r"-[A-Za-z]*[Cx](.*)", word.text, re.DOTALL):
            call.run_text(found.group(1) or " ".join(one.text for one in call.arguments[index + 1 : index + 2]))
    if call.texts() not in ([], ["-r"], ["-l"], ["-p"]):
        call.runner.poison()
        apply_spec(call, spec_of("bind"))


# Shells and languages.

_SHELL_VALUED = frozenset({"--rcfile", "--init-file"})
_LITERAL = re.compile(r"(['\"])((?:~|\.\.|/)[^'\"\s]*|[^'\"\s]*\.env(?:\.\w+)?)\1")
_CODE_OPTION = re.compile(r"-[A-Za-z]*[ceEprR]|--eval|--print|--command")
_IN_PLACE = re.compile(r"-[0acFlnpsw]*i")
_QUIET = names("-V -VV -v -h --version --help -version")
_TILDE = re.compile(r"~([\w.-]*)(/.*|)", re.DOTALL)
_MODULES = listed("python modules")
_NETWORK_MODULES = listed("python network modules")
_PROGRAM_MODULES = listed("python modules like their programs")


def run_shell(call: Call) -> None:
    """Analyze `bash` and similar shells: `-c` takes a script, a word is a script file, else the script is standard input."""
    call.opaque()
    waiting = list(call.arguments)
    is_text = False
    while waiting and waiting[0].known and re.match(r"[-+].", waiting[0].text):
        text = waiting.pop(0).text
        if (text in _SHELL_VALUED or re.fullmatch(r"[-+][A-Za-z]*[oO]", text)) and waiting:
            value = waiting.pop(0)
            call.use(value, "r") if text.startswith("--") else None
        elif text == "--":
            break
        elif not text.startswith("--"):
            is_text = is_text or (text[0] == "-" and "c" in text)
    if is_text and waiting:
        state = call.state.fork()
        set_parameters(state, [word.text for word in waiting[2:]])
        for word in waiting[1:2]:
            state.assign("0", word.text)
        call.runner.run_text(waiting[0].text, state)
    elif waiting and waiting[0].text not in ("-", "-s"):
        _run_script(call, waiting[0], call.state.fork())
        apply_spec(replace(call, arguments=waiting[1:]), UNLISTED)
    else:
        _run_input(call, call.state.fork())


_STREAM = re.compile(r"/dev/(?:stdin|fd/\d+)|/proc/(?:self|thread-self|\d+)/fd/\d+")
_INPUT = names("/dev/stdin /dev/fd/0 /proc/self/fd/0")


def source(call: Call) -> None:
    """Analyze `source`: a file, or what another command prints, is a script for the current shell."""
    call.opaque()
    words = call.arguments[1:] if call.texts()[:1] == ["--"] else call.arguments
    for word in words[:1]:
        _run_script(call, word, call.state)


def _run_script(call: Call, word: Word, state: State) -> None:
    """Record that a shell runs a file: what is in it is not known."""
    if word.text in _INPUT:
        _run_input(call, state)
    elif _STREAM.fullmatch(word.text):
        call.runner.findings.unnamed = True
    else:
        call.use(word, "r")


def _run_input(call: Call, state: State) -> None:
    """Record that a shell runs its standard input; without any it runs nothing."""
    if call.stdin is not None:
        call.runner.run_text(call.stdin, state)
    elif call.is_fed:
        call.runner.findings.unnamed = True


def switch_user(call: Call) -> None:
    """Analyze `su`, `runuser`, `sg`, `script`: another shell, whose script follows `-c`."""
    call.opaque()
    words = call.arguments
    for index, word in enumerate(words):
        if re.fullmatch(r"-[A-Za-z]*c|--command", word.text) and index + 1 < len(words):
            call.run_text(words[index + 1].text)
        elif word.text.startswith("--command="):
            call.run_text(word.text.partition("=")[2])
        elif call.name == "sg" and index == len(words) - 1 and index:
            call.run_text(word.text)
        elif word.text == "--" and call.name == "runuser":
            call.run_words(words[index + 1 :])
    if call.name == "script":
        for word in split_options(call, spec_of("script"))[0]:
            call.use(word, "w")


def schedule(call: Call) -> None:
    """Analyze `at`, `batch`, `crontab`: the script is standard input or a file, and runs later."""
    call.opaque()
    if call.stdin is not None:
        call.run_text(call.stdin)
    for word in split_options(call, spec_of("at"))[0]:
        if "/" in word.text:
            call.use(word, "r")


def run_language(call: Call) -> None:
    """Analyze `python`, `node` and similar: the program is code; paths and names of secrets in it are recorded."""
    texts = call.texts()
    if len(texts) == 1 and texts[0] in _QUIET:
        return
    if (module := module_of(call)) is not None:
        _run_module(call, module)
        return
    call.opaque()
    has_code = call.name != "java"  # `-cp` and `-jar` are followed by paths
    code = [text for option, text in pairwise(texts) if has_code and _CODE_OPTION.fullmatch(option)]
    code += [text for text in texts if text.startswith(("--eval=", "--print=", "-e"))]
    for program in (*code, call.stdin or ""):
        record_literals(call, program)
    rest = [word for word in call.arguments if word.text not in code]
    if call.name in ("perl", "ruby") and any(_IN_PLACE.match(text) for text in texts):
        for word in rest:
            call.use(word, "rw") if not word.text.startswith("-") else None
        return
    apply_spec(replace(call, arguments=rest), UNLISTED)


_MODULE = re.compile(r"-[bBdEiIOPqsSuvx]*m(.*)", re.DOTALL)
_NO_MODULE = re.compile(r"-[bBdEiIOPqsSuvx]*[cVh].*|--?|[^-].*", re.DOTALL)
_VALUED = names("-W -X --check-hash-based-pycs")


def module_of(call: Call) -> list[Word] | None:
    """Return the module that `python -m` runs, and its arguments; None where Python runs something else."""
    if versionless(call.name) not in ("python", "pypy"):
        return None
    waiting = list(call.arguments)
    while waiting:
        word = waiting.pop(0)
        if found := _MODULE.fullmatch(word.text):
            module = [literal(found.group(1))] if found.group(1) else []
            return [*module, *waiting] or None
        if _NO_MODULE.fullmatch(word.text):
            return None
        if word.text in _VALUED and waiting:
            waiting.pop(0)
    return None


def _run_module(call: Call, words: list[Word]) -> None:
    module = words[0].text
    call.runs_project()  # the module may be one in the folder
    if module not in _MODULES:
        call.opaque()
    if module in _NETWORK_MODULES:
        call.network()
    if module in _PROGRAM_MODULES:
        call.run_words(words)
    else:
        apply_spec(replace(call, arguments=words[1:]), ASSUMED)


def record_literals(call: Call, program: str) -> None:
    """Record quoted strings in a program that are paths outside or names of secrets; their use is unknown."""
    for found in _LITERAL.finditer(program[:20_000]):
        text = found.group(2)
        if is_secret(text) or (len(text) > 1 and not text.startswith("//") and re.fullmatch(r"[\w./~+-]+", text)):
            call.guess(literal(_at_home(call, text)))


def _at_home(call: Call, text: str) -> str:
    """Return the path that a program makes of a text that begins with a tilde; the text where it is the name of no user."""
    found = _TILDE.fullmatch(text)
    if found is None:
        return text
    name, rest = found.groups()
    home = call.state.home
    folder = home_of(name, home) if name else home
    is_there = folder == home or call.runner.findings.filesystem.exists(folder)
    return folder + rest if rest or is_there else text


INTERPRETERS: Sequence[Callable[[Call], None]] = (
    change_directory,
    pop_directory,
    evaluate,
    source,
    trap,
    alias,
    declare,
    set_options,
    shift_parameters,
    set_shell_options,
    read_variables,
    print_formatted,
    test,
    calculate,
    hash_programs,
    run_shell,
    switch_user,
    schedule,
    run_language,
)
"""The analyzers of builtins and of programs whose argument is a program."""
