"""The screen amid texts that steer a terminal: every source of text that it has speaks them, and all of it is looked at.

with hostile_world(folder, environ, Texts(hostile_strings(500), few=5)) as world:
    world.show("answers")               # see tests/support/hostile/sources.py
    assert world.leaks() == [] and world.missing() == []
"""

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.hostile.settings import write_project, write_settings
from tests.support.hostile.strings import foreign, steering
from tests.support.hostile.terminal import HostileTerminal
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.command import Terminal
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo

SIZE = (150, 50)
PAGES = 80
"""Pages that are looked at of a long conversation."""
ENDINGS = ("Done", "Stopped", "The turn stopped", "Interrupted  ")
"""How a turn ended; the line above the prompt is left out when the turn was over before the terminal heard that it began."""
OFFERED, ROWS = 48, 6
"""The most names that completion suggests, and how many of them are visible at once."""

_MARK = re.compile(r"w(\d+)")


@dataclass(frozen=True, slots=True)
class Texts:
    """The hostile strings, and how many of them are taken where each needs a turn of its own."""

    strings: Sequence[str]
    few: int

    @property
    def sparse(self) -> Sequence[str]:
        """Those few, from everywhere among them."""
        return self.strings[:: max(1, len(self.strings) // self.few)][: self.few]


@dataclass
class HostileWorld:
    """An open screen, its model, and the strings that both receive."""

    terminal: HostileTerminal
    server: ModelServer
    folder: Path
    texts: Texts
    environ: Mapping[str, str]
    _wanted: int = 0
    """Requests that the model has got when the turn is at its last answer."""

    @property
    def strings(self) -> Sequence[str]:
        """All of them."""
        return self.texts.strings

    def take(self) -> bytes:
        """Return what was written to the terminal since the last time."""
        self.terminal.calm()
        raw = bytes(self.terminal.raw)
        self.terminal.raw.clear()
        return raw

    def command(self, text: str) -> None:
        """Write into the empty prompt and send it; the list of completions is closed first."""
        self.terminal.type(text)
        self.terminal.until(lambda shown: f"▎ {text}" in shown, f"{text!r} was not written")
        if text.startswith("/"):
            self.terminal.press("escape")
        self.terminal.press("enter")

    def open_page(self, command: str) -> None:
        """Open a page of the screen's own, which escape closes."""
        self.command(command)
        self.terminal.sees("esc back")
        self.terminal.calm()

    def complete(self, letters: str) -> None:
        """Begin to write a name and look at the suggestions; the prompt is empty again afterwards."""
        self.terminal.type(letters)
        self.terminal.until(lambda shown: f"▎ {letters}" in shown, f"{letters!r} was not written")
        self.terminal.calm()
        for _ in range(OFFERED // ROWS):
            self.terminal.burst("down", ROWS)
        self.terminal.press("escape", "ctrl+c")

    def choose(self, words: str) -> None:
        """Choose from the list of all commands."""
        self.terminal.press("ctrl+p")
        self.terminal.until(lambda shown: "What do you want to do?" in shown, "the list was not opened")
        self.terminal.type(words)
        self.terminal.until(lambda shown: f"▎  {words}" in shown, f"{words!r} was not written")
        self.terminal.press("enter")

    def choose_model(self, name: str) -> None:
        """Go on with the model of that name."""
        self.command("/models")
        self.terminal.type(name)
        self.terminal.until(lambda shown: f"▎  {name}" in shown, f"{name!r} was not written")
        self.terminal.press("enter")

    def say(self, *answers: Answer, is_new: bool = True) -> None:
        """Send a prompt that these answers answer."""
        if is_new:
            self.command("/new")
        self.server.script_anew(*answers)
        self._wanted = len(self.server.requests) + len(answers)
        self.command("go on")

    def ended(self) -> None:
        """Wait until the turn is over: all was asked for, and the line above the prompt says how it ended."""
        self.terminal.until(lambda _: len(self.server.requests) >= self._wanted, "the model was not asked")
        self.terminal.calm()
        self.terminal.until(lambda text: any(word in text for word in ENDINGS), "the turn did not end")
        self.terminal.calm()

    def turn(self, *answers: Answer, is_new: bool = True) -> None:
        """Have a turn to its end and read all of it."""
        self.say(*answers, is_new=is_new)
        self.ended()
        self.read_through()

    def read_through(self) -> None:
        """Look at the whole conversation, from its end to its beginning."""
        self.page("pageup")
        self.terminal.press("end")

    def scroll_panel(self) -> None:
        """Look at all of a panel, by the wheel: three rows a notch."""
        for _ in range(PAGES):
            before = self.terminal.shown()
            self.terminal.wheel(6)
            if not self.terminal.differs(before):
                return

    def page(self, key: str, *, at_once: int = 1) -> None:
        """Press a key until it changes nothing any more."""
        for _ in range(PAGES):
            before = self.terminal.shown()
            self.terminal.burst(key, at_once)
            if not self.terminal.differs(before):
                return

    def leave(self) -> bytes:
        """Leave the screen normally; return what the terminal shows afterwards."""
        self.terminal.press("ctrl+x", "q")
        assert self.terminal.ends() == 0
        return self.take()


def leaks(written: bytes) -> Sequence[str]:
    """Return what of it is neither a letter nor the driver's own."""
    return foreign(written, size=SIZE)


def steers(written: bytes) -> Sequence[str]:
    """Return what of it would steer a terminal; for lines outside the screen, where cells do not count."""
    return [one for one in leaks(written) if steering(one)]


def marks(texts: Iterable[str]) -> set[int]:
    """Return the numbers of the strings in these texts or rows of the screen; those of the first few have none."""
    return {int(number) for text in texts for number in _MARK.findall(text)}


@contextmanager
def hostile_world(
    folder: Path, environ: Mapping[str, str], texts: Texts, *, is_attached: bool = False
) -> Generator[HostileWorld]:
    """Open the screen in a repository below `folder` whose name, settings, branch and themes are hostile too.

    With `is_attached` the sessions are those of a server, a process of its own.
    """
    name = "".join(texts.strings[3:9]).replace("/", "_").replace("\0", "")
    repo = make_repo(folder / name)
    repo.commit("begin")
    (repo.path / ".git" / "HEAD").write_text(f"ref: refs/heads/{''.join(texts.strings[:12])}", "utf-8")
    write_project(repo.path, texts.strings)
    with ModelServer() as server, ExitStack() as stack:
        write_settings(Path(environ["XDG_CONFIG_HOME"]) / "opencode-tui", texts.strings, server.base_url)
        variables = {**CommandLine(repo.path, environ).variables(), "OPENCODE_SERVER_PASSWORD": "hostile"}
        arguments = ["-m", "opencode_tui"]
        if is_attached:
            arguments += ["attach", stack.enter_context(_serving(repo.path, variables))]
        terminal = HostileTerminal(arguments, folder=repo.path, environ=variables, size=SIZE)
        stack.enter_context(terminal)
        terminal.sees("build")
        yield HostileWorld(terminal, server, repo.path, texts, variables)


@contextmanager
def _serving(folder: Path, environ: Mapping[str, str]) -> Generator[str]:
    """Serve a folder; yields the address."""
    with Terminal(["-m", "opencode_tui", "serve", "--port", "0"], folder=folder, environ=environ) as serving:
        address = re.search(r"http://[\w.]+:\d+", serving.expect("listening on http://") + serving.expect("\n"))
        assert address is not None, serving.text
        yield address.group()
