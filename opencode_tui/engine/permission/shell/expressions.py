"""`[ … ]`, `[[ … ]]`, `(( … ))` and `$(( … ))`: commands in them, tested files, text that bash evaluates again."""

import re
from typing import TYPE_CHECKING

from opencode_tui.engine.permission.shell.expansion import node_text
from opencode_tui.engine.permission.shell.nodes import SUBSTITUTIONS
from opencode_tui.engine.permission.shell.runner import Interpreter
from opencode_tui.engine.permission.shell.state import State
from opencode_tui.engine.permission.shell.syntax import embedded_programs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_FILE_TEST = re.compile(r"-[abcdefghkprstuwxGLNOS]")
_NUMBER = re.compile(r"-?\d+")
_COMPARES = re.compile(rb"-(?:eq|ne|lt|le|gt|ge)\b|-v\b")
_INTERESTING = re.compile(rb"[A-Za-z_$`]")


def look_at_expression(node: "Node", state: State, interpreter: Interpreter) -> None:
    """Record the commands that an expression runs and the files that it tests."""
    look_at_arithmetic(node, state, interpreter, is_test=node.type == "test_command")
    for current in _parts(node):
        if current.type in ("raw_string", "ansi_c_string"):
            interpreter.evaluate(node_text(current).strip("'"), state)
        elif current.type == "unary_expression" and _FILE_TEST.match(node_text(current)):
            for word in interpreter.words(current.named_children[-1], state):
                interpreter.findings.path(word, "r", state.folders)


def look_at_arithmetic(node: "Node", state: State, interpreter: Interpreter, *, is_test: bool = False) -> None:
    """Record the commands that an arithmetic expression runs, also in its variables, whose values bash evaluates, too."""
    if not _INTERESTING.search(node.text or b""):
        return
    interpreter.substitute(node, state)
    evaluates = not is_test or _COMPARES.search(node.text or b"") is not None
    for current in _parts(node):
        if current.type == "variable_name":
            value = state.variable(node_text(current))
            interpreter.evaluate(value, state)
            if evaluates and not _NUMBER.fullmatch(value):
                interpreter.mark_opaque()


def look_at_evaluated(text: str, state: State, interpreter: Interpreter) -> None:
    """Record the substitutions in text that bash evaluates; they run even inside single quotes."""
    for program in embedded_programs(text):
        interpreter.mark_opaque()
        interpreter.run_text(program, state.fork())


def _parts(node: "Node") -> "Iterator[Node]":
    """Yield every node of an expression outside of substitutions, which run in subshells."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type not in SUBSTITUTIONS:
            yield current
            waiting.extend(current.named_children)
