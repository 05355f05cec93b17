"""Branches, loops, chains, pipelines and redirections: follows every path, and joins folders and variables."""

import re
from typing import TYPE_CHECKING

from opencode_tui.engine.permission.shell.call import Interpreter
from opencode_tui.engine.permission.shell.expansion import node_text
from opencode_tui.engine.permission.shell.simple_command import Budget, CommandReader, Redirections
from opencode_tui.engine.permission.shell.state import State, union
from opencode_tui.engine.permission.shell.syntax import COMMANDS, IGNORED, REDIRECTS, embedded_programs
from opencode_tui.engine.permission.shell.words import UNKNOWN, matched

if TYPE_CHECKING:
    from tree_sitter import Node


VALUE_LIMIT = 32
"""Maximum number of values of a loop variable for which the body is followed one by one; with more, the value is unknown."""

_BODIES = frozenset({"do_group", "compound_statement"})
_CLAUSES = frozenset({"elif_clause", "else_clause", "case_item"})
_CHAINS = frozenset({"list", "pipeline", "negated_command"})
_EXIT = re.compile(rb"exit(?: +\d+)?")


def follow_chain(node: "Node", state: State, interpreter: Interpreter) -> None:
    """Follow `a && b || c`: each next command starts in the folder after success, or after failure, of the previous one."""
    first, chain = _flatten(node)
    if first.type == "list":
        interpreter.sequence(first, state)
    else:
        interpreter.statement(first, state)
    succeeded, failed, cannot_fail = state.folders, state.after_failure, state.cannot_fail
    before = dict(state.variables)
    for operator, member in chain:
        is_and = operator == "&&"
        if not is_and:
            state.merge_variables(before)
        state.folders = state.after_failure = succeeded if is_and else failed
        state.cannot_fail = True
        interpreter.statement(member, state)
        if is_and:
            succeeded, failed, cannot_fail = (
                state.folders,
                union(failed, state.after_failure),
                cannot_fail and state.cannot_fail,
            )
        elif _leaves(member):
            cannot_fail = True
        else:
            succeeded, failed, cannot_fail = (
                union(succeeded, state.folders),
                state.after_failure,
                cannot_fail and state.cannot_fail,
            )
    state.merge_variables(before)
    state.folders, state.after_failure, state.cannot_fail = succeeded, failed, cannot_fail


def _flatten(node: "Node") -> "tuple[Node, list[tuple[str, Node]]]":
    """Return the first member of a left-leaning chain and the others with the operator before each."""
    chain: list[tuple[str, Node]] = []
    while node.type == "list":
        parts = [child for child in node.children if child.type != "comment"]
        operator = next((part.type for part in parts if part.type in ("&&", "||")), "")
        if len(parts) < 2 or not operator:
            break
        chain.append((operator, parts[-1]))
        node = parts[0]
    return node, chain[::-1]


def last_command(node: "Node") -> "Node | None":
    """Return the command of a redirection that the grammar attaches to a chain or a pipeline: the last one."""
    while node.type in _CHAINS and node.named_children:
        node = node.named_children[-1]
    return node if node.type in COMMANDS else None


def _leaves(node: "Node") -> bool:
    """Return whether a statement ends the shell, so that nothing after it follows a failure."""
    return node.type == "command" and _EXIT.fullmatch(node.text or b"") is not None


def follow_branches(node: "Node", state: State, interpreter: Interpreter) -> None:
    """Follow `if` and `case`: each branch may or may not run."""
    start, before = state.folders, dict(state.variables)
    for child in node.named_children:
        if child.type in _CLAUSES:
            state.folders = union(start, state.folders)
            state.merge_variables(before)
        interpreter.statement(child, state)
        state.merge_outcomes()
    state.merge_variables(before)
    state.folders = union(start, state.folders)
    state.merge_outcomes()


def follow_loop(node: "Node", state: State, interpreter: Interpreter) -> None:
    """Follow `while`, `until` and `for ((…))`; a body that changes folder or variables is followed again with these unknown."""
    start, before = state.folders, dict(state.variables)
    interpreter.sequence(node, state)
    if state.merge_variables(before) or state.folders != start:
        state.folders = start if state.folders == start else None
        interpreter.sequence(node, state)
        state.merge_variables(before)
    state.folders = union(start, state.folders)
    state.merge_outcomes()


def follow_for(node: "Node", state: State, interpreter: Interpreter) -> None:
    """Follow `for` and `select` over words: the body once for each value."""
    named = node.named_children
    name = next((node_text(child) for child in named if child.type == "variable_name"), "")
    bodies = [child for child in named if child.type in _BODIES]
    values = _values(node, state, interpreter)
    start, before = state.folders, dict(state.variables)
    for value in values:
        interpreter.assign(name, value, state)
        _run(bodies, state, interpreter)
        state.variables.pop(name, None)
    if state.merge_variables(before) or state.folders != start:
        state.folders = start if state.folders == start else None
        interpreter.assign(name, values[0] if len(values) == 1 else UNKNOWN, state)
        _run(bodies, state, interpreter)
        state.merge_variables(before)
    state.assign(name, UNKNOWN)
    state.folders = union(start, state.folders)
    state.merge_outcomes()


def _values(node: "Node", state: State, interpreter: Interpreter) -> list[str]:
    heads = [child for child in node.named_children[1:] if child.type not in _BODIES]
    values = [matched(word) for child in heads for word in interpreter.words(child, state)]
    is_over_words = any(child.type == "in" for child in node.children)
    return values if is_over_words and 0 < len(values) <= VALUE_LIMIT else [UNKNOWN]


def _run(bodies: "list[Node]", state: State, interpreter: Interpreter) -> None:
    for body in bodies:
        interpreter.statement(body, state)
        state.merge_outcomes()


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
