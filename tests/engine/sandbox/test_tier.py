"""Which tier is chosen, from processes that really start, and what is said where one is missing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from opencode_tui.engine.sandbox import tier
from opencode_tui.engine.sandbox.launch import plan_launch
from opencode_tui.engine.sandbox.tier import choose, probe
from opencode_tui.engine.sandbox.tiers import bubblewrap, landlock
from tests.engine.sandbox.confined import Confined

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tiers of Linux")

NAMESPACES_ERROR = (
    "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
    "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.",
    "bwrap: setting up uid map: Permission denied",
)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which `bwrap` is looked for instead of the system's."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setattr(bubblewrap, "PROGRAM_FOLDERS", str(folder))
    return folder / "bwrap"


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


ENVIRON = {"PATH": "/usr/bin:/bin"}


def test_a_missing_bubblewrap_is_named_with_its_installation(program: Path) -> None:
    status = probe("bubblewrap", {"PATH": ""})
    assert (status.works, status.reason) == (False, "bubblewrap is not installed (apt install bubblewrap)")


@pytest.mark.parametrize("error", NAMESPACES_ERROR)
def test_forbidden_user_namespaces_are_named_with_their_settings(program: Path, error: str) -> None:
    write_program(program, f"echo '{error}' >&2; exit 1")
    status = probe("bubblewrap", ENVIRON)
    assert not status.works
    assert status.reason.startswith("bubblewrap cannot create a user namespace: ")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=15000"),
        ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor"),
        ("kernel/other", "1", "the kernel or this container forbids it"),
    ],
)
def test_the_switch_that_forbids_user_namespaces_is_named(tmp_path: Path, name: str, value: str, words: str) -> None:
    for other in ("user/max_user_namespaces", "kernel/unprivileged_userns_clone"):
        (tmp_path / other).parent.mkdir(exist_ok=True)
        (tmp_path / other).write_text("1\n")
    (tmp_path / name).write_text(f"{value}\n")
    assert words in tier._forbidden_by(tmp_path)


def test_a_masked_proc_is_named(program: Path) -> None:
    write_program(program, 'echo "bwrap: Can\'t mount proc on /newroot/proc: Operation not permitted" >&2; exit 1')
    assert "cannot mount /proc" in probe("bubblewrap", ENVIRON).reason


def test_an_unknown_failure_is_repeated(program: Path) -> None:
    write_program(program, "echo 'bwrap: out of cheese' >&2; exit 1")
    assert probe("bubblewrap", ENVIRON).reason == "bubblewrap does not start: bwrap: out of cheese"


def test_a_kernel_without_landlock_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    assert "Linux 5.13 or newer" in probe("landlock", ENVIRON).reason


def test_without_a_tier_all_reasons_are_given(program: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    status = choose("auto", {"PATH": ""}, tmp_path)
    assert (status.tier, status.works) == ("none", False)
    assert "apt install bubblewrap" in status.reason
    assert "no Landlock" in status.reason


def test_a_set_tier_is_never_replaced_by_another(program: Path, tmp_path: Path) -> None:
    status = choose("bubblewrap", {"PATH": ""}, tmp_path)
    assert (status.tier, status.works) == ("none", False)
    assert choose("none", ENVIRON, tmp_path).tier == "none"


def test_what_worked_is_remembered_until_the_program_changes(program: Path, tmp_path: Path) -> None:
    count = tmp_path / "count"
    write_program(program, f"echo >> {count}")
    for _ in range(3):
        assert choose("bubblewrap", ENVIRON, tmp_path / "cache").tier == "bubblewrap"
    assert len(count.read_text()) == 1
    os.utime(program, (1, 1))
    choose("bubblewrap", ENVIRON, tmp_path / "cache")
    assert len(count.read_text()) == 2


def test_the_probe_starts_no_bubblewrap_of_the_project(program: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    for folder in (project / ".venv/bin", project / "node_modules/.bin"):
        folder.mkdir(parents=True)
        write_program(folder / "bwrap", f"touch {tmp_path}/ran")
        (tmp_path / f"link-{folder.name}").symlink_to(folder)
        for entry in (folder, tmp_path / f"link-{folder.name}", ".", ""):
            environ = {"PATH": f"{entry}:/nowhere"}
            assert "not installed" in choose("bubblewrap", environ, tmp_path / "cache", project).reason
            assert "not installed" in probe("bubblewrap", environ, project).reason
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("version", "is_used"), [("0.11.1", False), ("0.8.0", False), ("", False), ("0.11.2", True), ("1.0", True)]
)
def test_an_old_bubblewrap_with_the_rights_of_root_is_not_used(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, is_used: bool
) -> None:
    write_program(program, f"[ $1 != --version ] || echo bubblewrap {version}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert choose("bubblewrap", ENVIRON, tmp_path / "cache").tier == "bubblewrap"
    program.chmod(0o4755)
    status = choose("bubblewrap", ENVIRON, tmp_path / "cache")
    assert status.tier == ("bubblewrap" if is_used else "none")
    assert is_used or f"`chmod u-s {program}`" in status.reason


def test_what_failed_is_tried_again(program: Path, tmp_path: Path) -> None:
    assert choose("bubblewrap", {"PATH": ""}, tmp_path / "cache").tier == "none"
    write_program(program, "exit 0")
    assert choose("bubblewrap", {"PATH": ""}, tmp_path / "cache").tier == "bubblewrap"


def test_that_proc_is_shared_is_remembered_with_what_worked(program: Path, tmp_path: Path) -> None:
    count = tmp_path / "count"
    write_program(
        program, f'echo >> {count}; case "$*" in *--proc*) echo "bwrap: Can\'t mount proc" >&2; exit 1;; esac'
    )
    for _ in range(3):
        assert choose("bubblewrap", ENVIRON, tmp_path / "cache").shares_proc
    assert len(count.read_text()) == 2


def test_where_bubblewrap_cannot_run_inside_itself_one_stage_is_used_and_remembered(
    program: Path, tmp_path: Path
) -> None:
    count = tmp_path / "count"
    refusal = 'case "$*" in *--dev-bind*) echo "bwrap: setting up uid map: Permission denied" >&2; exit 1;; esac'
    write_program(program, f"echo >> {count}; {refusal}")
    first, second = (choose("bubblewrap", ENVIRON, tmp_path / "cache") for _ in range(2))
    assert first == second
    assert (first.works, first.shares_proc, first.is_flat) == (True, False, True)
    assert len(count.read_text()) == 3
    assert any("empty files outside" in limit for limit in first.limits)


def test_a_program_that_a_command_could_have_written_is_not_started(program: Path, tmp_path: Path) -> None:
    confined = Confined("bubblewrap", tmp_path)
    tools = confined.project / "bin"
    tools.mkdir()
    write_program(tools / "bwrap", "exit 0")
    confined.limit(environ={**confined.policy.environ, "PATH": str(tools)})
    with pytest.raises(FileNotFoundError, match="outside of the writable folders"):
        plan_launch("bubblewrap", confined.policy, ("/bin/sh",), confined.project)


def test_the_tier_none_cannot_confine(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="none"):
        plan_launch("none", Confined("none", tmp_path).policy, ("/bin/sh",), tmp_path)


def test_windows_has_no_candidates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tier.sys, "platform", "sunos5")
    assert choose("auto", ENVIRON, tmp_path).reason == "sunos5 has no sandbox for commands"


REPORT = """
import os, sys
from opencode_tui.engine.sandbox.tier import probe
for name in ("bubblewrap", "landlock"):
    status = probe(name, dict(os.environ))
    print(name, status.works, status.reason)
"""
NAMESPACE = "echo 0 > /proc/sys/user/max_user_namespaces; "
MASKED_PROC = "mount -t tmpfs none /proc/fs; exec setpriv --bounding-set -sys_admin --inh-caps -sys_admin"
"""What a container's runtime does that hides parts of /proc: no user namespace inside can mount a new one."""


def run_in(setup: str, *command: str, options: Sequence[str] = ("-Ur",)) -> list[str]:
    """Return the output of a command in a user namespace of its own after a setup that ends with the words before it."""
    if not all(shutil.which(name) for name in ("unshare", "setpriv")):
        pytest.skip("needs unshare and setpriv")
    if not probe("bubblewrap", os.environ).works:
        pytest.skip("needs user namespaces and bubblewrap")
    words = ["unshare", *options, "sh", "-c", f'{setup} "$0" "$@"', *command]
    root = Path(__file__).parents[3]
    return subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()


def report_in(setup: str) -> list[str]:
    """Return what is probed in a user namespace of its own."""
    return run_in(setup, sys.executable, "-c", REPORT)


@pytest.mark.slow
def test_inside_a_user_namespace_that_allows_no_further_one_root_needs_none() -> None:
    assert report_in(NAMESPACE) == ["bubblewrap True ", "landlock True "]


@pytest.mark.slow
def test_inside_a_user_namespace_without_capabilities_landlock_remains() -> None:
    lines = report_in(f"{NAMESPACE} exec setpriv --bounding-set -all --inh-caps -all")
    assert lines[0].startswith(
        "bubblewrap False bubblewrap cannot create a user namespace: none are allowed (sysctl user.max"
    )
    assert lines[1] == "landlock True "


@pytest.mark.slow
def test_where_proc_is_masked_bubblewrap_shares_it_and_the_environment_of_others_stays_unreadable(
    environ: dict[str, str],
) -> None:
    inside = (
        "for one in /proc/[1-9]*; do cat $one/environ $one/root/etc/hostname; done; cat /proc/*/cmdline | tr '\\0' ' '"
    )
    text = """CANARY=CANARY-$((40 + 2)) sleep 71.5 & "$0" -m opencode_tui debug sandbox -- bash -c "$1" 2> /dev/null; kill $!"""
    command = ("env", "-i", *(f"{name}={value}" for name, value in environ.items()), "sh", "-c", text)
    lines = run_in(
        MASKED_PROC,
        *command,
        sys.executable,
        inside,
        options=("-Urm", "--pid", "--fork", "--kill-child", "--mount-proc"),
    )
    output = "\n".join(lines)
    assert "sleep 71.5" in output
    assert "CANARY-42" not in output
    assert "PATH=" in output
