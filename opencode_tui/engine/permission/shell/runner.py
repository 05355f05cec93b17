"""Protocols between the parts of a scan: analysis of nested commands, and recording of what is unknown."""

from typing import TYPE_CHECKING, Protocol

from opencode_tui.engine.permission.shell.findings import Findings
from opencode_tui.engine.permission.shell.state import State
from opencode_tui.engine.permission.shell.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node


class Runner(Protocol):
    """The scan as the analyzer of a single command sees it."""

    findings: Findings

    def run_words(self, words: list[Word], state: State, *, stdin: str | None = None) -> None:
        """Analyze a command that another command starts."""
        ...

    def run_text(self, text: str, state: State) -> None:
        """Analyze a script that a command starts."""
        ...

    def assign(self, name: str, value: str, state: State) -> None:
        """Set a variable of the shell; one that changes the meaning of commands makes the script unknown."""
        ...

    def evaluate(self, text: str, state: State) -> None:
        """Analyze text that bash evaluates as arithmetic or as a subscript."""
        ...

    def mark_opaque(self) -> None:
        """Record that the current command, or outside of commands the script, is not fully known."""
        ...

    def poison(self) -> None:
        """Record that no command of the script is known from here on."""
        ...


class Interpreter(Runner, Protocol):
    """Follows statements and expands words."""

    def statement(self, node: "Node", state: State) -> None:
        """Follow one statement."""
        ...

    def sequence(self, node: "Node", state: State) -> None:
        """Follow the statements in a node in order."""
        ...

    def substitute(self, node: "Node", state: State) -> None:
        """Analyze every command inside a node."""
        ...

    def words(self, node: "Node", state: State) -> list[Word]:
        """Return the words that a node expands to."""
        ...
