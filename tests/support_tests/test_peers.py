"""The comparison with other agents: what its terminal answers, what it leaves behind, and what its table says."""

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchmarks.page_section import PageSection
from benchmarks.peers.compare import SECTION
from benchmarks.peers.measure import FRAME, MEMORY, REQUEST, Figures, NotMeasured, wait_for_keys
from benchmarks.peers.table import table
from benchmarks.peers.terminal import Activity, Terminal, activity, activity_between, run_to_end
from benchmarks.reliability import SECTION as RELIABILITY
from tests.support.world.cli import PACKAGE_ROOT
from tests.support.world.processes import is_running

ECHO = r"""
import os, subprocess, sys, tty
tty.setraw(0)
def ask(question, end):
    os.write(1, question)
    answer = b""
    while not answer.endswith(end):
        answer += os.read(0, 1)
    return answer
found = [ask(b"\x1b[c", b"c"), ask(b"abc\x1b[3;5H\x1b[6n", b"R"), ask(b"\x1b]11;?\x07", b"\\"), ask(b"\x1b[?2026$p", b"y")]
open("answers", "wb").write(b"\n".join(found))
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
open("child", "w").write(str(child.pid))
os.write(1, "\x1b[5;1H行\x1b[5;2Hx\r\n".encode())
os.write(1, b"A prompt that asks for something to do here.\r\n")
os.read(0, 2)
while True:
    os.write(1, os.read(0, 100))
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_program_gets_answers_its_start_is_timed_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"]}
    with Terminal([sys.executable, "-c", ECHO], folder=tmp_path, environ=environ) as terminal:
        keys, typed = wait_for_keys(terminal)
        assert terminal.frame_s is not None and terminal.frame_s <= keys
        assert typed >= 2, "the first letter is swallowed by the program, so a second one must be typed"
        assert "A prompt that asks" in terminal.show()
        child = int((tmp_path / "child").read_text())
        assert is_running(child) and child in [process.pid for process in terminal.processes()]
    answers = (tmp_path / "answers").read_bytes().split(b"\n")
    assert answers == [b"\x1b[?62;22c", b"\x1b[3;5R", b"\x1b]11;rgb:1515/1616/1b1b\x1b\\", b"\x1b[?2026;2$y"]
    assert not is_running(child) and not is_running(terminal.process.pid)


def test_a_program_that_draws_nothing_is_reported_with_how_it_ended(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"]}
    with (
        Terminal(["false"], folder=tmp_path, environ=environ) as terminal,
        pytest.raises(NotMeasured, match="drew no frame, ended with 1"),
    ):
        wait_for_keys(terminal)


@pytest.mark.slow
def test_a_run_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    script = "sleep 600 & echo $! > child; echo waiting; wait"
    begun = time.monotonic()
    _, code, words = run_to_end(
        ["sh", "-c", script], folder=tmp_path, environ={"PATH": os.environ["PATH"]}, timeout=0.5
    )
    assert (code, words) == (None, "waiting")
    assert time.monotonic() - begun < 60
    assert not is_running(int((tmp_path / "child").read_text()))


def test_activity_counts_new_threads_and_none_that_have_ended() -> None:
    before = {1: Activity(1.0, 10, 4096), 2: Activity(9.0, 900, 0)}
    after = {1: Activity(1.5, 12, 8192), 3: Activity(0.25, 3, 0)}
    assert activity_between(before, after) == Activity(0.75, 5, 4096)
    if Path("/proc/self/schedstat").exists():
        found = activity([psutil.Process()])
        assert found[os.getpid()].cpu_s > 0
        assert activity_between(found, activity([psutil.Process()])).cpu_s > 0


def figures() -> Figures:
    """Ours is first in one row, second in another, alone in a third."""
    found = Figures()
    for agent, row, samples in (
        ("ours", FRAME, [0.3, 0.2, 0.4]),
        ("quick", FRAME, [0.1, 0.1, 0.2]),
        ("ours", MEMORY, [60.0]),
        ("quick", MEMORY, [200.4]),
        ("ours", REQUEST, [12.0]),
    ):
        for sample in samples:
            found.add(agent, row, sample)
    found.fail("quick", (REQUEST,), "sent no request: no key")
    return found


def test_the_table_ranks_ours_and_names_the_rows_in_which_it_is_not_first() -> None:
    text = table(figures(), ["ours", "quick"], ["ours", "quick 1.0"])
    assert "| exec → first frame, s | 0.30 (0.20…0.40) | 0.10 (0.10…0.20) | 2 of 2 |" in text
    assert "| memory at rest after the start, MB | 60.0 | 200 | 1 of 2 |" in text
    assert max(map(len, text.splitlines())) <= 128
    assert "Not first in 1 of 3 rows: exec → first frame (quick 1.0)." in text


def test_a_missing_figure_is_a_dash_with_its_reason() -> None:
    text = table(figures(), ["ours", "quick"], ["ours", "quick 1.0"])
    assert "| first request, KB | 12.0 | – | 1 of 1 |" in text
    assert "- quick 1.0, first request: sent no request: no key" in text


@pytest.mark.parametrize(("section", "page"), [(SECTION, "performance.md"), (RELIABILITY, "reliability.md")])
def test_the_page_has_a_place_for_the_table(section: PageSection, page: str) -> None:
    section.check()
    text = Path(PACKAGE_ROOT, "docs", page).read_text(encoding="utf-8")
    changed = section.replaced(text, "| a table |")
    assert f"{section.begin}\n| a table |\n{section.end}" in changed
    assert section.replaced(changed, text.partition(section.begin)[2].partition(section.end)[0]) == text
    with pytest.raises(ValueError, match="add them where the table belongs"):
        section.replaced("# A page without markers\n", "x")
