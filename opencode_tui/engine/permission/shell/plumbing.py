"""The standard input and output of a script's commands: pipelines, redirections, here-documents."""

import re
from typing import TYPE_CHECKING

from opencode_tui.engine.permission.shell.budget import Budget
from opencode_tui.engine.permission.shell.flow import last_command
from opencode_tui.engine.permission.shell.nodes import IGNORED, REDIRECTS
from opencode_tui.engine.permission.shell.redirection import Redirections
from opencode_tui.engine.permission.shell.runner import Interpreter
from opencode_tui.engine.permission.shell.simple_command import CommandReader
from opencode_tui.engine.permission.shell.state import State
from opencode_tui.engine.permission.shell.syntax import embedded_programs

if TYPE_CHECKING:
    from tree_sitter import Node

_EVALUATED = re.compile(r"(?<!\\)\$(?:\(\(|\[|\{(?!\w+\}))")
"""Expansions in a here-document in which bash evaluates text."""

_PRINTS = (b"echo ", b"printf ")


class Plumbing:
    """The pipes of one script. `upstream` is the text that the current command reads, None if unknown."""

    def __init__(self, reader: CommandReader, interpreter: Interpreter, budget: Budget) -> None:
        self.upstream: str | None = None
        self._reader = reader
        self._interpreter = interpreter
        self._budget = budget
        self._redirects: dict[int, tuple[list[Node], Node | None]] = {}

    def pipeline(self, node: "Node", state: State) -> None:
        """Follow a pipeline: each member runs in a subshell; literal printed text is known to the next one."""
        given, text = self.upstream, None
        members = [child for child in node.named_children if child.type not in IGNORED]
        for child in members:
            self.upstream = given if given is not None and child is members[-1] else text
            fork = state.fork()
            fork.passing = child.type == "command"
            self._interpreter.statement(child, fork)
            if self._budget.is_spent:
                break
            text = self._printed(child, state)
        self.upstream = given
        state.merge_outcomes()

    def _printed(self, node: "Node", state: State) -> str | None:
        """Return the text that a plain echo or printf passes to the next member of a pipeline."""
        if node.type != "command" or not (node.text or b"").startswith(_PRINTS) or b"$(" in (node.text or b""):
            return None
        words = [word.text for child in node.named_children[1:] for word in self._interpreter.words(child, state)]
        return " ".join([word for word in words if not word.startswith("-")])

    def redirected(self, node: "Node", state: State) -> None:
        """Follow a statement with redirections: those that the grammar attaches to a chain belong to its last command."""
        redirects = [child for child in node.named_children if child.type in REDIRECTS]
        bodies = [child for child in node.named_children if child.type not in REDIRECTS]
        last = last_command(bodies[-1]) if bodies else None
        if last is not None:
            self._redirects[last.id] = redirects, node if last in bodies else None
            for child in bodies:
                self._interpreter.statement(child, state)
            return
        redirections = self._reader.redirections(redirects, state)
        outer = self.upstream
        self.upstream = redirections.stdin if redirections.stdin is not None else outer
        for child in bodies:
            self._interpreter.statement(child, state)
        self.upstream = outer
        self.open(redirections, state)
        if redirections.arguments:
            self._interpreter.mark_opaque()
        self.follow(redirections, state)

    def detach(self, node: "Node") -> "tuple[list[Node], Node | None]":
        """Return the redirections that `redirected` found for a command, and the statement of this command only."""
        return self._redirects.pop(node.id, ([], node))

    def follow(self, redirections: Redirections, state: State) -> None:
        """Follow the commands after a here-document on its line."""
        outer = self.upstream
        for follower in redirections.statements:
            self.upstream = redirections.stdin
            self._interpreter.statement(follower, state.fork())
        self.upstream = outer

    def open(self, redirections: Redirections, state: State) -> None:
        """Record the files that redirections open, and analyze what they run."""
        for word, mode in redirections.opened:
            if not self._interpreter.findings.path(word, mode, state.folders):
                self._interpreter.mark_opaque()
        for text in redirections.programs:
            if _EVALUATED.search(text):
                self._interpreter.mark_opaque()
            for program in embedded_programs(text):
                if self._budget.is_spent:
                    self._interpreter.poison()
                    return
                self._interpreter.run_text(program, state.fork())
