"""Conversion of a simple command's node to words, assignments, redirections and the texts that rules are matched against."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from opencode_tui.engine.permission.shell.expansion import Expander, node_text
from opencode_tui.engine.permission.shell.findings import Mode
from opencode_tui.engine.permission.shell.state import State
from opencode_tui.engine.permission.shell.syntax import REDIRECTS, from_source
from opencode_tui.engine.permission.shell.words import CUT, UNKNOWN, Word, literal

if TYPE_CHECKING:
    from tree_sitter import Node


DEPTH_LIMIT = 60
"""Maximum nesting of scripts, substitutions and blocks."""

COMMAND_LIMIT = 500
"""Maximum number of analyzed simple commands; those in repeated loop bodies count each time."""

WORD_LIMIT = 20_000
"""Maximum number of analyzed words; those of wrapped commands count each time."""

TEXT_LIMIT = 200_000
"""Maximum number of parsed characters of nested scripts."""

SECONDS_LIMIT = 0.5
"""Maximum processor time for a scan before it begins with another nested script."""


@dataclass(slots=True)
class Budget:
    """The use of the limits by a scan so far."""

    depth: int = 0
    commands: int = 0
    words: int = 0
    text: int = 0
    began: float = field(default_factory=time.thread_time)

    @property
    def is_deep(self) -> bool:
        """Return whether no deeper nesting is followed."""
        return self.depth >= DEPTH_LIMIT

    @property
    def is_spent(self) -> bool:
        """Return whether no further command is followed."""
        return self.commands > COMMAND_LIMIT or self.words > WORD_LIMIT

    def allows(self, text: str) -> bool:
        """Return whether another nested script is parsed."""
        self.text += len(text)
        is_late = time.thread_time() - self.began > SECONDS_LIMIT
        return not self.is_deep and self.text <= TEXT_LIMIT and not is_late


_OPERATORS: dict[str, Mode] = {
    "<": "r",
    ">": "w",
    ">>": "w",
    ">|": "w",
    "&>": "w",
    "&>>": "w",
    ">&": "w",
    "<&": "r",
    "<>": "rw",
}
_DESCRIPTOR = re.compile(r"\d+-?|-")
_DUPLICATES = frozenset({">&", "<&", ">&-", "<&-"})


@dataclass(slots=True)
class Redirections:
    """The opened files, the arguments that the grammar attaches to a target, and known standard input.

    `programs` are texts in which substitutions are live although the grammar does not show them; `statements` are commands that
    follow on the line of a here-document.
    """

    opened: list[tuple[Word, Mode]] = field(default_factory=list[tuple[Word, Mode]])
    arguments: list[Word] = field(default_factory=list[Word])
    stdin: str | None = None
    programs: list[str] = field(default_factory=list[str])
    statements: list["Node"] = field(default_factory=list["Node"])
    texts: list[str] = field(default_factory=list[str])

    def read(
        self, nodes: Sequence["Node"], expander: Expander, state: State, *, read_write: frozenset[int] = frozenset()
    ) -> None:
        """Add redirection nodes; `read_write` are the positions of each `>` that represents `<>`."""
        for node in nodes:
            match node.type:
                case "file_redirect":
                    self._file(node, expander, state, read_write)
                case "herestring_redirect":
                    words = [word for child in node.named_children for word in expander.words(child, state)]
                    self.stdin = words[0].text if words else ""
                    self.arguments.extend(words[1:])
                    self.texts.append(node_text(node))
                case _:
                    self._heredoc(node, expander, state, read_write)

    def _file(self, node: "Node", expander: Expander, state: State, read_write: frozenset[int]) -> None:
        operator = next(
            (child for child in node.children if child.type in _OPERATORS or child.type in _DUPLICATES), None
        )
        targets = [child for child in node.named_children if child.type != "file_descriptor"]
        self.texts.append(node_text(node))
        if operator is None or not targets:
            return
        mode: Mode = "rw" if operator.start_byte in read_write else _OPERATORS.get(operator.type, "rw")
        if any(one.end_byte == other.start_byte for one, other in pairwise(targets)):
            self.opened.append((CUT, mode))
        first, *others = (expander.words(target, state) for target in targets)
        for word in first[:1]:
            if not (operator.type in _DUPLICATES and _DESCRIPTOR.fullmatch(word.text)):
                self.opened.append((word, mode))
        self.arguments.extend(word for words in (first[1:], *others) for word in words)

    def _heredoc(self, node: "Node", expander: Expander, state: State, read_write: frozenset[int]) -> None:
        start = next((node_text(child) for child in node.children if child.type == "heredoc_start"), "")
        for child in node.named_children:
            match child.type:
                case "heredoc_body":
                    self.stdin = node_text(child)
                    if not re.search(r"['\"\\]", start):
                        self.programs.append(self.stdin)
                case "file_redirect" | "herestring_redirect":
                    self.read([child], expander, state, read_write=read_write)
                case "heredoc_start" | "heredoc_end" | "file_descriptor":
                    continue
                case "word" | "string" | "raw_string" | "concatenation" | "simple_expansion" | "expansion" | "number":
                    self.arguments.extend(expander.words(child, state))
                case _:
                    self.statements.append(child)
        self.texts.append(f"<<{start}")


_SYSTEM_PROGRAM = re.compile(r"(?:/usr|/usr/local|/opt/homebrew)?/s?bin/([^/]+)")
_PLAIN_NAME = re.compile(r"[\w.+:-]+", re.ASCII)
_NEW_DESCRIPTOR = re.compile(rb"\{\w+\}")
_BLANKS = re.compile(r"[ \t]+")
_SKIPPED = frozenset({"comment", "ERROR"})


@dataclass(slots=True)
class SimpleCommand:
    """A command's words after expansion, and the assignments before it; `declares` is for `export` and the like."""

    source: str
    declares: bool = False
    words: list[Word] = field(default_factory=list[Word])
    assignments: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    redirections: Redirections = field(default_factory=Redirections)
    blocks: list["Node"] = field(default_factory=list["Node"])

    def texts(self, shown: str) -> tuple[str, ...]:
        """Return the texts that rules must allow: the source, and the plain words where quoting or blanks hide them."""
        words = self.words
        resolved = " ".join([word.text for word in words])
        if resolved == shown and shown[:1] != "/":
            return (shown,)
        if not words or UNKNOWN in resolved:
            return (shown,)
        texts = [shown]
        is_bare = shown == self.source and (self.declares or not self.assignments)
        if is_bare or _BLANKS.sub(" ", self.source) != resolved:
            texts.append(resolved)
        if program := system_program(words[0].text):
            texts.append(" ".join((program, *(word.text for word in words[1:]))))
        return tuple(dict.fromkeys(texts))

    def plain_words(self) -> tuple[str, ...] | None:
        """Return the words if the command consists of words only, so that a pattern can describe its kind; else None."""
        words = self.words
        if not words or self.redirections.texts or not self.source.startswith(words[0].text):
            return None
        if not _PLAIN_NAME.fullmatch(words[0].text) or any([word.computed for word in words]):
            return None
        return tuple([word.text for word in words])


def system_program(path: str) -> str | None:
    """Return the name of a program whose path is in a system folder."""
    found = _SYSTEM_PROGRAM.fullmatch(path) if path[:1] == "/" else None
    return found.group(1) if found else None


def is_plain_name(name: str) -> bool:
    """Return whether a program's name consists of the characters usual in program names."""
    return _PLAIN_NAME.fullmatch(name) is not None


def joined(words: list[Word]) -> str:
    """Return words as one text."""
    return " ".join([word.text for word in words])


def from_words(words: list[Word], stdin: str | None) -> SimpleCommand:
    """Return the command that another command starts."""
    return SimpleCommand(joined(words), words=words, redirections=Redirections(stdin=stdin))


class CommandReader:
    """Reads command nodes of one text. `source` is the original text, `read_write` the positions of `<>` in it."""

    def __init__(self, expander: Expander, source: bytes, read_write: frozenset[int]) -> None:
        self._expander = expander
        self._source = source
        self._read_write = read_write

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

    def redirections(self, nodes: "list[Node]", state: State) -> Redirections:
        """Return what redirection nodes open."""
        redirections = Redirections()
        redirections.read(nodes, self._expander, state, read_write=self._read_write)
        return redirections

    def read(self, node: "Node", state: State, redirections: Redirections) -> SimpleCommand:
        """Return the command of a node; `redirections` are those of the statement around it."""
        is_keyword = node.type != "command"
        command = SimpleCommand(self.shown(node), declares=is_keyword, redirections=redirections)
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
                redirections.read([child], self._expander, state, read_write=self._read_write)
            elif kind in ("subshell", "compound_statement"):
                command.blocks.append(child)
            elif kind not in _SKIPPED and not (kind == "concatenation" and self._is_descriptor(child)):
                command.words.extend(self._expander.words(child, state))
                if len(command.words) > WORD_LIMIT:
                    break
        command.words.extend(redirections.arguments)
        return command

    def _assignment(self, node: "Node", state: State, command: SimpleCommand) -> None:
        name, value = self._expander.assignment(node, state)
        command.assignments.append((name, value))
        if command.declares:
            command.words.append(literal(f"{name}={value}"))

    def _is_descriptor(self, node: "Node") -> bool:
        """Return whether a word is the `{name}` before a redirection, which assigns a free descriptor."""
        follows = self._source[node.end_byte : node.end_byte + 1]
        return follows in (b"<", b">") and _NEW_DESCRIPTOR.fullmatch(node.text or b"") is not None
