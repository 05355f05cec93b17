"""What the parts of a scan ask of each other: looking into commands inside commands, and noting what stays unknown."""

from typing import TYPE_CHECKING, Protocol

from opencode_tui.engine.permission.shell.findings import Findings
from opencode_tui.engine.permission.shell.state import State
from opencode_tui.engine.permission.shell.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node


class Runner(Protocol):
    """What an analyser of a single command needs."""

    findings: Findings

    def run_words(self, words: list[Word], state: State, *, stdin: str | None = None) -> None:
        """Look at a command that another command starts."""
        ...

    def run_text(self, text: str, state: State) -> None:
        """Look at a script that a command starts."""
        ...

    def call_function(self, name: str, arguments: list[Word], state: State) -> None:
        """Run the body of a function that the script has defined."""
        ...

    def evaluate(self, text: str, state: State) -> None:
        """Look at text that bash evaluates as arithmetic or as a subscript."""
        ...

    def mark_opaque(self) -> None:
        """Note that the present command, or outside of any the script, is not fully known."""
        ...

    def poison(self) -> None:
        """Note that no command of the script can be known any more."""
        ...


class Interpreter(Runner, Protocol):
    """What follows statements and expands words."""

    def statement(self, node: "Node", state: State) -> None:
        """Follow one statement."""
        ...

    def sequence(self, node: "Node", state: State) -> None:
        """Follow the statements in a node one after the other."""
        ...

    def substitute(self, node: "Node", state: State) -> None:
        """Look at every command inside a node."""
        ...

    def words(self, node: "Node", state: State) -> list[Word]:
        """Return the words that a node expands to."""
        ...
