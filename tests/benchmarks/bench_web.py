"""The TUI in a browser: from the page to its first key, the echo of a key, and 20,000 streamed words, in a real Chromium.

The echo is timed inside the page: from the key's event to the change of the terminal's rows that shows it. Needs a quiet machine.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.browser.chromium import ABSENT, PROGRAM, Chromium
from tests.support.browser.web import Screen, WebServer, web_server
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo

READY_MS = 1500
ECHO_MS = 60
WORDS = 2_000 if os.environ.get("BENCHMARK_QUICK") else 20_000

_CYRILLIC = [chr(code) for code in range(0x410, 0x450)]
"""Letters that no text of the screen holds."""

_TIME_ECHO = """
new Promise((resolve, reject) => {
  const rows = document.querySelector('.xterm-rows'), begin = performance.now();
  const seen = new MutationObserver(() => {
    if (rows.textContent.includes(%r)) { seen.disconnect(); resolve(performance.now() - begin); }
  });
  seen.observe(rows, { childList: true, subtree: true, characterData: true });
  setTimeout(() => { seen.disconnect(); reject(new Error('no echo')); }, 5000);
  const field = document.querySelector('textarea');
  field.value = %r;
  field.dispatchEvent(new InputEvent('input', { data: %r, inputType: 'insertText', bubbles: true, composed: true }));
})
"""


def main() -> int:
    """Measure; return the exit code."""
    if PROGRAM is None:
        print(ABSENT)
        return 0
    with tempfile.TemporaryDirectory() as name, ModelServer() as model:
        base = Path(name)
        repo = make_repo(base / "project")
        repo.commit("begin", **{"a.py": "x = 1\n"})
        environ = isolated_environment(base)
        line = CommandLine(repo.path, environ, model.config(), {"model": "fake/fake-model"})
        with web_server(line) as server, Chromium(base) as browser:
            server.open(browser).wait_for("Ask anything")
            ready = [_open(server, browser) for _ in range(rounds(5, 2))]
            screen = server.open(browser)
            screen.wait_for("Ask anything")
            echoes = [_echo(screen, letter) for letter in _CYRILLIC]
            lost = _stream(screen)
            # the server is on this machine, which does all the work: the best of the rounds says what it costs
            figures = [
                Figure("from the page to its prompt, best round", min(ready) * 1000, READY_MS),
                Figure("a key's echo in the page, p95", statistics.quantiles(echoes, n=20)[18], ECHO_MS),
                Figure(f"of {WORDS} streamed words missing at the end", lost, 0),
            ]
    return report(figures)


def _open(server: WebServer, browser: Chromium) -> float:
    """Return the seconds from the request of the page to the prompt in it."""
    begin = time.perf_counter()
    screen = server.open(browser)
    screen.wait_for("Ask anything")
    seconds = time.perf_counter() - begin
    browser.call("Target.closeTarget", targetId=screen.page.target)
    time.sleep(2)  # its TUI ends
    return seconds


def _echo(screen: Screen, letter: str) -> float:
    """Return the milliseconds from a key to its letter."""
    time.sleep(0.05)
    return float(screen.page.value(_TIME_ECHO % (letter, letter, letter)))


def _stream(screen: Screen) -> int:
    """Return how many of the last ten streamed words the screen does not show."""
    screen.type(f"\x03<<words {WORDS}>>\r")
    screen.wait_for("Done", seconds=300)
    shown = screen.text
    return sum(f"{number}" not in shown for number in range(WORDS - 9, WORDS + 1))


if __name__ == "__main__":
    sys.exit(main())
