"""The requests of ours and of other agents for one task of 100 shell commands: their sizes, and what they repeat as a prefix.

Run: python -m tests.benchmarks peers_requests. One scripted model speaks all four formats, and makes each agent call its own shell
tool. The peers are found as `python -m tests.benchmarks peers` finds them, whose `--install FOLDER` installs them: in the folder
PEERS, or in PATH. One that is missing is left out with a word. Goals: ours is first or second in each column, and each of its
requests starts with the whole one before. Sizes are bytes of the body as it was sent. A short request is a lower cost, not a
better answer.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.peers.agents import PEERS, Place, Start, base_environ, ours
from tests.benchmarks.peers.model import serving, shell_arguments, shell_of
from tests.benchmarks.peers.terminal import run_to_end
from tests.support.provider.model_script import Answer, Api, Call
from tests.support.provider.wire_prefix import share

STEPS = 10 if os.environ.get("BENCHMARK_QUICK") else 100
PROMPT = "Run the steps."
_TIMEOUT_S = 600


class Sent(NamedTuple):
    """A request of the task: its format, its body, and the bytes of it."""

    api: Api
    body: dict[str, Any]
    size: int


@dataclass
class Model:
    """The scripted model: calls the shell tool so many times, then says that it is done."""

    steps: int
    requests: list[Sent] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, api: Api, body: dict[str, Any], size: int) -> tuple[Answer, float]:
        """Return the answer to a request; one without a shell tool is not of the task: a title, a check."""
        shell = shell_of(body)
        if shell is None or PROMPT not in json.dumps(body):
            return Answer(text="Steps"), 0
        with self.lock:
            self.requests.append(Sent(api, body, size))
            number = len(self.requests)
        if number >= self.steps:
            return Answer(text="done"), 0
        return Answer(calls=(Call(shell, shell_arguments(shell, f"echo step {number}")),)), 0


OURS: Mapping[str, Callable[[Place, str | None], Start]] = {
    "ours, chat": ours("@ai-sdk/openai-compatible", "/v1"),
    "ours, responses": ours("@ai-sdk/openai", "/v1"),
    "ours, anthropic": ours("@ai-sdk/anthropic", "/v1"),
    "ours, gemini": ours("@ai-sdk/google", "/v1beta"),
}


class Row(NamedTuple):
    """The figures of an agent: requests, bytes of the first, bytes that a step adds, share that repeats, all bytes."""

    requests: int
    first: int
    step: float
    share: float
    whole: int


def measure(begin: Callable[[Place, str | None], Start]) -> Row | str:
    """Run the task in an agent and return its figures, or why there are none."""
    model = Model(STEPS)
    with (
        tempfile.TemporaryDirectory(prefix="requests-", ignore_cleanup_errors=True) as folder,
        serving(model) as url,
    ):
        home, project = Path(folder, "home"), Path(folder, "project")
        home.mkdir()
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        start = begin(Place(url, home, project), PROMPT)
        environ = {**base_environ(home), **start.environ}
        _, code, words = run_to_end(start.command, folder=project, environ=environ, timeout=_TIMEOUT_S)
    if code is None:
        return f"not finished after {_TIMEOUT_S} s, {len(model.requests)} requests"
    sent = model.requests
    if len(sent) < STEPS:
        return f"ended after {len(sent)} of {STEPS} requests: {words}"
    shares = [share(one.api, one.body, two.body) for one, two in pairwise(sent)]
    step = (sent[-1].size - sent[0].size) / (len(sent) - 1)
    return Row(len(sent), sent[0].size, step, sum(shares) / len(shares), sum(one.size for one in sent))


def main() -> int:
    """Measure all, print the table and the goals."""
    rows: dict[str, Row] = {}
    peers = {agent.name: agent for agent in PEERS}
    for name, begin in (*OURS.items(), *((agent.name, agent.begin) for agent in PEERS)):
        if name in peers and peers[name].path() is None:
            print(f"{name} is not installed (see above); left out")
            continue
        found = measure(begin)
        if isinstance(found, str):
            print(f"{name}: {found}; left out")
        else:
            rows[name] = found
            print(f"measured {name}", file=sys.stderr, flush=True)
    print(f"\n{'':<20}{'requests':>9}{'first B':>10}{'B a step':>10}{'prefix':>9}{'all kB':>9}")
    for name, row in sorted(rows.items(), key=lambda one: one[1].whole):
        print(f"{name:<20}{row.requests:>9}{row.first:>10,}{row.step:>10.0f}{row.share:>9.4f}{row.whole / 1000:>9,.0f}")
    best = rows.get("ours, chat")
    if best is None:
        print("ours has no figures")
        return 1
    others = [row for name, row in rows.items() if name in peers]
    figures = [Figure(f"1 - prefix of {name}", 1 - row.share, 0, "") for name, row in rows.items() if name in OURS]
    for title, of in (("first request", 1), ("bytes a step", 2), ("all bytes", 4)):
        ahead = sum(row[of] < best[of] for row in others)
        figures.append(Figure(f"peers ahead of ours, chat: {title}", float(ahead), 1, ""))
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
