"""Follows a script statement by statement and hands each simple command to `invocation`.

Nothing is skipped because a condition looks false: every branch is followed, then folders and variables are joined. Depth,
commands, words and text are limited; a script that exceeds a limit makes every command of it opaque.
"""

import re
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opencode_tui.engine.permission.shell.expansion import Expander, Redirections, SimpleCommand, node_text
from opencode_tui.engine.permission.shell.findings import Findings, FoundMember
from opencode_tui.engine.permission.shell.invocation import invoke
from opencode_tui.engine.permission.shell.state import Budget, State, assigned_names, holds_command, is_dangerous, union
from opencode_tui.engine.permission.shell.syntax import (
    BLOCKS,
    COMMANDS,
    EXPANSIONS,
    IGNORED,
    REDIRECTS,
    SUBSTITUTIONS,
    VALUES,
    Script,
    embedded_programs,
    from_source,
    parse,
)
from opencode_tui.engine.permission.shell.words import UNKNOWN, Word, listed, matched, names

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tree_sitter import Node

VALUE_LIMIT = 32
"""Maximum number of values of a loop variable for which the body is followed one by one; with more, the value is unknown."""

_RESERVED = names("do done then fi else elif esac in")
_RESERVED_STARTS = tuple(_RESERVED)
_BODIES = names("do_group compound_statement")
_CLAUSES = names("elif_clause else_clause case_item")
_CHAINS = names("list pipeline negated_command")
_EXIT = re.compile(rb"exit(?: +\d+)?")
_EVALUATED = re.compile(r"(?<!\\)\$(?:\(\(|\[|\{(?!\w+\}))")
"""Expansions in a here-document in which bash evaluates text."""

_PRINTS = (b"echo ", b"printf ")
_PRINTED_BREAK = re.compile(r"\\(?:n|t|0{1,3}|x00?)")
"""What `printf` prints as a character that ends a word for the programs that read a list."""

_FILE_TEST = re.compile(r"-[abcdefghkprstuwxGLNOS]")
_NUMBER = re.compile(r"-?\d+")
_KEEPS_FOLDERS = listed("keeps folders")
_COMPARES = re.compile(rb"-(?:eq|ne|lt|le|gt|ge)\b|-v\b")
_INTERESTING = re.compile(rb"[A-Za-z_$`]")


class Walker:
    """One scan. Implements `Runner` for the analyzers of commands and of words.

    `_upstream` is the text that the current command reads, None if unknown; `_is_fed`: it reads a file or another command's output,
    which is not known. `_redirects` are redirections that the grammar
    attaches to a chain or a pipeline, by the node of the last command, with the statement of this command only. `_certain` are the
    nodes of commands of the outermost script that run whatever others do.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.certain = True
        self._budget = Budget()
        self._expander = Expander(self, None)
        self._upstream: str | None = None
        self._is_fed = False
        self._redirects: dict[int, tuple[list[Node], Node | None]] = {}
        self._members: list[FoundMember] = []
        self._scripts = 0
        self._certain: set[int] = set()

    def mark_opaque(self) -> None:
        """Record that the current command, or outside of commands the script, is not fully known."""
        self.findings.opaque = True
        if self._members:
            self._members[-1].opaque = True
        else:
            self.findings.poisoned = True

    def _end_early(self) -> None:
        """Record that a limit ended the scan: no command is known, and there may be others."""
        self.findings.complete = False
        self.poison()

    def mark_project(self) -> None:
        """Record that the current command runs what files of the project say."""
        for member in self._members[-1:]:
            member.runs_project = True

    def mark_steered(self) -> None:
        """Record that a word of the current command can make it another one than its name says, or names any file."""
        self.mark_opaque()
        if self._members:
            self._members[-1].steered = True
        else:
            self.findings.renamed = True

    def poison(self, *, renames: bool = True) -> None:
        """Record that no command of the script is known from here on; without `renames` only its paths are not."""
        self.findings.opaque = self.findings.poisoned = True
        self.findings.renamed = self.findings.renamed or renames

    def assign(self, name: str, value: str, state: State) -> None:
        """Set a variable of the shell; one that changes the meaning of commands makes the script unknown."""
        state.assign(name, value)
        if is_dangerous(name):
            self.poison()

    def run_text(self, text: str, state: State) -> None:
        """Analyze a script; its commands become members of the scan."""
        is_possible = not self._scripts or self._budget.allows(text)
        script = parse(text) if is_possible and UNKNOWN not in text else None
        if script is None:
            self.findings.complete = self.findings.complete and UNKNOWN in text
            self.findings.unnamed = True
            self.mark_steered()
            return
        with self._inside(script):
            if not script.certain:
                self._doubt()
            self.sequence(script.root, state)

    @contextmanager
    def _inside(self, script: Script) -> "Generator[None]":
        outer = self._expander, self._upstream
        self._expander, self._upstream = Expander(self, script), None
        self._scripts += 1
        self._budget.depth += 1
        try:
            yield
        finally:
            self._budget.depth -= 1
            self._scripts -= 1
            self._expander, self._upstream = outer

    def _doubt(self) -> None:
        """Record that bash may not accept the script; nothing else is recorded for the outermost one."""
        self.mark_opaque()
        self.certain = self.certain and self._scripts > 1

    def run_words(self, words: list[Word], state: State, *, stdin: str | None = None) -> None:
        """Analyze a command that another command starts."""
        if self._budget.is_deep:
            self._end_early()
            return
        self._budget.depth += 1
        command = SimpleCommand(" ".join([word.text for word in words]), words=words)
        command.redirections.stdin = stdin
        command.redirections.is_fed = self._is_fed
        member = FoundMember(
            texts=command.texts(command.source), words=command.plain_words(), readings=command.readings()
        )
        self.findings.members.append(member)
        self._run(member, command, state)
        self._budget.depth -= 1

    # Words and expressions.

    def substitute(self, node: "Node", state: State) -> None:
        """Analyze every command inside a node, each in its own subshell.

        The grammar leaves some commands unparsed: as the pattern of an expansion, in backticks, between single quotes that
        bash ignores within arithmetic and double quotes.
        """
        waiting = [(node, False)]
        while waiting:
            current, is_expanded = waiting.pop()
            if current.type not in SUBSTITUTIONS:
                children = current.named_children
                if current.type in EXPANSIONS and not is_expanded:
                    is_expanded = True
                    self._evaluate(_unparsed(current), state, with_processes=current.type == "expansion")
                elif not (children or is_expanded or current.type == "raw_string"):
                    self.evaluate(node_text(current), state)
                waiting.extend((child, is_expanded) for child in reversed(children))
            elif self._budget.is_deep:
                self._end_early()
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

    def evaluate(self, text: str, state: State) -> None:
        """Analyze text that bash evaluates as arithmetic or as a subscript: substitutions run even inside single quotes."""
        self._evaluate(text, state)

    def _evaluate(self, text: str, state: State, *, with_processes: bool = False) -> None:
        for program in embedded_programs(text, with_processes=with_processes):
            self.mark_opaque()
            self.run_text(program, state.fork())

    def calculate(self, node: "Node", state: State) -> None:
        """Analyze an arithmetic expression, also its variables, whose values bash evaluates, too."""
        text = node.text or b""
        if not _INTERESTING.search(text):
            return
        self.substitute(node, state)
        if node.type != "test_command":
            for name in filter(is_dangerous, assigned_names(from_source(text))):
                self.assign(name, UNKNOWN, state)
        evaluates = node.type != "test_command" or _COMPARES.search(text) is not None
        for current in _parts(node):
            if current.type == "variable_name":
                value = state.variable(node_text(current))
                self.evaluate(value, state)
                if evaluates and not _NUMBER.fullmatch(value) and not state.is_number(node_text(current)):
                    self.mark_steered()

    def _test(self, node: "Node", state: State) -> None:
        """Record the commands that `[[ … ]]` or `(( … ))` runs and the files that it tests."""
        self.calculate(node, state)
        for current in _parts(node):
            if current.type in ("raw_string", "ansi_c_string"):
                self.evaluate(node_text(current).strip("'"), state)
            elif current.type == "unary_expression" and _FILE_TEST.match(node_text(current)):
                for word in self._expander.words(current.named_children[-1], state):
                    self.findings.path(word, "r", state.folders)

    # Statements.

    def sequence(self, node: "Node", state: State) -> None:
        """Follow consecutive statements, as between `;`; one that ends in `&` runs in a subshell."""
        children = node.children
        for index, child in enumerate(children):
            if not child.is_named:
                continue
            if self._budget.is_spent:
                self._end_early()
                return
            is_background = index + 1 < len(children) and children[index + 1].type == "&"
            if self._scripts == 1 and node.parent is None and not is_background:
                self._certain.add(_first_command(child).id)
            self.statement(child, state.fork() if is_background else state)
            state.starts_jobs = state.starts_jobs or is_background
            state.merge_outcomes()

    def statement(self, node: "Node", state: State) -> None:
        """Follow one statement."""
        kind = node.type
        if kind in IGNORED:
            return
        if self._budget.is_over:
            self._end_early()
        elif kind in COMMANDS:
            self._command(node, state)
        else:
            self._budget.depth += 1
            state.after_failure, state.cannot_fail = state.folders, True
            self._dispatch(node, kind, state)
            self._budget.depth -= 1

    def _dispatch(self, node: "Node", kind: str, state: State) -> None:
        match kind:
            case "redirected_statement":
                self._redirected(node, state)
            case "list":
                self._chain(node, state)
            case "pipeline":
                self._pipeline(node, state)
            case "variable_assignment":
                self._assign(node, state)
            case "for_statement":
                self._for(node, state)
            case "while_statement" | "c_style_for_statement":
                self._loop(node, state)
            case "if_statement" | "case_statement":
                self._branches(node, state)
            case "function_definition":
                self._define(node, state)
            case "subshell":
                self.sequence(node, state.fork())
            case "test_command":
                self._test(node, state)
            case "compound_statement" if node.children and node.children[0].type == "((":
                self._test(node, state)
            case _ if kind in BLOCKS:
                self.sequence(node, state)
            case _ if kind in REDIRECTS:
                self._open(self._expander.redirections([node], state), state)
            case _:
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

    def _define(self, node: "Node", state: State) -> None:
        """Analyze a function's body as if it ran; which commands the name stands for is unknown from here on."""
        self.poison()
        rest = node.named_children[1:]
        self._open(self._expander.redirections([one for one in rest if one.type in REDIRECTS], state), state)
        for body in rest:
            if body.type not in REDIRECTS:
                fork = state.fork()
                self.statement(body, fork)
                state.variables.update(fork.variables)
                state.merge_variables(before={})
                state.folders = union(state.folders, fork.folders)

    def _chain(self, node: "Node", state: State) -> None:
        """Follow `a && b || c`: each next command starts in the folder after success, or after failure, of the previous one."""
        first, chain = _flatten(node)
        if first.type == "list":
            self.sequence(first, state)
        else:
            self.statement(first, state)
        succeeded, failed, cannot_fail = state.folders, state.after_failure, state.cannot_fail
        before = dict(state.variables)
        for operator, member in chain:
            is_and = operator == "&&"
            if not is_and:
                state.merge_variables(before)
            state.folders = state.after_failure = succeeded if is_and else failed
            state.cannot_fail = True
            self.statement(member, state)
            if not is_and and member.type == "command" and _EXIT.fullmatch(member.text or b""):
                cannot_fail = True  # nothing follows a failure
                continue
            cannot_fail = cannot_fail and state.cannot_fail
            if is_and:
                succeeded, failed = state.folders, union(failed, state.after_failure)
            else:
                succeeded, failed = union(succeeded, state.folders), state.after_failure
        state.merge_variables(before)
        state.folders, state.after_failure, state.cannot_fail = succeeded, failed, cannot_fail

    def _branches(self, node: "Node", state: State) -> None:
        """Follow `if` and `case`: each branch may or may not run."""
        start, before = state.folders, dict(state.variables)
        for child in node.named_children:
            if child.type in _CLAUSES:
                state.folders = union(start, state.folders)
                state.merge_variables(before)
            self.statement(child, state)
            state.merge_outcomes()
        state.merge_variables(before)
        state.folders = union(start, state.folders)
        state.merge_outcomes()

    def _loop(self, node: "Node", state: State) -> None:
        """Follow `while`, `until`, `for ((…))`; a body that changes folder or variables is followed again with these unknown."""
        start, before = state.folders, dict(state.variables)
        self.sequence(node, state)
        if state.merge_variables(before) or state.folders != start:
            state.folders = start if state.folders == start else None
            self.sequence(node, state)
            state.merge_variables(before)
        state.folders = union(start, state.folders)
        state.merge_outcomes()

    def _for(self, node: "Node", state: State) -> None:
        """Follow `for` and `select` over words: the body once for each value."""
        named = node.named_children
        name = next((node_text(child) for child in named if child.type == "variable_name"), "")
        bodies = [child for child in named if child.type in _BODIES]
        heads = [child for child in named[1:] if child.type not in _BODIES]
        values = [matched(word) for child in heads for word in self._expander.words(child, state)]
        if not 0 < len(values) <= VALUE_LIMIT or not any(child.type == "in" for child in node.children):
            values = [UNKNOWN]
        start, before = state.folders, dict(state.variables)
        for value in values:
            self.assign(name, value, state)
            self._repeat(bodies, state)
            state.variables.pop(name, None)
        if state.merge_variables(before) or state.folders != start:
            state.folders = start if state.folders == start else None
            self.assign(name, values[0] if len(values) == 1 else UNKNOWN, state)
            self._repeat(bodies, state)
            state.merge_variables(before)
        state.assign(name, UNKNOWN)
        state.folders = union(start, state.folders)
        state.merge_outcomes()

    def _repeat(self, bodies: "Sequence[Node]", state: State) -> None:
        for body in bodies:
            self.statement(body, state)
            state.merge_outcomes()

    # Pipes and redirections.

    def _pipeline(self, node: "Node", state: State) -> None:
        """Follow a pipeline: each member runs in a subshell; literal printed text is known to the next one."""
        given, text, is_fed = self._upstream, None, self._is_fed
        members = [child for child in node.named_children if child.type not in IGNORED]
        for child in members:
            self._upstream = given if given is not None and child is members[-1] else text
            self._is_fed = is_fed or child is not members[0]
            fork = state.fork()
            fork.passing = child.type == "command"
            self.statement(child, fork)
            if self._budget.is_spent or child is members[-1]:
                break
            text = self._printed(child, state)
        self._upstream, self._is_fed = given, is_fed
        state.merge_outcomes()

    def _printed(self, node: "Node", state: State) -> str | None:
        """Return the text that a plain echo or printf passes to the next member of a pipeline."""
        source = node.text or b""
        if node.type != "command" or not source.startswith(_PRINTS) or b"$(" in source:
            return None
        words = [word.text for child in node.named_children[1:] for word in self._expander.words(child, state)]
        text = " ".join([word for word in words if not word.startswith("-")])
        return _PRINTED_BREAK.sub("\n", text) if source.startswith(b"printf ") else text

    def _redirected(self, node: "Node", state: State) -> None:
        """Follow a statement with redirections: those that the grammar attaches to a chain belong to its last command."""
        redirects = [child for child in node.named_children if child.type in REDIRECTS]
        bodies = [child for child in node.named_children if child.type not in REDIRECTS]
        last = _last_command(bodies[-1]) if bodies else None
        if last is not None:
            self._redirects[last.id] = redirects, node if last in bodies else None
            self._statements(bodies, state)
            return
        redirections = self._expander.redirections(redirects, state)
        outer, is_fed = self._upstream, self._is_fed
        self._upstream = redirections.stdin if redirections.stdin is not None else outer
        self._is_fed = is_fed or redirections.is_fed
        self._statements(bodies, state)
        self._upstream, self._is_fed = outer, is_fed
        self._open(redirections, state)
        if redirections.arguments:
            self.mark_opaque()
        self._follow(redirections, state)

    def _statements(self, bodies: "Sequence[Node]", state: State) -> None:
        for child in bodies:
            self.statement(child, state)

    def _follow(self, redirections: Redirections, state: State) -> None:
        """Follow the commands after a here-document on its line."""
        outer = self._upstream
        for follower in redirections.statements:
            self._upstream = redirections.stdin
            self.statement(follower, state.fork())
        self._upstream = outer

    def _open(self, redirections: Redirections, state: State) -> None:
        """Record the files that redirections open, and analyze what they run."""
        for word, mode in redirections.opened:
            if not self.findings.path(word, mode, state.folders):
                self.mark_steered()
        for text in redirections.programs:
            if _EVALUATED.search(text):
                self.mark_opaque()
            for program in embedded_programs(text):
                if self._budget.is_spent:
                    self._end_early()
                    return
                self.run_text(program, state.fork())

    # Commands.

    def _command(self, node: "Node", state: State) -> None:
        redirects, statement = self._redirects.pop(node.id, ([], node))
        source = self._expander.shown(node)
        if source.startswith(_RESERVED_STARTS) and node_text(node.children[0]) in _RESERVED:
            self._doubt()
        if source == "}":  # closes a block whose start the grammar parsed as words
            self._open(self._expander.redirections(redirects, state), state)
            return
        member = FoundMember(texts=(source,))
        outer, self.findings.command = self.findings.command, source
        self._members.append(member)
        self.findings.members.append(member)
        redirections = self._expander.redirections(redirects, state)
        command = self._expander.command(node, source, state, redirections)
        member.texts = command.texts(self._expander.shown_statement(statement, command))
        member.words = command.plain_words()
        member.readings = command.readings()
        for block in command.blocks:
            self.statement(block, state.fork())
        self._open(redirections, state)
        if redirections.stdin is None:
            redirections.stdin = self._upstream
        is_fed, self._is_fed = self._is_fed, redirections.is_fed or self._is_fed
        redirections.is_fed = self._is_fed
        self._members.pop()
        self._run(member, command, state, always=node.id in self._certain)
        self._is_fed = is_fed
        self.findings.command = outer
        self._follow(redirections, state)

    def _run(self, member: FoundMember, command: SimpleCommand, state: State, *, always: bool = False) -> None:
        self._budget.commands += 1
        self._budget.words += len(command.words)
        if self._budget.is_spent:
            self._end_early()
            return
        state.after_failure, state.cannot_fail = state.folders, True
        outer, self.findings.command = self.findings.command, member.texts[0]
        self._members.append(member)
        self.findings.always_runs = always
        if command.words and not (command.words[0].known and command.words[0].text in _KEEPS_FOLDERS):
            self.findings.keeps_folders = False
        invoke(command, member, state, self)
        self.findings.always_runs = False
        self._members.pop()
        self.findings.command = outer


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


def _first_command(node: "Node") -> "Node":
    """Return the first member of a chain, which runs whatever the others do; the node itself where it is no chain."""
    while node.type == "list" and node.named_children:
        node = node.named_children[0]
    return node


def _last_command(node: "Node") -> "Node | None":
    """Return the command of a redirection that the grammar attaches to a chain or a pipeline: the last one."""
    while node.type in _CHAINS and node.named_children:
        node = node.named_children[-1]
    return node if node.type in COMMANDS else None


def _unparsed(node: "Node") -> str:
    """Return the inner text of an expansion with blanks where the grammar has found substitutions."""
    text = bytearray(node.text or b"")
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type in SUBSTITUTIONS:
            start, end = current.start_byte - node.start_byte, current.end_byte - node.start_byte
            text[start:end] = b" " * (end - start)
        else:
            waiting.extend(current.named_children)
    return from_source(bytes(text[2:]))


def _parts(node: "Node") -> "Iterator[Node]":
    """Yield every node of an expression outside of substitutions, which run in subshells."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type not in SUBSTITUTIONS:
            yield current
            waiting.extend(current.named_children)
