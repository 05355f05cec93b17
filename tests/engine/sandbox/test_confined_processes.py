"""A confined command ends as an unconfined one does: exit codes, signals, timeouts, cancels, and what it left running."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.sandbox.launch import plan_launch
from opencode_tui.engine.tool.process import process
from tests.engine.sandbox.confined import Confined
from tests.support.shell.bench import new_token, survivors
from tests.support.world.waiting import PATIENCE_S

RUNS = """runs() { for file in /proc/[0-9]*/cmdline; do
  words=(); mapfile -d '' -t words <"$file" && [[ ${words[*]} == "$1" ]] && return; done 2>/dev/null; return 1; }
"""
"""A function of the shell: whether a process with this command line runs."""

WAYS: dict[str, dict[str, Any]] = {"timeout": {"timeout_ms": 1_500}, "cancel": {"cancel_at": b"ready"}}


@pytest.mark.fast_cases("landlock-exit 3-3-", "landlock-exec nothing-like-this-127-/bin/bash: line 1: exec: not..")
@pytest.mark.parametrize(
    ("text", "code", "output"),
    [
        ("true", 0, ""),
        ("exit 3", 3, ""),
        ("echo out; echo error >&2", 0, "out\nerror\n"),
        ("kill -9 $$", 137, ""),
        ("kill -SEGV $$", 139, ""),
        ("kill 0", 143, ""),
        ("exec nothing-like-this", 127, "/bin/bash: line 1: exec: nothing-like-this: not found\n"),
        ("cat; echo read", 0, "read\n"),
        ("(sleep 0.03; echo late) & echo early", 0, "early\nlate\n"),
        ("echo copied > >(sleep 0.03; cat)", 0, "copied\n"),
    ],
)
def test_exit_codes_and_outputs_are_those_of_the_shell(
    confined_each_way: Confined, monkeypatch: pytest.MonkeyPatch, text: str, code: int, output: str
) -> None:
    monkeypatch.setattr(process, "FINISH_S", 5.0)  # for a busy machine
    ended, printed = confined_each_way.run(text)
    assert (ended.reason, ended.exit_code, ended.leftovers) == ("exit", code, ())
    assert printed == output


def test_what_the_shell_left_running_is_named_and_ended(confined_each_way: Confined) -> None:
    names = [f"sleep {new_token()}" for _ in range(3)]
    started = "".join(f"until runs '{name}'; do sleep 0.02; done; " for name in names)
    text = f"{RUNS}{names[0]} & setsid {names[1]} & env -i setsid {names[2]} >/dev/null 2>&1 & {started}exit 4"
    ended, _ = confined_each_way.run(text)
    assert ended.exit_code == 4
    assert sorted(ended.leftovers) == names
    assert [survivors(name) for name in names] == [[], [], []]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_command_gets_its_grace_before_it_is_killed(
    confined_each_way: Confined, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(process, "CANCEL_GRACE_S", 5.0)  # for a busy machine
    token = new_token()
    text = f"trap 'echo cleaned up; exit 1' TERM; setsid sleep {token} & echo ready; while :; do sleep 0.02; done"
    ended, output = confined_each_way.run(text, **WAYS[way])
    assert (ended.reason, ended.exit_code) == (way, None)
    lines = output.splitlines()  # between them bash may name the sleep that it waited for
    assert (lines[0], lines[-1]) == ("ready", "cleaned up")
    assert survivors(token) == []


def test_a_command_that_ignores_the_signal_is_killed(confined_each_way: Confined) -> None:
    token = new_token()
    ended, output = confined_each_way.run(f"trap '' TERM; echo ready; sleep {token}; echo survived", cancel_at=b"ready")
    assert (ended.reason, output) == ("cancel", "ready\n")
    assert survivors(token) == []


def test_a_cancel_while_the_namespace_is_prepared_ends_the_command(confined_each_way: Confined) -> None:
    token = new_token()
    for delay_s in (0.0, 0.001, 0.002, 0.004, 0.006, 0.008):
        assert confined_each_way.run(f"sleep {token}", cancel_after_s=delay_s)[0].reason == "cancel"
    assert survivors(token) == []


@pytest.mark.parametrize("network", ["none", "proxy"])
def test_a_program_that_was_killed_before_the_namespace_was_ready_leaves_nothing(
    bubblewrap: Confined, network: str, tmp_path: Path
) -> None:
    if network == "proxy":
        bubblewrap.limit(proxy=tmp_path / "socket", network="none")
        (tmp_path / "socket").touch()
    token = new_token()
    held, end = os.pipe()
    os.close(end)  # as the kernel does it
    argv = ["/bin/sh", "-c", f"setsid sleep {token} & sleep {token}"]
    launch = plan_launch("bubblewrap", bubblewrap.policy, argv, bubblewrap.project)
    filter_end, full = os.pipe()
    os.write(full, launch.filter)
    os.close(full)
    try:
        subprocess.run(
            [launch.argv[0], "--seccomp", str(filter_end), *launch.argv[1:]],
            env=dict(launch.environ),
            stdin=held,
            stdout=subprocess.DEVNULL,
            pass_fds=[filter_end],
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        os.close(held)
        os.close(filter_end)
    assert survivors(token) == []


def test_a_failing_start_says_why(bubblewrap: Confined) -> None:
    bubblewrap.limit(temp=bubblewrap.base / "missing")
    ended, output = bubblewrap.run("true")
    assert ended.exit_code == 1
    assert output.startswith("bwrap: Can't find source path")
