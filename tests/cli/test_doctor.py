import json
import os
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from opencode_tui.client.logout import ends_at_logout
from opencode_tui.engine import doctor
from opencode_tui.engine.sandbox.own_program import find_installation
from opencode_tui.engine.sandbox.tier import candidates, probe
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.task_folders import record_task
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.importing.fixtures import unpack

pytestmark = pytest.mark.slow


def signs(text: str) -> dict[str, str]:
    """Return the sign of each check."""
    return {line.split()[1]: line[0] for line in text.splitlines() if not line.startswith(" ")}


SANDBOX = "✓" if any(probe(tier, os.environ).works for tier in candidates()) else "!"
WELL = dict.fromkeys(("folder", "store", "trash", "keys", "git", "ripgrep", "caches", "settings", "skills"), "✓") | {
    "models": "!",
    "languages": "✓",
    "sandbox": SANDBOX,
    "logout": "!" if ends_at_logout() else "✓",
}


def programs(folder: Path, *names: str) -> str:
    """Return a PATH with nothing but these programs, as far as they are installed."""
    folder.mkdir()
    for name in names:
        if found := shutil.which(name):
            (folder / name).symlink_to(os.path.realpath(found))
    return str(folder)


def record_of(paths: Paths) -> Path:
    return next(Path(paths.storage, "message").rglob("*.json"))


def test_on_a_fresh_machine_all_is_well_and_the_demo_is_advice(commands):
    done = commands.run("doctor")
    assert (done.code, done.stderr, signs(done.stdout)) == (0, "", WELL)
    assert "auth login" in done.stdout


def test_what_a_command_put_in_the_place_of_our_cache_folders_is_repaired_and_named(commands, paths: Paths):
    tools = paths.cache / "sandbox/caches/0123456789ab/tools"
    tools.mkdir(parents=True)
    (tools / "config").symlink_to("/nowhere/at-all")
    for _ in range(2):  # it stays named until the caches end
        done = commands.run("doctor")
        assert (done.code, signs(done.stdout)["caches"]) == (0, "!")
        assert f"had put something else in the place of our folder {tools}/config" in " ".join(done.stdout.split())
    assert (tools / "config").is_dir() and not (tools / "config").is_symlink()


def test_the_language_servers_that_fit_are_named_with_the_commands_that_install_them(commands, tmp_path: Path):
    environ = {name: value for name, value in commands.environ.items() if name != "OPENCODE_DISABLE_LSP"}
    (commands.folder / "go.mod").touch()
    (commands.folder / "composer.json").touch()
    done = replace(commands, environ={**environ, "PATH": programs(tmp_path / "programs", "git", "bwrap")}).run("doctor")
    assert signs(done.stdout)["languages"] == "✓" and done.code == 0
    lines = done.stdout.partition("languages")[2].splitlines()
    assert lines[0].strip() == "no language server for this project"
    assert [line.strip() for line in lines[1:]] == [
        "! gopls: not installed; go install golang.org/x/tools/gopls@latest",
        "! php intelephense: not installed; npm install -g intelephense",
    ]


def test_a_damaged_record_is_named_and_set_aside_on_demand(commands, session_id, paths: Paths):
    record = record_of(paths)
    record.write_text("{half")
    found = commands.run("doctor")
    assert found.code == 1 and signs(found.stdout)["store"] == "✗"
    assert str(record) in found.stdout and "doctor --fix" in found.stdout
    repaired = commands.run("doctor", "--fix")
    assert repaired.code == 0 and f"{record} is damaged" in repaired.stdout and "quarantine/" in repaired.stdout
    assert [path.read_text() for path in Path(paths.data, "quarantine").rglob("*.json")] == ["{half"]
    assert commands.run("doctor").code == 0


def test_the_size_of_the_trash_and_an_interrupted_deletion_are_named(commands, session_id, paths: Paths):
    commands.run("session", "delete", session_id, "--yes")
    assert "1 deleted session, " in commands.run("doctor").stdout
    [entry] = paths.trash.iterdir()
    entry.rename(f"{entry}.deleting")
    found = commands.run("doctor")
    assert found.code == 0 and signs(found.stdout)["trash"] == "!" and "was interrupted" in found.stdout


def test_what_is_open_to_others_is_closed_on_demand(commands, session_id, paths: Paths):
    record_of(paths).chmod(0o644)
    assert commands.run("doctor").code == 1
    assert "permissions tightened" in commands.run("doctor", "--fix").stdout
    assert record_of(paths).stat().st_mode & 0o777 == 0o600


def test_a_killed_run_is_closed_on_demand(commands, session_id, paths: Paths):
    owner = Path(paths.lock, f"{session_id}.owner")
    owner.write_text(f'{{"pid": 999999999, "started": "1", "host": "{socket.gethostname()}", "generation": 1}}')
    assert commands.run("doctor").code == 1
    assert "records closed" in commands.run("doctor", "--fix").stdout
    assert commands.run("doctor").code == 0


def test_what_killed_agents_left_is_named(commands, paths: Paths):
    path = record_task(
        paths,
        "agent-quiet-river-1234",
        origin=Path("/home/you/project"),
        common_dir=Path("/home/you/project/.git"),
        session_id="ses_1",
    )
    assert "agents" not in signs(commands.run("doctor").stdout)  # one that works
    record = Path(f"{path}.json")
    record.write_text(record.read_text().replace(f'"pid":{os.getpid()}', '"pid":999999999'))
    done = commands.run("doctor")
    assert (done.code, signs(done.stdout)["agents"]) == (0, "!")
    assert "1 agent killed in the middle of its work" in done.stdout and str(path) in "".join(done.stdout.split("\n"))


def test_a_model_of_an_agent_that_does_not_exist_is_named_as_that_of_the_settings_is(commands):
    named = {"helper": {"model": "demo/tour"}, "lost": {"model": "nobody/x"}}
    commands.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps({"agent": named})
    done = commands.run("doctor")
    assert (done.code, signs(done.stdout)["models"]) == (1, "✗")
    words = " ".join(done.stdout.split())
    assert "setting agent.lost.model: no model nobody/x; " in words and "agent.helper.model" not in words


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("auth.json", {"keys": "✗", "settings": "!"}),
        ("opencode.json", {"settings": "✗", "skills": "!", "models": "✗", "languages": "!"}),
    ],
)
def test_a_damaged_file_stops_no_other_check(commands, paths: Paths, name, found):
    folder = paths.data if name == "auth.json" else paths.config
    folder.mkdir(parents=True, mode=0o700)
    folder.joinpath(name).write_text("{broken")
    folder.joinpath(name).chmod(0o600)
    done = commands.run("doctor")
    assert (done.code, len(done.stdout.splitlines()) >= 7) == (1, True)
    assert signs(done.stdout) == {**WELL, **found} and name in done.stdout


def test_a_folder_that_cannot_be_written_to_is_amiss(commands, paths: Paths):
    paths.data.parent.mkdir(parents=True)
    paths.data.write_text("a file where the folder should be")
    done = commands.run("doctor")
    assert done.code == 2 and f"{paths.data} is not a directory" in done.stderr and "XDG_" in done.stderr


@pytest.mark.parametrize(("free", "sign", "code"), [(10, "✗", 1), (300, "!", 0), (9_000, "✓", 0)])
def test_a_nearly_full_disk_is_reported(commands, monkeypatch, free, sign, code):
    usage = type(shutil.disk_usage("/"))
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage(10**12, 0, free * 1024 * 1024))
    done = commands.run("doctor")
    assert (done.code, signs(done.stdout)["folder"]) == (code, sign)
    assert (f"{free} MiB" in done.stdout) == (sign != "✓")


def test_a_network_mount_is_advice(commands, monkeypatch, tmp_path):
    table = tmp_path / "mountinfo"
    table.write_text("22 1 0:21 / / rw - nfs4 server:/ rw\n")
    monkeypatch.setattr(doctor, "_TABLE", table)
    done = commands.run("doctor")
    assert (done.code, signs(done.stdout)["folder"]) == (0, "!") and "network file system (nfs4)" in done.stdout


def test_without_git_it_says_what_git_is_for(commands, monkeypatch, tmp_path):
    without = type(commands)(commands.folder, {**commands.environ, "PATH": str(tmp_path)}, monkeypatch, commands.capsys)
    done = without.run("doctor")
    assert done.code == 1 and signs(done.stdout)["git"] == "✗" and "install it" in done.stdout


def test_unknown_settings_are_advice(commands):
    commands.folder.joinpath("opencode.json").write_text('{"nonsense": 1}')
    done = commands.run("doctor")
    assert (done.code, signs(done.stdout)["settings"]) == (0, "!") and "nonsense" in done.stdout


@pytest.mark.parametrize("hostile", HOSTILE[:2])
def test_no_file_name_steers_the_terminal(commands, session_id, paths: Paths, hostile):
    record_of(paths).with_name(hostile.replace("/", "") + ".json").write_text("{")
    assert steering(commands.run("doctor").stdout) == []
    assert os.path.isdir(paths.storage)


@pytest.mark.skipif(SANDBOX != "✓", reason="no sandbox works here")
def test_that_commands_can_change_this_program_is_said(commands, monkeypatch: pytest.MonkeyPatch):
    modules = commands.folder / "lib"
    modules.mkdir()
    monkeypatch.syspath_prepend(modules)
    find_installation.cache_clear()
    try:
        done = commands.run("doctor")
    finally:
        find_installation.cache_clear()
    assert signs(done.stdout)["sandbox"] == "!"
    assert "this program: it imports from folders of this project; unset PYTHONPATH" in done.stdout


@pytest.mark.skipif(SANDBOX != "✓", reason="no sandbox works here")
def test_that_no_command_starts_with_the_folders_of_now_is_said(commands, paths: Paths):
    (paths.cache / "sandbox").mkdir(parents=True)
    (paths.cache / "sandbox/temp").write_text("a file in the way")
    done = commands.run("doctor")
    assert signs(done.stdout)["sandbox"] == "✗"
    assert "no command starts in this folder: " in done.stdout and "sandbox/temp" in done.stdout


@pytest.mark.skipif(SANDBOX != "✓", reason="no sandbox works here")
def test_a_home_behind_a_link_is_no_fault(commands, tmp_path: Path):
    (tmp_path / "linked").symlink_to(commands.environ["HOME"])
    environ = {name: value for name, value in commands.environ.items() if not name.startswith("XDG_")}
    done = replace(commands, environ={**environ, "HOME": str(tmp_path / "linked")}).run("doctor")
    assert signs(done.stdout)["sandbox"] == "✓"


def test_programs_of_the_project_are_not_started(commands):
    folder = commands.folder / ".venv/bin"
    folder.mkdir(parents=True)
    for name in ("git", "rg", "bwrap", "mount", "sh", "env"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {commands.folder}/ran-{name}\n")
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}.{os.pathsep}{commands.environ['PATH']}"
    done = replace(commands, environ={**commands.environ, "PATH": path}).run("doctor")
    assert signs(done.stdout)["git"] == "✓"
    assert list(commands.folder.glob("ran-*")) == []


def test_sessions_that_opencode_2_shows_without_messages_are_named(commands, environ: dict[str, str]):
    unpack("1.1.65", unpack("1.18.33-then-2", Path(environ["XDG_DATA_HOME"]) / "opencode"))
    done = commands.run("doctor")
    assert done.code == 0
    assert "1 session in" in done.stdout
    assert "that no database beside it has" in done.stdout
    assert "Title: second session" in done.stdout
    assert "opencode-tui import opencode" in done.stdout
