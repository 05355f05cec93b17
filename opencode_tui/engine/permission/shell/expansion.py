"""Conversion of the parser's nodes to words and simple commands: unknown values become unknown pieces."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct, field

from opencode_tui.engine.permission.shell.call import Runner
from opencode_tui.engine.permission.shell.findings import Mode
from opencode_tui.engine.permission.shell.readings import Readings, read_command
from opencode_tui.engine.permission.shell.state import WORD_LIMIT, State
from opencode_tui.engine.permission.shell.syntax import (
    EXPANSIONS,
    REDIRECTS,
    SUBSTITUTIONS,
    VALUES,
    Script,
    decode_ansi,
    from_source,
)
from opencode_tui.engine.permission.shell.words import (
    CUT,
    UNKNOWN,
    Word,
    finish,
    literal,
    quote,
    unbraced,
    variable_text,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_SIMPLE = re.compile(r"[\w./:=+@%^-]*")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"\\([$`\"\\\n])")
_PLAIN_EXPANSION = re.compile(r"\$\{(\w+|[?$!#@*-])\}")
_LENGTH = re.compile(r"\$\{#(?:\w+(?:\[[@*\d]+\])?|[@*])\}")
_DEFAULT = re.compile(r"\$\{(\w+)(:?[-=])(.*)\}", re.DOTALL)
_HARMLESS_EXPANSION = re.compile(
    r"\$\{(?:\w+|[@*])(?:\[[@*\d]+\])?(?:[%#/^,][^`]*|:?[-+?][^`]*|: *-?\d+(?::-?\d+)?)?\}", re.DOTALL
)
"""Expansions in which bash evaluates no text: pieces of a value, replacements, alternatives."""

_NAMED = re.compile(r"\$\{\w+\}")
_EVALUATED_INSIDE = re.compile(r"\$(?:\{|\[|\(\()")
"""An expansion in a pattern or an alternative that is more than a name; the grammar takes some of them for text."""

_BEGINS_NO_OPTION = re.compile(
    r"\$\((?:git (?:branch --show-current|(?:rev-parse|symbolic-ref|describe)(?: [\w/@^~-]+)*)|date(?: [+\w%:-]+)?)\)"
)
"""Substitutions whose unknown result is a name, and so no option."""

_COUNTS = re.compile(r"\$\((?:seq [\d -]+|nproc|id -[ug]|date \+%s)\)")
_FIXED_WORDS = frozenset(
    {"word", "number", "variable_name", "test_operator", "extglob_pattern", "regex", "heredoc_start"}
)


def node_text(node: "Node") -> str:
    """Return the source of a node."""
    return from_source(node.text or b"")


_OPERATORS: dict[str, Mode] = {
    "<": "r",
    "<&": "r",
    "<&-": "rw",
    ">&-": "rw",
    **dict.fromkeys((">", ">>", ">|", "&>", "&>>", ">&"), "w"),
}
_DESCRIPTOR = re.compile(r"\d+-?|-")
_DUPLICATES = frozenset({">&", "<&", ">&-", "<&-"})


_SYSTEM_PROGRAM = re.compile(r"(?:/usr|/usr/local|/opt/homebrew)?/s?bin/([^/]+)")
_PLAIN_NAME = re.compile(r"[\w.+:-]+", re.ASCII)
_NEW_DESCRIPTOR = re.compile(rb"\{\w+\}")
_SKIPPED = frozenset({"comment", "ERROR"})


class Redirections(Struct):
    """The opened files, the arguments that the grammar attaches to a target, and known standard input.

    `is_fed`: standard input is a file, or what another command prints. `programs` are texts in which substitutions are live though
    the grammar does not show them; `statements` are commands that follow on the line of a here-document.
    """

    opened: list[tuple[Word, Mode]] = []
    arguments: list[Word] = []
    stdin: str | None = None
    is_fed: bool = False
    programs: list[str] = []
    statements: "list[Node]" = []
    texts: list[str] = []


class SimpleCommand(Struct):
    """A command's words after expansion, and the assignments before it; `declares` is for `export` and the like."""

    source: str
    declares: bool = False
    words: list[Word] = []
    assignments: list[tuple[str, str]] = []
    redirections: Redirections = field(default_factory=Redirections)
    blocks: "list[Node]" = []

    def texts(self, shown: str) -> tuple[str, ...]:
        """Return the texts that rules must allow: the source, and the plain words where the source does not show just them."""
        words = self.words
        resolved = " ".join([word.text for word in words if word.text])
        if not words or not words[0].known:
            return (shown,)
        texts = [shown]
        if not _shows(shown, resolved):
            texts.append(_readable(resolved))
        if program := system_program(words[0].text):
            texts.append(_readable(" ".join((program, *(word.text for word in words[1:] if word.text)))))
        return tuple(dict.fromkeys(texts))

    def readings(self) -> Readings:
        """Return how the command may be read without the options of its program."""
        return read_command([word.text for word in self.words])

    def plain_words(self) -> tuple[str, ...] | None:
        """Return the words if the command consists of words only, so that a pattern can describe its kind; else None."""
        words = self.words
        if not words or self.redirections.texts or not self.source.startswith(words[0].text):
            return None
        if not _PLAIN_NAME.fullmatch(words[0].text) or any([word.computed for word in words]):
            return None
        return tuple([word.text for word in words])


def _shows(source: str, resolved: str) -> bool:
    """Return whether a source is a command word for word, where unknown pieces may stand for any text."""
    first, *others = resolved.split(UNKNOWN)
    if not others:
        return source == first
    *middle, last = others
    place = len(first)
    for piece in middle:
        place = source.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return source.startswith(first) and source.endswith(last) and place + len(last) <= len(source)


def _readable(text: str) -> str:
    return text.replace(UNKNOWN, "…")


def system_program(path: str) -> str | None:
    """Return the name of a program whose path is in a system folder."""
    found = _SYSTEM_PROGRAM.fullmatch(f"/{posixpath.normpath(path).lstrip('/')}") if path[:1] == "/" else None
    return found.group(1) if found else None


def is_plain_name(name: str) -> bool:
    """Return whether a program's name consists of the characters usual in program names."""
    return _PLAIN_NAME.fullmatch(name) is not None


class Expander:
    """Turns the nodes of one script into words and commands; commands inside words go to `runner`."""

    def __init__(self, runner: Runner, script: Script | None) -> None:
        self._runner = runner
        self._source = script.source if script else b""
        self._read_write = script.read_write if script else frozenset[int]()
        self._expanded = 0

    def words(self, node: "Node", state: State) -> list[Word]:
        """Return the words that a node expands to."""
        text = node_text(node)
        if _SIMPLE.fullmatch(text):
            return [Word(text, text)]
        if _QUOTED.fullmatch(text):
            return [Word(text[1:-1], text[1:-1])]
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
            self._runner.substitute(node, state)
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
                self._runner.calculate(node, state)
                return "0"
            case "process_substitution":
                self._runner.substitute(node, state)
                return quote("/dev/fd/63")
            case "command_substitution":
                self._runner.substitute(node, state)
                return self._output(node_text(node), state)
            case _:
                self._runner.substitute(node, state)
                return UNKNOWN

    def _output(self, text: str, state: State) -> str:
        """Return the result of a substitution where it is known: a number, the current folder."""
        if _COUNTS.fullmatch(text):
            return "1"
        if text in ("$(pwd)", "`pwd`"):
            return quote(state.folder or UNKNOWN)
        return f"0{UNKNOWN}" if _BEGINS_NO_OPTION.fullmatch(text) else UNKNOWN

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
            self._runner.mark_opaque()
            return variable_text(" ", quoted=False)
        return variable_text(state.variable(name), quoted=quoted)

    def _encode_expansion(self, node: "Node", state: State, *, quoted: bool) -> str:
        text = node_text(node)
        if found := _PLAIN_EXPANSION.fullmatch(text):
            return self._variable(found.group(1), state, quoted=quoted)
        self._runner.substitute(node, state)
        for inner in _inner_expansions(node):
            self._encode(inner, state)
        if _LENGTH.fullmatch(text):
            return "0"
        if _EVALUATED_INSIDE.search(_NAMED.sub("", text[2:])):
            self._runner.mark_steered()
        found = _DEFAULT.fullmatch(text)
        if found is None:
            if not _HARMLESS_EXPANSION.fullmatch(text):
                self._runner.mark_steered()
            return UNKNOWN
        if "=" in found.group(2) and not state.is_set(found.group(1)):
            self._runner.assign(found.group(1), UNKNOWN, state)
        if state.is_set(found.group(1)):
            return variable_text(state.variable(found.group(1)), quoted=quoted)
        self._runner.mark_opaque()
        default = found.group(3)
        return variable_text(default, quoted=quoted) if not re.search(r"[$`'\"\\]", default) else UNKNOWN

    def shown(self, node: "Node") -> str:
        """Return the source of a node."""
        return from_source(self._source[node.start_byte : node.end_byte])

    def shown_statement(self, node: "Node | None", command: SimpleCommand) -> str:
        """Return the text of a command with its redirections, but without the body of a here-document.

        `node` is the statement of this one command; None when the redirections were found elsewhere.
        """
        texts = command.redirections.texts
        if not texts:
            return command.source
        if node is None:
            return " ".join((command.source, *texts))
        shown = self.shown(node)
        return " ".join((command.source, *texts)) if "<<" in shown and "\n" in shown else shown

    def redirections(self, nodes: "Sequence[Node]", state: State) -> Redirections:
        """Return what redirection nodes open."""
        found = Redirections()
        self._redirect(found, nodes, state)
        return found

    def _redirect(self, found: Redirections, nodes: "Sequence[Node]", state: State) -> None:
        for node in nodes:
            match node.type:
                case "file_redirect":
                    self._file(found, node, state)
                case "herestring_redirect":
                    words = [word for child in node.named_children for word in self.words(child, state)]
                    found.stdin = words[0].text if words else ""
                    found.arguments.extend(words[1:])
                    found.texts.append(node_text(node))
                case _:
                    self._heredoc(found, node, state)

    def _file(self, found: Redirections, node: "Node", state: State) -> None:
        operator = next((child for child in node.children if child.type in _OPERATORS), None)
        targets = [child for child in node.named_children if child.type != "file_descriptor"]
        found.texts.append(node_text(node))
        if operator is None or not targets:
            return
        mode: Mode = "rw" if operator.start_byte in self._read_write else _OPERATORS[operator.type]
        if any(one.end_byte == other.start_byte for one, other in pairwise(targets)):
            found.opened.append((CUT, mode))
        first, *others = (self.words(target, state) for target in targets)
        if first and not (operator.type in _DUPLICATES and _DESCRIPTOR.fullmatch(first[0].text)):
            found.opened.append((first[0], mode))
            found.is_fed = found.is_fed or ("r" in mode and first[0].text != "/dev/null")
        found.arguments.extend(word for words in (first[1:], *others) for word in words)

    def _heredoc(self, found: Redirections, node: "Node", state: State) -> None:
        start = next((node_text(child) for child in node.children if child.type == "heredoc_start"), "")
        for child in node.named_children:
            match child.type:
                case "heredoc_body":
                    found.stdin = node_text(child)
                    if not re.search(r"['\"\\]", start):
                        found.programs.append(found.stdin)
                case "file_redirect" | "herestring_redirect":
                    self._redirect(found, [child], state)
                case "heredoc_start" | "heredoc_end" | "file_descriptor":
                    continue
                case kind if kind in VALUES:
                    found.arguments.extend(self.words(child, state))
                case _:
                    found.statements.append(child)
        found.texts.append(f"<<{start}")

    def command(self, node: "Node", source: str, state: State, redirections: Redirections) -> SimpleCommand:
        """Return the command of a node; `redirections` are those of the statement around it."""
        is_keyword = node.type != "command"
        command = SimpleCommand(source, declares=is_keyword, redirections=redirections)
        if is_keyword:
            command.words.append(literal(node_text(node.children[0])))
        end = -1
        for child in node.named_children:
            kind = child.type
            if child.start_byte == end:
                command.words.append(CUT)
            end = child.end_byte if kind not in REDIRECTS else -1
            if kind == "variable_assignment":
                self._assignment(child, state, command)
            elif kind in REDIRECTS:
                self._redirect(redirections, [child], state)
            elif kind in ("subshell", "compound_statement"):
                command.blocks.append(child)
            elif kind == "concatenation" and self._is_descriptor(child):
                self._runner.assign(node_text(child)[1:-1], UNKNOWN, state)
            elif kind not in _SKIPPED and not (kind == "number" and self._precedes_redirection(child)):
                command.words.extend(self.words(child, state))
                if len(command.words) > WORD_LIMIT:
                    break
        command.words.extend(redirections.arguments)
        return command

    def _assignment(self, node: "Node", state: State, command: SimpleCommand) -> None:
        name, value = self.assignment(node, state)
        command.assignments.append((name, value))
        if command.declares:
            command.words.append(literal(f"{name}={value}"))

    def _is_descriptor(self, node: "Node") -> bool:
        """Return whether a word is the `{name}` before a redirection, which assigns a free descriptor."""
        return self._precedes_redirection(node) and _NEW_DESCRIPTOR.fullmatch(node.text or b"") is not None

    def _precedes_redirection(self, node: "Node") -> bool:
        return self._source[node.end_byte : node.end_byte + 1] in (b"<", b">")


def _inner_expansions(node: "Node") -> "Iterator[Node]":
    """Yield the outermost expansions inside an expansion, which bash evaluates as well; substitutions are analyzed elsewhere."""
    waiting = list(node.named_children)
    while waiting:
        inner = waiting.pop()
        if inner.type in EXPANSIONS:
            yield inner
        elif inner.type not in SUBSTITUTIONS:
            waiting.extend(inner.named_children)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda found: "" if found.group(1) == "\n" else quote(found.group(1)), text)


def _quoted_text(source: bytes) -> str:
    text = from_source(source)
    if "\\" in text:
        text = _ESCAPED_IN_QUOTES.sub(lambda found: "" if found.group(1) == "\n" else found.group(1), text)
    return quote(text)
