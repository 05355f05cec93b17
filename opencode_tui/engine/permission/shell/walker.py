"""Follows a script statement by statement and hands each simple command to `invocation`.

Nothing is skipped because a condition looks false. Depth, commands, words and text are limited; a script that exceeds a limit
makes every command of it opaque.
"""

from contextlib import contextmanager
from typing import TYPE_CHECKING

from opencode_tui.engine.permission.shell.expansion import (
    Expander,
    look_at_arithmetic,
    look_at_evaluated,
    look_at_expression,
    node_text,
)
from opencode_tui.engine.permission.shell.findings import Findings, FoundMember
from opencode_tui.engine.permission.shell.flow import Plumbing, follow_branches, follow_chain, follow_for, follow_loop
from opencode_tui.engine.permission.shell.invocation import invoke
from opencode_tui.engine.permission.shell.simple_command import Budget, CommandReader, SimpleCommand, from_words
from opencode_tui.engine.permission.shell.state import State, holds_command, is_dangerous, union
from opencode_tui.engine.permission.shell.syntax import (
    BLOCKS,
    COMMANDS,
    IGNORED,
    REDIRECTS,
    SUBSTITUTIONS,
    VALUES,
    Script,
    parse,
)
from opencode_tui.engine.permission.shell.words import UNKNOWN, Word, names

if TYPE_CHECKING:
    from collections.abc import Generator

    from tree_sitter import Node

_RESERVED = names("do done then fi else elif esac in")


class Walker:
    """One scan. Implements `Interpreter` for the parts that need to look into commands inside commands."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.certain = True
        self._expander = Expander(self)
        self._budget = Budget()
        self._reader = CommandReader(self._expander, b"", frozenset())
        self._plumbing = Plumbing(self._reader, self, self._budget)
        self._members: list[FoundMember] = []
        self._scripts = 0

    def mark_opaque(self) -> None:
        """Record that the current command, or outside of commands the script, is not fully known."""
        self.findings.opaque = True
        if self._members:
            self._members[-1].opaque = True
        else:
            self.findings.poisoned = True

    def poison(self) -> None:
        """Record that no command of the script is known from here on."""
        self.findings.opaque = self.findings.poisoned = True

    def words(self, node: "Node", state: State) -> list[Word]:
        """Return the words that a node expands to."""
        return self._expander.words(node, state)

    def run_text(self, text: str, state: State) -> None:
        """Analyze a script; its commands become members of the scan."""
        is_possible = not self._scripts or self._budget.allows(text)
        script = parse(text) if is_possible and UNKNOWN not in text else None
        if script is None:
            self.mark_opaque()
            return
        with self._inside(script):
            if not script.certain:
                self._doubt()
            self.sequence(script.root, state)

    @contextmanager
    def _inside(self, script: Script) -> "Generator[None]":
        outer = self._reader, self._plumbing
        self._reader = CommandReader(self._expander, script.source, script.read_write)
        self._plumbing = Plumbing(self._reader, self, self._budget)
        self._scripts += 1
        self._budget.depth += 1
        try:
            yield
        finally:
            self._budget.depth -= 1
            self._scripts -= 1
            self._reader, self._plumbing = outer

    def _doubt(self) -> None:
        """Record that bash may not accept the script; nothing else is recorded for the outermost one."""
        self.mark_opaque()
        self.certain = self.certain and self._scripts > 1

    def run_words(self, words: list[Word], state: State, *, stdin: str | None = None) -> None:
        """Analyze a command that another command starts."""
        if self._budget.is_deep:
            self.mark_opaque()
            return
        self._budget.depth += 1
        command = from_words(words, stdin)
        self._run(FoundMember(texts=(command.source,), words=command.plain_words()), command, state)
        self._budget.depth -= 1

    def substitute(self, node: "Node", state: State) -> None:
        """Analyze every command inside a node, each in its own subshell."""
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.type not in SUBSTITUTIONS:
                waiting.extend(reversed(current.named_children))
            elif self._budget.is_deep:
                self.mark_opaque()
            else:
                self._budget.depth += 1
                self._substitution(current, state.fork())
                self._budget.depth -= 1

    def _substitution(self, node: "Node", state: State) -> None:
        text = node_text(node)
        if text.startswith("`") and "\\" in text:
            self.run_text(text[1:-1].replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\"), state)
        else:
            self.sequence(node, state)

    def calculate(self, node: "Node", state: State) -> None:
        """Analyze an arithmetic expression."""
        look_at_arithmetic(node, state, self)

    def evaluate(self, text: str, state: State) -> None:
        """Analyze text that bash evaluates as arithmetic or as a subscript."""
        look_at_evaluated(text, state, self)

    def sequence(self, node: "Node", state: State) -> None:
        """Follow consecutive statements, as between `;`; one that ends in `&` runs in a subshell."""
        children = node.children
        for index, child in enumerate(children):
            if not child.is_named:
                continue
            if self._budget.is_spent:
                self.poison()
                return
            is_background = index + 1 < len(children) and children[index + 1].type == "&"
            self.statement(child, state.fork() if is_background else state)
            state.starts_jobs = state.starts_jobs or is_background
            state.merge_outcomes()

    def statement(self, node: "Node", state: State) -> None:
        """Follow one statement."""
        kind = node.type
        if kind in IGNORED:
            return
        if self._budget.is_deep or self._budget.is_spent:
            self.poison()
        elif kind in COMMANDS:
            self._command(node, state)
        else:
            self._budget.depth += 1
            state.after_failure, state.cannot_fail = state.folders, True
            self._dispatch(node, state)
            self._budget.depth -= 1

    def _dispatch(self, node: "Node", state: State) -> None:
        match node.type:
            case "redirected_statement":
                self._plumbing.redirected(node, state)
            case "list":
                follow_chain(node, state, self)
            case "pipeline":
                self._plumbing.pipeline(node, state)
            case "variable_assignment":
                self._assign(node, state)
            case "for_statement":
                follow_for(node, state, self)
            case "while_statement" | "c_style_for_statement":
                follow_loop(node, state, self)
            case "if_statement" | "case_statement":
                follow_branches(node, state, self)
            case "function_definition":
                self._define(node, state)
            case "subshell":
                self.sequence(node, state.fork())
            case "test_command":
                look_at_expression(node, state, self)
            case "compound_statement" if node.children and node.children[0].type == "((":
                look_at_expression(node, state, self)
            case kind if kind in BLOCKS:
                self.sequence(node, state)
            case kind if kind in REDIRECTS:
                self._plumbing.open(self._reader.redirections([node], state), state)
            case kind:
                if kind not in VALUES:
                    self.mark_opaque()
                self.substitute(node, state)

    def _assign(self, node: "Node", state: State) -> None:
        """Follow an assignment that affects later commands, which must not hide what they depend on."""
        self._budget.commands += 1
        name, value = self._expander.assignment(node, state)
        self.assign(name, value, state)
        if is_dangerous(name) and holds_command(name, value):
            self.run_text(value, state.fork())

    def assign(self, name: str, value: str, state: State) -> None:
        """Set a variable of the shell; one that changes the meaning of commands makes the script unknown."""
        state.assign(name, value)
        if is_dangerous(name):
            self.poison()

    def _define(self, node: "Node", state: State) -> None:
        """Analyze a function's body as if it ran; which commands the name stands for is unknown from here on."""
        _, *rest = node.named_children
        self.poison()
        self._plumbing.open(self._reader.redirections([one for one in rest if one.type in REDIRECTS], state), state)
        for body in rest:
            if body.type not in REDIRECTS:
                fork = state.fork()
                self.statement(body, fork)
                state.variables.update(fork.variables)
                state.merge_variables(before={})
                state.folders = union(state.folders, fork.folders)

    def _command(self, node: "Node", state: State) -> None:
        redirects, statement = self._plumbing.detach(node)
        source = self._reader.shown(node)
        if node_text(node.children[0]) in _RESERVED:
            self._doubt()
        if source == "}":  # closes a block whose start the grammar parsed as words
            self._plumbing.open(self._reader.redirections(redirects, state), state)
            return
        member = FoundMember(texts=(source,))
        outer, self.findings.command = self.findings.command, source
        self._members.append(member)
        self.findings.members.append(member)
        redirections = self._reader.redirections(redirects, state)
        command = self._reader.read(node, state, redirections)
        member.texts = command.texts(self._reader.shown_statement(statement, command))
        member.words = command.plain_words()
        for block in command.blocks:
            self.statement(block, state.fork())
        self._plumbing.open(redirections, state)
        if redirections.stdin is None:
            redirections.stdin = self._plumbing.upstream
        self._members.pop()
        self._run(member, command, state, is_listed=True)
        self.findings.command = outer
        self._plumbing.follow(redirections, state)

    def _run(self, member: FoundMember, command: SimpleCommand, state: State, *, is_listed: bool = False) -> None:
        self._budget.commands += 1
        self._budget.words += len(command.words)
        if not is_listed:
            self.findings.members.append(member)
        if self._budget.is_spent:
            self.poison()
            return
        state.after_failure, state.cannot_fail = state.folders, True
        outer, self.findings.command = self.findings.command, member.texts[0]
        self._members.append(member)
        invoke(command, member, state, self)
        self._members.pop()
        self.findings.command = outer
