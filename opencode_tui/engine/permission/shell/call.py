"""One simple command as the analyzers see it, and the scan as they use it."""

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.permission.shell.findings import Findings, Mode
from opencode_tui.engine.permission.shell.needs import NETWORK_KINDS, Kind, find_needs, need_found
from opencode_tui.engine.permission.shell.state import State, moved
from opencode_tui.engine.permission.shell.words import Word, literal

if TYPE_CHECKING:
    from tree_sitter import Node


class Runner(Protocol):
    """The scan as the analyzers of a single command and of its words see it."""

    findings: Findings

    def run_words(self, words: list[Word], state: State, *, stdin: str | None = None) -> None:
        """Analyze a command that another command starts."""
        ...

    def run_text(self, text: str, state: State) -> None:
        """Analyze a script that a command starts."""
        ...

    def substitute(self, node: "Node", state: State) -> None:
        """Analyze every command inside a node."""
        ...

    def calculate(self, node: "Node", state: State) -> None:
        """Analyze an arithmetic expression, which bash evaluates through the values of its variables."""
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

    def mark_project(self) -> None:
        """Record that the current command runs what files of the project say."""
        ...

    def mark_steered(self) -> None:
        """Record that a word of the current command can make it another one than its name says, or names any file."""
        ...

    def poison(self, *, renames: bool = True) -> None:
        """Record that no command of the script is known from here on; without `renames` only its paths are not."""
        ...


class Call(Struct, frozen=True):
    """A command: its program, its words after expansion, its folder, and the text on standard input if known.

    `is_fed`: standard input is a file, or what another command prints.
    """

    program: Word
    arguments: list[Word]
    state: State
    runner: Runner
    stdin: str | None = None
    is_fed: bool = False

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return self.program.text.rsplit("/", 1)[-1]

    def use(self, word: Word, mode: Mode, *, follows: bool = True, is_sure: bool = True) -> None:
        """Record that the command uses a path; without `is_sure` the word may be something else.

        A path that is not fully known can be any file, so that no approval of the command's kind covers it.
        """
        if not self.runner.findings.path(word, mode, self.state.folders, follows=follows):
            self.steered() if is_sure else self.opaque()
            if mode != "w" and not word.known:
                self.use_listed()

    def use_listed(self) -> None:
        """Record that the command reads files whose names another one has printed."""
        if self.runner.findings.listed is not None:
            self.tree(literal("."), self.runner.findings.listed)

    def use_text(self, text: str, mode: Mode) -> None:
        """Record the use of a path that a text names."""
        self.use(literal(text), mode)

    def guess(self, word: Word) -> None:
        """Record that the command names a path whose use is unknown: rules for changing files do not hold for it."""
        self.runner.findings.is_guess = True
        self.use(word, "rw", is_sure=False)
        self.runner.findings.is_guess = False

    def tree(self, word: Word, pattern: str = "*", *, shows_hidden: bool = True) -> None:
        """Record that the command reads everything under a folder whose name matches; without hidden files, no secrets."""
        self.runner.findings.tree(word, self.state.folders, pattern, shows_hidden=shows_hidden)

    def links(self, word: Word, mode: Mode) -> None:
        """Record where the links below a folder lead, because the command follows them."""
        if not self.runner.findings.links(word, mode, self.state.folders):
            self.steered()

    def opaque(self) -> None:
        """Record that the effects of the command can't be determined in advance."""
        self.runner.mark_opaque()

    def runs_project(self) -> None:
        """Record that the command runs what files of the project say: its tests, plugins, settings."""
        self.runner.mark_project()

    def steered(self) -> None:
        """Record that a word can make the command another one, or names any file: no approval of its kind covers it."""
        self.runner.mark_steered()

    def network(self) -> None:
        """Record that the command accesses the network."""
        self.runner.findings.network = True

    def need(self, kind: Kind, words: str) -> None:
        """Record why the command needs the outside, or what it discards, in a sentence."""
        self.runner.findings.need(kind, words)

    def found(self, finding: str, *, path: str = "") -> None:
        """Record what the table says of a finding of the command's analyzer."""
        need = need_found(finding)
        self.need(need.kind, need.words.replace("{path}", path))

    def needs(self, name: str, arguments: list[Word]) -> None:
        """Record what the table says of a program with these arguments."""
        if not (needs := find_needs(name)):
            return
        texts = [word.text for word in arguments]
        for need in needs:
            if need.applies(texts):
                self.need(need.kind, need.words.replace("{program}", name))
                if need.kind in NETWORK_KINDS:
                    self.network()

    def run_words(self, words: list[Word]) -> None:
        """Analyze a command that this one starts."""
        if words:
            self.runner.run_words(words, self.state, stdin=self.stdin)

    def run_text(self, text: str) -> None:
        """Analyze a script that this command runs in a subshell."""
        self.runner.run_text(text, self.state.fork())

    def inside(self, folder: Word) -> "Call":
        """Return the same call in another folder."""
        state = self.state.fork()
        known = folder.known and not folder.glob
        state.folders = moved(state.folders, folder.text) if known else None
        return replace(self, state=state)

    def texts(self) -> list[str]:
        """Return the arguments as texts."""
        return [word.text for word in self.arguments]
