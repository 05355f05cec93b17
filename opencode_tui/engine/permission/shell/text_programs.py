"""sed and awk: their program text can read, write and run; an unknown instruction makes the command opaque."""

import re
from collections.abc import Callable, Iterator, Mapping

from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.findings import Mode
from opencode_tui.engine.permission.shell.interpreters import note_literals
from opencode_tui.engine.permission.shell.operands import Role, read_options, split_options
from opencode_tui.engine.permission.shell.tables import parse_spec
from opencode_tui.engine.permission.shell.words import Word, literal

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
        _note_sed_program(call, program)


def _note_sed_program(call: Call, program: str) -> None:
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
        _note_awk_program(call, operands.pop(0))
    for word in operands:
        if not re.match(r"[A-Za-z_]\w*=", word.text):
            call.use(word, "r")


def _note_awk_program(call: Call, word: Word) -> None:
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
