"""Programs whose argument is a program: shells, languages, sed and awk."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from msgspec.structs import replace

from opencode_tui.engine.permission.protected import is_secret
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.findings import Mode
from opencode_tui.engine.permission.shell.operands import (
    ASSUMED,
    UNLISTED,
    Role,
    apply_spec,
    parse_spec,
    read_options,
    split_options,
)
from opencode_tui.engine.permission.shell.words import Word, literal, names

_SHELL_VALUED = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_SCRIPT = parse_spec("w", "-c=p --command=p -E=t -o=t -O=w -I=w -B=w -T=w -m=t")
_SCHEDULER = parse_spec("t", "-f=r -u=t -q=t -t=t")
_LITERAL = re.compile(r"(['\"])((?:~|\.\.|/)[^'\"\s]*|[^'\"\s]*\.env(?:\.\w+)?)\1")
_CODE_OPTION = re.compile(r"-[A-Za-z]*[ceEprR]|--eval|--print|--command")
_QUIET = names("-V -VV -v -h --version --help -version")
_MODULES = names(
    "pytest unittest ruff black isort mypy pyright flake8 pylint coverage compileall py_compile tabnanny"
    " platform site sysconfig"
)
"""Modules that run what the project says, or nothing; like test runners they are not opaque."""

_NETWORK_MODULES = names("pip http.server ensurepip twine venv build smtpd ftplib webbrowser")


def run_shell(call: Call) -> None:
    """Analyze `bash` and similar shells: `-c` takes a script, a word is a script file, else the script is standard input."""
    call.opaque()
    waiting = list(call.arguments)
    is_text = False
    while waiting and waiting[0].known and re.match(r"[-+].", waiting[0].text):
        text = waiting.pop(0).text
        if text in _SHELL_VALUED and waiting:
            value = waiting.pop(0)
            call.use(value, "r") if text.startswith("--") else None
        elif text == "--":
            break
        elif not text.startswith("--"):
            is_text = is_text or (text[0] == "-" and "c" in text)
    if is_text and waiting:
        call.run_text(waiting[0].text)
    elif waiting and waiting[0].text not in ("-", "-s"):
        call.use(waiting[0], "r")
        apply_spec(replace(call, arguments=waiting[1:]), UNLISTED)
    elif call.stdin is not None:
        call.run_text(call.stdin)


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
        for word in split_options(call, _SCRIPT)[0]:
            call.use(word, "w")


def schedule(call: Call) -> None:
    """Analyze `at`, `batch`, `crontab`: the script is standard input or a file, and runs later."""
    call.opaque()
    if call.stdin is not None:
        call.run_text(call.stdin)
    for word in split_options(call, _SCHEDULER)[0]:
        if "/" in word.text:
            call.use(word, "r")


def run_language(call: Call) -> None:
    """Analyze `python`, `node` and similar: the program is code; paths and names of secrets in it are recorded."""
    texts = call.texts()
    if len(texts) == 1 and texts[0] in _QUIET:
        return
    if len(texts) > 1 and texts[0] == "-m":
        _run_module(call)
        return
    call.opaque()
    code = [text for option, text in pairwise(texts) if _CODE_OPTION.fullmatch(option)]
    code += [text for text in texts if text.startswith(("--eval=", "--print=", "-e"))]
    for program in (*code, call.stdin or ""):
        note_literals(call, program)
    rest = [word for word in call.arguments if word.text not in code]
    apply_spec(replace(call, arguments=rest), UNLISTED)


def _run_module(call: Call) -> None:
    module = call.arguments[1].text
    if module not in _MODULES:
        call.opaque()
    if module in _NETWORK_MODULES:
        call.network()
    if module == "pip":
        call.run_words([literal("pip"), *call.arguments[2:]])
    else:
        apply_spec(replace(call, arguments=call.arguments[2:]), ASSUMED)


def note_literals(call: Call, program: str) -> None:
    """Record quoted strings in a program that are paths outside or names of secrets; their use is unknown."""
    for found in _LITERAL.finditer(program[:20_000]):
        text = found.group(2)
        if is_secret(text) or (len(text) > 1 and not text.startswith("//") and re.fullmatch(r"[\w./~+-]+", text)):
            call.guess(literal(call.state.home + text[1:] if text.startswith("~") else text))


INTERPRETERS: Mapping[str, Callable[[Call], None]] = {
    **dict.fromkeys(
        names("bash sh dash ash zsh ksh mksh yash fish csh tcsh rbash nu elvish xonsh pwsh powershell cmd"), run_shell
    ),
    **dict.fromkeys(names("su runuser sg newgrp script"), switch_user),
    **dict.fromkeys(("at", "batch", "crontab", "anacron"), schedule),
    **dict.fromkeys(
        names(
            "python pypy python2 perl ruby node nodejs php lua luajit Rscript R julia ghci runghc runhaskell groovy scala"
            " kotlin clojure elixir iex erl escript tclsh wish guile racket sbcl clisp java jshell swipl ocaml raku irb"
            " ipython jupyter streamlit uvicorn gunicorn flask django-admin octave m4"
        ),
        run_language,
    ),
}
"""Programs whose argument is a program."""


PROGRAM_LIMIT = 2_000
"""Maximum length of a sed or awk program that is read, in characters."""

_SED = parse_spec(
    "r",
    "-e=p --expression=p -f=q --file=q -l=t --line-length=t -i=^ --in-place=^ -n=. --quiet=. --silent=. -E=. -r=."
    " --regexp-extended=. -s=. --separate=. -u=. --unbuffered=. -z=. --null-data=. --posix=."
    " --debug=. --sandbox=. --follow-symlinks=.",
).options
_SED_SKIPPED = re.compile(r"[\s;{}!]+|\d+(?:~\d+)?|\$|,|[+~]\d+|[MI](?=[\s,;a-zA-Z{!])")
_SED_FLAGS = re.compile(r"[gpiImM\d]*")
_SED_LABEL = re.compile(r"[bTt:]\s*[^\s;}]*|[qQlL]\s*\d*|v[^\n;]*")
_AWK = parse_spec(
    "r", "-W=! -F=t -v=t -f=r --file=r -i=! -l=! -E=! --exec=! --include=! --load=! -o=w -p=w -d=w --dump-variables=w"
)
_AWK_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?<=[~(,!&|{;\n])\s*/(?:[^/\\\n]|\\.)+/|^\s*/(?:[^/\\\n]|\\.)+/')
_AWK_FILE = re.compile(r'(>>?|getline\s*(?:\w+\s*)?<)\s*"((?:[^"\\\n]|\\.)*)"')
_AWK_ENDS = re.compile(r"\s*(?:[;})]|\n|$)")
_AWK_RUNS = re.compile(r"\bsystem\b|\|&?|@\s*(?:load|include|\w+\s*\()|/inet|\bENVIRON\b|\bARGV\b")
_AWK_OPENS = re.compile(r">>?|getline\s*(?:\w+\s*)?<")


def run_sed(call: Call) -> None:
    """Analyze `sed`: the program is the first operand unless an option contains it; `-i` writes the files."""
    options, operands = read_options(call.arguments, _SED, permutes=True)
    programs = [option.value.text for option in options if option.role is Role.PATTERN and option.value]
    if any(option.role in (None, Role.PATTERN_FILE) for option in options):
        call.opaque()
    for option in options:
        if option.role is Role.PATTERN_FILE and option.value:
            call.use(option.value, "r")
        elif option.role is Role.SUFFIX and option.value and "/" in option.value.text:
            call.use_text(option.value.text.replace("*", "x"), "w")  # the backup, `*` is the name of the file
    if not programs and operands and not any(option.role is Role.PATTERN_FILE for option in options):
        programs, operands = [operands[0].text], operands[1:]
    mode: Mode = "rw" if any(option.role is Role.SUFFIX for option in options) else "r"
    for word in operands:
        call.use(word, mode)
    for program in programs:
        _record_sed_program(call, program)


def _record_sed_program(call: Call, program: str) -> None:
    if len(program) > PROGRAM_LIMIT:
        call.opaque()
        return
    for kind, text in sed_effects(program):
        if kind == "unknown":
            call.opaque()
            call.run_text(text) if text else None
        else:
            call.use(literal(text), "r" if kind == "reads" else "w")


def sed_effects(program: str) -> Iterator[tuple[str, str]]:
    """Yield the effects of a sed program other than editing: (`reads`, file), (`writes`, file), (`unknown`, command or nothing)."""
    place = 0
    while place < len(program):
        if found := _SED_SKIPPED.match(program, place) or _SED_LABEL.match(program, place):
            place = max(found.end(), place + 1)
            continue
        letter = program[place]
        line_end = _line_end(program, place)
        if letter in "/\\":
            place = _after(program, place + (letter == "\\"), is_pattern=True)
        elif letter in "sy":
            place = _after(program, place + 1, is_pattern=letter == "s")
            place = _after(program, place - 1)
            place, effects = _substitute_flags(program, place) if letter == "s" else (place, [])
            yield from effects
        elif letter in "rRwW":
            yield ("reads" if letter in "rR" else "writes", program[place + 1 : line_end].lstrip())
            place = line_end
        elif letter in "aic":
            place = line_end
        elif letter in "=dDgGhHnNpPxzF#":
            place = line_end if letter == "#" else place + 1
        else:
            yield "unknown", program[place + 1 : line_end].strip() if letter == "e" else ""
            place = line_end


def _substitute_flags(program: str, place: int) -> tuple[int, list[tuple[str, str]]]:
    found = _SED_FLAGS.match(program, place)
    place = found.end() if found else place
    letter = program[place : place + 1]
    if letter == "w":
        end = _line_end(program, place)
        return end, [("writes", program[place + 1 : end].lstrip())]
    if letter in ("e", "m") or (letter and letter not in ";}\n\t# "):
        return place + 1, [("unknown", "")]
    return place, []


def _line_end(program: str, place: int) -> int:
    end = program.find("\n", place)
    return len(program) if end < 0 else end


def _after(program: str, start: int, *, is_pattern: bool = False) -> int:
    """Return the position after the text between a delimiter and the next equal one outside of `[…]`."""
    delimiter = program[start : start + 1]
    place = start + 1
    while place < len(program):
        character = program[place]
        if character == "\\":
            place += 1
        elif character == delimiter:
            return place + 1
        elif is_pattern and character == "[":
            place = _class_end(program, place)
        place += 1
    return len(program)


def _class_end(program: str, start: int) -> int:
    """Return the position of the bracket that closes a character class, or of the opening one if the line has none."""
    place = start + 1 + (program[start + 1 : start + 2] == "^")
    end = program.find("]", place + 1)
    while end > 0 and program.rfind("[:", place, end) > program.rfind(":]", place, end + 1):
        end = program.find("]", end + 1)
    return end if 0 < end < _line_end(program, start) else start


def run_awk(call: Call) -> None:
    """Analyze `awk`: the program is the first operand unless it is in a file."""
    operands, _ = split_options(call, _AWK)
    if any(re.match(r"-f|--file", text) for text in call.texts()):
        call.opaque()
    elif operands:
        _record_awk_program(call, operands.pop(0))
    for word in operands:
        if not re.match(r"[A-Za-z_]\w*=", word.text):
            call.use(word, "r")


def _record_awk_program(call: Call, word: Word) -> None:
    program = word.text
    if not word.known or len(program) > PROGRAM_LIMIT:
        call.opaque()
        return
    for found in _AWK_FILE.finditer(program):
        if not _AWK_ENDS.match(program, found.end()):
            call.opaque()  # text is appended to the name
        if found.group(2) not in ("/dev/stderr", "/dev/stdout", "-"):
            call.use(literal(found.group(2)), "r" if found.group(1).startswith("getline") else "w")
    code = _AWK_TEXT.sub(" ", _AWK_FILE.sub(" ", program)).replace("||", " ")
    opens = _AWK_OPENS.search(re.sub(r"\([^()]*\)", " ", code))
    if (
        _AWK_RUNS.search(code)
        or "/inet" in program
        or (opens and re.search(r"\bprintf?\b[^;}\n]*>|getline\s*(?:\w+\s*)?<", code))
    ):
        call.opaque()
        note_literals(call, program)
        for found in re.finditer(
            r'(?:system\s*\(\s*|\|\s*)"((?:[^"\\]|\\.)*)"|"((?:[^"\\]|\\.)*)"\s*\|\s*getline', program
        ):
            call.run_text(found.group(1) or found.group(2) or "")


TEXT_PROGRAMS: Mapping[str, Callable[[Call], None]] = {
    **dict.fromkeys(("sed", "gsed", "ssed"), run_sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "original-awk"), run_awk),
}
"""Programs with their own small language."""
