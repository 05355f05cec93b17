"""The screen amid texts that steer a terminal: every source of text that it has speaks them, and all of it is looked at.

with hostile_world(folder, environ, hostile_strings(500)) as world:
    for name, act in world.sources().items():
        act()
    assert world.foreign() == []
"""

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.cli import CommandLine
from tests.support.hostile import foreign
from tests.support.model_script import Answer, Call, failure
from tests.support.model_server import ModelServer, provider_config
from tests.support.repo import make_repo
from tests.support.screen_terminal import ScreenTerminal

SIZE = (150, 50)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
PAGES = 14
"""Pages that are looked at of a long conversation."""


@dataclass
class HostileWorld:
    """An open screen, the model behind it, and the strings that both meet."""

    terminal: ScreenTerminal
    server: ModelServer
    folder: Path
    strings: Sequence[str]

    def foreign(self) -> Sequence[str]:
        """What reached the terminal that neither a letter nor the driver's own is."""
        self.terminal.rest()
        return foreign(bytes(self.terminal.raw), size=SIZE)

    def sources(self) -> Mapping[str, Callable[[], None]]:
        """By name, what has the screen show the strings."""
        return {
            "answers": self.answers,
            "code": self.code,
            "thoughts": self.thoughts,
            "tools": self.tools,
            "outputs": self.outputs,
            "changes": self.changes,
            "files": self.files,
            "todos": self.todos,
            "titles": self.titles,
            "permissions": self.permissions,
            "questions": self.questions,
            "tasks": self.tasks,
            "failures": self.failures,
            "retries": self.retries,
            "pastes": self.pastes,
            "shell": self.shell,
            "lists": self.lists,
            "pages": self.pages,
        }

    def answers(self) -> None:
        """Prose, headings, lists, links, quotes, a table."""
        forms = [
            "{}",
            "# {}",
            "- {}",
            "[{}](http://{})",
            "> {}",
            "`{}`",
            "**{}**",
            "| {} | b |\n|---|---|\n| {} | d |",
            "![{}]({})",
        ]
        lines = [forms[at % len(forms)].replace("{}", one) for at, one in enumerate(self.strings)]
        self._turn(Answer(text="\n\n".join(lines), delta_size=7))

    def code(self) -> None:
        """Fenced code, in languages of their own."""
        blocks = [f"```{one.split()[0] if one.split() else 'x'}\n{one}\n```" for one in self.strings[::10]]
        self._turn(Answer(text="```python\n" + "\n".join(self.strings) + "\n```\n\n" + "\n\n".join(blocks)))

    def thoughts(self) -> None:
        """Reasoning, opened."""
        self._turn(Answer(reasoning="\n".join(self.strings), text="thought"))
        self._command("/thinking")
        self._read_through()
        self._command("/thinking")

    def tools(self) -> None:
        """Names of tools that do not exist, arguments of those that do, their errors."""
        unknown = [Call(one, {one: one}) for one in self.strings[::4]]
        known = [Call("read", {"filePath": one}) for one in self.strings[1::4]]
        known += [Call("grep", {"pattern": "[" + one, "path": one}) for one in self.strings[2::4]]
        known += [Call("webfetch", {"url": "http://127.0.0.1:1/" + one}) for one in self.strings[3::4]]
        broken = [Call("write", '{"filePath": ' + json.dumps(one) + ", ") for one in self.strings[::20]]
        for calls in (unknown, known, broken):
            for at in range(0, len(calls), 40):
                self._turn(Answer(calls=tuple(calls[at : at + 40])), Answer(text="tried"))

    def outputs(self) -> None:
        """What commands print and what is read, folded and opened."""
        (self.folder / "hostile.txt").write_text("\n".join(self.strings), "utf-8", "surrogateescape")
        calls = (
            Call("bash", {"command": "cat hostile.txt", "description": self.strings[0]}),
            Call("bash", {"command": "cat hostile.txt >&2; exit 3", "description": "d"}),
            Call("read", {"filePath": str(self.folder / "hostile.txt")}),
            Call("grep", {"pattern": "w", "path": str(self.folder)}),
        )
        self._turn(Answer(calls=calls), Answer(text="printed"))
        self._choose("Open or fold finished tools")
        self._read_through()
        self.terminal.press("ctrl+up", "up", "up", "enter")
        self.terminal.settle(0.5)
        self._page("pagedown", PAGES)
        self.terminal.press("escape", "escape")

    def changes(self) -> None:
        """Diffs in the conversation, beside each other, in the preview of an undo."""
        path = str(self.folder / "changed.txt")
        self._turn(
            Answer(calls=(Call("write", {"filePath": path, "content": "\n".join(self.strings)}),)), Answer(text="wrote")
        )
        new = "\n".join(reversed(self.strings))
        self._turn(
            Answer(calls=(Call("write", {"filePath": path, "content": new}),)), Answer(text="wrote"), is_new=False
        )
        for command in ("/diff", "/timeline", "/context"):
            self._command(command)
            self._page("pagedown", PAGES)
            self.terminal.press("escape")
        self._command("/undo")
        self.terminal.answer("down", "escape")

    def files(self) -> None:
        """Names of files: listed, found, completed in the prompt, changed."""
        place = self.folder / "names"
        (place / "bytes").mkdir(parents=True)
        for one in self.strings:
            (place / one.replace("/", "_").replace("\0", "")[:80]).write_text("x\n", "utf-8")
        for byte in range(128, 256):
            (place / "bytes" / f"b{chr(0xDC00 + byte)}").write_text("x")
        calls = (
            Call("list", {"path": str(place)}),
            Call("glob", {"pattern": "names/*"}),
            Call("bash", {"command": "ls names; touch names/*", "description": "d"}),
        )
        self._turn(Answer(calls=calls), Answer(text="listed"))
        for letter in ("w", "w1", "names/w2", "payload", "b"):
            self.terminal.type(f"@{letter}")
            self.terminal.settle(0.5)
            for _ in range(12):
                self.terminal.press("down")
            self.terminal.press("escape", "ctrl+c")

    def todos(self) -> None:
        """A plan, in the conversation and beside it."""
        todos = [{"content": one, "status": "pending", "id": one} for one in self.strings]
        self._turn(Answer(calls=(Call("todowrite", {"todos": todos}),)), Answer(text="planned"))

    def titles(self) -> None:
        """What sessions are called: in the title row, the tree, the question before one is deleted."""
        for one in self.strings[:: max(1, len(self.strings) // 20)]:
            self.server.title_answers.append(Answer(text=one))
            self._say(Answer(text="named"))
            self._ended()
        for keys in (("/rename",), ("/delete",)):
            self._command(*keys)
            self.terminal.answer("escape")

    def permissions(self) -> None:
        """What is asked for, and what `always` would allow."""
        for number, calls in enumerate(self._chunks(3)):
            command = "\n".join(f"rm -f nothing{at} # {one}" for at, one in enumerate(calls))
            self._ask(Call("bash", {"command": command, "description": calls[0]}), with_word=number == 0)
        for one in self.strings[:: max(1, len(self.strings) // 3)]:
            self._ask(Call("webfetch", {"url": f"https://example.invalid/{one}"}))
            self._ask(Call("read", {"filePath": f"/etc/{one.replace('/', '_')}.env"}))

    def questions(self) -> None:
        """Questions, their subjects, their answers."""
        for chunk in self._chunks(4):
            half = len(chunk) // 2 or 1
            asked = [
                {
                    "question": "\n".join(chunk[:8]),
                    "header": chunk[0],
                    "options": [{"label": one, "description": one} for one in part],
                }
                for part in (chunk[:half], chunk[half:] or chunk)
            ]
            self._say(Answer(calls=(Call("question", {"questions": asked}),)), Answer(text="asked"))
            self.terminal.sees("dismiss, ends the turn")
            self.terminal.answer("down", "down", "x")
            self._ended()

    def tasks(self) -> None:
        """Work of agents: what it is called, which agent, what it asks."""
        for one in self.strings[:: max(1, len(self.strings) // 10)]:
            task = Call("task", {"description": one, "prompt": one, "subagent_type": "explore"})
            wrong = Call("task", {"description": one, "prompt": one, "subagent_type": one})
            self._turn(Answer(calls=(task, wrong)), Answer(text=one), Answer(text="worked"))

    def failures(self) -> None:
        """What providers say when they refuse."""
        for number, chunk in enumerate(self._chunks(12)):
            self._turn(failure((400, 401, 403, 404, 418)[number % 5], " ".join(chunk), kind=chunk[0]))

    def retries(self) -> None:
        """What providers say when one shall wait."""
        for chunk in self._chunks(3):
            self._say(failure(429, " ".join(chunk), retry_after="1"), Answer(text="at last"))
            self._ended()

    def pastes(self) -> None:
        """What is pasted: short, long, as a filter of a list."""
        for chunk in [*self._chunks(max(1, len(self.strings) // 10)), self.strings]:
            self.terminal.paste("\n".join(chunk))
            self.terminal.rest()
            self.terminal.press("ctrl+c")
            self.terminal.sees("▎  Ask anything")
        self.terminal.press("ctrl+p")
        self.terminal.paste("".join(self.strings[:10]))
        self.terminal.rest()
        self.terminal.press("escape")

    def shell(self) -> None:
        """The person's own command."""
        self._command("!cat hostile.txt")
        self.terminal.settle(1)
        self._read_through()

    def lists(self) -> None:
        """Commands, agents, models, themes, sessions, keys."""
        for command in ("/sessions", "/agents", "/models", "/themes", "/help"):
            self._command(command)
            self._page("pagedown", 40)
            self.terminal.press("escape")
        self.terminal.press("ctrl+p")
        self._page("pagedown", 40)
        self.terminal.press("escape")
        for letter in ("/w", "/p"):
            self.terminal.type(letter)
            self.terminal.settle(0.3)
            for _ in range(10):
                self.terminal.press("down")
            self.terminal.press("escape", "ctrl+c")

    def pages(self) -> None:
        """The status of the folder."""
        self._command("/status")
        self._page("pagedown", 6)
        self.terminal.press("escape")

    def _chunks(self, count: int) -> Sequence[Sequence[str]]:
        size = max(1, -(-len(self.strings) // count))
        return [self.strings[at : at + size] for at in range(0, len(self.strings), size)]

    def _say(self, *answers: Answer) -> None:
        self._command("/new")
        self.server.script_anew(*answers)
        self._command("go on")

    def _turn(self, *answers: Answer, is_new: bool = True) -> None:
        if is_new:
            self._command("/new")
        self.server.script_anew(*answers)
        self._command("go on")
        self._ended()
        self._read_through()

    def _ask(self, call: Call, *, with_word: bool = False) -> None:
        self._say(Answer(calls=(call,)), Answer(text="heard"))
        self.terminal.sees("reject, with a word")
        self.terminal.answer("down", "down", "a")
        self.terminal.answer("escape")
        self.terminal.answer("n")
        self.terminal.settle(0.2)
        if with_word:
            self.terminal.paste("".join(self.strings[:20]))
        self.terminal.press("enter")
        self._ended()

    def _ended(self) -> None:
        """Wait until nothing runs: the line above the prompt says how it ended."""
        self.terminal._until(
            lambda text: any(word in text for word in ("Done", "Stopped", "Interrupted  ")), "no end", 30
        )

    def _command(self, text: str) -> None:
        self.terminal.type(text)
        self.terminal.settle(0.15)
        self.terminal.press("escape") if text.startswith("/") else None
        self.terminal.press("enter")
        self.terminal.settle(0.3)

    def _choose(self, words: str) -> None:
        self.terminal.press("ctrl+p")
        self.terminal.type(words)
        self.terminal.settle(0.2)
        self.terminal.press("enter")
        self.terminal.settle(0.3)

    def _read_through(self) -> None:
        self._page("pageup", PAGES)
        self.terminal.press("end")

    def _page(self, key: str, count: int) -> None:
        for _ in range(count):
            before = self.terminal.shown()
            self.terminal.press(key)
            self.terminal.rest(quiet=0.05, timeout=1)
            if self.terminal.shown() == before:
                return


def _settings(strings: Sequence[str], base_url: str) -> dict[str, Any]:
    provider = provider_config(base_url)
    limit = {"context": 200_000, "output": 8_000}
    quiet = _quiet(strings)
    provider["fake"]["models"] |= {f"m{at}": {"name": one, "limit": limit} for at, one in enumerate(quiet)}
    return {
        "model": "fake/fake-model",
        "provider": provider,
        "permission": {
            "bash": {"*": "allow", "rm *": "ask"},
            "webfetch": {"*": "allow", "https://example.invalid/*": "ask"},
            "read": {"*": "allow", "*.env": "ask"},
        },
        **dict.fromkeys(quiet[:5], 1),
    }


def _quiet(strings: Sequence[str]) -> Sequence[str]:
    """Those that settings may hold: with a control character they are refused, in a line that shows it escaped."""
    return [one for one in strings if not _CONTROL.search(one)]


def _write_markdown(config: Path, strings: Sequence[str]) -> None:
    """Agents and commands of the person's, with hostile names and descriptions."""
    for folder, head in (("agents", "mode: primary\n"), ("commands", "")):
        (config / folder).mkdir()
        for one in _quiet(strings):
            text = f"---\n{head}description: {json.dumps(one, ensure_ascii=False)}\n---\n{one}\n"
            (config / folder / f"{one.replace('/', '_')[:80]}.md").write_text(text, "utf-8")


@contextmanager
def hostile_world(folder: Path, environ: Mapping[str, str], strings: Sequence[str]) -> Generator[HostileWorld]:
    """Open the screen in a repository below `folder` whose settings, branch and themes are hostile too."""
    repo = make_repo(folder / "project")
    repo.commit("begin")
    (repo.path / ".git" / "HEAD").write_text(f"ref: refs/heads/{''.join(strings[:12])}", "utf-8")
    config = Path(environ["XDG_CONFIG_HOME"]) / "opencode-tui"
    (config / "themes").mkdir(parents=True)
    for one in strings[:20]:
        (config / "themes" / f"{one.replace('/', '_')}.json").write_text("{}")
    with ModelServer() as server:
        _write_markdown(config, strings)
        (config / "opencode.json").write_text(json.dumps(_settings(strings, server.base_url)))
        variables = CommandLine(repo.path, environ).variables()
        with ScreenTerminal(["-m", "opencode_tui"], folder=repo.path, environ=variables, size=SIZE) as terminal:
            terminal.sees("build")
            terminal.settle(1)
            yield HostileWorld(terminal, server, repo.path, strings)
