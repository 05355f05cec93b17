"""The analyzers of programs that a line of the table can't describe, by program name."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache

from msgspec.structs import replace

from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.filesystem import is_inside
from opencode_tui.engine.permission.shell.findings import Mode
from opencode_tui.engine.permission.shell.git import run_git
from opencode_tui.engine.permission.shell.interpreters import INTERPRETERS, record_literals
from opencode_tui.engine.permission.shell.losses import (
    deletes,
    finds_repository,
    found_by_find,
    is_in_repository,
    removes_found,
)
from opencode_tui.engine.permission.shell.needs import given
from opencode_tui.engine.permission.shell.operands import (
    Role,
    apply_spec,
    read_options,
    spec_of,
    split_options,
    use_operand,
)
from opencode_tui.engine.permission.shell.state import limited
from opencode_tui.engine.permission.shell.words import Word, listed, literal, rows


def make_link(call: Call) -> None:
    """Analyze `ln`: a symbolic link to a path outside makes every later path uncertain."""
    operands, seen = split_options(call, spec_of("ln"))
    points_to = operands if Role.TARGET in seen or len(operands) == 1 else operands[:-1]
    is_symbolic = any(re.match(r"-[A-Za-z]*s|--sym", text) for text in call.texts())
    is_relative = is_symbolic and not any(re.match(r"-[A-Za-z]*r|--rel", text) for text in call.texts())
    named = seen.get(Role.TARGET) or operands[len(points_to) :]
    linking = _from_link(call, named, is_folder=Role.TARGET in seen or len(points_to) > 1) if is_relative else call
    for word in points_to:
        linking.use(word, "r" if is_symbolic else "rw")
        if is_symbolic and _leads_out(linking, word):
            call.runner.poison(renames=False)
    for word in operands[len(points_to) :]:
        use_operand(call, word, Role.WRITE, assumed=False)


_NO_FOLDER = "-n -T -h --no-dereference --no-target-directory"
"""Options of ln with which a link to a folder at the place of the new link is no folder."""


def _from_link(call: Call, named: list[Word], *, is_folder: bool) -> Call:
    """Return the call in the folder of the link that it makes, by which the target of a symbolic link is resolved.

    `named` is the link, or the folder that it is made in, none for the present folder. Where it may be either, both count.
    """
    if not named:
        return call
    word = named[-1]
    state = call.state.fork()
    if not word.known or word.glob or state.folders is None:
        return call
    findings = call.runner.findings
    follows = not given(call.texts(), _NO_FOLDER)
    folders: set[str] = set()
    for path in findings.targets(word, state.folders):
        holds = is_folder or (follows and findings.filesystem.is_folder(findings.real(path)))
        if not holds:
            folders.add(posixpath.dirname(path))
        if holds or not findings.filesystem.exists(path):
            folders.add(path)
    state.folders = limited(frozenset(folders))
    return replace(call, state=state)


def _leads_out(call: Call, word: Word) -> bool:
    if not word.known or call.state.folders is None:
        return True
    findings = call.runner.findings
    starts = [""] if word.text.startswith("/") else [f"{folder}/" for folder in call.state.folders]
    return any(not is_inside(findings.real(start + word.text), findings.root) for start in starts) or ".." in word.text


_NEW_FOLDER = re.compile(r"(?:[A-Za-z0-9_][\w.+-]{0,99}/){0,9}[A-Za-z0-9_][\w.+-]{0,99}/?", re.ASCII)
"""Names that every file system can hold, and that are not hidden, since hidden ones may be protected."""


def make_folder(call: Call) -> None:
    """Analyze `mkdir`: a later `cd` into a folder that it makes for certain cannot fail."""
    spec = spec_of("mkdir")
    options, operands = read_options(call.arguments, spec.options, permutes=True)
    texts = [option.word.text for option in options]
    is_plain = all(re.fullmatch(r"-[pv]+|--parents|--verbose", text) for text in texts)
    if is_plain and call.state.folder is not None and not call.state.starts_jobs:
        for word in operands:
            if word.known and not word.glob and _NEW_FOLDER.fullmatch(word.text):
                path = posixpath.normpath(f"{call.state.folder}/{word.text}")
                call.runner.findings.make_folder(path, with_parents=any("p" in text for text in texts))
    apply_spec(call, spec)


def move(call: Call) -> None:
    """Analyze `mv`: a folder that moves takes the working folder with it."""
    operands, seen = split_options(call, spec_of("mv"))
    targets = [] if Role.TARGET in seen or len(operands) < 2 else operands[-1:]
    for word in operands[: len(operands) - len(targets)]:
        use_operand(call, word, Role.MOVED, assumed=False)
        deletes(call, word)
        for path in call.runner.findings.targets(word, call.state.folders):
            if any(is_inside(folder, path) for folder in call.state.folders or ()):
                call.runner.poison(renames=False)
                call.state.move(None, cannot_fail=True)
            if is_in_repository(call.runner.findings, path):
                call.found("moved-repository")
    for word in targets:
        use_operand(call, word, Role.WRITE, assumed=False)


def delete(call: Call) -> None:
    """Analyze `rm` and similar: files that are named are free, a repository's data or a whole tracked folder is not."""
    operands, _ = split_options(call, spec_of("rm"))
    findings = call.runner.findings
    has_options = len(operands) < len(call.arguments)
    is_recursive = (has_options and given(call.texts(), "-r -R --recursive")) or call.name == "trash"
    for word in operands:
        use_operand(call, word, Role.ENTRY, assumed=False)
        deletes(call, word)
        if not is_recursive and ".git" not in word.text:
            continue
        for path in findings.targets(word, call.state.folders):
            if is_in_repository(findings, path):
                call.found("deleted-repository")
            elif is_recursive and is_inside(findings.root, path):
                call.found("deleted-project")
            elif is_recursive and findings.filesystem.is_tracked(path, findings.root):
                call.found("deleted-folder", path=path[len(findings.root) + 1 :])
        if is_recursive and word.text in ("*", "./*", ".[!.]*", "{*,.*}"):
            call.found("deleted-project")


_SIGNAL_OPTION = re.compile(r"-(?:\d+|[A-Za-z]+\d*)|--signal(?:=.*)?")


def end_process(call: Call) -> None:
    """Analyze `kill`: a process that the same script has started is its own; any other number is another process."""
    words = call.arguments
    if words and _SIGNAL_OPTION.fullmatch(words[0].text):
        words = words[2 if words[0].text in ("-s", "-n", "--signal") else 1 :]
    if call.texts()[:1] in (["-l"], ["-L"]):
        return
    if not words:
        call.found("other-process")  # their numbers come from standard input, by xargs
    for word in words:
        is_own = word.text.startswith("%") or (not word.known and call.state.starts_jobs)
        if not is_own and word.text != "--":
            call.found("other-process")


# Programs that walk folders and can run commands or write files for each match: find, fd.

_EXECUTES = listed("find executes")
_WRITES = listed("find writes")
_SELECTS = listed("find selects")
_READS = re.compile(r"-(?:a|c|m)?newer\w*|-samefile|-files0-from")


def run_find(call: Call) -> None:
    """Analyze `find`: the words before the first expression are the folders; expressions may run, delete or write."""
    words = call.arguments
    count = next((index for index, word in enumerate(words) if _begins_expression(word.text)), len(words))
    starts = [word for word in words[:count] if not word.text.startswith("-")]
    deletes = any(word.text == "-delete" for word in words)
    listed = _listed(call.texts())
    follows = not {"-L", "-follow"}.isdisjoint(call.texts())
    for start in starts or [literal(".")]:
        call.use(start, "rw" if deletes else "r")
        if follows:
            call.links(start, "rw" if deletes else "r")
        if any(word.text in _EXECUTES for word in words):
            call.tree(start, listed)
    expressions = [word.text for word in words[count:]]
    if removes_found(expressions):
        if _SELECTS.isdisjoint(expressions):
            call.found("deleted-matches")
        if finds_repository(call, starts, expressions):
            call.found("deleted-repository")
    found_by_find(call, starts, expressions)
    call.runner.findings.listed = listed
    _run_expressions(call, words[count:])


def _listed(texts: list[str]) -> str:
    """Return the pattern of the names that `find` prints."""
    names = [
        texts[index + 1]
        for index, text in enumerate(texts[:-1])
        if text in ("-name", "-iname") and texts[index - 1] not in ("!", "-not")
    ]
    return names[0] if len(names) == 1 else "*"


def _begins_expression(text: str) -> bool:
    return text[:1] in ("-", "(", "!") and text not in ("-L", "-H", "-P", "--") and not text.startswith(("-O", "-D"))


def _run_expressions(call: Call, words: list[Word]) -> None:
    index = 0
    while index < len(words):
        text = words[index].text
        if text in _EXECUTES:
            end = next((place for place in range(index + 1, len(words)) if words[place].text in (";", "+")), len(words))
            call.opaque()
            call.run_words(words[index + 1 : end])
            index = end
        elif index + 1 < len(words) and (text in _WRITES or _READS.fullmatch(text)):
            call.use(words[index + 1], "w" if text in _WRITES else "r")
            index += 1
        elif not words[index].known:
            call.opaque()
        index += 1


def run_fd(call: Call) -> None:
    """Analyze `fd`: like find; `-x` and `-X` run the rest of the line as a command."""
    place = next(
        (
            index
            for index, word in enumerate(call.arguments)
            if re.fullmatch(r"-[A-Za-z]*[xX]|--exec(?:-batch)?", word.text)
        ),
        None,
    )
    before = call.arguments if place is None else call.arguments[:place]
    operands, seen = split_options(replace(call, arguments=before), spec_of("fd"))
    for word in operands[1:]:
        call.use(word, "r")
    for word in (operands[1:] or [literal(".")]) if Role.FOLLOWS in seen else ():
        call.links(word, "r")
    if place is not None:
        call.opaque()
        call.use_listed()
        call.run_words(call.arguments[place + 1 :])


# tar: also with the old syntax of option characters first, without a dash.


def run_tar(call: Call) -> None:
    """Analyze `tar`: the archive, the packed files, the target folder, and options that run programs."""
    words = call.arguments
    if words and not words[0].text.startswith("-"):
        words = _dashed(words)
    texts = [word.text for word in words]
    if any(":" in text and not text.startswith("-") and "/" not in text.partition(":")[0] for text in texts[:3]):
        call.network()
    apply_spec(replace(call, arguments=words), spec_of("tar"))
    if "--remove-files" in texts:
        for word in words:
            call.use(word, "w") if not word.text.startswith("-") else None


def _dashed(words: list[Word]) -> list[Word]:
    """Return tar's words with a leading cluster of characters replaced by options, each followed by its value."""
    letters, rest = words[0].text, list(words[1:])
    options: list[Word] = []
    for letter in filter(str.isalpha, letters):
        options.append(literal(f"-{letter}"))
        if letter in "fCTXgIFbHNKV" and rest:
            options.append(rest.pop(0))
    return [*options, *rest]


# sed and awk: programs with their own small language.

PROGRAM_LIMIT = 2_000
"""Maximum length of a sed or awk program that is read, in characters."""

_SED_SKIPPED = re.compile(r"[\s;{}!]+|\d+(?:~\d+)?|\$|,|[+~]\d+|[MI](?=[\s,;a-zA-Z{!])")
_SED_FLAGS = re.compile(r"[gpiImM\d]*")
_SED_LABEL = re.compile(r"[bTt:]\s*[^\s;}]*|[qQlL]\s*\d*|v[^\n;]*")
_AWK_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?<=[~(,!&|{;\n])\s*/(?:[^/\\\n]|\\.)+/|^\s*/(?:[^/\\\n]|\\.)+/')
_AWK_FILE = re.compile(r'(>>?|getline\s*(?:\w+\s*)?<)\s*"((?:[^"\\\n]|\\.)*)"')
_AWK_ENDS = re.compile(r"\s*(?:[;})]|\n|$)")
_AWK_RUNS = re.compile(r"\bsystem\b|\|&?|@\s*(?:load|include|\w+\s*\()|/inet|\bENVIRON\b|\bARGV\b")
_AWK_OPENS = re.compile(r">>?|getline\s*(?:\w+\s*)?<")


def run_sed(call: Call) -> None:
    """Analyze `sed`: the program is the first operand unless an option contains it; `-i` writes the files."""
    options, operands = read_options(call.arguments, spec_of("sed").options, permutes=True)
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
    """Return the position after the text between a delimiter and the next equal one, in a pattern outside of `[…]`."""
    found = _delimited(program[start : start + 1], is_pattern).match(program, start + 1)
    return found.end() if found else len(program)


@lru_cache(maxsize=16)
def _delimited(delimiter: str, is_pattern: bool) -> re.Pattern[str]:
    characters = r"\[\^?\]?(?:\[:\w+:\]|[^\]\n])*\]|" if is_pattern else ""
    end = re.escape(delimiter)
    return re.compile(rf"(?>(?!{end})(?:\\.|{characters}[^\\]))*+{end}", re.DOTALL)


def run_awk(call: Call) -> None:
    """Analyze `awk`: the program is the first operand unless it is in a file."""
    operands, _ = split_options(call, spec_of("awk"))
    options, _ = read_options(call.arguments, spec_of("awk").options, permutes=True)
    included = {
        option.value.text for option in options if option.word.text.startswith(("-i", "--inc")) and option.value
    }
    if included - {"inplace"}:
        call.opaque()
    mode: Mode = "rw" if "inplace" in included else "r"
    if any(re.match(r"-f|--file", text) for text in call.texts()):
        call.opaque()
    elif operands:
        _record_awk_program(call, operands.pop(0))
    for word in operands:
        if not re.match(r"[A-Za-z_]\w*=", word.text):
            call.use(word, mode)


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
        record_literals(call, program)
        for found in re.finditer(
            r'(?:system\s*\(\s*|\|\s*)"((?:[^"\\]|\\.)*)"|"((?:[^"\\]|\\.)*)"\s*\|\s*getline', program
        ):
            call.run_text(found.group(1) or found.group(2) or "")


def find_analyzer(name: str) -> Callable[[Call], None] | None:
    """Return the analyzer of a program, None if a line of the table describes it."""
    return _analyzers().get(name)


_FUNCTIONS: Mapping[str, Callable[[Call], None]] = {
    one.__name__: one
    for one in (
        *INTERPRETERS,
        run_git,
        end_process,
        make_folder,
        make_link,
        delete,
        move,
        run_find,
        run_fd,
        run_tar,
        run_sed,
        run_awk,
    )
}


@cache
def _analyzers() -> Mapping[str, Callable[[Call], None]]:
    """Return the analyzers of the table `analyzers.txt` by the names of their programs."""
    return {name: _FUNCTIONS[function] for function, programs in rows("analyzers.txt", 2) for name in programs.split()}
