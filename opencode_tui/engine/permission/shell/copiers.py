"""ln and dd: links to paths outside the project, and operands of the form `key=value`."""

import re
from collections.abc import Callable, Mapping

from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.operands import Role, at_home, split_options, tail, use_operand
from opencode_tui.engine.permission.shell.paths import is_inside
from opencode_tui.engine.permission.shell.tables import parse_spec
from opencode_tui.engine.permission.shell.words import Word

_LN = parse_spec("r;w", "-t=d --target-directory=d -S=t")


def make_link(call: Call) -> None:
    """Analyze `ln`: a symbolic link to a path outside makes every later path uncertain."""
    operands, seen = split_options(call, _LN)
    points_to = operands if Role.TARGET in seen or len(operands) == 1 else operands[:-1]
    is_symbolic = any(re.match(r"-[A-Za-z]*s|--sym", text) for text in call.texts())
    for word in points_to:
        call.use(word, "r" if is_symbolic else "rw")
        if is_symbolic and _leads_out(call, word):
            call.opaque()
    for word in operands[len(points_to) :]:
        use_operand(call, word, Role.WRITE, assumed=False)


def _leads_out(call: Call, word: Word) -> bool:
    if not word.known or call.state.folders is None:
        return True
    findings = call.runner.findings
    starts = [""] if word.text.startswith("/") else [f"{folder}/" for folder in call.state.folders]
    return any(not is_inside(findings.real(start + word.text), findings.root) for start in starts) or ".." in word.text


def copy_blocks(call: Call) -> None:
    """Analyze `dd`: `if=` is read, `of=` is written."""
    for word in call.arguments:
        name, equals, _ = word.text.partition("=")
        if equals and name in ("if", "of"):
            use_operand(
                call,
                at_home(tail(word, len(name) + 1), call.state.home),
                Role.READ if name == "if" else Role.WRITE,
                assumed=False,
            )
        elif not word.known:
            call.opaque()


COPIERS: Mapping[str, Callable[[Call], None]] = {
    **dict.fromkeys(("ln", "link", "gln"), make_link),
    **dict.fromkeys(("dd", "gdd", "dcfldd"), copy_blocks),
}
"""Programs that link and copy."""
