"""What is measured of an agent: its start, one prompt without a screen, and a session on the screen."""

import json
import re
import statistics
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from benchmarks.peers.agents import Agent, Place, base_environ
from benchmarks.peers.model import shell_arguments, shell_of
from benchmarks.peers.terminal import Terminal, activity, activity_between, cpu_s, pss_mb, run_to_end
from benchmarks.streamed_text import mixed_markdown
from benchmarks.typist import LOST_S, Typist
from tests.support.provider.model_script import Answer, Api, Call

FEW, MANY, AT_ONCE = 1_000, 10_000, 20_000
PACES = {FEW: 200.0, MANY: 1_000.0}
"""Tokens a second at which an answer of so many tokens comes."""
IDLE_KEYS = 30
STARTS = 2
"""Starts of the screen in a round."""
EARLY_S = 2.0
"""How long keys are typed after the first echo of a start."""
STEPS = 20
AT_REST_S = 30.0
REST_S = 3.0
_START_LIMIT_S, _TURN_LIMIT_S, _ONE_SHOT_LIMIT_S = 60.0, 40.0, 60.0
_SEND_LIMIT_S = 20.0
_STEPS_LIMIT_S = 60.0
_KEY_GAP_S = 0.05
_QUIET_S, _QUIET_LIMIT_S = 0.7, 4.0
_KEYS = "ЖЦЧШЩЫЮЯФЭЪЁ"
"""Letters that no agent shows by itself, typed one after another until one is drawn."""
_ENDS = "აბგდევზთიკლმ"
"""The last letter of each answer: when it is drawn, all is."""

Row = tuple[str, str]
"""A figure: its part (see `PARTS`) and its name."""

PARTS = ("start", "oneshot", "request", "memory", "rest", "steps", "stream", "keys")


class NotMeasured(Exception):
    """Says why a figure cannot be had."""


class ScriptedModel:
    """Answers the newest turn of each conversation: `turn N.` in a prompt names it; each of its requests gets the next answer."""

    def __init__(self) -> None:
        self._turns: dict[int, list[tuple[Answer, float]]] = {}
        self._lock = threading.Lock()
        self.asked: dict[int, int] = defaultdict(int)
        """Requests by turn."""
        self.sizes: dict[int, int] = {}
        """Bytes of a turn's first request."""
        self.sent: dict[int, int] = defaultdict(int)
        """Bytes of all requests of a turn."""
        self.first: dict[int, float] = {}
        """When a turn's first request had come, by `time.perf_counter`."""

    def script(self, *answers: tuple[Answer, float]) -> int:
        """Return the number of a new turn that gets these answers, each with its tokens a second (0: at once)."""
        with self._lock:
            number = len(self._turns) + 1
            self._turns[number] = list(answers)
            return number

    def answer(self, api: Api, body: dict[str, Any], size: int) -> tuple[Answer, float]:
        """Return the answer to a request; one without a shell tool is not of the task: a title, a check."""
        shell = shell_of(body)
        turns = [int(number) for number in re.findall(r"turn ([0-9]+)\.", json.dumps(body))]
        if shell is None or not turns:
            return _plain("Steps", size), 0
        with self._lock:
            number = max(turns)
            self.sizes.setdefault(number, size)
            self.first.setdefault(number, time.perf_counter())
            self.sent[number] += size
            self.asked[number] += 1
            step = self.asked[number]
            answers = self._turns.get(number)
            if not answers:
                return _plain("done", size), 0
            answer, pace = answers.pop(0)
        calls = tuple(Call(shell, shell_arguments(shell, f"echo step {step}")) for _ in answer.calls)
        return replace(_plain(answer.text, size), calls=calls), pace


def _plain(text: str, size: int) -> Answer:
    """Return an answer in tokens of four letters, with its usage."""
    return Answer(text=text, delta_size=4, usage=(size // 4, max(1, len(text) // 4), 0))


@dataclass
class Figures:
    """The samples of all agents by row, and why one has none."""

    samples: dict[tuple[str, Row], list[float]] = field(default_factory=lambda: defaultdict(list))
    reasons: dict[tuple[str, Row], str] = field(default_factory=dict[tuple[str, Row], str])

    def add(self, agent: str, row: Row, value: float) -> None:
        """Add a sample."""
        self.samples[agent, row].append(value)

    def fail(self, agent: str, rows: Collection[Row], reason: str) -> None:
        """Note why these rows have no sample."""
        for row in rows:
            self.reasons[agent, row] = reason


FRAME: Row = ("start", "exec → first frame, s")
KEYS: Row = ("start", "exec → a key is echoed, s")
EARLY: tuple[Row, Row] = (
    ("start", f"echo of a key in the first {EARLY_S:.0f} s, p50, ms"),
    ("start", f"echo of a key in the first {EARLY_S:.0f} s, p95, ms"),
)
ONE_SHOT_REQUEST: Row = ("oneshot", "one prompt without the screen, start → request, s")
ONE_SHOT: Row = ("oneshot", "one prompt without the screen, start → exit, s")
REQUEST: Row = ("request", "first request, KB")
MEMORY: Row = ("memory", "memory at rest after the start, MB")
START_CPU: Row = ("memory", "start and its first keys, until at rest: CPU, s")
MEMORY_TURN: Row = ("memory", "memory at rest after a turn with a command, MB")
REST_CPU: Row = ("rest", "at rest: CPU a minute, s")
REST_WAKEUPS: Row = ("rest", "at rest: wake-ups, 1/s")
REST_DRAWN: Row = ("rest", "at rest: written to the terminal a minute, KB")
REST_WRITTEN: Row = ("rest", "at rest: written to disk a minute, KB")
STEPS_TIME: Row = ("steps", f"{STEPS} tool steps: time, s")
STEPS_CPU: Row = ("steps", f"{STEPS} tool steps: CPU, s")
STEPS_SENT: Row = ("steps", f"{STEPS} tool steps: sent to the model, KB")
STREAM_CPU: dict[int, Row] = {n: ("stream", f"answer of {n:,} tokens: CPU, s") for n in PACES}
STREAM_BYTES: dict[int, Row] = {n: ("stream", f"answer of {n:,} tokens: written to the terminal, KB") for n in PACES}
STREAM_AT_ONCE: Row = ("stream", f"answer of {AT_ONCE:,} tokens at once, request → end drawn, s")
IDLE: tuple[Row, Row] = ("keys", "echo of a key at rest, p50, ms"), ("keys", "echo of a key at rest, p95, ms")
BUSY: tuple[Row, Row] = (
    ("keys", "echo of a key while an answer streams, p50, ms"),
    ("keys", "echo of a key while an answer streams, p95, ms"),
)
ROWS: tuple[Row, ...] = (
    FRAME,
    KEYS,
    *EARLY,
    START_CPU,
    ONE_SHOT_REQUEST,
    ONE_SHOT,
    REQUEST,
    MEMORY,
    MEMORY_TURN,
    REST_CPU,
    REST_WAKEUPS,
    REST_DRAWN,
    REST_WRITTEN,
    STEPS_TIME,
    STEPS_CPU,
    STEPS_SENT,
    *(row for tokens in PACES for row in (STREAM_CPU[tokens], STREAM_BYTES[tokens])),
    STREAM_AT_ONCE,
    *IDLE,
    *BUSY,
)


@dataclass
class Bench:
    """Measures agents against one model; each has a home and a project of its own, which stay for all rounds."""

    folder: Path
    url: str
    model: ScriptedModel
    figures: Figures
    parts: Collection[str]
    _ends: int = 0

    def place(self, agent: Agent) -> Place:
        """Return the home and the project of an agent, made when they are missing."""
        home, project = self.folder / agent.name / "home", self.folder / agent.name / "project"
        if not project.exists():
            home.mkdir(parents=True)
            project.mkdir()
            (project / "README.md").write_text("# A project\n")
            git = ["git", "-C", str(project), "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
            for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "begin"]):
                subprocess.run([*git, *words], check=True)
        return Place(self.url, home, project)

    def _wants(self, rows: Collection[Row]) -> bool:
        return any(part in self.parts for part, _ in rows)

    def _attempt(self, agent: Agent, rows: Collection[Row], work: Callable[[], None]) -> None:
        """Measure some rows, and note the reason if that fails."""
        try:
            work()
        except (NotMeasured, OSError) as error:
            self.figures.fail(agent.name, rows, str(error))

    def start(self, agent: Agent) -> None:
        """Measure a start of the screen, and the keys right after its first echo."""
        rows = (FRAME, KEYS, *EARLY)

        def work() -> None:
            with self._terminal(agent) as terminal:
                keys, _ = wait_for_keys(terminal)
                self.figures.add(agent.name, FRAME, terminal.frame_s or 0.0)
                self.figures.add(agent.name, KEYS, keys)
                typist, typed = Typist(start_s=0.0), 0
                limit = time.perf_counter() + EARLY_S
                while time.perf_counter() < limit and terminal.is_alive():
                    terminal.type_letter(typist)
                    typed += 1
                terminal.typist = None
                self._add_echoes(agent, EARLY, typist, typed)

        if self._wants(rows):
            self._attempt(agent, rows, work)

    def one_shot(self, agent: Agent) -> None:
        """Measure one prompt without the screen, whose first request is weighed."""

        def work() -> None:
            number = self.model.script((Answer(text="done"), 0))
            place = self.place(agent)
            start = agent.begin(place, f"Run the steps, turn {number}.")
            begun = time.perf_counter()
            seconds, code, words = run_to_end(
                start.command, folder=place.project, environ={**base_environ(place.home), **start.environ},
                timeout=_ONE_SHOT_LIMIT_S,
            )  # fmt: skip
            if number not in self.model.sizes:
                raise NotMeasured(f"sent no request: {words or f'ended with {code}'}")
            self.figures.add(agent.name, REQUEST, self.model.sizes[number] / 1000)
            self.figures.add(agent.name, ONE_SHOT_REQUEST, self.model.first[number] - begun)
            if code is None:
                self.figures.fail(agent.name, (ONE_SHOT,), f"had not ended after {_ONE_SHOT_LIMIT_S:.0f} s")
            elif code:
                self.figures.fail(agent.name, (ONE_SHOT,), f"ended with {code}: {words}")
            else:
                self.figures.add(agent.name, ONE_SHOT, seconds)

        rows = (ONE_SHOT_REQUEST, ONE_SHOT, REQUEST)
        if self._wants(rows):
            self._attempt(agent, rows, work)

    def session(self, agent: Agent) -> None:
        """Measure a session on the screen: memory, rest, tool steps, keys, streamed answers. What fails ends the session."""
        steps: list[tuple[Sequence[Row], Callable[[Terminal], None]]] = [
            ((MEMORY, START_CPU, MEMORY_TURN), lambda terminal: self._memory(agent, terminal)),
            ((REST_CPU, REST_WAKEUPS, REST_DRAWN, REST_WRITTEN), lambda terminal: self._at_rest(agent, terminal)),
            ((STEPS_TIME, STEPS_CPU, STEPS_SENT), lambda terminal: self._tool_steps(agent, terminal)),
            (IDLE, lambda terminal: self._idle_keys(agent, terminal)),
            ((STREAM_CPU[FEW], STREAM_BYTES[FEW]), lambda terminal: self._stream(agent, terminal, FEW)),
            (BUSY, lambda terminal: self._busy_keys(agent, terminal)),
            ((STREAM_CPU[MANY], STREAM_BYTES[MANY]), lambda terminal: self._stream(agent, terminal, MANY)),
            ((STREAM_AT_ONCE,), lambda terminal: self._at_once(agent, terminal)),
        ]
        wanted = [step for step in steps if self._wants(step[0])]
        if not wanted:
            return
        done = 0
        try:
            with self._terminal(agent) as terminal:
                erase(terminal, wait_for_keys(terminal)[1])
                for _, work in wanted:
                    work(terminal)
                    done += 1
        except (NotMeasured, OSError) as error:
            self.figures.fail(agent.name, wanted[done][0], str(error))
            for rows, _ in wanted[done + 1 :]:
                self.figures.fail(agent.name, rows, f"its session ended before: {error}")

    def _memory(self, agent: Agent, terminal: Terminal) -> None:
        time.sleep(REST_S)
        processes = terminal.processes()
        self.figures.add(agent.name, MEMORY, pss_mb(processes))
        self.figures.add(agent.name, START_CPU, cpu_s(processes))
        end = self._end_letter()
        answers = (Answer(text="I run it.\n\n", calls=(Call("shell", {}),)), 0), (Answer(text=f"It ran.\n\n{end}"), 0)
        self._send(terminal, end, *answers)
        wait_drawn(terminal, end)
        time.sleep(REST_S)
        self.figures.add(agent.name, MEMORY_TURN, pss_mb(terminal.processes()))

    def _at_rest(self, agent: Agent, terminal: Terminal) -> None:
        before, drawn = activity(terminal.processes()), len(terminal.drawn)
        time.sleep(AT_REST_S)
        letters = len(terminal.drawn) - drawn
        done, minutes = activity_between(before, activity(terminal.processes())), AT_REST_S / 60
        self.figures.add(agent.name, REST_CPU, done.cpu_s / minutes)
        self.figures.add(agent.name, REST_WAKEUPS, done.wakeups / AT_REST_S)
        self.figures.add(agent.name, REST_DRAWN, letters / 1000 / minutes)
        self.figures.add(agent.name, REST_WRITTEN, done.written / 1000 / minutes)

    def _tool_steps(self, agent: Agent, terminal: Terminal) -> None:
        end = self._end_letter()
        steps = [(Answer(text="Next step.\n\n", calls=(Call("shell", {}),)), 0.0)] * STEPS
        processes = terminal.processes()
        cpu = cpu_s(processes)
        number = self._send(terminal, end, *steps, (Answer(text=f"All ran.\n\n{end}"), 0))
        wait_drawn(terminal, end, _STEPS_LIMIT_S)
        self.figures.add(agent.name, STEPS_TIME, terminal.seen(end) - self.model.first[number])
        rest(terminal)
        self.figures.add(agent.name, STEPS_CPU, cpu_s(merged(processes, terminal.processes())) - cpu)
        if self.model.asked[number] <= STEPS:
            raise NotMeasured(f"made {self.model.asked[number]} requests for {STEPS} steps")
        self.figures.add(agent.name, STEPS_SENT, self.model.sent[number] / 1000)

    def _stream(self, agent: Agent, terminal: Terminal, tokens: int) -> None:
        end = self._end_letter()
        processes = terminal.processes()
        cpu, drawn = cpu_s(processes), len(terminal.drawn)
        self._send(terminal, end, (Answer(text=f"{mixed_markdown(tokens)}\n\n{end}"), PACES[tokens]))
        wait_drawn(terminal, end, tokens / PACES[tokens])
        rest(terminal)
        self.figures.add(agent.name, STREAM_CPU[tokens], cpu_s(merged(processes, terminal.processes())) - cpu)
        self.figures.add(agent.name, STREAM_BYTES[tokens], (len(terminal.drawn) - drawn) / 1000)

    def _at_once(self, agent: Agent, terminal: Terminal) -> None:
        end = self._end_letter()
        number = self._send(terminal, end, (Answer(text=f"{mixed_markdown(AT_ONCE)}\n\n{end}"), 0))
        wait_drawn(terminal, end)
        self.figures.add(agent.name, STREAM_AT_ONCE, terminal.seen(end) - self.model.first[number])

    def _idle_keys(self, agent: Agent, terminal: Terminal) -> None:
        typist = Typist()
        for _ in range(IDLE_KEYS):
            terminal.type_letter(typist)
        terminal.typist = None
        erase(terminal, IDLE_KEYS)
        self._add_echoes(agent, IDLE, typist, IDLE_KEYS)

    def _busy_keys(self, agent: Agent, terminal: Terminal) -> None:
        end = self._end_letter()
        self._send(terminal, end, (Answer(text=f"{mixed_markdown(FEW)}\n\n{end}"), PACES[FEW]))
        typist, typed = Typist(), 0
        limit = time.monotonic() + FEW / PACES[FEW] + _TURN_LIMIT_S
        while not terminal.seen(end) and time.monotonic() < limit and terminal.is_alive():
            terminal.type_letter(typist)
            typed += 1
        terminal.typist = None
        wait_drawn(terminal, end)
        rest(terminal)
        erase(terminal, typed)
        self._add_echoes(agent, BUSY, typist, typed)

    def _add_echoes(self, agent: Agent, rows: tuple[Row, Row], typist: Typist, typed: int) -> None:
        if len(typist.echoes) < typed / 2:
            reason = f"{len(typist.echoes)} of {typed} keys were drawn within {LOST_S:.0f} s"
            self.figures.fail(agent.name, rows, reason)
            return
        echoes = [*typist.echoes, *[LOST_S] * (typed - len(typist.echoes))]
        p50, p95 = (statistics.quantiles(echoes, n=20)[at] * 1000 for at in (9, 18))
        self.figures.add(agent.name, rows[0], p50)
        self.figures.add(agent.name, rows[1], p95)

    def _end_letter(self) -> str:
        """Return a letter that ends an answer and was not drawn before in this session."""
        self._ends += 1
        return _ENDS[self._ends % len(_ENDS)]

    def _send(self, terminal: Terminal, end: str, *answers: tuple[Answer, float]) -> int:
        """Type a prompt and send it, once more if no request comes; return the number of its turn."""
        terminal.watch(end)
        number = self.model.script(*answers)
        terminal.send(f"Run the steps, turn {number}.".encode())
        rest(terminal)
        for _ in range(2):
            terminal.send(b"\r")
            limit = time.monotonic() + _SEND_LIMIT_S
            while time.monotonic() < limit and terminal.is_alive():
                if self.model.asked[number]:
                    return number
                time.sleep(0.02)
        raise NotMeasured(_with_screen("sent no request for a prompt", terminal))

    def _terminal(self, agent: Agent) -> Terminal:
        place = self.place(agent)
        start = agent.begin(place, None)
        return Terminal(start.command, folder=place.project, environ={**base_environ(place.home), **start.environ})


def wait_for_keys(terminal: Terminal) -> tuple[float, int]:
    """Return the seconds from exec until a key is echoed, and how many were typed; the first one when a frame was seen."""
    limit = terminal.began + _START_LIMIT_S
    while terminal.frame_s is None:
        if time.perf_counter() > limit or not terminal.is_alive():
            raise NotMeasured(_with_screen("drew no frame", terminal))
        time.sleep(0.002)
    typed: list[str] = []
    last = 0.0
    while time.perf_counter() < limit and terminal.is_alive():
        if len(typed) < len(_KEYS) or time.perf_counter() - last > 1:
            letter = _KEYS[len(typed) % len(_KEYS)]
            terminal.watch(letter)
            typed.append(letter)
            last = time.perf_counter()
            terminal.send(letter.encode())
        pause = time.perf_counter() + _KEY_GAP_S
        while time.perf_counter() < pause:
            if seen := [at for at in map(terminal.seen, typed) if at]:
                return min(seen) - terminal.began, len(typed)
            time.sleep(0.001)
    raise NotMeasured(_with_screen("drew no key", terminal))


def wait_drawn(terminal: Terminal, mark: str, seconds: float = 0.0) -> None:
    """Wait until a letter is drawn that is due in so many seconds."""
    limit = time.monotonic() + seconds + _TURN_LIMIT_S
    while not terminal.seen(mark):
        if time.monotonic() > limit or not terminal.is_alive():
            raise NotMeasured(
                _with_screen(f"did not show the end of an answer in {seconds + _TURN_LIMIT_S:.0f} s", terminal)
            )
        time.sleep(0.01)


def rest(terminal: Terminal) -> None:
    """Wait until nothing is drawn for a moment; not longer than a few seconds, as some draw all the time."""
    limit = time.monotonic() + _QUIET_LIMIT_S
    since, size = time.monotonic(), len(terminal.drawn)
    while time.monotonic() - since < _QUIET_S and time.monotonic() < limit:
        time.sleep(0.02)
        if len(terminal.drawn) != size:
            since, size = time.monotonic(), len(terminal.drawn)


def erase(terminal: Terminal, letters: int) -> None:
    """Delete the letters that were typed."""
    rest(terminal)
    for _ in range(letters):
        terminal.send(b"\x7f")
        time.sleep(0.01)
    rest(terminal)


def merged(before: Sequence[psutil.Process], now: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Return the processes of both lists, each once."""
    return list({process.pid: process for process in (*before, *now)}.values())


def _with_screen(problem: str, terminal: Terminal) -> str:
    """Return a problem with the last words on the screen, without lines, boxes and paths of this machine."""
    shown = re.sub(r"[^\w\s!-~]+", " ", terminal.show()).split()
    words = " ".join(word for word in shown if "/" not in word)
    ended = "" if terminal.is_alive() else f", ended with {terminal.process.poll()}"
    return f"{problem}{ended}; its screen: …{words[-120:]}" if words else f"{problem}{ended}"
