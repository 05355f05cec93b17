"""Commands that discard files, run by agents on a scripted model, and what the undo of each brings back.

`PEERS=FOLDER python -m tests.benchmarks.bench_undo_peers [NAME…] [--only N,N] [--results FILE]` runs ours and the peers that can
undo files without a user: opencode by `POST /session/ID/revert`, claude by `--rewind-files`. The others have no function for it,
which is asked of the programs. `--results` keeps each cell in a file and goes on where it ends; `--write` makes the table of
`docs/undo.md` from it. Each cell is a run of its own: a project, a home, a model. Compared are content, mode, kind, target.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.peers.agents import OURS, PEERS, Agent, Place, base_environ, find_program, path_variable
from tests.benchmarks.peers.model import serving, shell_arguments, shell_of
from tests.support.provider.model_script import Answer, Api, Call
from tests.support.undo.discards import facts, make_project

SITUATIONS: tuple[tuple[str, str], ...] = (
    ("tracked files that were changed", "git checkout -- ."),
    ("the same, the whole tree", "git checkout -f"),
    ("the same, by restore", "git restore ."),
    ("the same, by reset", "git reset -q --hard"),
    ("another commit", "git checkout -q -f HEAD~1"),
    ("the branch is moved", "git reset -q --hard HEAD~1"),
    ("one folder from another commit", "git checkout HEAD~1 -- src"),
    ("tracked files are stashed", "git stash -q"),
    ("untracked files too", "git stash -q -u"),
    ("ignored files too", "git stash -q -a"),
    ("a stash is dropped", "git stash -q && git stash drop -q"),
    ("untracked files", "git clean -fdq"),
    ("untracked and ignored files", "git clean -fdxq"),
    ("ignored files only", "git clean -fdXq"),
    ("named folders", "git clean -fdxq data uploads"),
    ("reset and clean", "git reset -q --hard && git clean -fdxq"),
    ("tracked files are removed", "git rm -rfq src"),
    ("a tracked file", "rm -f README.md"),
    ("an untracked file", "rm -f notes.txt"),
    ("an untracked file closed to others", "rm -f secret.key"),
    ("a large untracked file", "rm -f video.mov"),
    ("`.env`", "rm -f .env"),
    ("a small database, ignored", "rm -f small.sqlite"),
    ("a large database, ignored", "rm -f app.sqlite"),
    ("a file that is closed to writing", "rm -f model.bin"),
    ("an ignored folder with a link", "rm -rf data"),
    ("several folders", "rm -rf data uploads drafts"),
    ("empty folders", "rm -r empty"),
    ("links", "rm link data/latest"),
    ("everything", "rm -rf -- *"),
    ("by find", "find data -delete"),
    ("large files by find", "find . -type f -size +1M -not -path './.git/*' -delete"),
    ("a file is moved over another one", "mv app.sqlite video.mov"),
    ("a file is copied over another one", "cp drafts/big.csv data/large.parquet"),
    ("a redirection", "echo new > .env"),
    ("an empty redirection", ": > app.sqlite"),
    ("truncate", "truncate -s 0 video.mov"),
    ("sed in place, tracked", "sed -i '1s/^/X/' src/app.py"),
    ("sed in place, ignored", "sed -i '1s/^/X/' data/rows.csv"),
    ("modes", "chmod 600 run.sh && chmod 755 uploads/two.png"),
    ("a folder in place of a file", "rm -f notes.txt && mkdir notes.txt && touch notes.txt/inner"),
    ("a link in place of a file", "rm -f README.md && ln -s notes.txt README.md"),
    ("a script removes small files", "python3 -c \"import os; os.remove('notes.txt'); os.remove('small.sqlite')\""),
    ("a script removes a folder", "python3 -c \"import shutil; shutil.rmtree('data')\""),
)
"""What is lost, and by which command; the first words are those of the table."""

_RUN_S, _START_S, _FIRST_S = 120, 240, 15
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


Content = tuple[str, int, bytes]
"""Kind, mode, and content or target of a path."""


class Cell(NamedTuple):
    """How many paths a command changed, how many of them are as before after the undo, and how many of the others it named."""

    changed: int
    back: int
    named: int = 0
    problem: str = ""

    @property
    def words(self) -> str:
        """Return the cell of the table."""
        if self.problem:
            return self.problem
        if self.back == self.changed:
            return "all"
        left = f"{self.back} of {self.changed}" if self.back else f"none of {self.changed}"
        if self.named < self.changed - self.back:
            return left
        return f"{left}, the rest named"


class Script:
    """A model that calls the shell once with a command; `seen` is the project when the result arrives."""

    def __init__(self, command: str, folder: Path) -> None:
        self._command = command
        self._folder = folder
        self._has_called = False
        self.seen: Mapping[str, Content] | None = None

    def begin(self, command: str) -> None:
        """Run another command in the next session."""
        self._command, self._has_called, self.seen = command, False, None

    def answer(self, api: Api, body: dict[str, Any], size: int) -> tuple[Answer, float]:
        shell = shell_of(body)
        if shell is None:
            return Answer(text="Clean up"), 0
        if self._has_called:
            self.seen = self.seen or contents(self._folder)
            return Answer(text="Done."), 0
        self._has_called = True
        return Answer(calls=(Call(shell, shell_arguments(shell, self._command)),)), 0


Undo = Callable[[Agent, Place], Sequence[str]]
"""Runs the prompt and the undo in the project; returns the paths that the undo names as not restored."""


def _run(command: Sequence[str], place: Place, more: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=place.project, env={**base_environ(place.home), **more}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=_RUN_S, check=False,
    )  # fmt: skip


def undo_ours(agent: Agent, place: Place) -> Sequence[str]:
    """Run `run` and `session revert`."""
    start = agent.begin(place, "clean up")
    command = [
        "--auto=outside" if one == "--auto" else one for one in start.command
    ]  # protected files too, as for the others
    _run(command, place, start.environ)
    program = start.command[: start.command.index("run")]
    listed = json.loads(_run([*program, "session", "list", "--format", "json"], place, start.environ).stdout)
    done = _run([*program, "session", "revert", listed[0]["id"], "--format", "json"], place, start.environ)
    report = json.loads(done.stdout)
    left = [one for name in ("kept", "unprotected", "failed") for one in report.get(name) or []]
    return [os.path.relpath(one["path"], os.path.realpath(place.project)) for one in left]


def measure_opencode(agent: Agent, commands: Sequence[str]) -> Iterator[tuple[str, Cell]]:
    """Serve once; for each command make the project anew, send the prompt in a new session, and revert it."""
    with tempfile.TemporaryDirectory(prefix="undo-peers-", ignore_cleanup_errors=True) as name:
        folder, home = Path(name) / "project", Path(name) / "home"
        home.mkdir()
        make_project(folder)
        script = Script("true", folder)
        with serving(script) as model_url, _served(agent, Place(model_url, home, folder)) as url:
            for command in commands:
                make_project(folder)
                before = contents(folder)
                script.begin(command)
                try:
                    _prompt_and_revert(url)
                except (OSError, ValueError, StopIteration) as error:
                    yield command, _not_tried(error)
                else:
                    yield command, compare(before, script.seen, contents(folder), ())


@contextmanager
def _served(agent: Agent, place: Place) -> Generator[str]:
    start = agent.begin(place, None)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [*start.command, "serve", "--port", str(port), "--hostname", "127.0.0.1"],
        cwd=place.project, env={**base_environ(place.home), **start.environ}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}/session"
        _when_ready(url)
        yield url
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _prompt_and_revert(url: str) -> None:
    session = _post(url, {})["id"]
    model = {"providerID": "fake", "modelID": "fake-model"}
    _post(f"{url}/{session}/message", {"model": model, "parts": [{"type": "text", "text": "clean up"}]})
    with _OPENER.open(f"{url}/{session}/message", timeout=_RUN_S) as response:
        messages = json.load(response)
    asked = next(one["info"]["id"] for one in messages if one["info"]["role"] == "user")
    _post(f"{url}/{session}/revert", {"messageID": asked})


def _when_ready(url: str) -> None:
    """Wait until a session can be created; the first request of a start may stay without an answer."""
    deadline = time.monotonic() + _START_S
    while True:
        try:
            _post(url, {}, limit=_FIRST_S)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _post(url: str, body: dict[str, Any], limit: float = _RUN_S) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with _OPENER.open(request, timeout=limit) as response:
        return json.load(response)


def undo_claude(agent: Agent, place: Place) -> Sequence[str]:
    """Run the prompt, and rewind the files to the moment before it."""
    start = agent.begin(place, "clean up")
    environ = {**start.environ, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}
    _run(start.command, place, environ)
    (log,) = (place.home / ".claude" / "projects").glob("*/*.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    asked = next(one["uuid"] for one in lines if one.get("type") == "user")
    program = start.command[: start.command.index("-p")]
    done = _run([*program, "--resume", log.stem, "--rewind-files", asked], place, environ)
    if done.returncode:
        raise RuntimeError(f"--rewind-files: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return []


OPENCODE = "opencode-1.18.33"
SIDES: Mapping[str, Undo] = {"ours": undo_ours, "claude": undo_claude}
MEASURED = ("ours", OPENCODE, "claude")
TABLE = ("ours", OPENCODE, "claude", "codex", "pi")


def without_undo(name: str) -> str:
    """Return why a peer has no cell of its own: what the program says of an undo of files."""
    agent = next(one for one in PEERS if one.name == name)
    path = find_program(agent.name, agent.program, agent.package)
    if path is None:
        return "not tried: not installed"
    with tempfile.TemporaryDirectory() as home:
        environ = {**base_environ(Path(home)), **path_variable(path)}
        words = ["features", "list"] if name == "codex" else ["--help"]
        text = subprocess.run(
            [path, *words], env=environ, capture_output=True, text=True, timeout=60, check=False
        ).stdout
    lines = [line.split() for line in text.splitlines() if line.split()[:1] == ["undo"]]
    if name == "codex":
        return "no function" if lines and lines[0][1] == "removed" else "not tried: its features name an undo"
    return (
        "no function"
        if "undo" not in text.lower() and "rewind" not in text.lower()
        else "not tried: its help names one"
    )


def measure(agent: Agent, commands: Sequence[str]) -> Iterator[tuple[str, Cell]]:
    """Run each command by an agent in a project of its own, undo it, and compare."""
    if agent.name == OPENCODE:
        yield from measure_opencode(agent, commands)
        return
    for command in commands:
        with tempfile.TemporaryDirectory(prefix="undo-peers-", ignore_cleanup_errors=True) as name:
            folder, home = Path(name) / "project", Path(name) / "home"
            home.mkdir()
            make_project(folder)
            before, script = contents(folder), Script(command, folder)
            with serving(script) as url:
                try:
                    named = SIDES[agent.name](agent, Place(url, home, folder))
                except (OSError, RuntimeError, ValueError, StopIteration, subprocess.TimeoutExpired) as error:
                    yield command, _not_tried(error)
                    continue
            yield command, compare(before, script.seen, contents(folder), named)


def _not_tried(error: Exception) -> Cell:
    return Cell(0, 0, problem=f"not tried: {' '.join(f'{type(error).__name__} {error}'.split())[:100]}")


def compare(
    before: Mapping[str, Content],
    seen: Mapping[str, Content] | None,
    after: Mapping[str, Content],
    named: Sequence[str],
) -> Cell:
    """Return the cell for the project before a command, right after it, and after the undo."""
    changed = _different(before, seen or before)
    if not changed:
        return Cell(0, 0, problem="not tried: refused or failed, nothing was lost")
    left = _different(before, after)
    is_named = [path for path in left if any(_holds(one, path) or _holds(path, one) for one in named)]
    return Cell(len(changed), len(changed - left), len(is_named))


def _holds(folder: str, path: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")


def contents(folder: Path) -> dict[str, Content]:
    """Return everything in a project without the times."""
    return {path: fact[:3] for path, fact in facts(folder).items()}


def _different(before: Mapping[str, Content], after: Mapping[str, Content]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def table(cells: Mapping[str, Mapping[str, str]], versions: Mapping[str, str]) -> str:
    """Return the table in Markdown: a row for each situation, a column for each agent."""
    heads = ["ours" if name == "ours" else f"{name.partition('-')[0]} {versions[name]}" for name in TABLE]
    rows = [["what is lost", "command", *heads], ["---"] * (2 + len(TABLE))]
    for words, command in SITUATIONS:
        shown = command.replace("|", "\\|")
        rows.append([words, f"`{shown}`", *(cells[name][command] for name in TABLE)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


BEGIN, END = "<!-- undo-peers -->", "<!-- /undo-peers -->"
PAGE = Path(__file__).parents[2] / "docs" / "undo.md"


def main() -> int:
    """Measure what is missing in the file of results, and print or write the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_undo_peers")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(MEASURED)}; all without one")
    parser.add_argument("--only", metavar="N,N", help="the situations with these numbers")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep the cells here")
    parser.add_argument("--write", action="store_true", help="write the table into docs/undo.md")
    options = parser.parse_args()
    if not os.environ.get("PEERS"):
        print("skipped: PEERS names no folder with the peers (python -m tests.benchmarks peers --install)")
        return 0
    cells: dict[str, dict[str, str]] = {}
    if options.results is not None and options.results.exists():
        cells = json.loads(options.results.read_text())
    chosen = [SITUATIONS[int(one)] for one in options.only.split(",")] if options.only else SITUATIONS
    agents = {one.name: one for one in (OURS, *PEERS)}
    for name in options.names or MEASURED:
        missing = [command for _, command in chosen if command not in cells.setdefault(name, {})]
        for command, cell in measure(agents[name], missing) if missing else ():
            cells[name][command] = cell.words
            print(f"{name:<18} {cells[name][command]:<28} {command}", flush=True)
            if options.results is not None:
                options.results.write_text(json.dumps(cells, indent=1))
    for name in TABLE:
        if name not in MEASURED:
            words = without_undo(name)
            cells[name] = {command: words for _, command in SITUATIONS}
    if options.write:
        versions = {name: agents[name].version() for name in TABLE}
        head, _, rest = PAGE.read_text("utf-8").partition(f"{BEGIN}\n")
        PAGE.write_text(f"{head}{BEGIN}\n{table(cells, versions)}{END}{rest.partition(END)[2]}", "utf-8")
    ours = cells.get("ours", {})
    lost = [
        one
        for _, one in chosen
        if not (ours.get(one, "all") == "all" or ours[one].endswith(("named", "nothing was lost")))
    ]
    for command in lost:
        print(f"ours neither restored nor named all of: {command}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
