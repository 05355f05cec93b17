"""A prepared view: what commands see there, what they do not share, and what happens when it is old."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from opencode_tui.engine.sandbox.tiers.view import VIEWS, View
from opencode_tui.engine.tool.process.process import Command, Ended, ShellProcess
from tests.engine.sandbox.confined import Confined
from tests.support.shell.bench import new_token, survivors

SEEN = (
    "pwd; id -u; ls -A /; ls -A /dev | sort; ls -A /tmp; echo $TMPDIR; ls -A . ; set -- /proc/[0-9]*; echo $#; "
    "grep -c . /proc/self/mountinfo >/dev/null; touch /new 2>&1; touch /dev/new 2>&1; cat .env 2>&1; touch .envrc 2>&1"
)


def protect(confined: Confined) -> None:
    """Add a hidden and a protected file."""
    for name in (".env", ".envrc"):
        (confined.project / name).write_text("secret")
    confined.limit(hidden=(confined.project / ".env",), read_only=(confined.project / ".envrc",))


def run_launch(confined: Confined, text: str, **changes: object) -> tuple[Ended, str]:
    """Run a command whose launch has these fields, and return how it ended, and its output."""
    launch = replace(confined.plan(("/bin/bash", "-c", "--", text)), **changes)
    command = Command(text, confined.project, confined.policy.environ, 20_000, "/bin/bash", launch)
    pieces: list[bytes] = []
    cancel, end = os.pipe()
    try:
        return ShellProcess(command, pieces.append, cancel=cancel).run(), b"".join(pieces).decode(errors="replace")
    finally:
        os.close(cancel)
        os.close(end)


def test_a_command_sees_in_a_view_what_it_sees_without_one(view: Confined) -> None:
    protect(view)
    inside = view.run(SEEN)
    view.is_prepared = False
    assert inside == view.run(SEEN)
    assert "Read-only file system" in inside[1] and "secret" not in inside[1]


def test_commands_of_a_view_share_no_memory_devices_or_processes(view: Confined) -> None:
    used = [
        "touch /dev/shm/left /dev/mqueue/left 2>/dev/null; ls /dev/shm",
        "python3 -c 'import os; print(os.ttyname(os.openpty()[1]))'",
        "echo $$; ls /proc | grep -c '^[0-9]\\{4\\}'",
        "echo x > /dev/left; ls /dev",
    ]
    first = [view.run(text)[1] for text in used]
    assert first[0] == "left\n"
    assert [view.run(text)[1] for text in ("ls /dev/shm", "ls /dev/pts", "ls /dev | grep left", used[2])] == [
        "",
        "ptmx\n",
        "",
        first[2],
    ]


def test_files_of_the_project_and_the_temp_folder_are_the_real_ones(view: Confined) -> None:
    view.run("echo 1 > made; echo 2 > /tmp/made")
    (view.project / "later").write_text("3\n")
    assert view.run("cat made /tmp/made later")[1] == "1\n2\n3\n"
    assert ((view.project / "made").read_text(), (view.temp / "made").read_text()) == ("1\n", "2\n")


def test_a_writable_folder_below_a_hidden_and_a_readable_one_can_be_written(confined_each_way: Confined) -> None:
    """As our own caches, where the settings let commands read the home."""
    own, secret = confined_each_way.home / "cache/own", confined_each_way.home / "cache/secret"
    own.mkdir(parents=True)
    secret.write_text("secret")
    policy = confined_each_way.policy
    confined_each_way.limit(
        read=(*policy.read, confined_each_way.home), write=(*policy.write, own), hidden=(secret.parent,)
    )
    ended, output = confined_each_way.run(f"echo x > {own}/made && cat {own}/made; cat {secret}")
    assert (own / "made").exists() and output.startswith("x\n")
    if confined_each_way.tier == "bubblewrap":
        assert "secret\n" not in output and ended.exit_code == 1


def test_a_writable_folder_that_was_made_anew_can_be_written(view: Confined) -> None:
    """As our own caches after `delete`, where the settings let commands read the home."""
    own = view.home / "own"
    own.mkdir()
    view.limit(read=(*view.policy.read, view.home), write=(*view.policy.write, own))
    assert view.run(f"echo 1 > {own}/made && cat {own}/made")[1] == "1\n"
    shutil.rmtree(own)
    own.mkdir()
    assert view.run(f"echo 2 > {own}/made && cat {own}/made")[1] == "2\n"


def test_a_folder_that_was_replaced_since_is_seen_as_it_is_now(view: Confined, tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool/version").write_text("1\n")
    view.limit(read=(*view.policy.read, tmp_path / "tool"))
    text = f"cat {tmp_path}/tool/version"
    assert view.run(text)[1] == "1\n"
    (tmp_path / "tool").rename(tmp_path / "old")
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool/version").write_text("2\n")
    assert [view.run(text)[1] for _ in range(3)] == ["2\n"] * 3


def test_a_project_that_was_replaced_since_is_seen_as_it_is_now(view: Confined) -> None:
    protect(view)
    assert view.run("ls -A | sort")[1] == ".env\n.envrc\n"
    view.project.rename(view.base / "old")
    view.project.mkdir()
    (view.project / "new").write_text("")
    assert view.run("ls -A")[1] == "new\n"
    assert list((view.base / "old").iterdir()) != []


def test_where_a_view_cannot_be_used_both_stages_run(view: Confined) -> None:
    made: list[Confined] = []
    for number in range(3):
        (view.base / f"other {number}").mkdir()
        made.append(Confined("bubblewrap", view.base / f"other {number}", is_prepared=True))
    other, gone, closed = (one.plan(("/bin/bash", "-c", "--", "true")) for one in made)
    broken = (*closed.inside[:1], "--bind", "/not there", "/not there", *closed.inside[1:])
    assert run_launch(view, "echo ran", view=other.view, entering=other.entering) == run_launch(view, "echo ran")
    assert run_launch(view, "echo ran", inside=broken)[1] == "ran\n"
    assert gone.view is not None
    VIEWS.drop(gone.view)
    assert run_launch(made[1], "echo ran")[1] == "ran\n"


def test_a_view_that_cannot_be_entered_is_not_used(view: Confined, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_view: View) -> None:
        raise PermissionError(1, "Operation not permitted")

    launch = view.plan(("/bin/bash", "-c", "--", "echo ran"))
    monkeypatch.setattr(View, "enter", refuse)
    assert run_launch(view, "echo ran", entering=())[1] == "ran\n"
    assert view.plan(("/bin/bash", "-c", "--", "true")).view is not launch.view  # it was forgotten


@pytest.mark.slow
def test_views_are_closed_when_they_are_forgotten_and_at_most_eight_are_kept(view: Confined) -> None:
    def opened() -> int:
        names = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        return sum(os.readlink(name).startswith("mnt:") for name in names if os.path.islink(name))

    for number in range(12):
        (view.base / f"read {number}").mkdir()
        view.limit(read=(*view.policy.read[:2], view.base / f"read {number}"))
        assert view.run("true")[0].exit_code == 0
        assert opened() > 0
    for _ in range(500):  # the threads of the last commands may still end
        gc.collect()
        if opened() <= 8:
            break
        time.sleep(0.02)
    assert opened() <= 8


@pytest.mark.slow
def test_a_command_in_a_view_ends_with_this_program(view: Confined) -> None:
    token = new_token()
    code = (
        "import sys; from pathlib import Path; from tests.engine.sandbox.confined import Confined\n"
        "one = Confined('bubblewrap', Path(sys.argv[1]), is_prepared=True)\n"
        f"one.run('echo started > mark; setsid sleep {token}')"
    )
    base = view.base / "killed"
    base.mkdir()
    running = subprocess.Popen([sys.executable, "-c", code, str(base)], cwd=Path(__file__).parents[3])
    while not (base / "project/mark").exists():
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert survivors(token) == []
