"""Redirections of a statement: the files that they open, and the text that a here-document passes to standard input."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from opencode_tui.engine.permission.shell.expansion import Expander, node_text
from opencode_tui.engine.permission.shell.findings import Mode
from opencode_tui.engine.permission.shell.state import State
from opencode_tui.engine.permission.shell.words import CUT, Word

if TYPE_CHECKING:
    from tree_sitter import Node

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
