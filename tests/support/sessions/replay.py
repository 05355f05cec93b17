"""A long session with planted facts: many turns, compactions and restarts, and what the model still gets or finds after each.

The driver plants facts, compares every request with the one before, and looks after each compaction whether what must be kept is in
the next request and whether `recall` finds the rest. The engine is in this process, or in one of its own (`bench_replay.py`).
"""

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from opencode_tui.client.local import LocalClient
from opencode_tui.engine.engine import open_engine
from opencode_tui.engine.session.compaction.recall import find_excerpts
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.event.event import PermissionAsked
from opencode_tui.schema.model import ModelRef
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.paths import find_paths
from tests.support.provider.model_script import content_text
from tests.support.provider.model_server import ModelServer, provider_config

Kind = Literal["rule", "correction", "refusal", "todo", "file", "branch", "said", "output", "answer", "input"]
KEPT: Sequence[Kind] = ("rule", "correction", "refusal", "todo", "file", "branch")
"""Facts that each request after a compaction has; the others are found with `recall`."""

NAMED = ("the history was compacted", "an output was pruned", "the ledger was edited")
"""Causes for which a request may begin with other bytes than the one before."""

MODEL = ModelRef(provider_id="fake", model_id="fake-model")
_FILLER_LINES = 60
_WORDS = (
    "alpha",
    "carbon",
    "delta",
    "ember",
    "flint",
    "grove",
    "harbor",
    "inlet",
    "lumen",
    "meadow",
    "nectar",
    "prism",
    "quartz",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A word that occurs nowhere else, planted in a turn."""

    kind: Kind
    word: str
    turn: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How long, how often, and how full a context gets: `context` tokens, `output` of them for an answer."""

    turns: int = 1_000
    facts: int = 200
    restarts: Sequence[int] = (50, 100, 150, 200)
    context: int = 42_000
    output: int = 4_000


@dataclass(slots=True)
class Result:
    """What was seen. `lost` are facts that a request did not have, `unfound` those that recall did not find."""

    compactions: int = 0
    checked: int = 0
    recalled: int = 0
    lost: list[str] = field(default_factory=list)
    unfound: list[str] = field(default_factory=list)
    requests: int = 0
    breaks: int = 0
    unnamed: list[str] = field(default_factory=list)
    written: int = 0
    records: int = 0
    memory: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class State:
    """The engine after a turn: bytes written since it was opened, resident memory in KiB, causes of new beginnings."""

    written: int
    memory: int
    causes: Sequence[str]


class Run(Protocol):
    """An open engine."""

    async def prompt(self, text: str, feedback: str) -> State:
        """Send a prompt; reject what is asked, with this feedback."""
        ...

    async def recall(self, words: Sequence[str]) -> list[str]:
        """Return the words that recall does not find."""
        ...


class CountedFiles(FileSystem):
    """Adds up the bytes of new records."""

    def __init__(self) -> None:
        self.written = 0

    def replace(self, source: str, target: str) -> None:
        self.written += os.stat(source).st_size
        super().replace(source, target)


class LocalRun:
    """An engine in this process."""

    def __init__(self, client: LocalClient, files: CountedFiles, storage: Path, session_id: str) -> None:
        self._client = client
        self._storage = storage
        self._files = files
        self.session_id = session_id

    async def prompt(self, text: str, feedback: str) -> State:
        with self._client.events() as events:
            asked = PromptInput(model=MODEL, parts=[TextInput(text=text)])
            turn = asyncio.create_task(self._client.prompts.prompt(self.session_id, asked))
            replies = asyncio.create_task(self._reject(events, feedback))
            try:
                await turn
            finally:
                replies.cancel()
        return State(self._files.written, _resident(), await asyncio.to_thread(self._causes))

    def _causes(self) -> list[str]:
        """Return the stored causes; the context page has them too, but reads the whole session into memory."""
        try:
            stored = json.loads((self._storage / "session_prefix" / f"{self.session_id}.json").read_bytes())
        except FileNotFoundError:
            return []
        return [one["cause"] for one in stored.get("breaks", [])]

    async def _reject(self, events: Any, feedback: str) -> None:
        async for envelope in events:
            if isinstance(envelope.event, PermissionAsked):
                await self._client.permissions.reply(envelope.event.id, "reject", feedback)

    async def recall(self, words: Sequence[str]) -> list[str]:
        messages = await self._client.messages.list(self.session_id, sys.maxsize)
        return [word for word in words if not any(word in one.text for one in find_excerpts(messages, word))]


@asynccontextmanager
async def local_run(environ: Mapping[str, str], folder: Path, session_id: str | None) -> AsyncGenerator[LocalRun]:
    """Open the engine on a folder, with a session or a new one."""
    files = CountedFiles()
    async with open_engine(environ, files=files) as engine:
        client = LocalClient(engine, await engine.instance(folder))
        name = session_id or (await client.sessions.create(CreateSession(title="the replay"))).id
        yield LocalRun(client, files, find_paths(environ).storage, name)


def _resident() -> int:
    """Return the KiB of this process in memory."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("no VmRSS")


def settings(server: ModelServer, plan: Plan) -> dict[str, Any]:
    """Return the settings of the engine."""
    return {
        "provider": provider_config(server.base_url, limit=(plan.context, plan.output)),
        "permission": {"bash": {"*": "allow", "deploy *": "ask"}},
        "compaction": {"prepare": False},
    }


def plan_facts(plan: Plan, seed: int = 1) -> list[Fact]:
    """Return the facts, evenly over the turns; each kind equally often, a branch every fortieth.

    The first of each kind are in the first turns, as an agent uses its tools from the first turn on: what these load is in memory
    at turn 10 already, so that what grows after it is what the session keeps.
    """
    kinds: list[Kind] = ["rule", "correction", "refusal", "todo", "file", "said", "output", "answer", "input"]
    facts: list[Fact] = []
    for number in range(plan.facts):
        kind: Kind = "branch" if number % 40 == 20 else kinds[number % len(kinds)]
        turn = number if number < len(kinds) else number * plan.turns // plan.facts
        facts.append(Fact(kind, f"zq{seed}x{number:04d}", turn + 1))
    return facts


class Driver:
    """Writes the prompts of a plan, and looks at each request."""

    def __init__(self, plan: Plan, folder: Path, server: ModelServer, seed: int = 1) -> None:
        self.plan = plan
        self.result = Result()
        self._folder = folder
        self._server = server
        self._facts = {one.turn: one for one in plan_facts(plan, seed)}
        self._planted: list[Fact] = []
        self._random = random.Random(seed)
        self._last: dict[str, Any] | None = None
        self._written = 0
        self._causes = 0
        self._compacted = False
        (folder / "data").mkdir(exist_ok=True)

    async def turns(self, run: Run, first: int, last: int) -> None:
        """Do these turns in one run of the engine."""
        for number in range(first, last + 1):
            fact = self._facts.get(number)
            state = await run.prompt(self._prompt(number, fact), fact.word if fact is not None else "no")
            if fact is not None:
                self._planted.append(fact)
            self._look(number, state)
            if self._compacted and self._last is not None:
                self._compacted = False
                sent = _text(self._last)
                gone = [one.word for one in self._planted if one.kind not in KEPT and one.word not in sent]
                self.result.unfound += await run.recall(gone)
                self.result.recalled += len(gone)
        self.result.written += self._written

    def _prompt(self, number: int, fact: Fact | None) -> str:
        filler = f"data/fill{number}.txt"
        word = fact.word if fact is not None and fact.kind == "output" else ""
        lines = [" ".join(self._random.choices(_WORDS, k=12)) for _ in range(_FILLER_LINES)]
        (self._folder / filler).write_text("\n".join([*lines[:30], word, *lines[30:]]) + "\n")
        read = f"<<tool read {json.dumps({'filePath': filler})}>>"
        return f"Turn {number}: look at the next file. {'' if fact is None else self._words(fact)} {read}"

    def _words(self, fact: Fact) -> str:
        """Return the sentence or the directive that plants a fact."""
        word = fact.word
        match fact.kind:
            case "rule":
                return f"Always call the helper {word} first."
            case "correction":
                return f"No, the name is {word}."
            case "refusal":
                return f"<<tool bash {json.dumps({'command': f'deploy {word}', 'description': 'Deploys'})}>>"
            case "todo":
                todos = [one.word for one in self._planted if one.kind == "todo"] + [word]
                listed = [{"content": f"Do {one}", "status": "pending", "priority": "low"} for one in todos]
                return f"<<tool todowrite {json.dumps({'todos': listed})}>>"
            case "file":
                given = {"filePath": f"src/{word}.txt", "content": "new\n"}
                return f"<<tool write {json.dumps(given)}>>"
            case "branch":
                subprocess.run(["git", "switch", "-q", "-c", word], cwd=self._folder, check=True)
                return "The branch is another one now."
            case "input":
                return f"<<tool grep {json.dumps({'pattern': word, 'path': 'src'})}>>"
            case "answer" | "said" | "output":
                return "" if fact.kind == "output" else f"The harbor master is called {word}."

    def _look(self, number: int, state: State) -> None:
        """Compare the requests of a turn with those before, and after a compaction look for what must be in them."""
        bodies = [one.body for one in self._server.requests]
        self._server.requests.clear()
        for body in bodies:
            if not body.get("tools"):  # for a summary
                self.result.compactions += 1
                self._compacted = True
                continue
            self.result.requests += 1
            if self._last is not None and not _begins_with(body, self._last):
                self.result.breaks += 1
            self._last = body
        if self._compacted and self._last is not None:
            self._check(self._last)
        new = state.causes[self._causes :] if len(state.causes) >= self._causes else state.causes
        self._causes = len(state.causes)
        self.result.unnamed += [cause for cause in new if cause not in NAMED]
        self._written = state.written
        self.result.memory[number] = state.memory

    def _check(self, body: dict[str, Any]) -> None:
        text = _text(body)
        branch = [one for one in self._planted if one.kind == "branch"][-1:]
        kept = [one for one in self._planted if one.kind in KEPT and one.kind != "branch"] + branch
        self.result.checked += len(kept)
        self.result.lost += [f"{one.kind} of turn {one.turn}" for one in kept if one.word not in text]


def _text(body: dict[str, Any]) -> str:
    return "\n".join(content_text(one["content"]) + json.dumps(one.get("tool_calls") or "") for one in body["messages"])


def _begins_with(body: dict[str, Any], before: dict[str, Any]) -> bool:
    """Return whether a request begins with all of the one before."""
    messages = before["messages"]
    return body.get("tools") == before.get("tools") and body["messages"][: len(messages)] == messages


def make_folder(folder: Path) -> None:
    """Make the project."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "src").mkdir()
    (folder / "src" / "a.txt").write_text("a\n")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def size_of(storage: Path) -> int:
    """Return the bytes of all records."""
    return sum(path.stat().st_size for path in storage.rglob("*.json"))
