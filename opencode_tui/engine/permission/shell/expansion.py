"""Conversion of the parser's nodes to words, and of expressions to what they run. Unknown values become unknown pieces."""

import re
from typing import TYPE_CHECKING, Protocol

from opencode_tui.engine.permission.shell.call import Interpreter
from opencode_tui.engine.permission.shell.state import State
from opencode_tui.engine.permission.shell.syntax import SUBSTITUTIONS, decode_ansi, embedded_programs, from_source
from opencode_tui.engine.permission.shell.words import (
    UNKNOWN,
    Word,
    finish,
    quote,
    unbraced,
    variable_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node


_SIMPLE = re.compile(r"[\w./:=+@%^-]*")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"\\([$`\"\\\n])")
_PLAIN_EXPANSION = re.compile(r"\$\{(\w+|[?$!#@*-])\}")
_LENGTH = re.compile(r"\$\{#[^}]*\}")
_DEFAULT = re.compile(r"\$\{(\w+)(:?[-=])(.*)\}", re.DOTALL)
_HARMLESS_EXPANSION = re.compile(r"\$\{(?:\w+|[@*])(?:\[[@*\d]\])?(?:[%#/^,][^`]*|:?[+?][^`]*)?\}", re.DOTALL)
"""Expansions in which bash evaluates no text: pieces of a value, replacements, alternatives."""

_COUNTS = re.compile(r"\$\((?:seq [\d -]+|nproc|id -[ug]|date \+%s)\)")
_FIXED_WORDS = frozenset(
    {"word", "number", "variable_name", "test_operator", "extglob_pattern", "regex", "heredoc_start"}
)


class Substitutions(Protocol):
    """Analyzes the commands inside words."""

    def substitute(self, node: "Node", state: State) -> None:
        """Analyze every command inside a node."""
        ...

    def calculate(self, node: "Node", state: State) -> None:
        """Analyze an arithmetic expression, which bash evaluates through the values of its variables."""
        ...

    def mark_opaque(self) -> None:
        """Record that the current command is not fully known."""
        ...


def node_text(node: "Node") -> str:
    """Return the source of a node."""
    return from_source(node.text or b"")


class Expander:
    """Turns nodes into words; commands inside them go to `substitutions`."""

    def __init__(self, substitutions: Substitutions) -> None:
        self._substitutions = substitutions
        self._expanded = 0

    def words(self, node: "Node", state: State) -> list[Word]:
        """Return the words that a node expands to."""
        if node.type == "word":
            text = node_text(node)
            if _SIMPLE.fullmatch(text):
                return [Word(text=text, fixed=text)]
        before = self._expanded
        encoded = self._encode(node, state)
        return finish(encoded, home=state.home, folder=state.folder, computed=self._expanded != before)

    def value(self, node: "Node", state: State) -> str:
        """Return what an assignment stores: no splitting, no braces; unknown pieces stay marked."""
        return "".join(
            word.text
            for word in finish(unbraced(self._encode(node, state)), home=state.home, folder=state.folder, computed=True)
        )

    def assignment(self, node: "Node", state: State) -> tuple[str, str]:
        """Return the name and the value of an assignment; an element of an array leaves the array unknown."""
        named = node.named_children
        target = named[0]
        if target.type == "subscript":
            self._substitutions.substitute(node, state)
            return node_text(target).partition("[")[0], UNKNOWN
        value = self.value(named[1], state) if len(named) > 1 else ""
        name = node_text(target)
        is_added = len(node.children) > 1 and node.children[1].type == "+="
        return name, state.variable(name) + value if is_added else value

    def _encode(self, node: "Node", state: State, *, quoted: bool = False) -> str:
        kind = node.type
        if kind in _FIXED_WORDS:
            return _unescape(node_text(node))
        match kind:
            case "raw_string":
                return quote(node_text(node)[1:-1])
            case "ansi_c_string":
                return quote(decode_ansi(node_text(node)[2:-1]))
            case "string" | "translated_string":
                return self._encode_string(node, state)
            case "concatenation" | "command_name":
                return self._encode_sequence(node, state)
            case "brace_expression":
                return node_text(node)
            case _:
                self._expanded += 1
                return self._encode_expanded(node, state, quoted=quoted)

    def _encode_expanded(self, node: "Node", state: State, *, quoted: bool) -> str:
        match node.type:
            case "simple_expansion":
                return self._variable(node_text(node)[1:], state, quoted=quoted)
            case "expansion":
                return self._encode_expansion(node, state, quoted=quoted)
            case "arithmetic_expansion":
                self._substitutions.calculate(node, state)
                return "0"
            case "process_substitution":
                self._substitutions.substitute(node, state)
                return quote("/dev/fd/63")
            case "command_substitution":
                self._substitutions.substitute(node, state)
                return self._output(node_text(node), state)
            case _:
                self._substitutions.substitute(node, state)
                return UNKNOWN

    def _output(self, text: str, state: State) -> str:
        """Return the result of a substitution where it is known: a number, the current folder."""
        if _COUNTS.fullmatch(text):
            return "1"
        return quote(state.folder or UNKNOWN) if text in ("$(pwd)", "`pwd`") else UNKNOWN

    def _encode_sequence(self, node: "Node", state: State) -> str:
        children = node.children
        pieces: list[str] = []
        for index, child in enumerate(children):
            if child.type != "$":
                pieces.append(self._encode(child, state))
            elif index + 1 == len(children) or children[index + 1].type != "string":
                pieces.append(UNKNOWN)  # the grammar splits a variable in two
        return "".join(pieces)

    def _encode_string(self, node: "Node", state: State) -> str:
        """Append a double-quoted text; the grammar leaves some blanks between its children, so text is read by position."""
        source = node.text or b""
        start = node.start_byte
        place = 1 if source.startswith(b'"') else 2
        pieces: list[str] = []
        for child in node.named_children:
            if child.type == "string_content":
                continue
            pieces.append(_quoted_text(source[place : child.start_byte - start]))
            pieces.append(self._encode(child, state, quoted=True))
            place = child.end_byte - start
        pieces.append(_quoted_text(source[place:-1]))
        return "".join(pieces)

    def _variable(self, name: str, state: State, *, quoted: bool) -> str:
        if name == "IFS" and not quoted:
            self._substitutions.mark_opaque()
            return variable_text(" ", quoted=False)
        return variable_text(state.variable(name), quoted=quoted)

    def _encode_expansion(self, node: "Node", state: State, *, quoted: bool) -> str:
        text = node_text(node)
        if found := _PLAIN_EXPANSION.fullmatch(text):
            return self._variable(found.group(1), state, quoted=quoted)
        self._substitutions.substitute(node, state)
        if _LENGTH.fullmatch(text):
            return "0"
        found = _DEFAULT.fullmatch(text)
        if found is None:
            if not _HARMLESS_EXPANSION.fullmatch(text):
                self._substitutions.mark_opaque()
            return UNKNOWN
        if state.is_set(found.group(1)):
            return variable_text(state.variable(found.group(1)), quoted=quoted)
        self._substitutions.mark_opaque()
        default = found.group(3)
        return variable_text(default, quoted=quoted) if not re.search(r"[$`'\"\\]", default) else UNKNOWN


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda found: "" if found.group(1) == "\n" else quote(found.group(1)), text)


def _quoted_text(source: bytes) -> str:
    text = from_source(source)
    if "\\" in text:
        text = _ESCAPED_IN_QUOTES.sub(lambda found: "" if found.group(1) == "\n" else found.group(1), text)
    return quote(text)


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
