"""Programs that walk folders and can run commands or write files for each match: find, fd."""

import re
from collections.abc import Callable, Mapping

from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.operands import split_options
from opencode_tui.engine.permission.shell.tables import parse_spec
from opencode_tui.engine.permission.shell.words import Word, literal

_EXECUTES = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_READS = re.compile(r"-(?:a|c|m)?newer\w*|-samefile|-files0-from")
_FD = parse_spec(
    "t,r",
    "-d=t -t=t -e=t -E=t -S=t -c=t -j=t --base-directory=r -C=r --search-path=r --ignore-file=r -g=t"
    " --changed-within=t --changed-before=t -o=t --max-results=t --format=t",
)


def run_find(call: Call) -> None:
    """Analyze `find`: the words before the first expression are the folders; expressions may run, delete or write."""
    words = call.arguments
    count = next((index for index, word in enumerate(words) if _begins_expression(word.text)), len(words))
    starts = [word for word in words[:count] if not word.text.startswith("-")]
    deletes = any(word.text == "-delete" for word in words)
    for start in starts or [literal(".")]:
        call.use(start, "rw" if deletes else "r")
        if any(word.text in _EXECUTES for word in words):
            call.tree(start)
    _run_expressions(call, words[count:])


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
    operands, _ = split_options(Call(call.program, before, call.state, call.runner), _FD)
    for word in operands[1:]:
        call.use(word, "r")
    if place is not None:
        call.opaque()
        call.run_words(call.arguments[place + 1 :])


SEARCHERS: Mapping[str, Callable[[Call], None]] = {"find": run_find, "gfind": run_find, "fd": run_fd, "fdfind": run_fd}
"""Programs that walk folders."""
